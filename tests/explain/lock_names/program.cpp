// Waits for locks in many places, one in each case. The test asks for the name of each lock, and
// finds the line of its declaration by the comment there, which names the case.

#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <vector>

extern const char* wanted_call;  // calls.cpp
extern const char* wanted_case;
void pause_once();
extern int work;  // a number that the compiler does not know

namespace {

class Warehouse {
 public:
  [[gnu::noinline]] int book(int i) {
    const std::unique_lock<std::mutex> lock(shelf_lock_);
    stock_[i & 7] += work;
    for (const int each : stock_) work += each;
    return stock_[i & 7];
  }
  [[gnu::noinline]] void from_a_lambda() {
    const auto count = [this] {
      const std::lock_guard<std::mutex> lock(shelf_lock_);
      return stock_[0] += work;
    };
    const std::function<int()> kept = count;
    work += kept();
  }

 private:
  std::array<int, 8> stock_{};
  std::mutex shelf_lock_;  // heap_member captured_this
};

class Ledger {
 public:
  [[gnu::noinline]] void come(int amount) {
    const std::lock_guard<std::mutex> lock(incoming_mutex_);
    sum_ += amount;
  }
  [[gnu::noinline]] void go(int amount) {
    const std::lock_guard<std::mutex> lock(outgoing_mutex_);
    sum_ -= amount;
  }

 private:
  long sum_ = 0;
  std::mutex incoming_mutex_;  // first_of_two
  std::mutex outgoing_mutex_;  // second_of_two
};

struct Shelf {
  int goods = 0;
  std::mutex lock;  // vector_element reference_parameter shared_pointer
};

class Rack {
 public:
  [[gnu::noinline]] int take(unsigned i) {
    Shelf& shelf = shelves_[i % shelves_.size()];
    const std::lock_guard<std::mutex> lock(shelf.lock);
    return shelf.goods -= work;
  }

 private:
  std::vector<Shelf> shelves_ = std::vector<Shelf>(4);
};

[[gnu::noinline]] int fill(Shelf& shelf) {
  const std::lock_guard<std::mutex> lock(shelf.lock);
  return shelf.goods += work;
}

class Office {
 public:
  [[gnu::noinline]] int print() {
    const std::lock_guard<std::mutex> lock(printer_->lock);
    return printer_->goods += work;
  }

 private:
  std::shared_ptr<Shelf> printer_ = std::make_shared<Shelf>();
};

class Stripes {
 public:
  [[gnu::noinline]] int count(unsigned i) {
    const std::lock_guard<std::mutex> lock(stripe_locks_[i % stripe_locks_.size()]);
    return counts_[i % 8] += work;
  }

 private:
  std::array<int, 8> counts_{};
  std::array<std::mutex, 8> stripe_locks_;  // array_of_mutexes
};

template <class T>
struct alignas(64) Padded {
  T value;
};

class Counters {
 public:
  [[gnu::noinline]] int count(unsigned i) {
    const std::lock_guard<std::mutex> lock(slot_locks_[i % 4].value);
    return counts_[i % 4] += work;
  }

 private:
  std::array<int, 4> counts_{};
  std::array<Padded<std::mutex>, 4> slot_locks_;  // padded
};

class Session {
 public:
  Session();
  ~Session();
  [[gnu::noinline]] int touch();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
struct Session::Impl {
  int touched = 0;
  std::mutex state_mutex;  // pointer_to_implementation
};
Session::Session() : impl_(std::make_unique<Impl>()) {}
Session::~Session() = default;
int Session::touch() {
  const std::lock_guard<std::mutex> lock(impl_->state_mutex);
  return impl_->touched += work;
}

class Shared {
 protected:
  int users_ = 0;
  std::mutex base_mutex_;  // base_class
};
class Document : public Shared {
 public:
  [[gnu::noinline]] int open() {
    const std::lock_guard<std::mutex> lock(base_mutex_);
    return users_ += work;
  }
};

template <class T>
class Queue {
 public:
  [[gnu::noinline]] void push(T item) {
    {
      const std::lock_guard<std::mutex> lock(items_mutex_);
      items_.push_back(item);
    }
    not_empty_.notify_one();
  }
  [[gnu::noinline]] T pop() {
    std::unique_lock<std::mutex> lock(items_mutex_);
    not_empty_.wait(lock, [this] { return !items_.empty(); });
    return items_.back();
  }

