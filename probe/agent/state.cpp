// Threads, objects, stacks and counts in the shared memory, and the agent's own memory of threads.
#include "probe/agent/state.hpp"

#include <pthread.h>

#include <cstring>

#include "probe/agent/modules.hpp"
#include "probe/agent/real.hpp"
#include "probe/agent/sharing.hpp"
#include "probe/agent/start.hpp"
#include "probe/agent/system.hpp"

namespace threadmark::agent {

constinit thread_local OfThread mine [[gnu::tls_model("initial-exec")]]{};

namespace {

// The target of `control` in a process that does not record.
constinit Control idle{};

constexpr std::size_t kProbes = 64;  // at most, for a search in a table

// The walk's access to the unwound stack: it reads only words within the bounds of that stack.
struct OwnStack {
  std::uint64_t low, high;
  bool read(std::uint64_t address, std::uint64_t& to) const {
    if (address < low || address > high || high - address < sizeof to) return false;
    std::memcpy(&to, reinterpret_cast<const void*>(address), sizeof to);
    return true;
  }
};

// The bounds of the stack that `address` lies in.
OwnStack bounds(Local& at, std::uint64_t address) {
  if (address >= at.stack_low && address < at.stack_high) return {address, at.stack_high};
  for (const auto& region : at.regions)
    if (address >= region.low && address < region.high) return {address, region.high};
  // Otherwise a program with many fibers would make the agent read the maps all the time.
  const std::uint64_t now = now_ns();
  if (now - at.region_ns < 10'000'000) return {address, address};
  at.region_ns = now;
  const Region found = region_of(address);
  auto& place = at.regions[at.next_region++ % Local::kRegions];
  place = {found.low, found.high};
  return {address, found.high > address ? found.high : address};
}

// Whether the stack that `known` describes is still there. The check starts at the innermost frame:
// as long as the return addresses are the same, the frames are the same, so the place of the next
// address is known.
bool stands(const Known& known, Site site) {
  const Stack& stack = shared()->stacks[known.id - 1];
  const std::uint32_t first = get(stack.first);
  for (std::uint32_t i = 0; i < known.depth; ++i) {
    if (known.slots[i] == 0) continue;
    std::uint64_t word;
    std::memcpy(&word, reinterpret_cast<const void*>(site.frame + known.slots[i]), sizeof word);
    if (word != get(shared()->frames[first + i])) return false;
  }
  return true;
}

StackId intern(const unwind::Frame* frames, std::uint32_t depth) {
  Shared* to = shared();
  const ImageId image = own_image();
  if (image == 0) return 0;
  std::uint64_t hash = depth | std::uint64_t{image - 1} << 32;
  for (std::uint32_t i = 0; i < depth; ++i) hash = hashed(hash, frames[i].pc);
  if (hash == 0) hash = 1;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    const std::size_t index = (hash + probe) % kStacks;
    Stack& stack = to->stacks[index];
    const std::uint64_t there = see(stack.hash);
    if (there == hash) return static_cast<StackId>(index + 1);
    if (there != 0) continue;
    if (get(to->frames_used) + depth > kFrames) break;
    if (!claim(stack.hash, hash)) {
      if (see(stack.hash) == hash) return static_cast<StackId>(index + 1);
      continue;
    }
    const std::uint32_t first = add(to->frames_used, depth);
    if (first + depth > kFrames) break;
    for (std::uint32_t i = 0; i < depth; ++i) put(to->frames[first + i], frames[i].pc);
    put(stack.first, first);
    put(stack.image, image);
    publish(stack.depth, depth);
    return static_cast<StackId>(index + 1);
  }
  add(to->lost[lost_stacks], 1);
  return 0;
}

// The frames from the wrapped function's caller on.
[[gnu::noinline]] std::uint32_t unwind_from(Site site, Local& at) {
  Modules modules;
  at.partial = false;
  unwind::read_registers(at.place.registers);
  at.place.call = false;
  OwnStack stack = bounds(at, site.frame);
  stack.low = at.place.registers.sp();
  // The agent's own frames come first, up to the frame that called the wrapped function.
  unwind::Frame own{};
  for (int i = 0; at.place.registers.sp() < site.frame; ++i) {
    const unwind::Module* module = modules.find(at.place.registers.pc() - (at.place.call ? 1 : 0));
    if (i == 16 || module == nullptr || module->header == 0) return 0;
    if (!unwind::step_by_table(*module, stack, at.place, at.scratch, own)) return 0;
  }
  at.frames[0] = {site.back, 0};
  if (at.place.registers.pc() != site.back) return 1;
  auto depth = static_cast<std::uint32_t>(
      1 + unwind::walk(at.place, stack, modules, at.scratch, at.frames + 1, kMostFrames - 1));
  at.partial = modules.is_partial();
  // The agent's start of a thread is no frame of the target's.
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < depth; ++i)
    if (!is_own(at.frames[i].pc)) at.frames[kept++] = at.frames[i];
  return kept;
}

