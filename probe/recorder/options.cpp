// The command line.
#include "options.hpp"

#include <climits>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
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

// Finds a signal by its name, with or without SIG, or by its number; 0: there is none.
int signal_of(std::string_view text) {
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* name = ::sigabbrev_np(signal);
    if ((name != nullptr && text == name) || text == format("%d", signal)) return signal;
  }
  return 0;
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
  return "Usage: threadmark-record [OPTIONS] -- COMMAND...\n"
         "       threadmark-record [OPTIONS] --pid PID\n"
         "       threadmark-record --print FILE\n"
         "Records where the time of a program's threads goes.\n"
         "  -o, --output FILE  the record; without it threadmark.record\n"
         "  --follow           records the processes too that the program starts\n"
         "  --delay S          seconds before the recording begins\n"
         "  --duration S       seconds after which it ends\n"
         "  --ready COMMAND    begins when this command of the shell succeeds, tried for 60 s\n"
         "  --load COMMAND     runs this command of the shell, and ends with it\n"
         "  --stop SIGNAL      what the program gets after the load (TERM, if not given) or after\n"
         "                     the duration (nothing, if not given)\n"
         "  --set NAME=VALUE   a variable for the program alone; may be given several times\n"
         "  --agent LIB        the agent; without it libthreadmark-agent.so beside the recorder\n";
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
                       word == "--print" || word == "--ready" || word == "--load" ||
                       word == "--stop" || word == "--set";
    if (!known) return "There is no option " + word + "; --help names those that there are.";
    if (++i == count || words[i][0] == 0) return "The option " + word + " needs a value.";
    const std::string value = words[i];
    if (word == "-o" || word == "--output") {
      options.output = value;
    } else if (word == "--print") {
      options.print = value;
    } else if (word == "--ready") {
      options.ready = value;
    } else if (word == "--load") {
      options.load = value;
    } else if (word == "--stop") {
      options.stop_signal = signal_of(value);
      if (options.stop_signal == 0) return "There is no signal " + value + " for --stop.";
    } else if (word == "--set") {
      if (value.find('=') == 0 || value.find('=') == std::string::npos) {
        return "The option --set needs NAME=VALUE.";
      }
      options.variables.push_back(value);
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
  if (options.stop_signal != 0 && options.load.empty() && options.duration_ns == 0) {
    return "--stop needs --load or --duration, after which the signal is sent.";
  }
  if (options.pid != 0) {
    if (options.stop_signal != 0) return "--pid excludes --stop: the process is left alone.";
    if (!options.command.empty()) return "Give either --pid or a command, not both.";
    if (options.agent_named) return "--pid excludes --agent.";
    if (!options.variables.empty()) return "--pid excludes --set: the process runs already.";
    return {};
  }
  if (options.command.empty())
    return "There is no command to record; --help shows how to name one.";
  if (!options.load.empty() && options.stop_signal == 0) options.stop_signal = SIGTERM;
  if (options.agent.empty()) options.agent = beside_the_recorder();
  return {};
}

}  // namespace threadmark
