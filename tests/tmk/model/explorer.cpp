// The explorer: dynamic partial-order reduction (Flanagan and Godefroid 2005, with sleep sets) over
// an operational C++20 memory model with views. Long because scheduler, memory and race detector
// share one state; model.md explains them in this order. Compile it without instrumentation: it
// is itself the runtime of -fsanitize=thread for the scenarios.
#include "explorer.hpp"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace model {
namespace {

constexpr unsigned kLocations = 160;
constexpr unsigned kSteps = 3000;  // of one execution; the explorer takes more for an endless loop
constexpr std::size_t kHeapBytes = std::size_t{1} << 20;
constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr std::size_t kArenaBytes = kHeapBytes + kThreads * kStackBytes;
constexpr std::size_t kCellBytes = 1;  // resolution of plain accesses
constexpr unsigned kNobody = kThreads;

// ---------------------------------------------------------------- memory

using Clock = std::array<std::uint32_t, kThreads>;     // by thread, how many of its steps
using Floors = std::array<std::uint16_t, kLocations>;  // by location, the oldest store to be read

void join(Clock& into, const Clock& from) {
  for (unsigned i = 0; i < kThreads; ++i) into[i] = std::max(into[i], from[i]);
}
void join(Floors& into, const Floors& from) {
  for (unsigned i = 0; i < kLocations; ++i) into[i] = std::max(into[i], from[i]);
}

// The knowledge of a thread: the steps before its next one, and the stores that are too old for it.
struct View {
  Clock happened{};
  Floors floors{};
};
void join(View& into, const View& from) {
  join(into.happened, from.happened);
  join(into.floors, from.floors);
}

bool is_within(const View& small, const View& large) {
  bool within = true;
  for (unsigned i = 0; i < kThreads; ++i) within &= small.happened[i] <= large.happened[i];
  for (unsigned i = 0; i < kLocations; ++i) within &= small.floors[i] <= large.floors[i];
  return within;
}

struct Store {
  Word value = 0;
  View released;  // the knowledge that an acquire of this store gets
  Clock order{};  // of the step that made it
};

// An atomic. Its stores in modification order, which is the order of execution.
struct Location {
  const char* word = nullptr;
  std::size_t size = 0;
  std::vector<Store> stores;  // used up to `count`, kept between executions
  unsigned count = 0;
  unsigned first = 0;  // stores before it belong to an earlier object at the same address
  bool fresh = true;   // the initial value is in memory and not yet in `stores`
  Clock accessed{};
};

// For some bytes of the arena: their plain writes and reads, and whether an atomic is there.
struct Cell {
  std::uint32_t execution = 0;
  std::uint8_t writer = 0;
  bool freed = false;
  std::uint16_t location = 0;  // + 1
  std::uint32_t written = 0;
  Clock read{};
};

// ---------------------------------------------------------------- threads and their steps

enum class Kind : std::uint8_t {
  none,  // a start, an end, a yield: concerns no other thread
  load,
  store,
  change,
  wait,
  wake,
  light_fence,
  full_fence,
  heavy_fence,
};

struct Operation {
  Kind kind = Kind::none;
  std::uint16_t location = 0;
  bool ordered = false;  // is part of the order of the seq_cst
  Site site{};
  bool gated = false;      // waits until the word is zero, or has one of these bits
  std::uint32_t bits = 0;  // 0: zero
};

bool lets_through(const Operation& operation, Word value) {
  if (!operation.gated) return true;
  return operation.bits == 0 ? value == 0 : (value & operation.bits) != 0;
}

bool writes(Kind kind) { return kind == Kind::store || kind == Kind::change; }
bool has_word(Kind kind) { return kind >= Kind::load && kind <= Kind::wake; }

// Whether the order of two threads' steps can make a difference.
bool dependent(const Operation& a, const Operation& b) {
  const auto fence = [](const Operation& x, const Operation& y) {
    return (x.kind >= Kind::full_fence && y.ordered) ||
           (x.kind == Kind::heavy_fence && y.kind == Kind::light_fence);
  };
  if (fence(a, b) || fence(b, a)) return true;
  if (!has_word(a.kind) || !has_word(b.kind) || a.location != b.location) return false;
  if (a.kind == Kind::wake || b.kind == Kind::wake) {
    return (a.kind == Kind::wake || a.kind == Kind::wait) &&
           (b.kind == Kind::wake || b.kind == Kind::wait);
  }
  return writes(a.kind) || writes(b.kind);
}

enum class Status : std::uint8_t { absent, ready, yielding, sleeping, settling, ended };

struct Thread {
  Status status = Status::absent;
  ucontext_t context;  // the thread begins with it; later its registers are in `left`
  jmp_buf left;
  bool begun = false;
  const std::function<void()>* body = nullptr;
  View now;
  View at_fence;       // released by every store after the fence
  View relaxed_reads;  // acquired by the next fence
  Floors at_light_fence{};
  Clock order{};  // of dependent steps
  std::uint32_t steps = 0;
  Operation next;
  std::bitset<kLocations> read;  // since the last yield
  unsigned slept_on = 0;
  std::uint32_t mask = 0;
  unsigned timeouts = 0, rounds = 0;
  const void* gate = nullptr;  // the word on which the next step waits
  std::uint32_t gate_bits = 0;
  std::array<void*, 4> kept{};
};

// One choice of an execution: a thread that runs, or (`options` > 0) a store that a load reads.
struct Choice {
  std::uint8_t chosen = 0;
  std::uint8_t options = 0;
  std::uint8_t enabled = 0, wanted = 0, asleep = 0;  // sets of threads
  std::uint8_t before = 0;                           // the thread of the last step
  std::uint16_t preemptions = 0;                     // before this choice
  std::array<Operation, kThreads> next{};
  Clock order{}, order_at_first{};  // of the step made here; before it read
  std::uint16_t stored = 0;         // the store that it made, by location
  Word found = 0;                   // the location's newest value before the step