void clear_thread(Thread& thread) {
  put(thread.tid, 0);
  put(thread.process, 0);
  put(thread.maker, 0);
  put(thread.made_at, 0);
  put(thread.begin_ns, 0);
  put(thread.end_ns, 0);
  put(thread.processor_ns, 0);
  put(thread.name[0], 0);
  put(thread.name[1], 0);
  begin_change(thread.version);
  put(thread.activity, Activity::running);
  put(thread.object, 0);
  put(thread.stack, 0);
  put(thread.since_ns, 0);
  put(thread.awaited, 0);
  end_change(thread.version);
  for (Thread::Total& total : thread.total) {
    put(total.ns, 0);
    put(total.times, 0);
  }
}

// Memory of threads that waited, reserved at the start.
constexpr std::uint32_t kLocals = 4096;
unsigned char* locals = nullptr;
std::atomic<std::uint8_t> local_used[kLocals];
std::atomic<std::uint32_t> local_hint{0};
std::uint64_t main_stack_low = 0, main_stack_high = 0, usual_stack = 0;

Local* new_local() {
  for (std::uint32_t probe = 0; probe < 64; ++probe) {
    const std::uint32_t index = (get(local_hint) + probe) % kLocals;
    if (get(local_used[index]) != 0 || !claim(local_used[index], 1)) continue;
    put(local_hint, index + 1);
    auto* to = reinterpret_cast<Local*>(locals + index * kLocalSize);
    to->stack_low = to->stack_high = 0;
    to->region_ns = 0;
    for (auto& region : to->regions) region = {0, 0};
    to->next_region = to->next_known = to->held = to->nested = 0;
    to->walks_since_ns = to->walked_ns = 0;
    for (Known& known : to->known) known.id = 0;
    return to;
  }
  return nullptr;
}

void free_local(Local* local) {
  const auto index = static_cast<std::size_t>(reinterpret_cast<unsigned char*>(local) - locals);
  publish(local_used[index / kLocalSize], 0);
  put(local_hint, index / kLocalSize);  // its pages exist
}

// The mapping of a stack has the requested size; above the stack lies the thread's own structure.
void know_stack(Local& at, std::uint64_t size) {
  const std::uint64_t here = address_of(__builtin_frame_address(0));
  if (here >= main_stack_low && here < main_stack_high) {
    at.stack_low = main_stack_low;
    at.stack_high = main_stack_high;
    return;
  }
  const auto top = static_cast<std::uint64_t>(pthread_self());
  if (top <= here || top - here > size) return;
  at.stack_high = top;
  at.stack_low = top - size;
}

}  // namespace

Control* control = &idle;

alignas(Control::kPage) constinit std::atomic<std::uint8_t> heats[kFilter]{};

void be_idle() { control = &idle; }

namespace {

// The state of this image. An image gets its number when it needs one, because most children are
// short.
struct {
  std::int32_t pid, forked;
  std::uint64_t begin_ns;
  std::atomic<ImageId> number;
} image{};
constexpr ImageId kNoImage = ~ImageId{0};

}  // namespace

