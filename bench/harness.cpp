// This is the only file that reads a clock, repeats, checks and prints. Compiled once per platform;
// see ARCHITECTURE.md, "What an executable says", for the lines it prints and the exit codes.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include "command_line.hpp"
#include "executable.hpp"
#include "registry.hpp"

namespace bench {
namespace {

constexpr unsigned kMostRepeats = 5000;  // with --seconds: readers take so many lines
constexpr std::uintmax_t kMaxInputBytes = std::uintmax_t{64} << 20;

struct Options {
  bool describe = false;
  bool run = false;
  unsigned threads = 1;
  std::string variant;
  std::string size = "quick";
  std::vector<std::string> arguments;
  std::uint64_t seed = 1;
  unsigned warmup = 1;
  unsigned repeats = 1;
  double seconds = 0;  // 0: `repeats` decides
};

// The variants of this executable: the backend's, less those for locks if the program has no locks,
// and fork_join; or parallel_for alone.
std::vector<Variant> variants() {
  if (program().parallel_for) return {{.name = "parallel_for", .parallel = backend().parallel}};
  std::vector<Variant> result = backend().variants;
  if (!program().locks) std::erase_if(result, [](const Variant& v) { return v.for_locks; });
  if (program().fork_join) result.push_back({.name = "fork_join", .parallel = backend().parallel});
  return result;
}

json description() {
  json line{{"program", program().name},
            {"summary", program().summary},
            {"structure", program().structure},
            {"granularity", program().granularity},
            {"synchronisation", program().synchronisation},
            {"origin", program().origin},
            {"backend", backend().name},
            {"backend_version", backend().version}};
  line["variants"] = json::array();
  for (const Variant& v : variants())
    line["variants"].push_back({{"name", v.name}, {"parallel", v.parallel}});
  line["platform"] = platform();
  line["parameters"] = json::array();
  for (const Parameter& p : program().parameters) {
    line["parameters"].push_back(
        {{"name", p.name},
         {"meaning", p.meaning},
         {"min", p.min},
         {"max", p.max},
         {"sizes", {{"smoke", p.smoke}, {"quick", p.quick}, {"full", p.full}}}});
  }
  if (!program().forms.empty()) line["forms"] = json::array();
  for (const NamedForm& f : program().forms) {
    line["forms"].push_back(
        {{"name", f.name}, {"meaning", f.meaning}, {"quick", f.quick}, {"lacks", f.lacks}});
  }
  line["input"] = program().input;
  line["contract"] = 1;
  return line;
}

std::string read_input(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw BadInput("input file '" + path +
                   "' does not exist or is not a regular file; name one with --arg input=PATH");
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > kMaxInputBytes) {
    throw BadInput("input file '" + path + "' cannot be read or is larger than 64 MiB");
  }
  std::ifstream file(path, std::ios::binary);
  std::string contents{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || contents.size() != size)
    throw BadInput("input file '" + path + "' cannot be read; check its permissions");
  return contents;
}

std::int64_t value_at(const Parameter& p, std::string_view size) {
  return size == "smoke" ? p.smoke : size == "quick" ? p.quick : p.full;
}

// The form of this name; for an empty name, the first form that is not lacking.
std::string_view form_named(std::string_view name) {
  std::string names;
  for (const NamedForm& f : program().forms) {
    if (f.name == name && !f.lacks.empty())
      throw BadInput("there is no form '" + std::string(name) + "' here: " + std::string(f.lacks));
    if (f.name == name || (name.empty() && f.lacks.empty())) return f.name;
    if (f.lacks.empty()) names += (names.empty() ? "" : ", ") + std::string(f.name);
  }
  if (name.empty() && program().forms.empty()) return {};
  if (names.empty()) throw BadInput(std::string(program().forms.front().lacks));
  throw BadInput("there is no form '" + std::string(name) + "' here; there is " + names);
}

std::string names_of_parameters() {
  std::string names;
  for (const Parameter& p : program().parameters)
    names += (names.empty() ? "" : ", ") + std::string(p.name);
  if (!program().input.empty()) names += names.empty() ? "input" : ", input";
  if (!program().forms.empty()) names += names.empty() ? "form" : ", form";
  return names;
}

Arguments make_arguments(const Options& options) {
  std::map<std::string, std::int64_t, std::less<>> values;
  for (const Parameter& p : program().parameters) values.emplace(p.name, value_at(p, options.size));
  std::optional<std::string> input;
  std::string_view form = form_named("");
  for (const std::string& argument : options.arguments) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string text = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (name == "input" && !program().input.empty()) {
      input = read_input(text);
      continue;
    }
    if (name == "form" && !program().forms.empty()) {
      form = form_named(text);
      continue;
    }
    const auto& all = program().parameters;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return p.name == name; });
    if (found == all.end()) {
      throw BadInput("'" + argument + "' names no parameter of " + std::string(program().name) +
                     "; there is " + names_of_parameters());
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < found->min ||
        value > found->max) {
      throw BadInput("--arg " + argument + " is not an integer from " + std::to_string(found->min) +
                     " to " + std::to_string(found->max));
    }
    values.insert_or_assign(name, value);
  }
  return {std::move(values), options.seed, std::move(input), form};
}

