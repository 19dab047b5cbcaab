// errno after every kind of wrapped call: calls that succeed and fail, that wait and do not wait.
// Errors and errno are those of the C library.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <utility>

#include "odd.hpp"

// The program passes wrong arguments on purpose.
#pragma GCC diagnostic ignored "-Wnonnull"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

namespace {

template <class Call>
void after(const char* what, Call call) {
  errno = 77;
  const long result = static_cast<long>(call());
  say("%s: %ld, %s", what, result, errno == 77 ? "untouched" : name_of(errno));
}

timespec soon() {
  timespec at{};
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec += 1'000'000;
  if (at.tv_nsec >= 1'000'000'000) {
    at.tv_nsec -= 1'000'000'000;
    ++at.tv_sec;
  }
  return at;
}

const timespec kBad{0, 1'000'000'001};

// Holds an object in another thread while `calls` run.
template <class Take, class Give, class Calls>
void held(Take take, Give give, Calls calls) {
  int pipes[2];
  if (pipe(pipes) != 0) return;
  sem_t taken;
  sem_init(&taken, 0, 0);
  const pthread_t other = begin([&] {
    take();
    sem_post(&taken);
    char byte;
    if (read(pipes[0], &byte, 1) == 1) give();
  });
  while (sem_wait(&taken) != 0) {
  }
  calls();
  if (write(pipes[1], "x", 1) != 1) say("no write");
  pthread_join(other, nullptr);
  close(pipes[0]);
  close(pipes[1]);
}

void locks() {
  for (const int kind : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_settype(&how, kind);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &how);
    say("mutex of kind %d", kind);
    after("lock", [&] { return pthread_mutex_lock(&mutex); });
    after("unlock", [&] { return pthread_mutex_unlock(&mutex); });
    after("bad time, free", [&] {
      const int result = pthread_mutex_timedlock(&mutex, &kBad);
      if (result == 0) pthread_mutex_unlock(&mutex);
      return result;
    });
    after("bad clock",
          [&] { return pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &kBad); });
    held([&] { pthread_mutex_lock(&mutex); }, [&] { pthread_mutex_unlock(&mutex); },
         [&] {
           after("trylock", [&] { return pthread_mutex_trylock(&mutex); });
           const timespec until = soon();
           after("timedlock", [&] { return pthread_mutex_timedlock(&mutex, &until); });
           after("bad time", [&] { return pthread_mutex_timedlock(&mutex, &kBad); });
           if (kind == PTHREAD_MUTEX_ERRORCHECK)
             after("unlock of another's", [&] { return pthread_mutex_unlock(&mutex); });
         });
    if (kind == PTHREAD_MUTEX_ERRORCHECK) {
      pthread_mutex_lock(&mutex);
      after("lock again", [&] { return pthread_mutex_lock(&mutex); });
      pthread_mutex_unlock(&mutex);
      after("unlock of a free one", [&] { return pthread_mutex_unlock(&mutex); });
    }
    after("destroy", [&] { return pthread_mutex_destroy(&mutex); });
  }
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  after("rdlock", [&] { return pthread_rwlock_rdlock(&lock); });
  after("second rdlock", [&] { return pthread_rwlock_tryrdlock(&lock); });
  after("trywrlock", [&] { return pthread_rwlock_trywrlock(&lock); });
  const timespec until = soon();
  after("timedwrlock", [&] { return pthread_rwlock_timedwrlock(&lock, &until); });
  after("unlock", [&] { return pthread_rwlock_unlock(&lock); });
  after("unlock", [&] { return pthread_rwlock_unlock(&lock); });
  after("wrlock", [&] { return pthread_rwlock_wrlock(&lock); });
  after("wrlock of the own", [&] { return pthread_rwlock_wrlock(&lock); });
  after("rdlock of the own", [&] { return pthread_rwlock_rdlock(&lock); });
  after("bad time", [&] { return pthread_rwlock_timedrdlock(&lock, &kBad); });
  after("bad clock", [&] { return pthread_rwlock_clockwrlock(&lock, CLOCK_BOOTTIME, &until); });
  after("unlock", [&] { return pthread_rwlock_unlock(&lock); });
  pthread_spinlock_t spin;
  pthread_spin_init(&spin, 0);
  after("spin", [&] { return pthread_spin_lock(&spin); });
  after("spin again", [&] { return pthread_spin_trylock(&spin); });
  after("spin unlock", [&] { return pthread_spin_unlock(&spin); });
}

