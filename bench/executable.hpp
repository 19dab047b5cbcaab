// The common part of all executables of bench/: output, ending, and facts of the process and the
// platform. See ARCHITECTURE.md, "What an executable says".
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

// Prints one whole line at once, so that it survives any later event. Bytes that are not UTF-8 are
// replaced. Ends the process if it cannot write.
void print_line(const json& line);

// From here on lines go to the present target of descriptor 1, and descriptor 1 leads to an empty
// and readable file in memory. Must be called before the first line. std::system_error if there is
// no such file.
void give_stdout_away();

// Prints the last line; returns `code`.
int end_with(std::string_view status, const std::string& reason, Exit code);
// The same for the exception that is being handled. BadInput is rethrown.
int end_with_exception();

// Runs body, whose exceptions become one sentence on stderr, and returns the exit code.
int guarded_main(const std::string& name, const std::function<int()>& body);

json platform();  // compiler, standard library, C library, flags of the harness
std::string standard_library();

// A moment on a clock of all processes: on Linux the time of CLOCK_MONOTONIC.
inline std::int64_t since_boot_ns(std::chrono::steady_clock::time_point moment) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(moment.time_since_epoch()).count();
}

std::int64_t cpu_ns();  // of the process
// Nanoseconds that the living threads of this process waited for a processor although they could
// run. Ended threads are not in it, because the system does not keep their delay.
std::int64_t run_delay_ns();
std::int64_t voluntary_switches();
// Largest resident set of this program so far. The system's ru_maxrss is not usable, because it
// begins with the memory of the process that started this one.
std::int64_t max_rss_bytes();
unsigned available_cpus();
// The present time of a fixed computation, about 10 us. Its chains fill the units of a core, so it
// shows other users of that core, which the waits of a single chain would hide.
double yardstick_ns();

}  // namespace bench
