// Lets threads do the operation of a contention program between barriers. In these programs only
// this file and executable.cpp read a clock and print. See ARCHITECTURE.md, "What a contention
// program says". It is long because threads, windows and lines are one measurement.
//
// The one thing to know: threads alone and together are measured in turns, on the same threads and
// processors, so a processor that is slow for a while slows both. A round is one window for each
// thread alone and one for each number of threads together.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

#include "command_line.hpp"
#include "contention.hpp"
#include "executable.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr nanoseconds kLeastBatch{20'000};  // between two looks at the clock, which take 50 ns
constexpr std::uint64_t kMostBatch = std::uint64_t{1} << 30;
constexpr int kLeastBatches = 8;  // in a window: what only its first batch pays should be little

struct Size {
  std::string_view name;
  nanoseconds window;
  unsigned rounds;
};
// Many short windows: the speed of a shared processor changes within milliseconds, and what is
// compared should lie as close together.
constexpr Size kSizes[] = {
    {"smoke", std::chrono::microseconds(500), 2},
    {"quick", std::chrono::microseconds(500), 16},
    {"full", std::chrono::milliseconds(2), 100},
};
constexpr nanoseconds kSteadyWindow = std::chrono::milliseconds(250);  // with --seconds

struct Options {
  bool describe = false;
  bool run = false;
  std::vector<unsigned> threads{1, 2};
  std::vector<unsigned> cpus;  // in the order in which threads get them
  std::string way;
  std::string size = "quick";
  double seconds = 0;  // 0: rounds
};

// What one thread did in one window.
struct Part {
  Clock::time_point start, end;
  std::uint64_t operations = 0;
  std::int64_t delay_ns = 0;  // runnable, but without a processor
  double yardstick_ns = 0;    // of a fixed computation, before and after the operations
  std::string wrong;

  double per_second() const {
    return static_cast<double>(operations) / std::chrono::duration<double>(end - start).count();
  }
};

// All of a window: its line is made from it.
struct Window {
  unsigned threads = 1;
  std::vector<Part> parts;
};

// Nanoseconds that the calling thread waited for a processor although it could run.
std::int64_t own_delay_ns() {
  std::ifstream schedstat("/proc/thread-self/schedstat");
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  return schedstat >> running >> waiting ? waiting : 0;
}

// The processors that this process may use, ascending; none where that cannot be asked for.
std::vector<unsigned> allowed_cpus() {
  std::vector<unsigned> found;
#if defined(__linux__)
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return found;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all)) found.push_back(cpu);
  }
#endif
  return found;
}

// Runs batches until the window is over.
Part contend(Contender& contender, std::uint64_t batch, nanoseconds window) {
  Part part;
  const std::int64_t delay_before = own_delay_ns();
  part.yardstick_ns = yardstick_ns();
  part.start = part.end = Clock::now();
  for (const auto deadline = part.start + window; part.end < deadline; part.end = Clock::now()) {
    contender.run(batch);
    part.operations += batch;
  }
  part.yardstick_ns += yardstick_ns();
  part.delay_ns = own_delay_ns() - delay_before;
  return part;
}

// A contender with what the harness knows of it.
class Entrant {
 public:
  Entrant(Contest& contest, unsigned thread) : contender_(contest.contender(thread)) {}

  // Operations between two looks at the clock: the first batch also touches what is cold.
  void calibrate() {
    const auto timed = [this] {
      const auto start = Clock::now();
      contender_->run(batch_);
      done_ += batch_;
      return nanoseconds(Clock::now() - start);
    };
    nanoseconds taken = timed();
    for (; taken < kLeastBatch && batch_ < kMostBatch; taken = timed()) batch_ *= 2;
    least_window_ = kLeastBatches * std::min({taken, timed(), timed()});  // once may be unlucky
    wrong_ = contender_->check(done_);
  }
  void calibrate_as(const Entrant& other) {
    batch_ = other.batch_;
    least_window_ = other.least_window_;
  }
  Part contend(nanoseconds window) {
    Part part = bench::contend(*contender_, batch_, std::max(window, least_window_));
    done_ += part.operations;
    part.wrong = contender_->check(done_);
    if (!wrong_.empty()) part.wrong = wrong_;
    return part;
  }
  std::uint64_t done() const { return done_; }

