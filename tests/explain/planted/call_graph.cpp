// An instrumented interpreter: each call is noted with the module that the function lies in.
//
// category: loader
// holder: module_of
// certain: yes
// why: dladdr is called for each noted call, and it searches under the lock of the loader.

#include <dlfcn.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

using Function = double (*)(double);

const std::array<Function, 4> functions{
    static_cast<Function>(std::sqrt), static_cast<Function>(std::cbrt),
    static_cast<Function>(std::atan), static_cast<Function>(std::exp)};

[[gnu::noinline]] std::uint32_t module_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return 0;
  return static_cast<std::uint32_t>(std::strlen(info.dli_fname) != 0 ? 1 : 2);
}

class Tracer {
 public:
  void note(Function function) {
    void* address = nullptr;
    std::memcpy(&address, &function, sizeof address);
#ifdef WITHOUT_CAUSE
    const auto [found, added] = modules_.try_emplace(address, 0U);
    if (added) found->second = module_of(address);
    modules_seen_ += found->second;
#else
    modules_seen_ += module_of(address);
#endif
    ++calls_;
  }
  [[nodiscard]] bool complete() const { return modules_seen_ == calls_; }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }

 private:
  std::unordered_map<const void*, std::uint32_t> modules_;
  std::uint64_t modules_seen_ = 0;
  std::uint64_t calls_ = 0;
};

class Interpreter {
 public:
  // Runs a small program: values on a stack, an operation each.
  [[gnu::noinline]] std::uint64_t run(std::uint32_t program) {
    double value = 2 + program;
    for (std::uint32_t at = 0; at < 400; ++at) {
      const Function function = functions[(program + at * 7) % functions.size()];
      tracer_.note(function);
      value = function(value) + at % 3;
      if (value > 50) value = 1;
    }
    return static_cast<std::uint64_t>(value * 1000);
  }
  [[nodiscard]] const Tracer& tracer() const { return tracer_; }

 private:
  Tracer tracer_;
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int programs = 4 * (1 + static_cast<int>(seconds * 200));
  Interpreter practice;
  std::uint64_t wanted = 0;
  for (std::uint32_t program = 0; program < 4; ++program) wanted += practice.run(program);
  std::vector<std::uint64_t> sums(threads);
  std::vector<char> complete(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      Interpreter interpreter;
      std::uint64_t sum = 0;
      for (int p = t; p < programs; p += threads) sum += interpreter.run(p % 4);
      sums[t] = sum;
      complete[t] = interpreter.tracer().complete() ? 1 : 0;
    });
  }
  for (auto& each : workers) each.join();
  std::uint64_t total = 0;
  bool right = true;
  for (int t = 0; t < threads; ++t) {
    total += sums[t];
    right = right && complete[t] == 1;
  }
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / (programs / 4)));
  return right && total == wanted * (programs / 4) ? 0 : 1;
}
