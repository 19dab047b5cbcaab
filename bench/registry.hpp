// The harness's view of a program and of a backend, with their types erased.
//
// The cast: a Program is the recipe, an Instance is one problem made from Arguments, a Backend is
// described by BackendInfo and started as a Runtime. An executable links exactly one Program and
// one Backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bad_input.hpp"

namespace bench {

// The stack of every thread that runs tasks, if a backend can choose it: uts nests thousands of
// tasks.
inline constexpr std::size_t stack_bytes = std::size_t{100} << 20;

// An integer that sets the amount of work. Values outside [min, max] are refused before the program
// sees them.
struct Parameter {
  std::string_view name;
  std::string_view meaning;
  std::int64_t min, max;
  std::int64_t smoke, quick, full;
};

// Everything an Instance is made from: checked values of all parameters, the seed, the input file's
// bytes.
class Arguments {
 public:
  Arguments(std::map<std::string, std::int64_t, std::less<>> values, std::uint64_t seed,
            std::optional<std::string> input, std::string_view form = {})
      : values_(std::move(values)), seed_(seed), input_(std::move(input)), form_(form) {}

  // Precondition: `name` is one of the program's parameters.
  std::int64_t operator[](std::string_view name) const { return values_.find(name)->second; }
  std::uint64_t seed() const { return seed_; }
  // Which of the program's forms is to run; empty for a program without.
  std::string_view form() const { return form_; }
  // The whole contents of the file given as --arg input=PATH, untrusted; nullopt when none was
  // given.
  const std::optional<std::string>& input() const { return input_; }

 private:
  std::map<std::string, std::int64_t, std::less<>> values_;
  std::uint64_t seed_;
  std::optional<std::string> input_;
  std::string_view form_;
};

// One of several equivalent forms of a program, independent of the launch of its tasks: --arg
// form=NAME. The lab measures each form as a problem of its own, so that its base is the same form
// on one thread.
struct NamedForm {
  std::string_view name;
  std::string_view meaning;
  bool quick = false;           // the profile quick also has it
  std::string_view lacks = {};  // why it is absent here, with the remedy
};

// The form of a program's parallelism: handles that it joins itself, the structured form, or a
// loop.
enum class Form { futures, fork_join, parallel_for };

// The verdict on one repeat. `answer` is short and comparable between backends; `reason` names the
// fault when !ok.
struct Check {
  bool ok = false;
  std::string answer;
  std::string reason;
  std::uint64_t tasks = 0;  // callables that this run gave to async, fork_join or spawn
  std::uint64_t nodes =
      0;  // work items, for programs whose amount of work depends on timing; else 0
};

// One problem. The harness calls prepare() once, then clear() run() check() for every repeat; it
// times run() alone.
class Instance {
 public:
  virtual ~Instance() = default;
  virtual void prepare() {}  // reference answers, if they need work of their own
  virtual void
  clear() = 0;  // destroys the last repeat's output, so that a run that does nothing fails check()
  virtual void run(Form) = 0;  // inside Runtime::run
  virtual Check
  check() = 0;  // against something obtained elsewhere, never against a copy of the same code
};

struct Program {
  std::string_view name;
  std::string_view summary;
  std::string_view structure;  // the columns of Table I of the INNCABS paper
  std::string_view granularity;
  std::string_view synchronisation;  // "none" or its means beyond joining
  std::string_view origin;
  std::vector<Parameter> parameters;
  std::string_view input =
      {};              // the original file format that --arg input=PATH accepts; empty: none
  bool locks = false;  // uses bench::mutex, so that serial's variant `locked` differs from `plain`
  bool fork_join = false;     // has Form::fork_join
  bool parallel_for = false;  // has Form::parallel_for, and no other
  std::vector<NamedForm> forms = {};
  // Cheap: memory and time are bounded by the parameters and the size of the input. Throws
  // BadInput.
  std::unique_ptr<Instance> (*make)(const Arguments&) = nullptr;
};

// A way of launching that a backend offers for Form::futures.
struct Variant {
  std::string_view name;
  bool parallel = true;    // false: can never use more than one thread
  bool for_locks = false;  // true: offered only for programs that lock
};

// A started backend. The constructor's cost is not timed, run()'s is.
class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual void run(void (*task)(void*), void* context) = 0;
};

struct BackendInfo {
  std::string_view name;
  std::string version;
  std::vector<Variant> variants;
  bool parallel;  // false: fork_join and parallel_for cannot use more than one thread either
  // `variant` is one of `variants`, "fork_join" or "parallel_for".
  std::unique_ptr<Runtime> (*start)(unsigned threads, std::string_view variant);
  // Check::tasks of all runs so far, as counted by a test's backend; nullptr for others.
  std::uint64_t (*tasks_counted)() = nullptr;
};

// Defined by BENCH_PROGRAM in the one program of the executable.
const Program& program();
const BackendInfo& backend();

}  // namespace bench