  bool preempts(unsigned thread) const { return thread != before && (enabled >> before & 1u) != 0; }
};

// A memory order of the scenario that is explored, or a part of one.
struct KnownOrder {
  const char* file = nullptr;
  unsigned line = 0, column = 0;
  char part = 0;
  bool kept = true;
};
constexpr std::size_t kSites = 512;

struct Explorer {
  Settings settings;
  const std::function<void()>* scenario = nullptr;
  std::vector<Choice> choices;
  std::size_t position = 0, replayed = 0;
  std::vector<std::size_t> steps;  // the place of each step in `choices`
  std::array<Thread, kThreads> threads;
  std::array<Location, kLocations> locations;
  std::array<Floors, kLocations> futexes;  // knowledge that passed through a futex's queue
  unsigned used_locations = 0;
  unsigned current = 0, started = 0, timeouts = 0;
  Floors sequential{}, heavy{};
  std::uint32_t execution = 0;
  std::size_t heap = 0;
  bool running = false;  // a thread's own code, not the explorer's
  bool recorded = true;  // whether the last step is in `steps`
  bool cut = false;      // equivalent to an earlier execution
  bool locks_spin = false, threads_ask = false, thieves_hear = false, wakers_choose = false;
  std::string failure;
  jmp_buf home;
  Site fence_site{};
  std::vector<std::pair<void**, void*>> slots;  // each with its initial value
  std::array<KnownOrder, kSites> known;
  std::size_t known_orders = 0;
  std::set<Order> seen;
  std::set<int> observed;
  char* arena = nullptr;
  std::unique_ptr<Cell[]> cells;

