// What every executable of bench/ has in common: how it prints, ends, and what it can tell of its
// process and platform. See ARCHITECTURE.md, "What an executable says".
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "bad_input.hpp"

namespace bench {

using json = nlohmann::ordered_json;

// Exit codes; part of the interface.
enum Exit : int { kOk = 0, kUsage = 2, kWrong = 3, kRefused = 4, kOutOfMemory = 5, kCrashed = 6 };

// One line, whole, at once: what was printed survives whatever happens next. Bytes that are not
// UTF-8 are replaced. Ends the process when nothing can be written.
void print_line(const json& line);

// From here on lines go to where descriptor 1 leads now, and descriptor 1 leads to a file in
// memory, empty and readable. Before the first line. std::system_error if there is none to be had.
void give_stdout_away();

// Prints the last line; returns `code`.
int end_with(std::string_view status, const std::string& reason, Exit code);
// The same for the exception that is being handled. BadInput goes on.
int end_with_exception();

// Runs body, whose exceptions become one sentence on stderr, and returns the exit code.
int guarded_main(const std::string& name, const std::function<int()>& body);

json platform();  // compiler, standard library, C library, flags of the harness
std::string standard_library();

// A moment as other processes can read it: on Linux the time of CLOCK_MONOTONIC.
inline std::int64_t since_boot_ns(std::chrono::steady_clock::time_point moment) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(moment.time_since_epoch()).count();
}

std::int64_t cpu_ns();  // of the process
// Nanoseconds that the living threads of this process waited for a processor although they could
// run. Threads that have ended are not in it: the system does not keep theirs.
std::int64_t run_delay_ns();
std::int64_t voluntary_switches();
// Largest resident set of this program so far. The system's ru_maxrss would not do: it begins with
// what the process that started this one had in memory.
std::int64_t max_rss_bytes();
unsigned available_cpus();
// How long a fixed computation takes now: about 10 us. Its chains fill the units of a core, so that
// it shows who else uses that core, which the waits of a single chain would hide.
double yardstick_ns();

}  // namespace bench
