// The memory that the agent in the target and the recorder outside share: one mapping of a memfd.
//
// The agent writes. The recorder reads while the target runs and after it has ended, in whatever
// way. protocol.md gives the order in which words are written and the conclusions that a reader may
// draw. Nothing here is a pointer, because the two map the memory at different addresses. All
// tables are append-only hash tables with open addressing: a key is claimed by one compare-and-swap
// and never changes, so a thread that dies in the middle leaves at most one entry without counts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace threadmark {

inline constexpr std::uint64_t kMagic = 0x31656b72616d6874;  // "thmarke1"
inline constexpr std::uint32_t kVersion = 3;

// The activity of a thread, as far as the agent knows it; `running` is everything that the agent
// does not see.
enum class Activity : std::uint32_t {
  running,
  mutex,            // waits for a pthread mutex
  read_lock,        // waits for a pthread_rwlock as a reader
  write_lock,       // ... as a writer
  spin_lock,        // pthread_spin_lock
  condition,        // pthread_cond_wait until it is signalled
  relock,           // from the signal until pthread_cond_wait returns
  timed_condition,  // a wait on a condition that ended by time
  barrier,
  semaphore,
  join,      // of a thread, or of a child process
  once,      // pthread_once, guards of function-local statics
  futex,     // syscall(SYS_futex) of a library or the program: atomics' wait, latches, futures
  sleep,     // nanosleep, clock_nanosleep, usleep, sleep
  yield,     // sched_yield
  poll,      // poll, select, epoll_wait; without files the first two are sleep
  io,        // read, write, send, recv, fsync, connect, accept, ...
  creating,  // inside pthread_create
  starting,  // from pthread_create until the new thread runs
};
inline constexpr std::size_t kActivities = 19;

enum class ObjectKind : std::uint32_t {
  mutex,
  rwlock,
  spin_lock,
  condition,
  barrier,
  semaphore,
  thread,  // of a join: the address is the thread's id
  once,
  futex,  // a word that a thread waits for with the system call
  file,   // the address is the descriptor
};

using Count = std::atomic<std::uint64_t>;
using StackId = std::uint32_t;  // 0: not known
using ImageId = std::uint32_t;  // index in Shared::images, plus 1; 0: not known

// One program in one process: from its exec, or from the fork that made the process, to its next
// exec or its end. Addresses have a meaning in one image only.
struct Image {
  std::atomic<std::int32_t> pid;     // written last; 0: not yet
  std::atomic<std::int32_t> forked;  // pid of the process that it was forked from; 0: after exec
  Count begin_ns;
};

// One thread of the target or of a process that it made. Only the thread itself writes, except to
// `use`.
struct alignas(64) Thread {
  enum Use : std::uint32_t { free, live, ended };
  std::atomic<std::uint32_t> use;  // the recorder frees an ended one after reading it
  std::atomic<std::int32_t> tid;
  std::atomic<std::int32_t> process;  // pid
  std::atomic<std::int32_t> maker;    // tid of the thread that made it
  std::atomic<StackId> made_at;       // the stack of pthread_create or fork
  Count begin_ns, end_ns;             // CLOCK_MONOTONIC; end 0 while it lives
  Count processor_ns;                 // its processor time at its end
  std::atomic<std::uint64_t> name[2];

  // The present activity. `version` is odd while the words below it change.
  std::atomic<std::uint32_t> version;
  std::atomic<std::uint32_t> activity;
  std::atomic<std::uint32_t> object;  // index in Shared::objects, plus 1; 0: none
  std::atomic<StackId> stack;         // of the wait
  Count since_ns;
  std::atomic<std::int32_t> awaited;  // tid of the holder when the wait began, or of the joined

  struct Total {
    Count ns, times;
  } total[kActivities];
};