  Thread& self() { return threads[current]; }
};
// Never destroyed, and not allocated, because operator new uses it.
Explorer& the() {
  alignas(Explorer) static char space[sizeof(Explorer)];
  static Explorer* const one = ::new (space) Explorer;
  return *one;
}

// The explorer's own work: its allocations do not belong to the scenario.
struct Inside {
  bool before = std::exchange(the().running, false);
  Inside() = default;
  Inside(const Inside&) = delete;
  ~Inside() { the().running = before; }
};

std::string text_of(const Operation& operation) {
  static constexpr const char* kNames[] = {"runs",        "loads",      "stores",
                                           "changes",     "waits",      "wakes",
                                           "light fence", "full fence", "heavy fence"};
  std::string text = kNames[static_cast<int>(operation.kind)];
  if (has_word(operation.kind)) text += " #" + std::to_string(operation.location);
  const std::string file = operation.site.file_name();
  if (!file.empty()) {
    text += " at " + file.substr(file.rfind('/') + 1) + ":" +
            std::to_string(operation.site.line()) + " " + operation.site.function_name();
  }
  return text;
}

[[noreturn]] void leave_execution() { _longjmp(the().home, 1); }
[[noreturn]] void fail(const std::string& why) {
  Explorer& e = the();
  e.running = false;
  e.failure = why + " (thread " + std::to_string(e.current) + ")";
  for (std::size_t i = e.steps.size() > 100 ? e.steps.size() - 100 : 0; i < e.steps.size(); ++i) {
    const std::size_t at = e.steps[i];
    const Choice& choice = e.choices[at];
    e.failure += "\n  " + std::to_string(choice.chosen) + " " + text_of(choice.next[choice.chosen]);
    if (at + 1 < e.position && e.choices[at + 1].options > 1) {
      e.failure += "  (" + std::to_string(e.choices[at + 1].chosen) + " older)";
    }
  }
  leave_execution();
}

// swapcontext would make a system call for the mask of signals each time.
[[noreturn]] void go_on(Thread& thread) {
  if (thread.begun) _longjmp(thread.left, 1);
  thread.begun = true;
  setcontext(&thread.context);
  std::abort();
}
void switch_to(unsigned thread) {
  Explorer& e = the();
  if (thread == e.current) return;
  Thread& from = e.self();
  for (std::size_t i = 0; i < e.slots.size(); ++i) {
    from.kept[i] = std::exchange(*e.slots[i].first, e.threads[thread].kept[i]);
  }
  e.current = thread;
  if (_setjmp(from.left) == 0) go_on(e.threads[thread]);
}

std::uint8_t bit(unsigned thread) { return static_cast<std::uint8_t>(1u << thread); }

Word read_memory(const void* word, std::size_t size) {
  Word value = 0;
  std::memcpy(&value, word, size);
  return value;
}
// The newest value of the operation's word.
Word newest(const Operation& operation) {
  const Location& location = the().locations[operation.location];
  return read_memory(location.word, location.size);
}

// Threads whose next step can be made now. If there are none, threads that spin go on, and last the
// scenario.
std::uint8_t enabled_threads() {
  Explorer& e = the();
  const auto those = [&](Status status) {
    std::uint8_t set = 0;
    for (unsigned i = 0; i < e.started; ++i) {
      const Operation& next = e.threads[i].next;
      if (e.threads[i].status != status) continue;
      if (!next.gated || lets_through(next, newest(next))) set |= bit(i);
    }
    return set;
  };
  if (const std::uint8_t ready = those(Status::ready)) return ready;
  if (const std::uint8_t yielding = those(Status::yielding)) return yielding;
  return those(Status::settling);
}

// The oldest store that the thread may read.
unsigned oldest(std::uint16_t number, bool ordered) {
  Explorer& e = the();
  unsigned first = std::max<unsigned>(e.self().now.floors[number], e.locations[number].first);
  if (ordered) first = std::max<unsigned>(first, e.sequential[number]);
  return first;
}

// Whether the load may read an older store than the step's. That choice then stands for the load
// before the step, so the explorer need not try that order.
bool can_miss(const Operation& operation, const Choice& earlier) {
  return operation.kind == Kind::load && writes(earlier.next[earlier.chosen].kind) &&
         the().settings.reduced && !the().locations[operation.location].fresh &&
         oldest(operation.location, operation.ordered) < earlier.stored;
}

void want(Choice& choice, unsigned thread) {
  choice.wanted |= (choice.enabled & bit(thread)) != 0 ? bit(thread) : choice.enabled;
}

// Finds earlier steps that the explorer should also try after the current thread's step.
void find_races() {
  Explorer& e = the();
  Thread& self = e.self();
  Choice& now = e.choices[e.steps.back()];
  if (e.position < e.replayed) {  // known since the first execution that came here
    self.order = now.order = now.order_at_first;
    return;
  }
  if (has_word(self.next.kind)) now.found = newest(self.next);
  Clock passed{};
  for (std::size_t i = e.steps.size() - 1; i-- > 0;) {
    Choice& earlier = e.choices[e.steps[i]];
    const unsigned other = earlier.chosen;
    if (other == e.current || earlier.order[other] <= self.order[other] ||
        !dependent(earlier.next[other], self.next) || can_miss(self.next, earlier)) {
      continue;
    }
    if (!lets_through(self.next, earlier.found)) {  // nor could this step be made before that one
      join(passed, earlier.order);
      continue;
    }
    want(earlier, e.current);
    if (e.settings.preemptions != kUnbounded) {
      // If that step may be a preemption too many, the last change of threads is not.
      std::size_t start = i;
      while (start > 0 && e.choices[e.steps[start]].before == other) --start;
      want(e.choices[e.steps[start]], e.current);
    }
    join(self.order, earlier.order);
  }
  join(self.order, passed);
  ++self.order[e.current];
  now.order = now.order_at_first = self.order;
}

// Lets the explorer choose the thread of the next step; returns when that is the caller.
void reschedule() {
  Explorer& e = the();
  const std::uint8_t enabled = enabled_threads();
  if (enabled == 0 && e.threads[0].status != Status::ended) fail("the scenario sleeps for ever");
  if (enabled == 0) leave_execution();
  if (e.steps.size() > kSteps) fail("does not end");
  if (e.position == e.choices.size()) {
    Choice choice;
    choice.enabled = enabled;
    for (unsigned i = 0; i < e.started; ++i) choice.next[i] = e.threads[i].next;
    choice.before = static_cast<std::uint8_t>(e.current);
    if (!e.steps.empty()) {
      const Choice& before = e.choices[e.steps.back()];
      choice.preemptions = before.preemptions;
      if (before.preempts(before.chosen)) ++choice.preemptions;
    }
    // Sleep sets would lose executions that another order reaches only with a preemption too many.
    if (!e.steps.empty() && e.settings.reduced && e.settings.preemptions == kUnbounded) {
      const Choice& before = e.choices[e.steps.back()];
      for (unsigned i = 0; i < kThreads; ++i) {
        if ((before.asleep & bit(i)) != 0 && i != before.chosen &&
            !dependent(before.next[i], before.next[before.chosen])) {
          choice.asleep |= bit(i);
        }
      }
    }
    const unsigned awake = enabled & ~choice.asleep;
    if (awake == 0) {
      e.cut = true;
      leave_execution();
    }
    unsigned chosen = e.current;
    while ((awake >> chosen & 1u) == 0) chosen = (chosen + 1) % kThreads;
    choice.chosen = static_cast<std::uint8_t>(chosen);
    choice.wanted = e.settings.reduced ? bit(chosen) : enabled;
    e.choices.push_back(choice);
  }
  e.steps.push_back(e.position);
  switch_to(e.choices[e.position++].chosen);
  Thread& self = e.self();
  self.status = Status::ready;
  ++self.steps;
  find_races();
}

void step(Operation operation) {
  Explorer& e = the();
  e.self().next = operation;
  // The thread is alone before the first thread starts and after the last ends: no choice, no race.
  const auto over = [&](const Thread& thread) {
    return &thread == &e.self() || thread.status == Status::ended;
  };
  e.recorded = e.self().status == Status::sleeping ||
               !std::all_of(e.threads.begin(), e.threads.begin() + e.started, over);
  if (e.recorded) return reschedule();
  e.self().status = Status::ready;
  if (++e.self().steps > kSteps) fail("does not end");
}
// Later accesses come after the step just made.
void end_step() {
  Explorer& e = the();
  ++e.self().now.happened[e.current];
}

unsigned choose(unsigned options) {
  Explorer& e = the();
  if (options == 1) return 0;
  if (e.position == e.choices.size()) {
    Choice choice;
    choice.options = static_cast<std::uint8_t>(std::min(options, 255u));
    e.choices.push_back(choice);
  }
  return e.choices[e.position++].chosen;
}

// Goes to the next execution that has to be tried; false if there is none.
bool advance() {
  Explorer& e = the();
  for (; !e.choices.empty(); e.choices.pop_back()) {
    Choice& last = e.choices.back();
    if (last.options > 0) {
      if (++last.chosen < last.options) return true;
      continue;
    }
    last.asleep |= bit(last.chosen);
    unsigned left = last.wanted & last.enabled & ~unsigned{last.asleep};
    if (last.preemptions >= the().settings.preemptions && (last.enabled & bit(last.before)) != 0) {
      left &= bit(last.before);
    }
    if (left == 0) continue;
    last.chosen = static_cast<std::uint8_t>(std::countr_zero(left));
    return true;
  }
  return false;
}

// ---------------------------------------------------------------- plain memory

std::size_t cell_of(const void* address) {
  return static_cast<std::size_t>(static_cast<const char*>(address) - the().arena) / kCellBytes;
}
bool in_arena(const void* address) {
  const char* const arena = the().arena;
  const char* const at = static_cast<const char*>(address);
  return arena != nullptr && at >= arena && at < arena + kArenaBytes;
}
Cell& cell_at(std::size_t index) {
  Explorer& e = the();
  Cell& cell = e.cells[index];
  if (cell.execution != e.execution) {
    cell = Cell{};
    cell.execution = e.execution;
  }
  return cell;
}

void check_not_freed(const Cell& cell) {
  if (cell.freed) fail("uses memory after it was freed");
}
void check_written(const Cell& cell) {
  if (the().self().now.happened[cell.writer] < cell.written) {
    fail("data race with a plain write of thread " + std::to_string(cell.writer));
  }
}
void plain_read(const void* address, std::size_t size) {
  Explorer& e = the();
  if (!e.running || !in_arena(address)) return;
  const Inside inside;
  for (std::size_t i = cell_of(address); i * kCellBytes < cell_of(address) * kCellBytes + size;
       ++i) {
    Cell& cell = cell_at(i);
    check_not_freed(cell);
    check_written(cell);
    cell.read[e.current] = e.self().now.happened[e.current];
  }
}
void overwrite(Cell& cell) {
  Explorer& e = the();
  const Clock& happened = e.self().now.happened;
  check_written(cell);
  const auto check = [&](const Clock& accesses) {
    for (unsigned i = 0; i < kThreads; ++i) {
      if (happened[i] < accesses[i]) {
        fail("plain write races with an access of thread " + std::to_string(i));
      }
    }
  };
  check(cell.read);
  if (cell.location != 0) {
    Location& location = e.locations[cell.location - 1u];
    check(location.accessed);
    location.fresh = true;
  }
  cell.writer = static_cast<std::uint8_t>(e.current);
  cell.written = happened[e.current];
}
void plain_write(const void* address, std::size_t size) {
  Explorer& e = the();
  if (!e.running || !in_arena(address)) return;
  const Inside inside;
  for (std::size_t i = cell_of(address); i * kCellBytes < cell_of(address) * kCellBytes + size;
       ++i) {
    Cell& cell = cell_at(i);
    check_not_freed(cell);
    overwrite(cell);
  }
}

// Every execution gets the same addresses in the same order.
void* allocate(std::size_t size, std::size_t alignment) {
  Explorer& e = the();
  constexpr std::size_t kHead = 16;
  alignment = std::max(alignment, kHead);
  const std::size_t at = (e.heap + kHead + alignment - 1) / alignment * alignment;
  if (at + size > kHeapBytes) std::abort();
  e.heap = at + size;
  std::memcpy(e.arena + at - kHead, &size, sizeof size);
  return e.arena + at;
}
void release(void* address) {
  std::size_t size;
  std::memcpy(&size, static_cast<char*>(address) - 16, sizeof size);
  const Inside inside;
  for (std::size_t i = cell_of(address); i <= cell_of(static_cast<char*>(address) + size - 1);
       ++i) {
    Cell& cell = cell_at(i);
    check_not_freed(cell);
    overwrite(cell);
    cell.freed = true;
  }
}

// ---------------------------------------------------------------- atomic memory

// The number of the atomic at the address.
std::uint16_t locate(const void* word, std::size_t size) {
  Explorer& e = the();
  if (!in_arena(word)) fail("uses an atomic outside of the scenario");
  Cell& cell = cell_at(cell_of(word));
  if (cell.location == 0) {
    if (e.used_locations == kLocations) fail("too many atomics for the explorer");
    cell.location = static_cast<std::uint16_t>(++e.used_locations);
    Location& location = e.locations[e.used_locations - 1];
    location.word = static_cast<const char*>(word);
    location.size = size;
    location.count = location.first = 0;
    location.fresh = true;
    location.accessed = {};
    e.futexes[e.used_locations - 1] = {};
  }
  Location& location = e.locations[cell.location - 1u];
  if (location.word != word || location.size != size) fail("two atomics in one cell");
  return static_cast<std::uint16_t>(cell.location - 1u);
}
// Before each access: the object must exist, and its construction must have happened before.
Location& enter_location(std::uint16_t number) {
  Explorer& e = the();
  Location& location = e.locations[number];
  const Cell& cell = cell_at(cell_of(location.word));
  check_not_freed(cell);
  check_written(cell);
  if (location.fresh) {
    location.fresh = false;
    location.first = location.count;
    if (location.stores.size() == location.count) location.stores.emplace_back();
    Store& initial = location.stores[location.count++];
    initial = {.value = read_memory(location.word, location.size), .released = {}, .order = {}};
  }
  location.accessed[e.current] = e.self().now.happened[e.current];
  return location;
}

bool has(std::memory_order order, const char* part) {
  using Order = std::memory_order;
  return order == Order::acq_rel || order == (*part == 'a' ? Order::acquire : Order::release);
}
// Notes the parts of the order, and returns whether the explorer keeps this part.
bool keeps(Site site, const char* part) {
  Explorer& e = the();
  const auto file = reinterpret_cast<std::uintptr_t>(site.file_name());
  const std::size_t hash = file / 8 + site.line() * 97 + site.column() * 7 + std::size_t(*part);
  for (std::size_t i = hash % kSites;; i = (i + 1) % kSites) {
    KnownOrder& known = e.known[i];
    if (known.file == site.file_name() && known.line == site.line() &&
        known.column == site.column() && known.part == *part) {
      return known.kept;
    }
    if (known.file != nullptr) continue;
    if (++e.known_orders == kSites) fail("too many memory orders for the explorer");
    const std::string path = site.file_name();
    Order order{path.substr(path.rfind('/') + 1), site.line(), site.column(), part};
    const bool kept = order != e.settings.without;
    known = {site.file_name(), site.line(), site.column(), *part, kept};
    e.seen.insert(std::move(order));
    return kept;
  }
}
struct Effect {
  bool acquire, release, ordered;
};
Effect effect_of(std::memory_order order, Site site, bool reads, bool writes) {
  // seq_cst without a word is the default, and no part of it is left out.
  if (order == std::memory_order_seq_cst) return {reads, writes, true};
  return {reads && has(order, "acquire") && keeps(site, "acquire"),
          writes && has(order, "release") && keeps(site, "release"), false};
}

// Lets a loop that waits see the newest stores at last. True if there is one in a word it read.
bool catch_up(Thread& thread) {
  Explorer& e = the();
  bool news = false;
  for (unsigned i = 0; i < e.used_locations; ++i) {
    if (!thread.read[i]) continue;
    const auto last = static_cast<std::uint16_t>(e.locations[i].count - 1u);
    news = news || thread.now.floors[i] < last;
    thread.now.floors[i] = last;
  }
  return news;
}

void put(std::uint16_t number, Word value, const Effect& effect, const Store* continued) {
  Explorer& e = the();
  Thread& self = e.self();
  Location& location = e.locations[number];
  View released = effect.release ? self.now : self.at_fence;
  if (continued != nullptr) join(released, continued->released);
  if (location.stores.size() == location.count) location.stores.emplace_back();
  location.stores[location.count] = {value, released, self.order};
  self.now.floors[number] = static_cast<std::uint16_t>(location.count++);
  if (e.recorded) e.choices[e.steps.back()].stored = self.now.floors[number];
  if (effect.ordered) e.sequential[number] = self.now.floors[number];
  std::memcpy(const_cast<char*>(location.word), &value, location.size);
  for (unsigned i = 0; i < e.started; ++i) {
    Thread& other = e.threads[i];
    if (i == e.current || other.status != Status::yielding || !other.read[number]) continue;
    other.status = Status::ready;
    join(other.order, self.order);
    catch_up(other);
  }
}
void learn(std::uint16_t number, unsigned index, const Effect& effect) {
  Thread& self = the().self();
  const Store& store = the().locations[number].stores[index];
  self.now.floors[number] = std::max(self.now.floors[number], static_cast<std::uint16_t>(index));
  join(effect.acquire ? self.now : self.relaxed_reads, store.released);
  join(self.order, store.order);
  if (the().recorded) the().choices[the().steps.back()].order = self.order;
  self.read[number] = true;
}

// The stores that a load may read, the newest first. Of two with the same value the older store
// stands for both, if it brings no knowledge that the other lacks: a thread that reads it may go on
// in each way in which a reader of the other may.
class Readable {
 public:
  template <class F>
  Readable(std::uint16_t number, bool ordered, const F& fits) {
    const Location& location = the().locations[number];
    for (unsigned i = location.count; i-- > oldest(number, ordered);) {
      const Store& store = location.stores[i];
      if (!fits(store, i + 1 == location.count)) continue;
      unsigned kept = 0;
      for (unsigned j = 0; j < count_; ++j) {
        const Store& newer = location.stores[stores_[j]];
        const bool same = the().settings.reduced && newer.value == store.value;
        if (!same || !is_within(store.released, newer.released)) stores_[kept++] = stores_[j];
      }
      count_ = kept;
      if (count_ == stores_.size()) fail("too many values to read for the explorer");
      stores_[count_++] = i;
    }
  }
  Readable(std::uint16_t number, bool ordered)
      : Readable(number, ordered, [](const Store&, bool) { return true; }) {}
  unsigned choose() const { return stores_[model::choose(count_)]; }