 private:
  std::mutex items_mutex_;  // class_template relock
  std::condition_variable not_full_;
  std::condition_variable not_empty_;  // second_condition
  std::vector<T> items_;
};

struct Job {
  std::mutex& words_mutex;  // reference_member
  int words;
};
[[gnu::noinline]] void add(Job& job) {
  const std::lock_guard<std::mutex> lock(job.words_mutex);
  job.words += work;
}

[[gnu::noinline]] int add_locked(std::mutex& mutex, int& sum) {
  const std::lock_guard<std::mutex> lock(mutex);
  return sum += work;
}
class Account {
 public:
  [[gnu::noinline]] int deposit() { return add_locked(balance_mutex_, balance_) + work; }

 private:
  int balance_ = 0;
  std::mutex balance_mutex_;  // handed_on
};

class Mutex {
 public:
  void lock() { pthread_mutex_lock(&raw_); }
  void unlock() { pthread_mutex_unlock(&raw_); }

 private:
  pthread_mutex_t raw_ = PTHREAD_MUTEX_INITIALIZER;
};
class Guard {
 public:
  explicit Guard(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Guard() { mutex_.unlock(); }
  Guard(const Guard&) = delete;

 private:
  Mutex& mutex_;
};
class Cache {
 public:
  [[gnu::noinline]] int get() {
    const Guard guard(entries_lock_);
    return hits_ += work;
  }

 private:
  int hits_ = 0;
  Mutex entries_lock_;  // own_lock_class
};

class Settings {
 public:
  [[gnu::noinline]] int read() {
    const std::shared_lock<std::shared_mutex> lock(values_lock_);
    return values_;
  }

 private:
  int values_ = 0;
  std::shared_mutex values_lock_;  // shared_mutex
};

class Gate {
 public:
  [[gnu::noinline]] void pass() {
    slots_.acquire();
    work += 1;
  }
  [[gnu::noinline]] void wait() {
    sem_wait(&posix_slots_);
    work += 1;
  }

 private:
  std::counting_semaphore<4> slots_{0};  // semaphore
  sem_t posix_slots_{};                  // posix_semaphore
};

class Table {
 public:
  [[gnu::noinline]] int value() {
    std::call_once(made_, [this] { value_ = work; });
    return value_;
  }

 private:
  int value_ = 0;
  std::once_flag made_;  // once
};

struct Phases {
  int number = 0;
  std::atomic<int> phase{0};  // atomic_wait
};
[[gnu::noinline]] void next_phase(Phases& phases) {
  phases.phase.wait(0);
  phases.number += work;
}

std::barrier<> all_there(2);  // global_barrier
[[gnu::noinline]] void step() {
  work += 1;
  all_there.arrive_and_wait();
  work += 1;
}
[[gnu::noinline]] void step_with(std::barrier<>& step_done) {  // barrier_parameter
  work += 1;
  step_done.arrive_and_wait();
  work += 1;
}

[[gnu::noinline]] void count_in_a_lambda() {
  int total = 0;
  std::mutex total_mutex;  // captured_local
  const std::function<void()> counter = [&] {
    const std::lock_guard<std::mutex> lock(total_mutex);
    total += work;
  };
  counter();
  work += total;
}
[[gnu::noinline]] void wait_for_a_latch() {
  std::latch finished(2);  // local_latch
  const std::function<void()> part = [&] { finished.count_down(); };
  part();
  finished.wait();
  work += 1;
}
[[gnu::noinline]] void local_of_two() {
  std::mutex first_mutex;
  std::mutex second_mutex;  // local_of_two
  const std::function<void()> part = [&] {
    const std::lock_guard<std::mutex> lock(second_mutex);
    first_mutex.unlock();
  };
  part();
}

[[gnu::noinline]] void local_vector() {
  std::vector<std::mutex> row_locks(8);  // local_vector
  const std::function<void(unsigned)> part = [&](unsigned i) {
    const std::lock_guard<std::mutex> lock(row_locks[i % row_locks.size()]);
    work += 1;
  };
  part(static_cast<unsigned>(work));
}

class SpinLock {
 public:
  void lock() {
    while (taken_.exchange(true)) pause_once();
  }
  void unlock() { taken_ = false; }
  void take_for_ever() { taken_ = true; }

