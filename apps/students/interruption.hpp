// Ctrl-C and SIGTERM: the handler notes them, and a writer ends at its next check, so that partial
// files can be removed. A second signal ends the process at once.
#pragma once

namespace students {

// From here on SIGINT, SIGTERM and SIGHUP are noted; ignored signals stay ignored. SIGXFSZ and
// SIGPIPE are ignored, so that such writes fail with a reason.
void note_signals();

// Throws Interrupted if a signal was noted. Any thread may call it.
void check_signals();

// Ends the process by this signal, as if it had never been caught, because shells distinguish that
// from a failure.
[[noreturn]] void end_by_signal(int number);

}  // namespace students