 private:
  std::array<unsigned, 64> stores_;
  unsigned count_ = 0;
};

}  // namespace

// ---------------------------------------------------------------- steps of the scenarios

Word load(const void* word, std::size_t size, std::memory_order order, Site site) {
  if (!the().running) return read_memory(word, size);
  const Inside inside;
  Thread& self = the().self();
  const bool gated = self.gate == word;
  if (gated && self.gate_bits == 0) return 0;  // the thread waits in the change that follows
  const Effect effect = effect_of(order, site, true, false);
  const std::uint16_t number = locate(word, size);
  if (gated) self.gate = nullptr;
  const std::uint32_t bits = gated ? self.gate_bits : 0;
  step({Kind::load, number, effect.ordered, site, gated, bits});
  const Location& location = enter_location(number);
  const Readable readable(number, effect.ordered, [&](const Store& store, bool /*newest*/) {
    return !gated || (store.value & bits) != 0;
  });
  const unsigned index = readable.choose();
  learn(number, index, effect);
  const Word value = location.stores[index].value;
  end_step();
  return value;
}

void store(void* word, std::size_t size, Word value, std::memory_order order, Site site) {
  if (!the().running) {
    std::memcpy(word, &value, size);
    return;
  }
  const Inside inside;
  const Effect effect = effect_of(order, site, false, true);
  const std::uint16_t number = locate(word, size);
  step({Kind::store, number, effect.ordered, site});
  enter_location(number);
  put(number, value, effect, nullptr);
  end_step();
}