void begin_image(std::int32_t pid, std::int32_t forked, std::uint64_t begin_ns) {
  image.pid = pid;
  image.forked = forked;
  image.begin_ns = begin_ns;
  put(image.number, 0);
}

ImageId own_image() {
  if (const ImageId known = see(image.number); known != 0) return known == kNoImage ? 0 : known;
  Shared* to = shared();
  const std::uint32_t index = add(to->images_used, 1);
  if (index >= kImages) {
    put(to->images_used, kImages);
    add(to->lost[lost_images], 1);
    put(image.number, kNoImage);
    return 0;
  }
  // Of two threads that come here at once, one leaves an entry without a pid.
  if (!claim(image.number, index + 1)) return see(image.number);
  put(to->images[index].forked, image.forked);
  put(to->images[index].begin_ns, image.begin_ns);
  publish(to->images[index].pid, image.pid);
  return index + 1;
}

void forget_threads() {
  for (auto& used : local_used) put(used, 0);
  put(local_hint, 0);
  mine = OfThread{};
}

void prepare_memory(void* thread_memory, std::uint64_t stack_low, std::uint64_t stack_high,
                    std::uint64_t usual) {
  locals = static_cast<unsigned char*>(thread_memory);
  main_stack_low = stack_low;
  main_stack_high = stack_high;
  usual_stack = usual;
}

std::size_t thread_memory_size() { return std::size_t{kLocals} * kLocalSize; }

void* thread_memory() { return locals; }

std::size_t thread_memory_in_use() {
  if (mine.local == nullptr) return kLocalSize;
  return static_cast<std::size_t>(reinterpret_cast<unsigned char*>(mine.local) - locals) +
         kLocalSize;
}

std::uint64_t hashed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ b) * 0x9e3779b97f4a7c15U;
  x ^= x >> 32;
  x = (x + b) * 0xd6e8feb86659fd93U;
  return x ^ x >> 29;
}

std::int32_t own_tid() {
  if (mine.tid != 0) return mine.tid;
  // The owner of a mutex is the thread's id, which the C library knows without a system call.
  pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  const Real& next = real();
  if (next.pthread_mutex_trylock(&mutex) == 0) {
    mine.tid = mutex.__data.__owner;
    next.pthread_mutex_unlock(&mutex);
  }
  return mine.tid;
}

Thread* new_thread() {
  Shared* to = shared();
  for (std::uint32_t probe = 0; probe < 64; ++probe) {
    const std::uint32_t index = (get(to->thread_hint) + probe) % kThreads;
    Thread& thread = to->threads[index];
    if (get(thread.use) != Thread::free || !claim(thread.use, Thread::live)) continue;
    put(to->thread_hint, index + 1);
    std::uint32_t used = get(to->threads_used);
    if (index >= used) {
      // Later slots were never written: the memory of a new memfd is zero.
      while (used <= index && !to->threads_used.compare_exchange_weak(used, index + 1)) {
      }
    } else {
      clear_thread(thread);
    }
    put(thread.process, image.pid);
    return &thread;
  }
  add(to->lost[lost_threads], 1);
  return nullptr;
}

void begin_thread(Thread* thread) {
  mine.self = thread;
  publish(thread->tid, own_tid());
  // The seed differs by thread: else of many threads that each take a lock once, all or none would
  // be noted.
  mine.random = static_cast<std::uint32_t>(own_tid()) * 2654435761U;
  mine.turn = static_cast<std::uint8_t>(next_random() % 64);
  at_thread_end();
}

Thread* self() {
  if (mine.self != nullptr) return mine.self;
  Thread* thread = new_thread();
  if (thread == nullptr) return nullptr;
  put(thread->begin_ns, now_ns());
  begin_thread(thread);
  return thread;
}

Local* local() {
  if (mine.local != nullptr) return mine.local;
  mine.local = new_local();
  if (mine.local != nullptr) know_stack(*mine.local, usual_stack);
  return mine.local;
}

