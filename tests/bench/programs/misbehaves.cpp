// A program that fails in the way that --arg how=N selects, so that a test can see every status of
// the harness.
#include <chrono>
#include <csignal>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "bench.hpp"

namespace {

enum How {
  right,
  wrong,
  throws,
  throws_no_exception,
  no_memory,
  no_thread,
  crashes,
  hangs,
  miscounts,
  refuses
};

class Misbehaves final : public bench::Instance {
 public:
  explicit Misbehaves(const bench::Arguments& arguments)
      : how_(static_cast<How>(arguments["how"])), at_(arguments["at"]) {
    if (how_ == refuses) throw bench::BadInput("this input is refused");
  }

  void clear() override { answer_ = 0; }
  void run(bench::Form) override {
    const bool now = repeat_++ == at_;
    bench::async([&] { answer_ = now && how_ == wrong ? 41 : 42; }).get();
    if (!now) return;
    switch (how_) {
      case throws:
        throw std::runtime_error("no \"luck\"\n\xff");
      case throws_no_exception:
        throw 1;
      case no_memory:
        throw std::bad_alloc();
      case no_thread:
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
      case crashes:
        std::raise(SIGKILL);
        break;  // the process can do nothing more, as in any crash
      case hangs:
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
      default:
        break;
    }
  }
  bench::Check check() override {
    return {.ok = answer_ == 42,
            .answer = std::to_string(answer_),
            .reason = "expected 42",
            .tasks = how_ == miscounts ? 2u : 1u};
  }

 private:
  How how_;
  std::int64_t at_;
  std::int64_t repeat_ = 0;
  int answer_ = 0;
};

}  // namespace

BENCH_PROGRAM(
        .name = "misbehaves", .summary = "fails on demand", .structure = "-", .granularity = "-",
        .synchronisation = "none", .origin = "-",
        .parameters = {{.name = "how",
                        .meaning = "what goes wrong",
                        .min = 0,
                        .max = refuses,
                        .smoke = 0,
                        .quick = 0,
                        .full = 0},
                       {.name = "at",
                        .meaning = "the repeat in which it does",
                        .min = 0,
                        .max = 9,
                        .smoke = 0,
                        .quick = 0,
                        .full = 0}},
        .input = "any bytes",
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<Misbehaves>(arguments);
        })