static Word result_of(Change how, Word value, Word operand) {
  switch (how) {
    case Change::exchange:
      return operand;
    case Change::add:
      return value + operand;
    case Change::subtract:
      return value - operand;
    case Change::bit_and:
      return value & operand;
    case Change::bit_or:
      return value | operand;
  }
  std::abort();
}
static Word truncated(Word value, std::size_t size) {
  return size == sizeof value ? value : value & ((Word{1} << (8 * size)) - 1);
}

Word change(void* word, std::size_t size, Change how, Word operand, std::memory_order order,
            Site site) {
  if (!the().running) {
    const Word value = read_memory(word, size);
    const Word changed = result_of(how, value, operand);
    std::memcpy(word, &changed, size);
    return value;
  }
  const Inside inside;
  const Effect effect = effect_of(order, site, true, true);
  const std::uint16_t number = locate(word, size);
  const bool gated = the().self().gate == word;
  if (gated) the().self().gate = nullptr;
  step({Kind::change, number, effect.ordered, site, gated, 0});
  Location& location = enter_location(number);
  const unsigned last = location.count - 1;
  learn(number, last, effect);
  const Word value = location.stores[last].value;
  const Store continued = location.stores[last];
  put(number, truncated(result_of(how, value, operand), size), effect, &continued);
  end_step();
  return value;
}