namespace {

void say_last_words(Thread& thread) {
  if (!is_quiet()) {
    alignas(8) char name[16] = {};
    std::uint64_t words[2];
    raw_call(SYS_prctl, 16 /* PR_GET_NAME */, as_word(name));
    std::memcpy(words, name, sizeof words);
    put(thread.name[0], words[0]);
    put(thread.name[1], words[1]);
    put(thread.processor_ns, now_ns(CLOCK_THREAD_CPUTIME_ID));
  }
  put(thread.end_ns, now_ns());
}

}  // namespace

void note_last_times() {
  // A child of vfork, which has this memory too, is another process.
  if (shared() == nullptr || mine.self == nullptr || is_quiet() ||
      raw_call(SYS_getpid) != control->pid)
    return;
  say_last_words(*mine.self);
}

void end_thread() {
  Thread* thread = mine.self;
  mine.ended = true;
  if (thread == nullptr || shared() == nullptr) return;
  abandon_waits(~std::uint64_t{0});
  say_last_words(*thread);
  publish(thread->use, Thread::ended);
  mine.self = nullptr;
  if (mine.local != nullptr) free_local(mine.local);
  mine.local = nullptr;
}

namespace {

constexpr std::uint64_t kWalksSpan = 1'000'000'000, kWalksFree = 10'000'000, kWalksPart = 16,
                        kLongestWalk = 20'000;  // in a longer walk the thread had no processor

// Walks take at most a sixteenth of a thread's time, and 10 ms a second. For a program whose stacks
// differ at each call, as in a recursion, most stacks have the innermost frame only.
bool may_walk(Local& at, std::uint64_t now) {
  if (now - at.walks_since_ns > kWalksSpan) {
    at.walks_since_ns = now;
    at.walked_ns = 0;
  }
  return at.walked_ns <= kWalksFree + (now - at.walks_since_ns) / kWalksPart;
}

}  // namespace

StackId stack_of(Site site, bool whole) {
  Local* at = local();
  if (at == nullptr) return 0;
  // A lock class calls from one place, whichever thread takes the lock, so several stacks have the
  // same innermost frame. But the stacks of a recursion must not take the places of all others.
  Known* same = nullptr;
  std::size_t alike = 0;
  for (Known& each : at->known) {
    if (each.back != site.back || each.frame != site.frame || each.id == 0) continue;
    if (stands(each, site)) return each.id;
    same = &each;
    ++alike;
  }
  const std::uint64_t begin = now_ns();
  if (!whole && !may_walk(*at, begin)) {
    at->frames[0] = {site.back, 0};
    return intern(at->frames, 1);
  }
  Known& known = alike < Local::kAlike ? at->known[at->next_known++ % Local::kKnown] : *same;
  known.id = 0;
  const std::uint32_t depth = unwind_from(site, *at);
  const std::uint64_t took_ns = now_ns() - begin;
  at->walked_ns += took_ns < kLongestWalk ? took_ns : kLongestWalk;
  add(shared()->agent_ns, took_ns);
  if (depth == 0) return 0;
  const StackId id = intern(at->frames, depth);
  // Another thread may still be writing the entry: it has no frames to compare then.
  if (id == 0 || see(shared()->stacks[id - 1].depth) != depth) return id;
  if (at->partial) return id;
  known.back = site.back;
  known.frame = site.frame;
  known.depth = depth;
  for (std::uint32_t i = 0; i < depth; ++i) {
    const std::uint64_t slot = at->frames[i].slot;
    const std::uint64_t distance = slot - site.frame;
    if (slot != 0 && (slot < site.frame || distance > 0xffffffffU)) return id;
    known.slots[i] = slot == 0 ? 0 : static_cast<std::uint32_t>(distance);
  }
  known.id = id;
  return id;
}

