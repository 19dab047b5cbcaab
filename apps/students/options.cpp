// The definitions.
#include "options.hpp"

#include <sched.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <random>
#include <thread>

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

CLI::Option* add_number(CLI::App& app, const std::string& names, const std::string& help,
                        std::uint64_t least, std::uint64_t most,
                        const std::function<void(std::uint64_t)>& take) {
  const auto parse = [=](const std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, number);
    if (result.ec != std::errc() || result.ptr != end || number < least || number > most) {
      throw BadRequest(names + " must be a whole number from " + std::to_string(least) + " to " +
                       std::to_string(most) + ", not '" + text + "'.");
    }
    take(number);
  };
  return app.add_option_function<std::string>(names, parse, help)->type_name("N");
}

CLI::Option* add_size(CLI::App& app, const std::string& names, const std::string& help,
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
  return app.add_option_function<std::string>(names, parse, help)->type_name("SIZE");
}

void add_data_options(CLI::App& app, Wishes& wishes) {
  Plan& plan = wishes.plan;
  add_number(app, "-s,--students", "How many students", 1, kMostStudents, [&plan](auto number) {
    plan.students = number;
  })->required();
  add_number(app, "-e,--exercises", "Exercises of each student [6]", 1, kMostExercises,
             [&plan](auto number) { plan.exercises = number; });
  add_number(
      app, "-b,--bufsize",
      "Students in a block, within which each file has its own order [100]; less than 5 is 5", 1,
      kMostInBlock, [&wishes](auto number) { wishes.block = number; });
  add_number(app, "--seed", "The same seed gives the same files [random]", 0, UINT64_MAX,
             [&wishes](auto number) { wishes.seed = number; });
  app.add_option("--out", plan.folder, "The folder of the files [.]")->type_name("DIR");
  app.add_flag("--fsync", plan.fsync, "Wait until the files are on the device");
}

CLI::Option* add_threads(CLI::App& app, Wishes& wishes, const std::string& absent) {
  return add_number(app, "--threads", "Threads [" + absent + "]", 1, kMostThreads,
                    [&wishes](auto number) { wishes.threads = number; });
}

void add_points(CLI::App& app, std::uint32_t& maximum) {
  maximum = kDefaultMaximum;
  add_number(app, "--points", "The most points of the exam, an exercise and the project [5]", 1,
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

unsigned available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

std::uint64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
  }
  return 0;
}

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw Failure(std::string("Standard output cannot be written (") + std::strerror(errno) +
                  "); lead it elsewhere.");
  }
}

std::string milliseconds(double elapsed_ms) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f ms", elapsed_ms);
  return text;
}

}  // namespace students
