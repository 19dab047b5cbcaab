// The beginning and the end of recording in a process and in its forked children, and the agent's
// memory while the process locks all of its memory.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>

#include "probe/agent/loader.hpp"
#include "probe/agent/modules.hpp"
#include "probe/agent/programs.hpp"
#include "probe/agent/real.hpp"
#include "probe/agent/start.hpp"
#include "probe/agent/state.hpp"
#include "probe/agent/system.hpp"
#include "probe/agent/waits.hpp"

namespace threadmark::agent {

namespace {

// Kept beside `control`, which is idle in a child that does not record.
Control* own_control = nullptr;
std::int32_t own_pid = 0;

void* map(long size, long flags, long file, long place = 0) {
  const long at = raw_call(SYS_mmap, place, size, PROT_READ | PROT_WRITE, flags, file, 0);
  return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
}

Shared* open_shared() {
  const long file = raw_call(SYS_openat, AT_FDCWD, as_word(shared_path()), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  auto* to = static_cast<Shared*>(map(sizeof(Shared), MAP_SHARED, file));
  raw_call(SYS_close, file);
  if (to == nullptr) return nullptr;
  if (to->magic == kMagic && to->version == kVersion &&
      to->size_checked == static_cast<std::uint32_t>(sizeof(Shared)))
    return to;
  raw_call(SYS_munmap, as_word(to), sizeof(Shared));
  return nullptr;
}

// Ends the threads of the program that this program replaced in the process.
void end_former_threads(Shared* to) {
  const std::uint32_t used = get(to->threads_used);
  for (std::uint32_t i = 0; i < used && i < kThreads; ++i) {
    Thread& thread = to->threads[i];
    if (get(thread.use) != Thread::live || get(thread.process) != own_pid) continue;
    put(thread.end_ns, now_ns());
    publish(thread.use, Thread::ended);
  }
}

[[gnu::constructor]] void begin_recording(int, char** arguments, char** environment) {
  resolve();
  if (!take_environment(environment)) return;
  Shared* to = open_shared();
  if (to == nullptr || get(to->over) != 0) return;
  constexpr long kPrivate = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  auto* own = static_cast<Control*>(map(Control::kPage, kPrivate, -1));
  void* memory = map(static_cast<long>(thread_memory_size()), kPrivate, -1);
  if (own == nullptr || memory == nullptr) return;
  // If the kernel cannot do this, begin_child does it.
  raw_call(SYS_madvise, as_word(own), Control::kPage, 18 /* MADV_WIPEONFORK */);
  if (get(to->follow) != 0)
    map(sizeof heats, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, as_word(heats));
  rlimit limit{};
  raw_call(SYS_prlimit64, 0, RLIMIT_STACK, 0, as_word(&limit));
  constexpr std::uint64_t kUsual = 8U << 20, kMost = 1U << 30;
  const std::uint64_t size =
      limit.rlim_cur == 0 || limit.rlim_cur > kMost ? kUsual : limit.rlim_cur;
  const auto top = reinterpret_cast<std::uint64_t>(arguments);
  prepare_memory(memory, top - size, top, size);
  const bool first = see(to->attached) == 0;
  read_modules();
  prepare_threads();
  own->shared = to;
  own->pid = raw_call(SYS_getpid);
  own_pid = static_cast<std::int32_t>(own->pid);
  if (!first) end_former_threads(to);
  begin_image(own_pid, 0, now_ns());
  own_control = control = own;
  pass_on(to);
  {
    Busy busy;
    if (first) own_image();
    self();
  }
  // For fork, and for functions of the C library that fork.
  pthread_atfork(nullptr, nullptr, begin_child);
  if (!first) return;
  put(to->pid, own_pid);
  put(to->begin_ns, now_ns());
  publish(to->attached, 1);
}

// exit does not return to the start of the main thread, and calls no destructor of a key.
[[gnu::destructor]] void end_recording() { note_last_times(); }

template <class Call>
pid_t make_child(Site site, Call call) {
  {
    Busy busy;
    if (busy && shared_with_children() != nullptr) {
      mine.fork_stack = stack_of(site);
      mine.fork_ns = now_ns();
    }
  }
  Brief creating(site, Activity::creating);
  const pid_t child = call();
  if (child != 0) creating.end();
  return child;
}

// The function for a child of clone. The child has a copy of this object.
struct Start {
  int (*routine)(void*);
  void* argument;
};
int start_of_child(void* of) {
  const Start start = *static_cast<const Start*>(of);
  begin_child();
  return start.routine(start.argument);
}

}  // namespace

void begin_child() {
  const OfThread maker = mine;
  const std::int32_t forked = own_pid;
  be_idle();
  forget_threads();
  Shared* to = shared_with_children();
  if (to == nullptr || is_quiet()) return;
  const long parent = raw_call(SYS_getppid);
  if (parent == 0) {  // in its own namespace, with ids that the recorder does not know
    pass_on(nullptr);
    return;
  }
  forget_walks();
  own_pid = mine.tid = static_cast<std::int32_t>(raw_call(SYS_getpid));
  own_control->shared = to;
  own_control->pid = own_pid;
  const std::uint64_t now = now_ns();
  const std::uint64_t begin_ns = maker.fork_ns != 0 ? maker.fork_ns : now;
  begin_image(own_pid, forked, begin_ns);
  control = own_control;
  Busy busy;
  Thread* thread = new_thread();
  if (thread == nullptr) return;
  put(thread->maker, maker.tid != 0 ? maker.tid : forked);
  put(thread->made_at, maker.fork_stack);
  put(thread->begin_ns, begin_ns);
  Thread::Total& total = thread->total[static_cast<std::size_t>(Activity::starting)];
  put(total.ns, now - begin_ns);
  put(total.times, 1);
  begin_thread(thread);
}

THREADMARK_WRAP(pid_t, fork) {
  return make_child(THREADMARK_SITE, [] { return real().fork(); });
}
THREADMARK_WRAP(pid_t, _Fork) {
  return make_child(THREADMARK_SITE, [] {
    const pid_t child = real()._Fork();
    if (child == 0) begin_child();
    return child;
  });
}
THREADMARK_WRAP(int, clone, int (*routine)(void*), void* stack, int flags, void* argument, ...) {
  va_list list;
  va_start(list, argument);
  auto* parent_tid = va_arg(list, pid_t*);
  auto* storage = va_arg(list, void*);
  auto* child_tid = va_arg(list, pid_t*);
  va_end(list);
  if ((flags & CLONE_VM) != 0)
    return real().clone(routine, stack, flags, argument, parent_tid, storage, child_tid);
  Start start{routine, argument};
  return make_child(THREADMARK_SITE, [&] {
    return real().clone(start_of_child, stack, flags, &start, parent_tid, storage, child_tid);
  });
}

// mlockall counts all address space of the process and fills it with memory. The agent makes its
// tables as small as possible during the call, and they never become locked.
class Small {
 public:
  Small() : tables_{shared(), kKept, sizeof(Shared), false} {
    // Signal handlers find the agent busy. If there are other threads, they would need the tables.
    struct stat tasks{};
    constexpr unsigned kOfOneThread = 3;  // its entries: ., .. and the thread
    if (!busy_ || is_quiet() ||
        raw_call(SYS_newfstatat, AT_FDCWD, as_word("/proc/self/task"), as_word(&tasks), 0) != 0 ||
        tasks.st_nlink != kOfOneThread)
      return;
    threads_ = {thread_memory(), (thread_memory_in_use() + kKept - 1) / kKept * kKept,
                thread_memory_size()};
    for (Region* each : {&tables_, &threads_})
      each->small = raw_call(SYS_mremap, as_word(each->at), as_long(each->size),
                             as_long(each->kept), 0) == as_word(each->at);
  }
  ~Small() {
    for (const Region* each : {&tables_, &threads_}) {
      if (!each->small) continue;
      raw_call(SYS_munlock, as_word(each->at), as_long(each->kept));
      if (raw_call(SYS_mremap, as_word(each->at), as_long(each->kept), as_long(each->size), 0) !=
          as_word(each->at))
        be_idle();
    }
  }
  Small(const Small&) = delete;
  Small& operator=(const Small&) = delete;

 private:
  static constexpr std::size_t kKept = std::size_t{64} << 10;  // the largest page
  struct Region {
    void* at = nullptr;
    std::size_t kept = 0, size = 0;
    bool small = false;
  };
  static long as_long(std::size_t size) { return static_cast<long>(size); }

  Busy busy_;
  Region tables_, threads_;
};

THREADMARK_WRAP(int, mlockall, int flags) {
  const Small small;
  return real().mlockall(flags);
}

THREADMARK_WRAP(void, _exit, int status) {
  note_last_times();
  real()._exit(status);
}
THREADMARK_WRAP(void, _Exit, int status) {
  note_last_times();
  real()._exit(status);
}

THREADMARK_WRAP(int, dlclose, void* handle) {
  if (shared() == nullptr || is_of_start(handle)) return real().dlclose(handle);
  begin_unloading();
  const int result = real().dlclose(handle);
  end_unloading();
  return result;
}

}  // namespace threadmark::agent