bool compare_exchange(void* word, std::size_t size, Word& expected, Word desired,
                      std::memory_order success, std::memory_order failure, Site site) {
  if (!the().running) {
    const Word value = read_memory(word, size);
    const bool equal = value == expected;
    if (equal) std::memcpy(word, &desired, size);
    expected = value;
    return equal;
  }
  const Inside inside;
  const Effect effect = effect_of(success, site, true, true);
  const std::uint16_t number = locate(word, size);
  step({Kind::change, number, effect.ordered, site});
  Location& location = enter_location(number);
  // A failure is a load, which may read any store whose value is not the expected one.
  const Readable readable(number, effect.ordered, [&](const Store& store, bool newest) {
    return newest || store.value != expected;
  });
  const unsigned index = readable.choose();
  const Store seen = location.stores[index];
  const bool equal = seen.value == expected;
  if (equal) {
    learn(number, index, effect);
    put(number, desired, effect, &seen);
  } else {
    const bool ordered = failure == std::memory_order_seq_cst;
    learn(number, index, {ordered || (has(failure, "acquire") && effect.acquire), false, ordered});
    expected = seen.value;
  }
  end_step();
  return equal;
}

void fence_of(Site site) { the().fence_site = site; }

static void strong_fence(Kind kind) {
  Explorer& e = the();
  if (!e.running) return;
  const Inside inside;
  const Site site = e.fence_site;
  if (!keeps(site, "fence")) return;
  step({kind, 0, true, site});
  Thread& self = e.self();
  join(self.now.floors, e.sequential);
  if (kind == Kind::heavy_fence) {
    for (unsigned i = 0; i < e.started; ++i) join(self.now.floors, e.threads[i].at_light_fence);
    join(e.heavy, self.now.floors);
  }
  join(self.now, self.relaxed_reads);
  join(e.sequential, self.now.floors);
  self.at_fence = self.now;
  end_step();
}
void thread_fence() { strong_fence(Kind::full_fence); }
void heavy_fence() { strong_fence(Kind::heavy_fence); }
void light_fence() {
  Explorer& e = the();
  if (!e.running || !membarrier_works()) return;
  const Inside inside;
  const Site site = e.fence_site;
  if (!keeps(site, "fence")) return;
  step({Kind::light_fence, 0, false, site});
  Thread& self = e.self();
  join(self.now.floors, e.heavy);
  self.at_light_fence = self.now.floors;
  end_step();
}
bool membarrier_works() {
  static const bool works = std::getenv("WITHOUT_MEMBARRIER") == nullptr;
  return works;
}