// Deep recursion on the first thread (uts: thousands of frames) needs more than the usual 8 MiB.
// The limit of a running process's first stack can be raised; threads made later keep the default
// that the C library read at start.
void raise_stack_limit() {
#if defined(__linux__)
  rlimit limit{};
  constexpr rlim_t wanted =
      rlim_t{100} << 20;  // the gap that the kernel always leaves below the stack is 128 MiB
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    setrlimit(RLIMIT_STACK, &limit);
  }
#endif
}

// The median of nine yardsticks, because an interruption of one of them is no slow core. It runs on
// the thread's own processor: visits to the others would drive the runtime's threads away, and the
// next repeat would begin with two threads on one processor.
double own_yardstick_ns() {
  std::array<double, 9> times{};
  std::generate(times.begin(), times.end(), yardstick_ns);
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// One repeat: clear, time, check, print. Adds its time to `seconds`. Returns the fault of the
// answer, or an empty text.
std::string repeat(Instance& instance, Runtime& runtime, Form form, unsigned index, bool warmup,
                   double& seconds) {
  instance.clear();
  struct Task {
    Instance& instance;
    Form form;
  } task{instance, form};
  const double yardstick_before = own_yardstick_ns();
  const std::uint64_t counted_before = backend().tasks_counted ? backend().tasks_counted() : 0;
  const std::int64_t switches_before = voluntary_switches();
  const std::int64_t delay_before = run_delay_ns();
  const std::int64_t cpu_before = cpu_ns();
  const auto start = std::chrono::steady_clock::now();
  runtime.run(
      [](void* context) {
        auto& t = *static_cast<Task*>(context);
        t.instance.run(t.form);
      },
      &task);
  const auto end = std::chrono::steady_clock::now();
  const std::int64_t cpu_after = cpu_ns();
  const std::int64_t delay_after = run_delay_ns();
  const std::int64_t switches_after = voluntary_switches();
  const double yardstick_after = own_yardstick_ns();
  Check check = instance.check();
  if (backend().tasks_counted) {
    const std::uint64_t counted = backend().tasks_counted() - counted_before;
    if (check.ok && counted != check.tasks) {
      check.ok = false;
      check.reason =
          "states " + std::to_string(check.tasks) + " tasks but made " + std::to_string(counted);
    }
  }
  json line{{"event", "repeat"},
            {"repeat", index},
            {"warmup", warmup},
            {"began_ns", since_boot_ns(start)},
            {"ended_ns", since_boot_ns(end)},
            {"wall_ns", std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count()},
            {"cpu_ns", cpu_after - cpu_before},
            {"run_delay_ns", std::max<std::int64_t>(0, delay_after - delay_before)},
            {"voluntary_switches", switches_after - switches_before},
            {"yardstick_ns", (yardstick_before + yardstick_after) / 2},
            {"max_rss_bytes", max_rss_bytes()},
            {"tasks", check.tasks},
            {"nodes", check.nodes},
            {"answer", check.answer},
            {"ok", check.ok}};
  if (!check.ok) line["reason"] = check.reason;
  print_line(line);
  seconds += std::chrono::duration<double>(end - start).count();
  return check.ok ? ""
                  : "repeat " + std::to_string(index) + " answered " + check.answer + ": " +
                        check.reason;
}

// FNV-1a, 64 bits: tells input files apart, whatever their paths.
std::string fingerprint(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

json start_line(const Options& options, const std::string& variant, const Arguments& arguments) {
  json values = json::object();
  for (const Parameter& p : program().parameters) values[std::string(p.name)] = arguments[p.name];
  if (!arguments.form().empty()) values["form"] = arguments.form();
  json line{{"event", "start"},          {"program", program().name},
            {"backend", backend().name}, {"backend_version", backend().version},
            {"variant", variant},        {"threads", options.threads},
            {"size", options.size},      {"seed", options.seed},
            {"arguments", values},       {"cpus", available_cpus()}};
  if (const auto& input = arguments.input()) {
    line["input"] = {{"bytes", input->size()}, {"fnv1a", fingerprint(*input)}};
  }
  return line;
}

int measure(const Options& options) {
  const auto all = variants();
  const std::string variant =
      options.variant.empty() ? std::string(all.front().name) : options.variant;
  if (std::none_of(all.begin(), all.end(), [&](const Variant& v) { return v.name == variant; })) {
    std::string names;
    for (const Variant& v : all) names += (names.empty() ? "" : ", ") + std::string(v.name);
    throw BadInput("there is no variant '" + variant + "' here; there is " + names);
  }
  const Arguments arguments = make_arguments(options);
  bool started = false;
  const auto start = [&] {
    if (!std::exchange(started, true)) print_line(start_line(options, variant, arguments));
  };
  try {
    const std::unique_ptr<Instance> instance = program().make(arguments);
    start();
    instance->prepare();
    const std::unique_ptr<Runtime> runtime = backend().start(options.threads, variant);
    const Form form = variant == "fork_join"      ? Form::fork_join
                      : variant == "parallel_for" ? Form::parallel_for
                                                  : Form::futures;
    double seconds = 0;
    const auto enough = [&](unsigned done) {
      if (options.seconds == 0) return done >= options.repeats;
      return seconds >= options.seconds || done >= kMostRepeats;
    };
    for (unsigned i = 0; i < options.warmup || !enough(i - options.warmup); ++i) {
      double ignored = 0;
      const bool warmup = i < options.warmup;
      const std::string wrong =
          repeat(*instance, *runtime, form, i, warmup, warmup ? ignored : seconds);
      if (!wrong.empty()) return end_with("wrong", wrong, kWrong);
    }
  } catch (const BadInput&) {
    throw;  // prepare() found what make() is too cheap to see
  } catch (...) {
    start();
    return end_with_exception();
  }
  return end_with("ok", "", kOk);
}

int main_checked(int argc, char** argv) {
  Options options;
  CLI::App app{std::string(program().name) + " on " + std::string(backend().name) + ": " +
               std::string(program().summary)};
  app.add_flag("--describe", options.describe, "print what this executable is, as one JSON object");
  app.add_flag("--run", options.run, "measure: one JSON line per repeat");
  app.add_option("--threads", options.threads, "workers")->check(CLI::Range(1u, 4096u));
  app.add_option("--variant", options.variant, "way of launching, see --describe");
  app.add_option("--size", options.size, "size of the problem")
      ->check(CLI::IsMember({"smoke", "quick", "full"}));
  app.add_option("--arg", options.arguments,
                 "name=value: a parameter of the program; input=PATH: its input file")
      ->take_all()
      ->expected(1);
  app.add_option("--seed", options.seed, "of the generated input");
  app.add_option("--warmup", options.warmup, "repeats before those that count")
      ->check(CLI::Range(0u, 1000u));
  auto* const repeats = app.add_option("--repeats", options.repeats, "repeats that count")
                            ->check(CLI::Range(1u, 1000000u));
  app.add_option("--seconds", options.seconds,
                 "in place of --repeats: as many as take that long together, at most 5000")
      ->check(CLI::Range(0.001, 1e6))
      ->excludes(repeats);
  return parse(app, argc, argv, [&options] {
    if (options.describe == options.run)
      throw BadInput("say either --describe or --run; --help lists the options");
    if (!options.describe) return measure(options);
    print_line(description());
    return static_cast<int>(kOk);
  });
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::raise_stack_limit();
  const std::string name =
      std::string(bench::program().name) + "." + std::string(bench::backend().name);
  return bench::guarded_main(name, [=] { return bench::main_checked(argc, argv); });
}
