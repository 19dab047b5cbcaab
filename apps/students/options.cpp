// The definitions.
#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <random>

#include "complaint.hpp"
#include "record.hpp"

namespace students {
namespace {

// 0 if the text is no size.
std::uint64_t size_of(std::string text) {
  constexpr std::string_view kUnits = "KMGT";
  unsigned shift = 0;
  if (!text.empty()) {
    const auto unit = kUnits.find(text.back());
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(unit) + 1);
      text.pop_back();
    }
  }
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end || number >> (63 - shift) != 0) return 0;
  return number << shift;
}

}  // namespace

void add_size(Options options, const std::string& names, const std::string& help,
              std::uint64_t least, const std::function<void(std::uint64_t)>& take) {
  const auto parse = [=](const std::string& text) {
    const std::uint64_t bytes = size_of(text);
    if (bytes == 0) {
      throw BadRequest(names + " must be a size such as 64M or 2G, not '" + text + "'.");
    }
    if (bytes < least) {
      throw BadRequest(names + " must be at least " + std::to_string(least >> 20) + "M, not '" +
                       text + "': the program and its buffers take that much.");
    }
    take(bytes);
  };
  options.parsed(names, parse, help).type("SIZE");
}

void add_data_options(Options options, Wishes& wishes) {
  Plan& plan = wishes.plan;
  options
      .number("-s,--students", "How many students", 1, kMostStudents,
              [&plan](auto number) { plan.students = number; })
      .required();
  options.number("-e,--exercises", "Exercises of each student [6]", 1, kMostExercises,
                 [&plan](auto number) { plan.exercises = number; });
  options.number(
      "-b,--bufsize",
      "Students in a block, within which each file has its own order [100]; less than 5 is 5", 1,
      kMostInBlock, [&wishes](auto number) { wishes.block = number; });
  options.number("--seed", "The same seed gives the same files [random]", 0, UINT64_MAX,
                 [&wishes](auto number) { wishes.seed = number; });
  options.text("--out", plan.folder, "The folder of the files [.]").type("DIR");
  options.flag("--fsync", plan.fsync, "Wait until the files are on the device");
}

void add_threads(Options options, Wishes& wishes, const std::string& absent) {
  options.number("--threads", "Threads [" + absent + "]", 1, kMostThreads,
                 [&wishes](auto number) { wishes.threads = number; });
}

void add_points(Options options, std::uint32_t& maximum) {
  maximum = kDefaultMaximum;
  options.number("--points", "The most points of the exam, an exercise and the project [5]", 1,
                 kMostPoints,
                 [&maximum](auto number) { maximum = static_cast<std::uint32_t>(number); });
}

Plan finish(const Wishes& wishes) {
  Plan plan = wishes.plan;
  const std::uint64_t block = wishes.block.value_or(100);
  plan.block = std::min(std::max(block, kLeastInBlock), plan.students);
  if (wishes.seed) {
    plan.seed = *wishes.seed;
  } else {
    std::random_device device;
    plan.seed = (std::uint64_t{device()} << 32) | device();
  }
  return plan;
}

void check_memory(const Plan& plan, std::uint64_t bytes, bool per_thread) {
  if (bytes <= kMostMemoryBytes) return;
  // The need grows with the block; a thousandth is for what does not.
  const std::uint64_t enough = kMostMemoryBytes / 1000 * 999 / (bytes / plan.block + 1);
  throw BadRequest("Blocks of " + std::to_string(plan.block) + " students with " +
                   std::to_string(plan.exercises) + " exercises need " +
                   std::to_string((bytes >> 20) + 1) + " MiB of memory, of which " +
                   std::to_string(kMostMemoryBytes >> 20) + " MiB may be used; choose --bufsize " +
                   std::to_string(enough) + " or less" +
                   (per_thread && plan.threads > 1 ? ", or fewer --threads." : "."));
}

std::uint64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
  }
  return 0;
}

std::string milliseconds(double elapsed_ms) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f ms", elapsed_ms);
  return text;
}

}  // namespace students
