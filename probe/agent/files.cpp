// The wrappers of input, output and sleep. The calls are short as a rule. A wrapper takes its
// caller's stack only if the call was long or others wait for a lock of the thread.
#include <fcntl.h>

#include "probe/agent/real.hpp"
#include "probe/agent/waits.hpp"

namespace threadmark::agent {

namespace {

template <class Call>
auto brief(Site site, Activity activity, Call call) {
  Brief now(site, activity);
  const auto result = call();
  now.end();
  return result;
}

template <class Call>
auto on_file(Site site, int file, bool writes, Call call) {
  if (file < 0) return call();
  Brief now(site, Activity::io, ObjectKind::file, static_cast<std::uint64_t>(file));
  const auto result = call();
  now.end(writes, static_cast<std::int64_t>(result));
  return result;
}

}  // namespace

#define THREADMARK_BRIEF(activity, call) \
  return brief(THREADMARK_SITE, Activity::activity, [&] { return real().call; })
// A call that waits for no file is a sleep.
#define THREADMARK_POLL(call)                                                  \
  return brief(THREADMARK_SITE, count == 0 ? Activity::sleep : Activity::poll, \
               [&] { return real().call; })
#define THREADMARK_WRITE(call) \
  return on_file(THREADMARK_SITE, file, true, [&] { return real().call; })
#define THREADMARK_OTHER(call) \
  return on_file(THREADMARK_SITE, file, false, [&] { return real().call; })

THREADMARK_WRAP(int, sched_yield) { THREADMARK_BRIEF(yield, sched_yield()); }
THREADMARK_WRAP(int, nanosleep, const timespec* time, timespec* left) {
  THREADMARK_BRIEF(sleep, nanosleep(time, left));
}
THREADMARK_WRAP(int, clock_nanosleep, clockid_t clock, int flags, const timespec* time,
                timespec* left) {
  THREADMARK_BRIEF(sleep, clock_nanosleep(clock, flags, time, left));
}
THREADMARK_WRAP(int, usleep, unsigned time) { THREADMARK_BRIEF(sleep, usleep(time)); }
THREADMARK_WRAP(unsigned, sleep, unsigned time) { THREADMARK_BRIEF(sleep, sleep(time)); }

THREADMARK_WRAP(int, poll, pollfd* files, nfds_t count, int time) {
  THREADMARK_POLL(poll(files, count, time));
}
THREADMARK_WRAP(int, __poll_chk, pollfd* files, nfds_t count, int time, size_t size) {
  THREADMARK_POLL(__poll_chk(files, count, time, size));
}
THREADMARK_WRAP(int, ppoll, pollfd* files, nfds_t count, const timespec* time,
                const sigset_t* signals) {
  THREADMARK_POLL(ppoll(files, count, time, signals));
}
THREADMARK_WRAP(int, __ppoll_chk, pollfd* files, nfds_t count, const timespec* time,
                const sigset_t* signals, size_t size) {
  THREADMARK_POLL(__ppoll_chk(files, count, time, signals, size));
}
THREADMARK_WRAP(int, select, int count, fd_set* in, fd_set* out, fd_set* other, timeval* time) {
  THREADMARK_POLL(select(count, in, out, other, time));
}
THREADMARK_WRAP(int, pselect, int count, fd_set* in, fd_set* out, fd_set* other,
                const timespec* time, const sigset_t* signals) {
  THREADMARK_POLL(pselect(count, in, out, other, time, signals));
}
THREADMARK_WRAP(int, epoll_wait, int file, epoll_event* events, int count, int time) {
  THREADMARK_BRIEF(poll, epoll_wait(file, events, count, time));
}
THREADMARK_WRAP(int, epoll_pwait, int file, epoll_event* events, int count, int time,
                const sigset_t* signals) {
  THREADMARK_BRIEF(poll, epoll_pwait(file, events, count, time, signals));
}

THREADMARK_WRAP(ssize_t, read, int file, void* to, size_t size) {
  THREADMARK_OTHER(read(file, to, size));
}
THREADMARK_WRAP(ssize_t, __read_chk, int file, void* to, size_t size, size_t most) {
  THREADMARK_OTHER(__read_chk(file, to, size, most));
}
THREADMARK_WRAP(ssize_t, readv, int file, const iovec* to, int count) {
  THREADMARK_OTHER(readv(file, to, count));
}
THREADMARK_WRAP(ssize_t, pread, int file, void* to, size_t size, off_t at) {
  THREADMARK_OTHER(pread(file, to, size, at));
}
THREADMARK_WRAP(ssize_t, pread64, int file, void* to, size_t size, off_t at) {
  THREADMARK_OTHER(pread64(file, to, size, at));
}
THREADMARK_WRAP(ssize_t, __pread_chk, int file, void* to, size_t size, off_t at, size_t most) {
  THREADMARK_OTHER(__pread_chk(file, to, size, at, most));
}
THREADMARK_WRAP(ssize_t, __pread64_chk, int file, void* to, size_t size, off_t at, size_t most) {
  THREADMARK_OTHER(__pread64_chk(file, to, size, at, most));
}
THREADMARK_WRAP(ssize_t, preadv, int file, const iovec* to, int count, off_t at) {
  THREADMARK_OTHER(preadv(file, to, count, at));
}
THREADMARK_WRAP(ssize_t, preadv64, int file, const iovec* to, int count, off_t at) {
  THREADMARK_OTHER(preadv64(file, to, count, at));
}
THREADMARK_WRAP(ssize_t, recv, int file, void* to, size_t size, int flags) {
  THREADMARK_OTHER(recv(file, to, size, flags));
}
THREADMARK_WRAP(ssize_t, __recv_chk, int file, void* to, size_t size, size_t most, int flags) {
  THREADMARK_OTHER(__recv_chk(file, to, size, most, flags));
}
THREADMARK_WRAP(ssize_t, recvfrom, int file, void* to, size_t size, int flags, sockaddr* from,
                socklen_t* from_size) {
  THREADMARK_OTHER(recvfrom(file, to, size, flags, from, from_size));
}
THREADMARK_WRAP(ssize_t, __recvfrom_chk, int file, void* to, size_t size, size_t most, int flags,
                sockaddr* from, socklen_t* from_size) {
  THREADMARK_OTHER(__recvfrom_chk(file, to, size, most, flags, from, from_size));
}
THREADMARK_WRAP(ssize_t, recvmsg, int file, msghdr* message, int flags) {
  THREADMARK_OTHER(recvmsg(file, message, flags));
}

THREADMARK_WRAP(ssize_t, write, int file, const void* from, size_t size) {
  THREADMARK_WRITE(write(file, from, size));
}
THREADMARK_WRAP(ssize_t, writev, int file, const iovec* from, int count) {
  THREADMARK_WRITE(writev(file, from, count));
}
THREADMARK_WRAP(ssize_t, pwrite, int file, const void* from, size_t size, off_t at) {
  THREADMARK_WRITE(pwrite(file, from, size, at));
}
THREADMARK_WRAP(ssize_t, pwrite64, int file, const void* from, size_t size, off_t at) {
  THREADMARK_WRITE(pwrite64(file, from, size, at));
}
THREADMARK_WRAP(ssize_t, pwritev, int file, const iovec* from, int count, off_t at) {
  THREADMARK_WRITE(pwritev(file, from, count, at));
}
THREADMARK_WRAP(ssize_t, pwritev64, int file, const iovec* from, int count, off_t at) {
  THREADMARK_WRITE(pwritev64(file, from, count, at));
}
THREADMARK_WRAP(ssize_t, send, int file, const void* from, size_t size, int flags) {
  THREADMARK_WRITE(send(file, from, size, flags));
}
THREADMARK_WRAP(ssize_t, sendto, int file, const void* from, size_t size, int flags,
                const sockaddr* to, socklen_t to_size) {
  THREADMARK_WRITE(sendto(file, from, size, flags, to, to_size));
}
THREADMARK_WRAP(ssize_t, sendmsg, int file, const msghdr* message, int flags) {
  THREADMARK_WRITE(sendmsg(file, message, flags));
}

THREADMARK_WRAP(int, accept, int file, sockaddr* from, socklen_t* size) {
  THREADMARK_OTHER(accept(file, from, size));
}
THREADMARK_WRAP(int, accept4, int file, sockaddr* from, socklen_t* size, int flags) {
  THREADMARK_OTHER(accept4(file, from, size, flags));
}
THREADMARK_WRAP(int, connect, int file, const sockaddr* to, socklen_t size) {
  THREADMARK_OTHER(connect(file, to, size));
}
THREADMARK_WRAP(int, fsync, int file) { THREADMARK_OTHER(fsync(file)); }
THREADMARK_WRAP(int, fdatasync, int file) { THREADMARK_OTHER(fdatasync(file)); }

}  // namespace threadmark::agent
