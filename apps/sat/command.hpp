// The commands of tmk-sat and what they share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "document.hpp"
#include "model.hpp"

namespace sat {

// A part of what was asked for was done, and the output says so; exit status 1.
enum class Outcome { kWhole, kPartial };
using Command = std::function<Outcome()>;

Command add_info(CLI::App& app);
Command add_check(CLI::App& app);
Command add_map(CLI::App& app);
Command add_convert(CLI::App& app);
Command add_write(CLI::App& app);
Command add_generate(CLI::App& app);
Command add_replicate(CLI::App& app);

// An option whose value is a whole number of this range; any other is a students::BadRequest.
CLI::Option* add_number(CLI::App& app, const std::string& names, const std::string& help,
                        std::uint64_t least, std::uint64_t most, std::uint64_t& value);

struct Input {
  std::string path;
  std::uint64_t threads = 0;  // 0: the processors that the process may use
  bool has_partial = false;   // the command has the option
  bool partial = false;

  Team team() const;  // a signal ends what it does
};
void add_input(CLI::App& app, Input& input);
void add_threads(CLI::App& app, std::uint64_t& threads);

// Calls, and puts the file's name before what is wrong with it.
void name_file(const Input& input, const std::function<void()>& call);

// Prints and makes sure of it.
void print(const std::string& text);
// "  name      text\n"
std::string row(const std::string& name, const std::string& text);
// The lines for what a partial result leaves out, with `more` that were only counted;
// Outcome::kWhole if there are none.
Outcome print_problems(const std::vector<Problem>& problems, std::uint64_t more = 0);

}  // namespace sat
