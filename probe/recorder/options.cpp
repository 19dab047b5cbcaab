// The command line.
#include "options.hpp"

#include <climits>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "system.hpp"

namespace threadmark {
namespace {

bool seconds(const std::string& text, std::uint64_t& ns) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string::npos) return false;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != 0 || !std::isfinite(value) || value <= 0 || value > 1e9) return false;
  ns = static_cast<std::uint64_t>(value * 1e9);
  return true;
}

std::string beside_the_recorder() {
  std::string path(4096, 0);
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
  path += "libthreadmark-agent.so";
  return ::access(path.c_str(), R_OK) == 0 ? path : std::string();
}

std::string absolute(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  std::string found = real != nullptr ? real : "";
  std::free(real);
  return found;
}

}  // namespace

const char* usage() {
  return "Usage: threadmark-record [-o FILE] [--follow] [--delay S] [--duration S] [--agent LIB] "
         "-- "
         "COMMAND...\n"
         "       threadmark-record --pid PID [--delay S] [--duration S] [-o FILE]\n"
         "       threadmark-record --print FILE\n"
         "Records where the time of a program's threads goes, into threadmark.record if no FILE is "
         "given.\n";
}

std::string parse(int count, char** words, Options& options) {
  int i = 1;
  for (; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--") {
      ++i;
      break;
    }
    if (word == "-h" || word == "--help") {
      options.help = true;
      return {};
    }
    if (word == "--follow") {
      options.follow = true;
      continue;
    }
    if (word.empty() || word[0] != '-') break;
    const bool known = word == "-o" || word == "--output" || word == "--delay" ||
                       word == "--duration" || word == "--agent" || word == "--pid" ||
                       word == "--print";
    if (!known) return "There is no option " + word + "; --help names those that there are.";
    if (++i == count || words[i][0] == 0) return "The option " + word + " needs a value.";
    const std::string value = words[i];
    if (word == "-o" || word == "--output") {
      options.output = value;
    } else if (word == "--print") {
      options.print = value;
    } else if (word == "--agent") {
      options.agent_named = true;
      options.agent = absolute(value);
      if (options.agent.empty() || ::access(options.agent.c_str(), R_OK) != 0) {
        return "The agent " + value + " cannot be read.";
      }
    } else if (word == "--pid") {
      char* end = nullptr;
      options.pid = std::strtol(value.c_str(), &end, 10);
      if (*end != 0 || options.pid <= 0 || options.pid > INT_MAX) {
        return "The process id " + value + " is not a positive number.";
      }
    } else if (!seconds(value, word == "--delay" ? options.delay_ns : options.duration_ns)) {
      return "The value " + value + " of " + word + " is not a positive number of seconds.";
    }
  }
  for (; i < count; ++i) options.command.emplace_back(words[i]);
  if (!options.print.empty()) {
    return options.command.empty() ? "" : "--print takes one file and no command.";
  }
  if (options.pid != 0) {
    if (!options.command.empty()) return "Give either --pid or a command, not both.";
    if (options.follow || options.agent_named) return "--pid excludes --follow and --agent.";
    return {};
  }
  if (options.command.empty())
    return "There is no command to record; --help shows how to name one.";
  if (options.agent.empty()) options.agent = beside_the_recorder();
  return {};
}

}  // namespace threadmark
