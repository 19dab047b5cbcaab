// `tmk-students limit`: the time to write the bytes of `generate` when they are in memory before
// the clock starts. No generator can be faster; `generate` is compared with it.
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <string>

#include "complaint.hpp"
#include "crew.hpp"
#include "interruption.hpp"
#include "options.hpp"
#include "output.hpp"
#include "text.hpp"

namespace students {
namespace {

// All four files are in memory at once.
constexpr std::uint64_t kMostTextBytes = std::uint64_t{4} << 30;

using Texts = std::array<std::string, kFiles>;

Texts prepared(const Plan& plan) {
  const Data data(plan);
  ChunkText chunk(plan, data);
  Texts texts;
  for (std::uint64_t i = 0; i < ChunkText::chunks(plan); ++i) {
    check_signals();
    chunk.make(i);
    for (std::size_t file = 0; file < kFiles; ++file) {
      texts[file] += chunk.text(static_cast<File>(file));
    }
  }
  return texts;
}

// Each thread takes the next file that nobody has taken.
void write(const Plan& plan, const Texts& texts, Output& output) {
  std::atomic<std::size_t> next{0};
  std::array<std::exception_ptr, kFiles> failures;
  const auto work = [&] {
    for (std::size_t i = next++; i < kFiles; i = next++) {
      try {
        check_signals();
        output.write(static_cast<File>(i), texts[i]);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    Crew crew;
    for (unsigned i = 1; i < plan.threads; ++i) crew.start(work);
    work();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void limit(const Plan& plan) {
  const std::uint64_t bytes = plan.students * (2 * plan.exercises + 64);
  if (bytes > kMostTextBytes) {
    throw BadRequest("limit keeps all files in memory, up to " + std::to_string(bytes >> 20) +
                     " MiB, and takes at most " + std::to_string(kMostTextBytes >> 20) +
                     " MiB; choose fewer --students or --exercises.");
  }
  check_memory(plan, ChunkText::memory_bytes(plan), false);
  const Texts texts = prepared(plan);
  const auto start = std::chrono::steady_clock::now();
  {
    Output output(plan.folder, plan.fsync);
    write(plan, texts, output);
    output.commit();
  }
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  print("Writing took " + milliseconds(elapsed.count()) + "\n");
}

}  // namespace

Command add_limit(Options options) {
  const auto wishes = std::make_shared<Wishes>();
  add_data_options(options, *wishes);
  add_threads(options, *wishes, "1");
  return [wishes] {
    Plan plan = finish(*wishes);
    plan.threads = static_cast<unsigned>(wishes->threads.value_or(1));
    limit(plan);
  };
}

}  // namespace students
