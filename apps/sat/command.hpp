// The commands of tmk-sat and their common parts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "document.hpp"
#include "model.hpp"
#include "students/program.hpp"

namespace sat {

// kPartial: the command did a part of the request, and its output says so; exit status 1.
enum class Outcome { kWhole, kPartial };
using Command = std::function<Outcome()>;

Command add_info(students::Options options);
Command add_check(students::Options options);
Command add_map(students::Options options);
Command add_convert(students::Options options);
Command add_write(students::Options options);
Command add_generate(students::Options options);
Command add_replicate(students::Options options);

using students::print;

struct Input {
  std::string path;
  std::uint64_t threads = 0;  // 0: the processors that the process may use
  bool has_partial = false;   // the command has the option
  bool partial = false;

  Team team() const;  // a signal ends its work
};
void add_input(students::Options options, Input& input);
void add_threads(students::Options options, std::uint64_t& threads);

// Calls, and puts the file's name before the message of an error.
void name_file(const Input& input, const std::function<void()>& call);

// "  name      text\n"
std::string row(const std::string& name, const std::string& text);
// Prints the lines about the omissions of a partial result, and `more` that were only counted.
// Returns Outcome::kWhole if there are none.
Outcome print_problems(const std::vector<Problem>& problems, std::uint64_t more = 0);

}  // namespace sat