// A lock, condition, ... that a thread waited for. An object that no thread waited for has no
// entry.
struct alignas(64) Object {
  Count key;                        // of kind, image and address (see object_key), 0: free
  Count address;                    // in the image that waited first; a thread id, a descriptor
  std::atomic<StackId> made_at;     // of pthread_mutex_init etc.; most objects have none
  std::atomic<std::uint32_t> type;  // of a mutex: PTHREAD_MUTEX_*; bit 8: shared by processes
  std::atomic<ImageId> image;       // that waited first; written last of these
  Count first_ns, waits, wait_ns, longest_ns;
  std::atomic<std::uint32_t> waiters;  // now
  // The holder, if it took the object after the first wait.
  std::atomic<std::int32_t> holder;
  std::atomic<StackId> holder_stack;
  Count taken_ns;
  Count holds, hold_ns;
  Count signals, broadcasts;  // the second: of the signals, those for all waiters
  Count signal_ns;            // of the last signal of a condition
  std::atomic<StackId> signal_stack;
  std::atomic<std::uint32_t> mutex;  // of a condition: its waiters lock it again; index plus 1
  // Of a condition: waits that were signalled and after which the thread waited for the condition
  // again with the same mutex, without having unlocked the mutex meanwhile.
  Count futile;
  Count bytes, writes;  // of files: bytes written, by `writes` calls (waits are all calls)
};

inline constexpr std::uint32_t kSharedByProcesses = 1 << 8;  // in Object::type

// The kind plus 1 in the upper 8 bits, so that no key is 0. The number of the image lies over the
// 12 bits below, of which addresses use 4 at most; the first image leaves the address as it is.
inline constexpr ImageId kSharedImage = 1 << 12;  // in keys of objects that processes share
constexpr std::uint64_t object_key(ObjectKind kind, ImageId image, std::uint64_t address) {
  const std::uint64_t number = (image - 1) & 0xfffU;
  return ((static_cast<std::uint64_t>(kind) + 1) << 56 | (address & 0x00ffffffffffffffU)) ^
         (number & 0xffU) << 48 ^ (number >> 8) << 44;
}

// A stack: `depth` return addresses from `first` in Shared::frames, innermost first.
struct Stack {
  Count hash;                               // 0: free
  std::atomic<ImageId> image;               // that the frames' addresses belong to
  std::atomic<std::uint32_t> first, depth;  // depth is written last; 0: being written
};

// A waiter and a holder: counts for (object, stack of the waiter, stack of the holder, activity).
struct Pair {
  Count key;  // hash of the four, 0: free
  std::atomic<std::uint32_t> object, activity;
  std::atomic<StackId> waiter, holder;
  Count waits, wait_ns;
};

// The holds of a lock: counts for (object, stack of the acquisition).
struct Hold {
  Count key;  // hash of both, 0: free
  std::atomic<std::uint32_t> object;
  std::atomic<StackId> stack;
  Count holds, hold_ns;
  Count blamed_ns;  // sum over its holds of hold time x waiters at the release
};

inline constexpr std::size_t kImages = kSharedImage - 1;
inline constexpr std::size_t kThreads = 1 << 14;
inline constexpr std::size_t kObjects = 1 << 15;
inline constexpr std::size_t kStacks = 1 << 16;
inline constexpr std::size_t kPairs = 1 << 16;
inline constexpr std::size_t kHolds = 1 << 16;
inline constexpr std::size_t kFrames = 1 << 21;
inline constexpr std::size_t kMostFrames = 64;  // of a stack

// Entries that were not recorded because a table was full, by table.
enum Lost : std::uint32_t {
  lost_threads,
  lost_objects,
  lost_stacks,
  lost_pairs,
  lost_holds,
  lost_images,
};

struct Shared {
  std::uint64_t magic;
  std::uint32_t version, size_checked;  // sizeof(Shared) modulo 2^32: both must be of one build
  std::atomic<std::uint32_t> follow;    // the recorder's word: children are recorded too
  std::atomic<std::uint32_t> over;      // the recorder's word: the recording has ended
  std::atomic<std::uint32_t> attached;  // 1 when the agent's constructor has run
  std::atomic<std::int32_t> pid;        // of the first process
  Count begin_ns;
  Count lost[8];
  std::atomic<std::uint32_t> frames_used;
  std::atomic<std::uint32_t> threads_used;  // no slot from here on was ever used
  std::atomic<std::uint32_t> thread_hint;   // where a free slot may be
  std::atomic<std::uint32_t> images_used;   // numbers in use
  Count agent_ns;                           // the agent's own time in waits: unwinding and tables

  Image images[kImages];
  Thread threads[kThreads];
  Object objects[kObjects];
  Stack stacks[kStacks];
  Pair pairs[kPairs];
  Hold holds[kHolds];
  std::atomic<std::uint64_t> frames[kFrames];
};

}  // namespace threadmark