 private:
  std::unique_ptr<Contender> contender_;
  std::uint64_t batch_ = 1;
  nanoseconds least_window_{0};
  std::uint64_t done_ = 0;
  std::string wrong_;  // of the calibration
};

// Threads that wait for work, each on its own processor where there are enough.
class Crew {
 public:
  using Work = std::function<void(unsigned thread)>;

  // Thread i stays on cpus[i], unless there are fewer than threads. The crew is whole before its
  // first thread starts, so its destructor joins those that are there when one is refused.
  Crew(unsigned threads, const std::vector<unsigned>& cpus) : Crew() {
    for (unsigned i = 0; i < threads; ++i) {
      threads_.emplace_back([this, i, cpu = cpus.size() < threads ? kAnyCpu : cpus[i]] {
        if (cpu != kAnyCpu) pin(cpu);
        serve(i);
      });
    }
  }
  Crew(const Crew&) = delete;
  ~Crew() {
    {
      const std::lock_guard guard(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& each : threads_) each.join();
  }

  // On thread `first` and the next ones, `count` in all, at the same time; returns when all have
  // ended. The first exception comes out.
  void run(unsigned first, unsigned count, const Work& work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    first_ = first;
    count_ = count;
    left_ = count;
    ready_.store(0);
    failure_ = nullptr;
    ++turn_;
    changed_.notify_all();
    ended_.wait(lock, [this] { return left_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }
  // Called by each of `run`'s threads: returns when all of them are here.
  void meet() {
    ready_.fetch_add(1);
    while (ready_.load() < count_) {
      if (count_ > cpus_) std::this_thread::yield();
    }
  }

 private:
  Crew() = default;
  static constexpr unsigned kAnyCpu = ~0U;

  static void pin([[maybe_unused]] unsigned cpu) {
#if defined(__linux__)
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
#endif
  }
  void serve(unsigned index) {
    std::unique_lock lock(mutex_);
    for (std::uint64_t seen = 0;;) {
      changed_.wait(lock, [&] { return stopping_ || turn_ != seen; });
      if (stopping_) return;
      seen = turn_;
      if (index < first_ || index >= first_ + count_) continue;
      lock.unlock();
      std::exception_ptr failure;
      try {
        (*work_)(index);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure && !failure_) failure_ = failure;
      if (--left_ == 0) ended_.notify_one();
    }
  }

  const unsigned cpus_ = available_cpus();  // asked for once: it takes a system call
  std::mutex mutex_;
  std::condition_variable changed_, ended_;
  const Work* work_ = nullptr;
  unsigned first_ = 0, count_ = 0, left_ = 0;
  std::uint64_t turn_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::atomic<unsigned> ready_{0};
  std::vector<std::thread> threads_;
};

// The contest for one number of threads, with its entrants.
struct Heat {
  unsigned threads;
  std::unique_ptr<Contest> contest;
  std::vector<std::unique_ptr<Entrant>> entrants;

  std::string check() {
    std::uint64_t operations = 0;
    for (const auto& each : entrants) operations += each->done();
    return contest->check(operations);
  }
};

// When the first and the last thread began, and when the first and the last ended.
struct Span {
  Clock::time_point first, latest, earliest, last;

  explicit Span(const std::vector<Part>& parts)
      : first(parts.front().start), latest(first), earliest(parts.front().end), last(earliest) {
    for (const Part& part : parts) {
      first = std::min(first, part.start);
      latest = std::max(latest, part.start);
      earliest = std::min(earliest, part.end);
      last = std::max(last, part.end);
    }
  }
  double overlap() const {
    const auto both = std::chrono::duration<double>(earliest - latest).count();
    return std::max(0.0, both / std::chrono::duration<double>(last - first).count());
  }
};

// One line per window together, one per round of windows alone. `per_second` is what a thread does:
// of an operation that uses P threads itself, each of them has done a P-th.
// Returns what is wrong, or nothing.
std::string print_window(const Window& window, unsigned round, bool warmup) {
  double sum = 0;
  double slowest = window.parts.front().per_second();
  double fastest = slowest;
  double wall_ns = 0;
  double yardstick_ns = 0;
  std::uint64_t operations = 0;
  std::int64_t delay_ns = 0;
  std::string wrong;
  for (const Part& part : window.parts) {
    sum += part.per_second();
    slowest = std::min(slowest, part.per_second());
    fastest = std::max(fastest, part.per_second());
    wall_ns += std::chrono::duration<double, std::nano>(part.end - part.start).count();
    yardstick_ns += part.yardstick_ns;
    operations += part.operations;
    delay_ns += part.delay_ns;
    if (wrong.empty()) wrong = part.wrong;
  }
  const auto count = static_cast<double>(window.parts.size());
  const double share = std::min(1.0, count / window.threads);
  const Span span(window.parts);
  json line{{"event", "repeat"},
            {"repeat", round},
            {"warmup", warmup},
            {"threads", window.threads},
            {"began_ns", since_boot_ns(span.first)},
            {"ended_ns", since_boot_ns(span.last)},
            {"wall_ns", wall_ns / count},
            {"operations", operations},
            {"per_second", sum / count * share},
            {"slowest_per_second", slowest * share},
            {"fastest_per_second", fastest * share},
            {"overlap", window.threads == 1 ? 1.0 : span.overlap()},
            {"yardstick_ns", yardstick_ns / count},
            {"run_delay_ns", std::max<std::int64_t>(0, delay_ns)},
            {"max_rss_bytes", max_rss_bytes()},
            {"ok", wrong.empty()}};
  if (!wrong.empty()) line["reason"] = wrong;
  print_line(line);
  return wrong;
}

// Measures a way of Use::threads or Use::whole.
class Rounds {
 public:
  Rounds(const Way& way, const Size& size, std::vector<unsigned> threads,
         const std::vector<unsigned>& cpus)
      : way_(way),
        size_(size),
        threads_(std::move(threads)),
        crew_(way.use == Use::whole ? 1 : threads_.back(),
              way.use == Use::whole ? std::vector<unsigned>{} : cpus) {
    const unsigned alone = way.use == Use::whole ? 1 : threads_.back();
    for (unsigned thread = 0; thread < alone; ++thread) alone_.push_back(make(1, thread, 1));
    for (const unsigned count : threads_) {
      if (count > 1) together_.push_back(make(count, 0, way.use == Use::whole ? 1 : count));
    }
  }

  ~Rounds() {  // a contender ends on its thread
    for (unsigned thread = 0; thread < alone_.size(); ++thread) retire(alone_[thread], thread);
    for (Heat& heat : together_) retire(heat, 0);
  }
  Rounds(const Rounds&) = delete;

  std::string run() {
    for (unsigned round = 0; round <= size_.rounds; ++round) {
      const bool warmup = round == 0;
      std::string wrong = round % 2 ? all_together(round, warmup) : each_alone(round, warmup);
      if (!wrong.empty()) return wrong;
      wrong = round % 2 ? each_alone(round, warmup) : all_together(round, warmup);
      if (!wrong.empty()) return wrong;
    }
    for (auto* heats : {&alone_, &together_}) {
      for (Heat& heat : *heats) {
        if (std::string wrong = heat.check(); !wrong.empty()) return wrong;
      }
    }
    return {};
  }

  // Windows of the largest number of threads and of no other, until they add up to `length`.
  std::string run_steadily(nanoseconds length) {
    Heat& heat = together_.empty() ? alone_.front() : together_.back();
    nanoseconds done{0};
    for (unsigned round = 0; done < length; ++round) {
      const bool warmup = round == 0;
      const Window all{heat.threads, window(heat, 0, warmup ? size_.window : kSteadyWindow)};
      if (std::string wrong = print_window(all, round, warmup); !wrong.empty()) return wrong;
      if (!warmup) done += all.parts.front().end - all.parts.front().start;
    }
    return heat.check();
  }

 private:
  // `count` contenders on the threads from `first` on.
  Heat make(unsigned threads, unsigned first, unsigned count) {
    Heat heat{threads, way_.start(threads), {}};
    heat.entrants.resize(count);
    crew_.run(first, count, [&](unsigned thread) {
      heat.entrants[thread - first] = std::make_unique<Entrant>(*heat.contest, thread - first);
    });
    // Alone for every count: how many operations fit between two looks is no result.
    crew_.run(first, 1, [&](unsigned) { heat.entrants.front()->calibrate(); });
    for (const auto& each : heat.entrants) each->calibrate_as(*heat.entrants.front());
    return heat;
  }
  void retire(Heat& heat, unsigned first) {
    crew_.run(first, static_cast<unsigned>(heat.entrants.size()),
              [&](unsigned thread) { heat.entrants[thread - first].reset(); });
  }
  std::vector<Part> window(Heat& heat, unsigned first, nanoseconds length) {
    std::vector<Part> parts(heat.entrants.size());
    crew_.run(first, static_cast<unsigned>(parts.size()), [&](unsigned thread) {
      crew_.meet();
      parts[thread - first] = heat.entrants[thread - first]->contend(length);
    });
    return parts;
  }
  std::string each_alone(unsigned round, bool warmup) {
    Window all;
    for (unsigned thread = 0; thread < alone_.size(); ++thread) {
      all.parts.push_back(window(alone_[thread], thread, size_.window).front());
    }
    return print_window(all, round, warmup);
  }
  std::string all_together(unsigned round, bool warmup) {
    for (Heat& heat : together_) {
      const Window all{heat.threads, window(heat, 0, size_.window)};
      if (std::string wrong = print_window(all, round, warmup); !wrong.empty()) return wrong;
    }
    return {};
  }

  const Way& way_;
  const Size& size_;
  const std::vector<unsigned> threads_;  // ascending
  Crew crew_;
  std::vector<Heat> alone_, together_;  // after crew_: their contenders go first
};

// A way of Use::alone: this process must never have had a second thread.
std::string run_alone(const Way& way, const Size& size, nanoseconds steadily) {
  const std::unique_ptr<Contest> contest = way.start(1);
  Entrant entrant(*contest, 0);
  entrant.calibrate();
  const bool steady = steadily.count() != 0;
  nanoseconds done{0};
  for (unsigned round = 0; steady ? done < steadily : round <= size.rounds; ++round) {
    const bool warmup = round == 0;
    const Window window{1, {entrant.contend(steady && !warmup ? kSteadyWindow : size.window)}};
    if (std::string wrong = print_window(window, round, warmup); !wrong.empty()) return wrong;
    if (!warmup) done += window.parts.front().end - window.parts.front().start;
  }
  return contest->check(entrant.done());
}

std::string_view word(Use use) {
  return use == Use::threads ? "threads" : use == Use::alone ? "alone" : "whole";
}

json description() {
  const ContentionProgram& program = contention_program();
  json line{{"program", program.name},  {"summary", program.summary},
            {"kind", "contention"},     {"operation", program.operation},
            {"origin", program.origin}, {"allocates", program.allocates},
            {"backend", "threads"},     {"backend_version", standard_library()}};
  line["variants"] = json::array();
  for (const Way& way : program.ways) {
    line["variants"].push_back({{"name", way.name},
                                {"meaning", way.meaning},
                                {"remedy", way.remedy},
                                {"parallel", way.use != Use::alone},
                                {"use", word(way.use)},
                                {"lacks", way.lacks}});
  }
  line["platform"] = platform();
  line["contract"] = 1;
  return line;
}

const Way& find_way(const std::string& name) {
  const auto& ways = contention_program().ways;
  if (name.empty()) return ways.front();
  const auto found =
      std::find_if(ways.begin(), ways.end(), [&](const Way& w) { return w.name == name; });
  if (found != ways.end()) return *found;
  std::string names;
  for (const Way& way : ways) names += (names.empty() ? "" : ", ") + std::string(way.name);
  throw BadInput("there is no variant '" + name + "' here; there is " + names);
}

int measure(Options options) {
  const Way& way = find_way(options.way);
  if (!way.lacks.empty())
    throw BadInput("variant " + std::string(way.name) + ": " + std::string(way.lacks));
  auto& threads = options.threads;
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  if (way.use == Use::alone && threads != std::vector{1u}) {
    throw BadInput("variant " + std::string(way.name) + " is measured on one thread: --threads 1");
  }
  const std::vector<unsigned> allowed = allowed_cpus();
  const auto& cpus = options.cpus.empty() ? allowed : options.cpus;
  for (const unsigned cpu : cpus) {
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end())
      throw BadInput("--cpus names processor " + std::to_string(cpu) +
                     ", which this process may not use");
    if (std::count(cpus.begin(), cpus.end(), cpu) > 1)
      throw BadInput("--cpus names processor " + std::to_string(cpu) +
                     " twice; name each processor once");
  }
  const Size& size = *std::find_if(std::begin(kSizes), std::end(kSizes),
                                   [&](const Size& s) { return s.name == options.size; });
  if (contention_program().takes_stdout) give_stdout_away();
  print_line({{"event", "start"},
              {"program", contention_program().name},
              {"backend", "threads"},
              {"backend_version", standard_library()},
              {"variant", way.name},
              {"threads", threads.back()},
              {"size", size.name},
              {"cpus", available_cpus()}});
  try {
    const auto steadily =
        std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(options.seconds));
    std::string wrong;
    if (way.use == Use::alone) {
      wrong = run_alone(way, size, steadily);
    } else {
      Rounds rounds(way, size, threads, cpus);
      wrong = steadily.count() != 0 ? rounds.run_steadily(steadily) : rounds.run();
    }
    if (!wrong.empty()) return end_with("wrong", wrong, kWrong);
  } catch (...) {
    return end_with_exception();
  }
  return end_with("ok", "", kOk);
}

int main_checked(int argc, char** argv) {
  Options options;
  CLI::App app{std::string(contention_program().name) + ": " +
               std::string(contention_program().summary)};
  app.add_flag("--describe", options.describe, "print what this executable is, as one JSON object");
  app.add_flag("--run", options.run, "measure: one JSON line per window");
  app.add_option("--threads", options.threads,
                 "numbers of threads, such as 1,2,4; 1 is always measured")
      ->delimiter(',')
      ->check(CLI::Range(1u, 1024u));
  app.add_option("--cpus", options.cpus,
                 "processors in the order in which threads get them, such as 0,2,1,3; without it "
                 "all that the process may use, ascending")
      ->delimiter(',');
  app.add_option("--variant", options.way, "way of writing the operation, see --describe");
  app.add_option("--size", options.size, "smoke, quick or full: how long and how often")
      ->check(CLI::IsMember({"smoke", "quick", "full"}));
  app.add_option("--seconds", options.seconds,
                 "in place of rounds: the largest number of threads alone, for that long")
      ->check(CLI::Range(0.001, 1e6));
  return parse(app, argc, argv, [&options] {
    if (options.describe == options.run)
      throw BadInput("say either --describe or --run; --help lists the options");
    if (options.run) return measure(options);
    print_line(description());
    return static_cast<int>(kOk);
  });
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::guarded_main(std::string(bench::contention_program().name) + ".threads",
                             [=] { return bench::main_checked(argc, argv); });
}