void waits() {
  sem_t semaphore;
  after("sem_init", [&] { return sem_init(&semaphore, 0, 1); });
  after("sem_init, too large", [&] { return sem_init(&semaphore, 0, 1U << 31); });
  sem_init(&semaphore, 0, 1);
  after("sem_wait", [&] { return sem_wait(&semaphore); });
  after("sem_trywait", [&] { return sem_trywait(&semaphore); });
  const timespec until = soon();
  after("sem_timedwait", [&] { return sem_timedwait(&semaphore, &until); });
  after("bad time", [&] { return sem_timedwait(&semaphore, &kBad); });
  after("bad clock", [&] { return sem_clockwait(&semaphore, CLOCK_BOOTTIME, &until); });
  after("sem_post", [&] { return sem_post(&semaphore); });
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  after("timedwait", [&] { return pthread_cond_timedwait(&condition, &mutex, &until); });
  after("bad time", [&] { return pthread_cond_timedwait(&condition, &mutex, &kBad); });
  after("bad clock",
        [&] { return pthread_cond_clockwait(&condition, &mutex, CLOCK_BOOTTIME, &until); });
  pthread_mutex_unlock(&mutex);
  after("signal", [&] { return pthread_cond_signal(&condition); });
  after("broadcast", [&] { return pthread_cond_broadcast(&condition); });
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 1);
  after("barrier of none", [&] { return pthread_barrier_init(&barrier, nullptr, 0); });
  after("barrier", [&] { return pthread_barrier_wait(&barrier); });
  after("join of itself", [] { return pthread_join(pthread_self(), nullptr); });
  const pthread_t other = begin([] { sleep_us(3'000); });
  after("timedjoin", [&] { return pthread_timedjoin_np(other, nullptr, &until); });
  after("join", [&] { return pthread_join(other, nullptr); });
  static int word = 1;
  after("futex, other value", [] { return syscall(SYS_futex, &word, 0, 2, nullptr, nullptr, 0); });
  const timespec brief{0, 500'000};
  after("futex, by time", [&] { return syscall(SYS_futex, &word, 0, 1, &brief, nullptr, 0); });
  after("futex wake", [] { return syscall(SYS_futex, &word, 1, 1, nullptr, nullptr, 0); });
  after("no such call", [] { return syscall(9'999); });
}

void files() {
  char text[8];
  iovec part{text, 1};
  const int null = open("/dev/null", O_RDWR);
  const int full = open("/dev/full", O_WRONLY);
  after("read of -1", [&] { return read(-1, text, 1); });
  after("read of 999", [&] { return read(999, text, 1); });
  after("read", [&] { return read(null, text, 1); });
  after("write", [&] { return write(null, text, 1); });
  after("write of a full one", [&] { return write(full, text, 1); });
  after("pread of a bad place", [&] { return pread(null, text, 1, -1); });
  after("readv of too many", [&] { return readv(null, &part, 1 << 20); });
  after("recv of a file", [&] { return recv(null, text, 1, 0); });
  after("send to nobody", [&] { return send(999, text, 1, MSG_NOSIGNAL); });
  after("accept of a file", [&] { return accept(null, nullptr, nullptr); });
  after("connect of a file", [&] { return connect(null, nullptr, 0); });
  after("fsync of a device", [&] { return fsync(null); });
  after("fdatasync of nothing", [] { return fdatasync(-1); });
  after("poll", [] { return poll(nullptr, 0, 1); });
  after("poll of too many", [] { return poll(nullptr, static_cast<nfds_t>(-1), 0); });
  after("select", [] {
    timeval time{0, -1};
    return select(0, nullptr, nullptr, nullptr, &time);
  });
  epoll_event event{};
  after("epoll_wait of a file", [&] { return epoll_wait(null, &event, 1, 0); });
  after("nanosleep", [] { return nanosleep(&kBad, nullptr); });
  after("clock_nanosleep", [] { return clock_nanosleep(-1, 0, &kBad, nullptr); });
  after("usleep", [] { return usleep(1); });
  after("sleep", [] { return sleep(0); });
  after("sched_yield", [] { return sched_yield(); });
  after("execve", [] { return execve("/no/such", nullptr, nullptr); });
  after("execlp", [] { return execlp("no-such-program", "x", static_cast<char*>(nullptr)); });
  after("fork", [] {
    const pid_t pid = fork();
    if (pid == 0) _exit(errno == 77 ? 0 : 1);
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  });
  close(null);
  close(full);
}

}  // namespace

int main() {
  locks();
  waits();
  files();
}