bool futex_wait(const void* word, std::uint32_t expected, bool timed, std::uint32_t mask) {
  Explorer& e = the();
  if (!e.running) std::abort();
  const Inside inside;
  const std::uint16_t number = locate(word, sizeof expected);
  step({Kind::wait, number, false, Site{}});
  Thread& self = e.self();
  const Location& location = enter_location(number);
  // The kernel's queue is locked: a thread that queues after a wake has the knowledge of the waker.
  join(self.now.floors, e.futexes[number]);
  const unsigned index = Readable(number, false).choose();
  learn(number, index, {false, false, false});
  join(e.futexes[number], self.now.floors);
  end_step();
  self.rounds = 0;
  if (location.stores[index].value != expected) return true;
  if (timed && self.timeouts > 0 && choose(2) == 1) {
    --self.timeouts;
    return false;
  }
  self.status = Status::sleeping;
  self.slept_on = number;
  self.mask = mask;
  step({});
  return true;
}

unsigned futex_wake(const void* word, unsigned most, std::uint32_t mask) {
  Explorer& e = the();
  if (!e.running) return 0;
  const Inside inside;
  // Memory in another use, or none: the kernel finds no thread, or wakes a thread in vain.
  if (!in_arena(word)) return 0;
  const Cell& cell = cell_at(cell_of(word));
  if (cell.location == 0) return 0;
  const unsigned wanted = most;
  const std::uint16_t number = static_cast<std::uint16_t>(cell.location - 1u);
  step({Kind::wake, number, false, Site{}});
  Thread& self = e.self();
  join(self.now.floors, e.futexes[number]);
  join(e.futexes[number], self.now.floors);
  for (unsigned i = 0; i < e.started && most > 0; ++i) {
    Thread& other = e.threads[i];
    if (other.status != Status::sleeping || other.slept_on != number || (other.mask & mask) == 0) {
      continue;
    }
    other.status = Status::ready;
    join(other.order, self.order);
    join(other.now.floors, e.futexes[number]);
    --most;
  }
  end_step();
  return wanted - most;
}

void let_locks_spin() { the().locks_spin = true; }
void let_threads_ask() { the().threads_ask = true; }
bool threads_ask() { return the().threads_ask; }
void let_thieves_hear() { the().thieves_hear = true; }
bool thieves_hear() { return the().thieves_hear; }
void let_wakers_choose() { the().wakers_choose = true; }
bool wakers_choose() { return the().wakers_choose; }
void when_zero(const void* word) {
  Explorer& e = the();
  if (!e.running || e.locks_spin) return;
  e.self().gate = word;
  e.self().gate_bits = 0;
}
void when_set(const void* word, std::uint32_t bits) {
  the().self().gate = word;
  the().self().gate_bits = bits;
}

void yield() {
  Explorer& e = the();
  if (!e.running) return;
  const Inside inside;
  Thread& self = e.self();
  if (!catch_up(self)) self.status = Status::yielding;
  step({});
  self.read.reset();
}
void begin_round() {
  Explorer& e = the();
  const Inside inside;
  Thread& self = e.self();
  if (++self.rounds <= 2) return;
  const std::bitset<kLocations> read = std::exchange(self.read, {});
  self.status = Status::yielding;  // the thread has read nothing, so no store wakes it
  step({});
  self.read = read;
  catch_up(self);
}

