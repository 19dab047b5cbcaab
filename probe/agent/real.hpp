// The functions that the agent wraps, as the next library defines them. The first call of any of
// them looks them all up, because constructors of libraries run before the agent's. The agent calls
// the clock itself, because a library before it may replace the clock.
#pragma once

#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cstdio>
#include <ctime>

namespace threadmark::agent {

// name of the symbol, result, parameters
#define THREADMARK_REAL(F)                                                                        \
  F(pthread_mutex_trylock, int, (pthread_mutex_t*))                                               \
  F(pthread_mutex_lock, int, (pthread_mutex_t*))                                                  \
  F(pthread_mutex_unlock, int, (pthread_mutex_t*))                                                \
  F(pthread_mutex_timedlock, int, (pthread_mutex_t*, const timespec*))                            \
  F(pthread_mutex_clocklock, int, (pthread_mutex_t*, clockid_t, const timespec*))                 \
  F(pthread_mutex_init, int, (pthread_mutex_t*, const pthread_mutexattr_t*))                      \
  F(pthread_rwlock_init, int, (pthread_rwlock_t*, const pthread_rwlockattr_t*))                   \
  F(pthread_barrier_init, int, (pthread_barrier_t*, const pthread_barrierattr_t*, unsigned))      \
  F(sem_init, int, (sem_t*, int, unsigned))                                                       \
  F(pthread_rwlock_rdlock, int, (pthread_rwlock_t*))                                              \
  F(pthread_rwlock_wrlock, int, (pthread_rwlock_t*))                                              \
  F(pthread_rwlock_tryrdlock, int, (pthread_rwlock_t*))                                           \
  F(pthread_rwlock_trywrlock, int, (pthread_rwlock_t*))                                           \
  F(pthread_rwlock_timedrdlock, int, (pthread_rwlock_t*, const timespec*))                        \
  F(pthread_rwlock_timedwrlock, int, (pthread_rwlock_t*, const timespec*))                        \
  F(pthread_rwlock_clockrdlock, int, (pthread_rwlock_t*, clockid_t, const timespec*))             \
  F(pthread_rwlock_clockwrlock, int, (pthread_rwlock_t*, clockid_t, const timespec*))             \
  F(pthread_rwlock_unlock, int, (pthread_rwlock_t*))                                              \
  F(pthread_spin_lock, int, (pthread_spinlock_t*))                                                \
  F(pthread_spin_trylock, int, (pthread_spinlock_t*))                                             \
  F(pthread_spin_unlock, int, (pthread_spinlock_t*))                                              \
  F(pthread_cond_wait, int, (pthread_cond_t*, pthread_mutex_t*))                                  \
  F(pthread_cond_timedwait, int, (pthread_cond_t*, pthread_mutex_t*, const timespec*))            \
  F(pthread_cond_clockwait, int, (pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)) \
  F(pthread_cond_signal, int, (pthread_cond_t*))                                                  \
  F(pthread_cond_broadcast, int, (pthread_cond_t*))                                               \
  F(pthread_barrier_wait, int, (pthread_barrier_t*))                                              \
  F(sem_wait, int, (sem_t*))                                                                      \
  F(sem_trywait, int, (sem_t*))                                                                   \
  F(sem_timedwait, int, (sem_t*, const timespec*))                                                \
  F(sem_clockwait, int, (sem_t*, clockid_t, const timespec*))                                     \
  F(sem_post, int, (sem_t*))                                                                      \
  F(pthread_testcancel, void, ())                                                                 \
  F(pthread_create, int, (pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))            \
  F(pthread_join, int, (pthread_t, void**))                                                       \
  F(pthread_timedjoin_np, int, (pthread_t, void**, const timespec*))                              \
  F(pthread_clockjoin_np, int, (pthread_t, void**, clockid_t, const timespec*))                   \
  F(pthread_once, int, (pthread_once_t*, void (*)()))                                             \
  F(pthread_key_create, int, (pthread_key_t*, void (*)(void*)))                                   \
  F(pthread_setspecific, int, (pthread_key_t, const void*))                                       \
  F(__cxa_guard_acquire, int, (void*))                                                            \
  F(__cxa_guard_release, void, (void*))                                                           \
  F(__cxa_guard_abort, void, (void*))                                                             \
  F(syscall, long, (long, long, long, long, long, long, long))                                    \
  F(prctl, int, (int, unsigned long, unsigned long, unsigned long, unsigned long))                \
  F(sched_yield, int, ())                                                                         \
  F(nanosleep, int, (const timespec*, timespec*))                                                 \
  F(clock_nanosleep, int, (clockid_t, int, const timespec*, timespec*))                           \
  F(usleep, int, (unsigned))                                                                      \
  F(sleep, unsigned, (unsigned))                                                                  \
  F(poll, int, (pollfd*, nfds_t, int))                                                            \
  F(ppoll, int, (pollfd*, nfds_t, const timespec*, const sigset_t*))                              \
  F(__poll_chk, int, (pollfd*, nfds_t, int, size_t))                                              \
  F(__ppoll_chk, int, (pollfd*, nfds_t, const timespec*, const sigset_t*, size_t))                \
  F(select, int, (int, fd_set*, fd_set*, fd_set*, timeval*))                                      \
  F(pselect, int, (int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*))             \
  F(epoll_wait, int, (int, epoll_event*, int, int))                                               \
  F(epoll_pwait, int, (int, epoll_event*, int, int, const sigset_t*))                             \
  F(read, ssize_t, (int, void*, size_t))                                                          \
  F(__read_chk, ssize_t, (int, void*, size_t, size_t))                                            \
  F(write, ssize_t, (int, const void*, size_t))                                                   \
  F(readv, ssize_t, (int, const iovec*, int))                                                     \
  F(writev, ssize_t, (int, const iovec*, int))                                                    \
  F(pread, ssize_t, (int, void*, size_t, off_t))                                                  \
  F(pread64, ssize_t, (int, void*, size_t, off_t))                                                \
  F(__pread_chk, ssize_t, (int, void*, size_t, off_t, size_t))                                    \
  F(__pread64_chk, ssize_t, (int, void*, size_t, off_t, size_t))                                  \
  F(pwrite, ssize_t, (int, const void*, size_t, off_t))                                           \
  F(pwrite64, ssize_t, (int, const void*, size_t, off_t))                                         \
  F(preadv, ssize_t, (int, const iovec*, int, off_t))                                             \
  F(preadv64, ssize_t, (int, const iovec*, int, off_t))                                           \
  F(pwritev, ssize_t, (int, const iovec*, int, off_t))                                            \
  F(pwritev64, ssize_t, (int, const iovec*, int, off_t))                                          \
  F(send, ssize_t, (int, const void*, size_t, int))                                               \
  F(sendto, ssize_t, (int, const void*, size_t, int, const sockaddr*, socklen_t))                 \
  F(sendmsg, ssize_t, (int, const msghdr*, int))                                                  \
  F(recv, ssize_t, (int, void*, size_t, int))                                                     \
  F(__recv_chk, ssize_t, (int, void*, size_t, size_t, int))                                       \
  F(recvfrom, ssize_t, (int, void*, size_t, int, sockaddr*, socklen_t*))                          \
  F(__recvfrom_chk, ssize_t, (int, void*, size_t, size_t, int, sockaddr*, socklen_t*))            \
  F(recvmsg, ssize_t, (int, msghdr*, int))                                                        \
  F(accept, int, (int, sockaddr*, socklen_t*))                                                    \
  F(accept4, int, (int, sockaddr*, socklen_t*, int))                                              \
  F(connect, int, (int, const sockaddr*, socklen_t))                                              \
  F(fsync, int, (int))                                                                            \
  F(fdatasync, int, (int))                                                                        \
  F(execve, int, (const char*, char* const*, char* const*))                                       \
  F(execvpe, int, (const char*, char* const*, char* const*))                                      \
  F(fexecve, int, (int, char* const*, char* const*))                                              \
  F(fork, pid_t, ())                                                                              \
  F(dl_iterate_phdr, int, (int (*)(dl_phdr_info*, size_t, void*), void*))                         \
  F(_Fork, pid_t, ())                                                                             \
  F(clone, int, (int (*)(void*), void*, int, void*, pid_t*, void*, pid_t*))                       \
  F(posix_spawn, int,                                                                             \
    (pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,            \
     char* const*, char* const*))                                                                 \
  F(posix_spawnp, int,                                                                            \
    (pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,            \
     char* const*, char* const*))                                                                 \
  F(system, int, (const char*))                                                                   \
  F(popen, FILE*, (const char*, const char*))                                                     \
  F(wait, pid_t, (int*))                                                                          \
  F(wait3, pid_t, (int*, int, rusage*))                                                           \
  F(wait4, pid_t, (pid_t, int*, int, rusage*))                                                    \
  F(waitpid, pid_t, (pid_t, int*, int))                                                           \
  F(waitid, int, (idtype_t, id_t, siginfo_t*, int))                                               \
  F(_exit, void, (int))                                                                           \
  F(mlockall, int, (int))                                                                         \
  F(clock_gettime, int, (clockid_t, timespec*))                                                   \
  F(dlclose, int, (void*))

struct Real {
#define THREADMARK_POINTER(name, result, parameters) result(*name) parameters;
  THREADMARK_REAL(THREADMARK_POINTER)
#undef THREADMARK_POINTER
};

extern Real table;

#if defined(__x86_64__)
// The conditions from before 2003 with another layout, which programs of that time still use.
struct OldConditions {
  int (*wait)(pthread_cond_t*, pthread_mutex_t*);
  int (*timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  int (*signal)(pthread_cond_t*);
  int (*broadcast)(pthread_cond_t*);
};
extern OldConditions old_conditions;
#endif

// Fills the table; a function that this C library does not have stays null.
void resolve();

// The table with all functions looked up.
[[gnu::always_inline]] inline const Real& real() {
  if (__builtin_expect(table.dlclose == nullptr, 0)) resolve();
  return table;
}

}  // namespace threadmark::agent

// The definition of a function of the C library, under another name for the compiler: the headers
// declare some of them with attributes that a wrapper cannot have.
#define THREADMARK_WRAP(result, name, ...)                                                        \
  extern "C" [[gnu::visibility("default")]] result threadmark_##name(__VA_ARGS__) __asm__(#name); \
  extern "C" result threadmark_##name(__VA_ARGS__)