 private:
  std::atomic<bool> taken_{false};
};
class Statistics {
 public:
  Statistics() { numbers_lock_.take_for_ever(); }
  [[gnu::noinline]] int add() {
    const std::lock_guard<SpinLock> lock(numbers_lock_);
    return sum_ += work;
  }

 private:
  int sum_ = 0;
  SpinLock numbers_lock_;  // own_spin_lock
};

std::array<Shelf, 3> all_shelves;  // global_array
[[gnu::noinline]] void fill_all() {
  for (Shelf& each : all_shelves) fill(each);
}

struct c_pool {
  int users;
  pthread_mutex_t pool_lock;  // c_structure
};
[[gnu::noinline]] void* run_c_thread(void* argument) {
  auto* pool = static_cast<c_pool*>(argument);
  pthread_mutex_lock(&pool->pool_lock);
  pool->users += work;
  pthread_mutex_unlock(&pool->pool_lock);
  return nullptr;
}

struct Case {
  const char* name;
  const char* call;
  void (*run)();
};
template <class T, auto member>
void on_heap() {
  const auto object = std::make_unique<T>();
  std::invoke(member, *object);
}
const Case cases[] = {
    {"heap_member", "pthread_mutex_lock", [] { std::make_unique<Warehouse>()->book(work); }},
    {"captured_this", "pthread_mutex_lock", on_heap<Warehouse, &Warehouse::from_a_lambda>},
    {"first_of_two", "pthread_mutex_lock", [] { std::make_unique<Ledger>()->come(work); }},
    {"second_of_two", "pthread_mutex_lock", [] { std::make_unique<Ledger>()->go(work); }},
    {"vector_element", "pthread_mutex_lock", [] { std::make_unique<Rack>()->take(work); }},
    {"reference_parameter", "pthread_mutex_lock", [] { fill(*std::make_unique<Shelf>()); }},
    {"shared_pointer", "pthread_mutex_lock", on_heap<Office, &Office::print>},
    {"array_of_mutexes", "pthread_mutex_lock", [] { std::make_unique<Stripes>()->count(work); }},
    {"padded", "pthread_mutex_lock", [] { std::make_unique<Counters>()->count(work); }},
    {"pointer_to_implementation", "pthread_mutex_lock", on_heap<Session, &Session::touch>},
    {"base_class", "pthread_mutex_lock", on_heap<Document, &Document::open>},
    {"class_template", "pthread_mutex_lock", [] { std::make_unique<Queue<int>>()->push(work); }},
    {"second_condition", "pthread_cond_wait", on_heap<Queue<int>, &Queue<int>::pop>},
    {"relock", "pthread_cond_wait", on_heap<Queue<int>, &Queue<int>::pop>},
    {"reference_member", "pthread_mutex_lock",
     [] {
       std::mutex mutex;
       Job job{mutex, 0};
       add(job);
     }},
    {"handed_on", "pthread_mutex_lock", on_heap<Account, &Account::deposit>},
    {"own_lock_class", "pthread_mutex_lock", on_heap<Cache, &Cache::get>},
    {"shared_mutex", "pthread_rwlock_rdlock", on_heap<Settings, &Settings::read>},
    {"semaphore", "futex", on_heap<Gate, &Gate::pass>},
    {"posix_semaphore", "sem_wait", on_heap<Gate, &Gate::wait>},
    {"once", "pthread_once", on_heap<Table, &Table::value>},
    {"atomic_wait", "futex", [] { next_phase(*std::make_unique<Phases>()); }},
    {"global_barrier", "futex", step},
    {"barrier_parameter", "futex", [] { step_with(*std::make_unique<std::barrier<>>(2)); }},
    {"captured_local", "pthread_mutex_lock", count_in_a_lambda},
    {"local_latch", "futex", wait_for_a_latch},
    {"global_array", "pthread_mutex_lock", fill_all},
    {"local_vector", "pthread_mutex_lock", local_vector},
    {"own_spin_lock", "pause", on_heap<Statistics, &Statistics::add>},
    {"c_structure", "pthread_mutex_lock", [] { run_c_thread(std::make_unique<c_pool>().get()); }},
    {"local_of_two", "pthread_mutex_lock", local_of_two},
};

}  // namespace

int main() {
  for (const Case& each : cases) {
    if (fork() == 0) {
      wanted_case = each.name;
      wanted_call = each.call;
      each.run();
      _exit(1);
    }
    int status = 0;
    wait(&status);
  }
}