namespace {

// The places at which objects were made that no thread has waited for yet. A later object with the
// same hash replaces an entry.
struct Made {
  std::atomic<std::uint64_t> key;
  std::atomic<StackId> stack;
};
constexpr std::size_t kMade = 1 << 13;
constinit Made made[kMade]{};

Made& made_of(std::uint64_t key) { return made[hashed(key, 1) % kMade]; }

std::uint32_t search_object(ObjectKind kind, std::uint64_t address, bool make) {
  Shared* to = shared();
  const ImageId own = own_image();
  if (own == 0) return 0;
  const std::uint64_t place = get(to->follow) != 0 ? shared_place(kind, address) : 0;
  const std::uint64_t key =
      place != 0 ? object_key(kind, kSharedImage, place) : object_key(kind, own, address);
  const std::uint64_t hash = hashed(key, 0);
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    const std::size_t index = (hash + probe) % kObjects;
    Object& object = to->objects[index];
    const std::uint64_t there = see(object.key);
    if (there == key) return static_cast<std::uint32_t>(index + 1);
    if (there != 0) continue;
    if (!make) return 0;
    if (claim(object.key, key)) {
      put(object.first_ns, now_ns());
      put(object.address, address);
      if (place != 0) put(object.type, kSharedByProcesses);
      const std::uint64_t made_key = object_key(kind, 1, address);
      const Made& where = made_of(made_key);
      if (get(where.key) == made_key) put(object.made_at, get(where.stack));
      publish(object.image, own);
    }
    if (see(object.key) == key) return static_cast<std::uint32_t>(index + 1);
  }
  if (make) add(to->lost[lost_objects], 1);
  return 0;
}

}  // namespace

void note_made(Site site, ObjectKind kind, std::uint64_t address) {
  // A program that makes locks in very many places must not fill the table of stacks with them.
  if (get(shared()->frames_used) > kFrames / 4) return;
  const StackId stack = stack_of(site);
  // A child has the objects that its parent made before the fork, whatever the numbers of the two
  // images.
  const std::uint64_t key = object_key(kind, 1, address);
  if (const std::uint32_t index = find_object(kind, address); index != 0)
    put(object_at(index).made_at, stack);
  Made& where = made_of(key);
  put(where.key, 0);
  put(where.stack, stack);
  publish(where.key, key);
}

std::uint32_t find_object(ObjectKind kind, std::uint64_t address) {
  return search_object(kind, address, false);
}

std::uint32_t find_or_make_object(ObjectKind kind, std::uint64_t address) {
  return search_object(kind, address, true);
}

void add_pair(std::uint32_t object, Activity activity, StackId waiter, StackId holder,
              std::uint64_t wait_ns) {
  Shared* to = shared();
  const std::uint64_t what = std::uint64_t{object} << 32 | static_cast<std::uint32_t>(activity);
  const std::uint64_t key = hashed(what, std::uint64_t{waiter} << 32 | holder) | 1;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    Pair& pair = to->pairs[((key >> 1) + probe) % kPairs];
    std::uint64_t there = see(pair.key);
    if (there == 0) {
      if (claim(pair.key, key)) {
        put(pair.object, object);
        put(pair.waiter, waiter);
        put(pair.holder, holder);
        publish(pair.activity, static_cast<std::uint32_t>(activity));
      }
      there = see(pair.key);
    }
    if (there != key) continue;
    add(pair.waits, 1);
    add(pair.wait_ns, wait_ns);
    return;
  }
  add(to->lost[lost_pairs], 1);
}

void add_hold(std::uint32_t object, StackId stack, std::uint32_t weight, std::uint64_t hold_ns,
              std::uint32_t waiters) {
  Shared* to = shared();
  const std::uint64_t key = hashed(object, std::uint64_t{stack} + 1) | 1;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    Hold& hold = to->holds[((key >> 1) + probe) % kHolds];
    std::uint64_t there = see(hold.key);
    if (there == 0) {
      if (claim(hold.key, key)) {
        put(hold.object, object);
        publish(hold.stack, stack);
      }
      there = see(hold.key);
    }
    if (there != key) continue;
    add(hold.holds, weight);
    add(hold.hold_ns, hold_ns * weight);
    if (waiters != 0) add(hold.blamed_ns, hold_ns * weight * waiters);
    return;
  }
  add(to->lost[lost_holds], 1);
}

}  // namespace threadmark::agent
