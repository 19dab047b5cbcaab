// The unwinder on stacks of this process, against the C library's backtrace() and against chains of
// known calls; and on damaged tables.
#include <execinfo.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <random>
#include <thread>

#include "own_process.hpp"

namespace {

namespace unwind = threadmark::unwind;
using Stack = std::vector<std::uint64_t>;

// The end of this thread's stack; nothing beyond it is read.
std::uint64_t stack_end() {
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<std::uint64_t>(low) + size;
}

Stack ours, theirs;

// Calls on different lines take the two stacks, so the innermost frame differs.
[[gnu::noinline]] void take() {
  static const own::Modules modules;
  ours = own::walk(modules, stack_end());
  void* frames[256];
  const int count = backtrace(frames, 256);
  theirs.clear();
  for (int i = 1; i < count; ++i) theirs.push_back(reinterpret_cast<std::uint64_t>(frames[i]));
  // A sanitizer's backtrace() has a frame of its own in front.
  if (!ours.empty()) theirs.erase(theirs.begin(), std::find(theirs.begin(), theirs.end(), ours[0]));
  asm volatile("" ::: "memory");
}

bool has(const Stack& stack, std::uint64_t function, std::uint64_t size = 400) {
  return std::any_of(stack.begin(), stack.end(),
                     [&](std::uint64_t pc) { return pc > function && pc < function + size; });
}
template <class Function>
bool has(const Stack& stack, Function* function) {
  return has(stack, reinterpret_cast<std::uint64_t>(function));
}

extern "C" [[gnu::noinline, gnu::used]] int compare(const void* a, const void* b) {
  take();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
[[gnu::noinline]] void sort_by_the_c_library() {
  int numbers[] = {3, 1};
  qsort(numbers, 2, sizeof *numbers, compare);
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void through_function(const std::function<void()>& call) {
  call();
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] int recursive(int left) {
  if (left == 0) {
    take();
    return 0;
  }
  const int below = recursive(left - 1);
  asm volatile("" ::: "memory");  // or the compiler makes a loop
  return below + 1;
}
void handle(int) { take(); }
[[gnu::noinline]] void interrupted() {
  std::raise(SIGUSR1);
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void fault_and_handle() {
  asm volatile("" ::: "memory");
  interrupted();
  asm volatile("" ::: "memory");
}

TEST(Unwind, goes_through_the_c_library_as_backtrace_does) {
  sort_by_the_c_library();
  EXPECT_EQ(ours, theirs);
  EXPECT_TRUE(has(ours, sort_by_the_c_library));
}

TEST(Unwind, goes_through_the_standard_library_and_a_new_thread) {
  std::thread([] { through_function([] { take(); }); }).join();
  EXPECT_EQ(ours, theirs);
  EXPECT_TRUE(has(ours, through_function));
}

TEST(Unwind, goes_through_the_frame_of_a_signal) {
  struct sigaction action{};
  action.sa_handler = handle;
  sigaction(SIGUSR1, &action, nullptr);
  fault_and_handle();
#if defined(__x86_64__)  // elsewhere the tables of the C library and the kernel name another place
  EXPECT_EQ(ours, theirs);
#endif
  EXPECT_TRUE(has(ours, interrupted));
  EXPECT_TRUE(has(ours, fault_and_handle));
}

TEST(Unwind, goes_from_a_signal_stack_to_the_interrupted_one_only_where_that_may_be_read) {
  static std::vector<char> memory(65536);
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  static Stack inside;
  action.sa_handler = [](int) {
    static const own::Modules modules;
    inside = own::walk(modules, reinterpret_cast<std::uint64_t>(memory.data()) + memory.size());
  };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
  std::raise(SIGUSR2);
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  EXPECT_GE(inside.size(), 1U);
  EXPECT_LE(inside.size(), 3U);
}

TEST(Unwind, ends_after_as_many_frames_as_were_asked_for) {
  static const own::Modules modules;
  EXPECT_EQ(recursive(200), 200);
  ASSERT_GE(ours.size(), 200U);
  EXPECT_TRUE(std::equal(ours.begin(), ours.begin() + 100, theirs.begin()));
  EXPECT_EQ(own::walk(modules, stack_end(), 3).size(), 3U);
}

#if defined(__x86_64__)
using Code = void (*)(void (*)());

Code made_at_run_time(const std::vector<unsigned char>& code) {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(page, code.data(), code.size());
  mprotect(page, 4096, PROT_READ | PROT_EXEC);
  return reinterpret_cast<Code>(page);
}
#if defined(__clang__)
[[clang::no_sanitize("function")]]  // clang looks for a mark in front of the code
#endif
[[gnu::noinline]] void call_made(Code code) {
  code(take);
  asm volatile("" ::: "memory");
}

TEST(Unwind, goes_through_code_without_tables_that_keeps_frame_pointers) {
  // push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret
  const Code code = made_at_run_time({0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3});
  call_made(code);
  ASSERT_GE(ours.size(), 2U);
  EXPECT_TRUE(has(ours, reinterpret_cast<std::uint64_t>(code), 16));
  EXPECT_TRUE(has(ours, call_made));
}

TEST(Unwind, ends_at_code_without_tables_and_without_frame_pointers) {
  // push %rbp; mov $1,%ebp; call *%rdi; pop %rbp; ret
  const Code code = made_at_run_time({0x55, 0xbd, 1, 0, 0, 0, 0xff, 0xd7, 0x5d, 0xc3});
  call_made(code);
  ASSERT_GE(ours.size(), 1U);
  EXPECT_TRUE(has(ours, reinterpret_cast<std::uint64_t>(code), 16));
  EXPECT_FALSE(has(ours, call_made));
}

// --- Tables made by hand: one module at 0x10000 whose tables lie at 0x20000.

class Tables {
 public:
  explicit Tables(const std::vector<unsigned char>& instructions, bool signal = false) {
    // Header: version 1, no pointer to the frames, count of 4 bytes, table relative to the header.
    put({1, 0xff, 0x03, 0x3b});
    put4(1);
    put4(0x10000U - 0x20000U);
    put4(0x100);
    bytes_.resize(0x40);
    // CIE at 0x40: version 1, "zR" or "zRS", 1, -8, column 16, pointers of 8 bytes.
    const std::size_t common = bytes_.size();
    put4(0);
    put4(0);
    put(signal ? std::vector<unsigned char>{1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0}
               : std::vector<unsigned char>{1, 'z', 'R', 0, 1, 0x78, 16, 1, 0});
    put({0x0c, 7, 8, 0x90, 1});  // CFA is rsp+8, the return address at CFA-8
    end(common);
    bytes_.resize(0x100);
    const std::size_t frame = bytes_.size();
    put4(0);
    put4(static_cast<std::uint32_t>(frame + 4 - common));
    put8(0x10000);
    put8(0x1000);
    put({0});
    put(instructions);
    end(frame);
    module_.low = 0x10000;
    module_.high = 0x11000;
    module_.header = 0x20000;
    module_.tables = {bytes_.data(), 0x20000, bytes_.size()};
  }
  [[nodiscard]] const unwind::Module& module() const { return module_; }

 private:
  void put(const std::vector<unsigned char>& more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
  }
  void put4(std::uint32_t number) {
    for (int i = 0; i < 4; ++i) bytes_.push_back(static_cast<unsigned char>(number >> 8 * i));
  }
  void put8(std::uint64_t number) {
    put4(static_cast<std::uint32_t>(number));
    put4(static_cast<std::uint32_t>(number >> 32));
  }
  void end(std::size_t begin) {
    while ((bytes_.size() - begin) % 8 != 4) bytes_.push_back(0);
    const auto length = static_cast<std::uint32_t>(bytes_.size() - begin - 4);
    std::memcpy(&bytes_[begin], &length, 4);
  }
  std::vector<unsigned char> bytes_;
  unwind::Module module_;
};

struct OneModule {
  const unwind::Module* module;
  const unwind::Module* find(std::uint64_t pc) const {
    return pc >= module->low && pc < module->high ? module : nullptr;
  }
};

// The words of the stack, from address 0x1000 on.
struct Words {
  std::vector<std::uint64_t> words;
  bool read(std::uint64_t address, std::uint64_t& to) const {
    if (address < 0x1000 || address % 8 != 0 || (address - 0x1000) / 8 >= words.size())
      return false;
    to = words[(address - 0x1000) / 8];
    return true;
  }
};

unwind::Place place_at(std::uint64_t pc) {
  unwind::Place place;
  place.registers.known = 0;
  place.registers.set(unwind::kStackPointer, 0x1000);
  place.registers.set(unwind::kFramePointer, 0x1010);
  place.registers.set(unwind::kReturn, pc);
  return place;
}

TEST(Unwind, evaluates_the_expression_that_linkers_write_for_the_procedure_linkage_table) {
  // CFA = rsp + 8 + ((rip & 15) >= 11) * 8
  const Tables tables({0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  unwind::Scratch scratch;
  const Words memory{{0xaaaa, 0xbbbb, 0xcccc}};
  for (const auto& [pc, caller] :
       {std::pair{0x10020, 0xaaaa}, {0x1002a, 0xaaaa}, {0x1002b, 0xbbbb}}) {
    unwind::Place place = place_at(static_cast<std::uint64_t>(pc));
    unwind::Frame frame{};
    ASSERT_TRUE(unwind::step_by_table(tables.module(), memory, place, scratch, frame));
    EXPECT_EQ(frame.pc, static_cast<std::uint64_t>(caller)) << std::hex << pc;
  }
}

TEST(Unwind, looks_the_caller_of_a_signal_frame_up_at_its_own_address) {
  const Tables tables({}, true);
  unwind::Scratch scratch;
  const Words memory{{0x10000, 0}};
  unwind::Place place = place_at(0x10010);
  unwind::Frame frame{};
  ASSERT_TRUE(unwind::step_by_table(tables.module(), memory, place, scratch, frame));
  EXPECT_EQ(frame.pc, 0x10000U);
  EXPECT_FALSE(place.call);
}

TEST(Unwind, follows_states_that_are_remembered_and_restored) {
  // advance 16; CFA offset 16; remember; CFA offset 24; restore; advance 16; CFA offset 24
  const Tables tables({0x50, 0x0e, 16, 0x0a, 0x0e, 24, 0x0b, 0x50, 0x0e, 24});
  unwind::Scratch scratch;
  const Words memory{{0xaaaa, 0xbbbb, 0xcccc}};
  for (const auto& [pc, caller] :
       {std::pair{0x10001, 0xaaaa}, {0x10011, 0xbbbb}, {0x10021, 0xcccc}}) {
    unwind::Place place = place_at(static_cast<std::uint64_t>(pc));
    unwind::Frame frame{};
    ASSERT_TRUE(unwind::step_by_table(tables.module(), memory, place, scratch, frame));
    EXPECT_EQ(frame.pc, static_cast<std::uint64_t>(caller)) << std::hex << pc;
  }
}

TEST(Unwind, ends_where_the_return_address_is_undefined) {
  const Tables tables({0x07, 16});
  unwind::Scratch scratch;
  const Words memory{{0xaaaa}};
  unwind::Place place = place_at(0x10010);
  unwind::Frame frame{};
  EXPECT_FALSE(unwind::step_by_table(tables.module(), memory, place, scratch, frame));
}

TEST(Unwind, ends_in_a_loop_of_an_expression) {
  const Tables tables({0x0f, 3, 0x2f, 0xfd, 0xff});  // skip -3
  unwind::Scratch scratch;
  const Words memory{{0xaaaa}};
  unwind::Place place = place_at(0x10010);
  unwind::Frame frame{};
  EXPECT_FALSE(unwind::step_by_table(tables.module(), memory, place, scratch, frame));
}

TEST(Unwind, ends_in_a_circle_of_frames) {
  const Tables tables({});
  Words memory;
  memory.words.assign(100'000, 0x10010);
  unwind::Scratch scratch;
  const OneModule modules{&tables.module()};
  unwind::Place place = place_at(0x10010);
  std::vector<unwind::Frame> frames(64);
  EXPECT_EQ(unwind::walk(place, memory, modules, scratch, frames.data(), 64), 64U);
  // The frame repeats forever, because CFA is the frame pointer, which stays.
  const Tables same({0x0c, 6, 0});
  memory.words[1] = 0x10010;
  const OneModule circle{&same.module()};
  place = place_at(0x10010);
  EXPECT_LE(unwind::walk(place, memory, circle, scratch, frames.data(), 64), 2U);
}
#endif

// A walk over a real stack with the tables of this program, in which a few bytes are changed. The
// test checks only that the walk ends, and (with a sanitizer) reads nothing beyond the tables.
TEST(Unwind, survives_tables_that_are_damaged) {
  own::Modules modules;
  const std::uint64_t high = stack_end();
  unwind::Place place;
  unwind::read_registers(place.registers);
  const Stack whole = own::walk_from(place, modules, high);
  ASSERT_GE(whole.size(), 5U);
  std::mt19937 random(7);
  std::size_t shorter = 0;
  std::vector<std::vector<unsigned char>> copies;
  for (unwind::Module& each : modules.all) {
    const unwind::Image from = each.tables;
    if (from.bytes == nullptr || each.header == 0) continue;
    // The kernel reads it, because a sanitizer has marks between the constants of the segment.
    copies.emplace_back(from.size);
    const int memory = open("/proc/self/mem", O_RDONLY);
    ASSERT_EQ(pread(memory, copies.back().data(), from.size, static_cast<off_t>(from.address)),
              static_cast<ssize_t>(from.size));
    close(memory);
    each.tables.bytes = copies.back().data();
  }
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::pair<unsigned char*, unsigned char>> changed;
    std::size_t which = 0;
    for (unwind::Module& each : modules.all) {
      if (each.tables.bytes == nullptr || each.header == 0) continue;
      std::vector<unsigned char>& bytes = copies[which++];
      // Changes mostly the part with the tables, because the segment has constants too.
      const std::size_t begin = each.header - each.tables.address;
      for (int i = 0; i < 2000; ++i) {
        unsigned char& byte = bytes[begin + random() % (bytes.size() - begin)];
        changed.emplace_back(&byte, byte);
        byte = static_cast<unsigned char>(random());
      }
      if (round % 3 == 0) each.tables.size = begin + random() % (bytes.size() - begin);
    }
    shorter += own::walk_from(place, modules, high).size() < whole.size();
    for (auto at = changed.rbegin(); at != changed.rend(); ++at) *at->first = at->second;
    which = 0;
    for (unwind::Module& each : modules.all)
      if (each.tables.bytes != nullptr && each.header != 0)
        each.tables.size = copies[which++].size();
  }
  EXPECT_GT(shorter, 10U);  // the walk met the damage
  EXPECT_EQ(own::walk_from(place, modules, high), whole);
}

}  // namespace
