// The wrappers of waits for child processes: joins of their main threads.
#include "probe/agent/real.hpp"
#include "probe/agent/waits.hpp"

namespace threadmark::agent {

namespace {

template <class Call>
auto wait_for_child(Site site, pid_t child, int options, Call call) {
  if ((options & WNOHANG) != 0) return call();
  Wait waiting(site, Activity::join, child > 0 ? child : 0);
  const auto result = call();
  waiting.end(Activity::join);
  return result;
}

}  // namespace

THREADMARK_WRAP(pid_t, wait, int* status) {
  return wait_for_child(THREADMARK_SITE, 0, 0, [&] { return real().wait(status); });
}
THREADMARK_WRAP(pid_t, wait3, int* status, int options, rusage* used) {
  return wait_for_child(THREADMARK_SITE, 0, options,
                        [&] { return real().wait3(status, options, used); });
}
THREADMARK_WRAP(pid_t, wait4, pid_t child, int* status, int options, rusage* used) {
  return wait_for_child(THREADMARK_SITE, child, options,
                        [&] { return real().wait4(child, status, options, used); });
}
THREADMARK_WRAP(pid_t, waitpid, pid_t child, int* status, int options) {
  return wait_for_child(THREADMARK_SITE, child, options,
                        [&] { return real().waitpid(child, status, options); });
}
THREADMARK_WRAP(int, waitid, idtype_t sort, id_t child, siginfo_t* about, int options) {
  return wait_for_child(THREADMARK_SITE, sort == P_PID ? static_cast<pid_t>(child) : 0, options,
                        [&] { return real().waitid(sort, child, about, options); });
}

}  // namespace threadmark::agent