// Not freed, because it may be in use when the execution is cut.
static void start(const std::function<void()>& body) {
  Explorer& e = the();
  const Inside inside;
  if (e.started == kThreads) fail("too many threads for the explorer");
  const unsigned number = e.started++;
  Thread& thread = e.threads[number];
  // The state of a thread at the start of an execution.
  thread.status = Status::ready;
  thread.begun = false;
  thread.body = &body;
  thread.now = number == 0 ? View{} : e.self().now;
  thread.now.happened[number] = 1;
  thread.at_fence = thread.relaxed_reads = View{};
  thread.at_light_fence = {};
  thread.order = number == 0 ? Clock{} : e.self().order;
  thread.steps = 0;
  thread.timeouts = e.timeouts;
  thread.rounds = 0;
  thread.gate = nullptr;
  thread.next = {};
  thread.read.reset();
  for (std::size_t i = 0; i < e.slots.size(); ++i) thread.kept[i] = e.slots[i].second;
  getcontext(&thread.context);
  thread.context.uc_stack = {
      .ss_sp = e.arena + kHeapBytes + number * kStackBytes, .ss_flags = 0, .ss_size = kStackBytes};
  thread.context.uc_link = nullptr;
  makecontext(
      &thread.context,
      [] {
        Explorer& in = the();
        in.running = true;
        (*in.self().body)();
        in.running = false;
        in.self().status = Status::ended;
        in.self().next = {};
        reschedule();
        std::abort();
      },
      0);
  if (number != 0) end_step();
}
void spawn(std::function<void()> body) { start(*new std::function<void()>(std::move(body))); }

unsigned settle() {
  Explorer& e = the();
  const Inside inside;
  e.self().status = Status::settling;
  step({});
  unsigned asleep = 0;
  for (unsigned i = 0; i < e.started; ++i) {
    if (i == e.current) continue;
    join(e.self().order, e.threads[i].order);
    join(e.self().now, e.threads[i].now);
    if (e.threads[i].status != Status::ended) ++asleep;
  }
  return asleep;
}
void require(bool holds, const char* what) {
  if (!holds) fail(what);
}
Aside::Aside() : before_(std::exchange(the().running, false)) {}
Aside::~Aside() { the().running = before_; }
void observe(int value) {
  const Inside inside;
  the().observed.insert(value);
}
void allow_timeouts(unsigned times) { the().timeouts = times; }
void keep_per_thread(void** slot) { the().slots.emplace_back(slot, *slot); }

[[gnu::noinline]] static void run_execution(const std::function<void()>& scenario) {
  if (_setjmp(the().home) != 0) return;
  start(scenario);
  go_on(the().threads[0]);
}

Outcome explore(const Settings& settings, const std::function<void()>& scenario) {
  Explorer& e = the();
  if (e.arena == nullptr) {
    e.cells = std::make_unique<Cell[]>(kArenaBytes / kCellBytes);
    e.arena = static_cast<char*>(
        mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  e.settings = settings;
  e.choices.clear();
  e.replayed = 0;
  e.failure.clear();
  e.observed.clear();
  e.known = {};
  e.known_orders = 0;
  e.seen.clear();
  Outcome outcome;
  do {
    ++e.execution;
    ++outcome.executions;
    e.position = 0;
    e.steps.clear();
    e.used_locations = e.started = e.current = e.timeouts = 0;
    e.sequential = e.heavy = {};
    e.heap = 0;
    e.cut = e.locks_spin = e.threads_ask = e.thieves_hear = e.wakers_choose = false;
    for (Thread& thread : e.threads) thread.status = Status::absent;
    run_execution(scenario);
    for (const auto& [slot, initial] : e.slots) *slot = initial;
    if (!e.failure.empty()) break;
    outcome.cut += e.cut ? 1u : 0u;
    if (!advance()) break;
    e.replayed = e.choices.size();
  } while (true);
  outcome.failure = e.failure;
  outcome.observed = e.observed;
  outcome.orders = e.seen;
  return outcome;
}

}  // namespace model

// ---------------------------------------------------------------- called by instrumented code

void* operator new(std::size_t size) {
  model::Explorer& e = model::the();
  void* const memory = e.running ? model::allocate(size, 16) : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto bytes = static_cast<std::size_t>(alignment);
  void* const memory = model::the().running
                           ? model::allocate(size, bytes)
                           : std::aligned_alloc(bytes, (size + bytes - 1) / bytes * bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  if (!model::in_arena(memory)) {
    std::free(memory);
  } else if (model::the().running) {
    model::release(memory);
  }
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  operator delete(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  operator delete(memory);
}

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** slot, void* /*value*/) { model::plain_write(slot, sizeof *slot); }
void __tsan_vptr_read(void** slot) { model::plain_read(slot, sizeof *slot); }
void __tsan_read_range(void* address, unsigned long size) { model::plain_read(address, size); }
void __tsan_write_range(void* address, unsigned long size) { model::plain_write(address, size); }
#define ACCESSES(size)                                                                  \
  void __tsan_read##size(void* address) { model::plain_read(address, size); }           \
  void __tsan_write##size(void* address) { model::plain_write(address, size); }         \
  void __tsan_unaligned_read##size(void* address) { model::plain_read(address, size); } \
  void __tsan_unaligned_write##size(void* address) { model::plain_write(address, size); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
}
