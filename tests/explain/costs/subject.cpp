// Does one thing often and prints the time: subject KIND THREADS TIMES. It times the thing and not
// its own start, because costs.py needs a rate.
#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<std::uint64_t> result{0};

std::uint64_t calculate(std::uint64_t x, std::uint64_t steps) {
  for (std::uint64_t i = 0; i < steps; ++i) x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15U + i;
  return x;
}

void check(bool good) {
  if (!good) std::abort();
}

// Each thread calculates for itself.
void compute(unsigned own, std::uint64_t times) { result += calculate(own, times); }

// Each thread has a mutex of its own, on a line of its own.
void lock(unsigned, std::uint64_t times) {
  alignas(128) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::uint64_t x = 0;
  for (std::uint64_t i = 0; i < times; ++i) {
    check(pthread_mutex_lock(&mutex) == 0);
    ++x;
    check(pthread_mutex_unlock(&mutex) == 0);
  }
  result += x;
}

alignas(128) pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
std::uint64_t shared_count = 0;

// All threads share a mutex for `held` steps, and calculate equally long without it.
template <std::uint64_t held>
void mutex(unsigned own, std::uint64_t times) {
  std::uint64_t x = own;
  for (std::uint64_t i = 0; i < times; ++i) {
    check(pthread_mutex_lock(&shared) == 0);
    shared_count = calculate(shared_count, held) + 1;
    check(pthread_mutex_unlock(&shared) == 0);
    x = calculate(x, held);
  }
  result += x;
}

// Threads in pairs wait for each other in turns.
struct alignas(128) Turns {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  unsigned turn = 0;
  sem_t semaphores[2];
  std::atomic<unsigned> word{0};
};
std::unique_ptr<Turns[]> turns;

void condition(unsigned own, std::uint64_t times) {
  Turns& of = turns[own / 2];
  for (std::uint64_t i = 0; i < times; ++i) {
    pthread_mutex_lock(&of.mutex);
    while (of.turn != own % 2) pthread_cond_wait(&of.condition, &of.mutex);
    of.turn = 1 - own % 2;
    pthread_cond_signal(&of.condition);
    pthread_mutex_unlock(&of.mutex);
  }
}

void semaphore(unsigned own, std::uint64_t times) {
  Turns& of = turns[own / 2];
  for (std::uint64_t i = 0; i < times; ++i) {
    while (sem_wait(&of.semaphores[own % 2]) != 0) {
    }
    sem_post(&of.semaphores[1 - own % 2]);
  }
}

void futex(unsigned own, std::uint64_t times) {
  Turns& of = turns[own / 2];
  for (std::uint64_t i = 0; i < times; ++i) {
    while (of.word != own % 2) of.word.wait(1 - own % 2);
    of.word = 1 - own % 2;
    of.word.notify_one();
  }
}

// Each thread makes threads that do nothing, one after the other.
void threads(unsigned, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) std::thread([] { ++result; }).join();
}

struct Kind {
  const char* name;
  void (*work)(unsigned, std::uint64_t);
};
constexpr Kind kKinds[] = {
    {"compute", compute},     {"lock", lock},           {"mutex", mutex<0>},
    {"mutex50", mutex<50>},   {"mutex500", mutex<500>}, {"condition", condition},
    {"semaphore", semaphore}, {"futex", futex},         {"threads", threads}};

long switches() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_nvcsw;
}

}  // namespace

int main(int count, char** words) {
  const Kind* chosen = nullptr;
  for (const Kind& each : kKinds)
    if (count == 4 && words[1] == std::string(each.name)) chosen = &each;
  const unsigned long number = chosen == nullptr ? 0 : std::strtoul(words[2], nullptr, 10);
  const std::uint64_t times = chosen == nullptr ? 0 : std::strtoull(words[3], nullptr, 10);
  if (number == 0 || number > 1000 || times == 0) {
    std::fputs("usage: subject KIND THREADS TIMES\n", stderr);
    return 2;
  }
  turns = std::make_unique<Turns[]>(number / 2 + 1);
  for (unsigned i = 0; i <= number / 2; ++i)
    for (unsigned side = 0; side < 2; ++side) sem_init(&turns[i].semaphores[side], 0, 1 - side);
  std::atomic<unsigned> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> all;
  for (unsigned i = 0; i < number; ++i)
    all.emplace_back([&, i] {
      ++ready;
      go.wait(false);
      chosen->work(i, times);
    });
  while (ready < number) std::this_thread::yield();
  const long before = switches();
  const auto begin = std::chrono::steady_clock::now();
  go = true;
  go.notify_all();
  for (std::thread& thread : all) thread.join();
  const double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  std::printf("{\"ns\": %.0f, \"operations\": %.0f, \"switches\": %ld, \"result\": %llu}\n", ns,
              static_cast<double>(times) * static_cast<double>(number), switches() - before,
              static_cast<unsigned long long>(result + shared_count));
}
