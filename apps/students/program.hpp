// The outside of the programs of this folder: commands with their options, one sentence for each
// problem, and an exit status.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "complaint.hpp"

// Only program.cpp includes CLI11, because each file that includes it takes seconds to compile.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace students {

class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}
  Option type(const char* name) const;  // the word for its value in the help
  Option required() const;
  Option hidden() const;  // absent from the help
  void excludes(Option other) const;

 private:
  CLI::Option* option_;
};

// The options of one command. `names` are as in "-o,--output"; without a dash it is a positional
// argument. Values are stored when the command line is read.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(&app) {}
  Option flag(const std::string& names, bool& value, const std::string& help);
  Option text(const std::string& names, std::string& value, const std::string& help);
  Option parsed(const std::string& names, const std::function<void(const std::string&)>& take,
                const std::string& help);
  // A whole number from `least` to `most`; any other is a BadRequest.
  Option number(const std::string& names, const std::string& help, std::uint64_t least,
                std::uint64_t most, const std::function<void(std::uint64_t)>& take);
  Option number(const std::string& names, const std::string& help, std::uint64_t least,
                std::uint64_t most, std::uint64_t& value);

  void keep_others();  // words that are no option are `others`, instead of an error
  void pass_on();      // all words from the first one that is no option on are `others`, --help too
  std::vector<std::string> others() const;

 private:
  CLI::App* app_;
};

using Run = std::function<Status()>;

struct Entry {
  const char* name;
  const char* summary;
  Run (*add)(Options options);  // adds the options; returns the function that runs the command
};

struct Program {
  const char* name;
  const char* about;
  const char* no_memory;  // the sentence for too little memory
  std::span<const Entry> commands;
};

// Returns the exit status, or ends by the signal that ended the command.
int main_of(const Program& program, int argc, char** argv);

unsigned available_processors();

// Prints; throws Failure if standard output cannot be written.
void print(const std::string& text);

}  // namespace students
