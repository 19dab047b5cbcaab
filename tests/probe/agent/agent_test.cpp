// The agent in programs whose waits are known: its words in the shared memory are right, and the
// programs behave the same as without it. The test is the recorder here.
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "probe/shared.hpp"

extern char** environ;

namespace {

using threadmark::Activity;
using threadmark::Object;
using threadmark::ObjectKind;
using threadmark::Pair;
using threadmark::Shared;
using threadmark::StackId;
using threadmark::Thread;

// The names of the target's functions and variables; the target is linked at a fixed address.
class Symbols {
 public:
  explicit Symbols(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
    Elf64_Ehdr head;
    std::memcpy(&head, file.data(), sizeof head);
    std::vector<Elf64_Shdr> sections(head.e_shnum);
    std::memcpy(sections.data(), file.data() + head.e_shoff, head.e_shnum * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type != SHT_SYMTAB) continue;
      const char* names = file.data() + sections[section.sh_link].sh_offset;
      std::vector<Elf64_Sym> all(section.sh_size / sizeof(Elf64_Sym));
      std::memcpy(all.data(), file.data() + section.sh_offset, section.sh_size);
      for (const Elf64_Sym& each : all) {
        if (each.st_size != 0) by_address_[each.st_value] = {names + each.st_name, each.st_size};
        by_name_[names + each.st_name] = each.st_value;
      }
    }
  }
  [[nodiscard]] std::string at(std::uint64_t address) const {
    auto after = by_address_.upper_bound(address);
    if (after == by_address_.begin()) return "?";
    --after;
    return address < after->first + after->second.second ? after->second.first : "?";
  }
  [[nodiscard]] std::uint64_t address(const std::string& name) const { return by_name_.at(name); }

 private:
  std::map<std::uint64_t, std::pair<std::string, std::uint64_t>> by_address_;
  std::map<std::string, std::uint64_t> by_name_;
};

const Symbols& symbols() {
  static const Symbols all(TARGET);
  return all;
}

struct Outcome {
  std::string output;
  int status = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& of) {
  return out << "status " << of.status << ": " << of.output;
}

Outcome run(const std::string& program, const std::vector<std::string>& more) {
  int pipes[2];
  EXPECT_EQ(pipe2(pipes, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipes[1], 1);
    dup2(pipes[1], 2);
    for (int file = 3; file < 64; ++file) close(file);
    std::vector<std::string> kept{"PATH=/usr/bin:/bin", "HOME=/"};
    kept.insert(kept.end(), more.begin(), more.end());
    std::vector<char*> environment;
    for (std::string& line : kept) environment.push_back(line.data());
    environment.push_back(nullptr);
    std::string path = TARGET, name = program;
    char* arguments[] = {path.data(), name.data(), nullptr};
    execve(TARGET, arguments, environment.data());
    _exit(98);
  }
  close(pipes[1]);
  Outcome outcome;
  char buffer[4096];
  for (ssize_t got; (got = read(pipes[0], buffer, sizeof buffer)) > 0;)
    outcome.output.append(buffer, static_cast<std::size_t>(got));
  close(pipes[0]);
  waitpid(child, &outcome.status, 0);
  return outcome;
}

// A program that ran under the agent, with the agent's shared memory.
class Recorded {
 public:
  // `own`: a library that the program preloads itself.
  explicit Recorded(const std::string& program, const std::string& own = "", bool follow = false)
      : file_(memfd_create("threadmark", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_, sizeof(Shared)), 0);
    shared_ = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    shared_->magic = threadmark::kMagic;
    shared_->version = threadmark::kVersion;
    shared_->size_checked = static_cast<std::uint32_t>(sizeof(Shared));
    shared_->follow = follow ? 1 : 0;
    std::vector<std::string> variables;
    if (!own.empty()) variables.push_back("LD_PRELOAD=" + own);
    variables.push_back("LD_PRELOAD=" + (own.empty() ? "" : own + ":") + AGENT);
    variables.push_back("THREADMARK_PROBE=/proc/" + std::to_string(getpid()) + "/fd/" +
                        std::to_string(file_));
    outcome = run(program, variables);
  }
  ~Recorded() {
    munmap(shared_, sizeof(Shared));
    close(file_);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  [[nodiscard]] const Shared& shared() const { return *shared_; }
  [[nodiscard]] std::vector<const Thread*> threads() const {
    std::vector<const Thread*> found;
    for (const Thread& thread : shared_->threads)
      if (thread.use != Thread::free) found.push_back(&thread);
    return found;
  }
  [[nodiscard]] std::uint64_t total(Activity of) const {
    std::uint64_t sum = 0;
    for (const Thread* thread : threads()) sum += thread->total[static_cast<int>(of)].ns;
    return sum;
  }
  [[nodiscard]] std::vector<const Object*> objects(ObjectKind kind) const {
    std::vector<const Object*> found;
    for (const Object& each : shared_->objects)
      if (each.key >> 56 == static_cast<std::uint64_t>(kind) + 1) found.push_back(&each);
    return found;
  }
  [[nodiscard]] const Object* object(ObjectKind kind, std::uint64_t address) const {
    for (const Object* each : objects(kind))
      if (each->address == address) return each;
    return nullptr;
  }
  [[nodiscard]] std::vector<const Pair*> pairs(const Object* of, Activity activity) const {
    std::vector<const Pair*> found;
    const auto index = static_cast<std::uint32_t>(of - shared_->objects + 1);
    for (const Pair& each : shared_->pairs)
      if (each.key != 0 && each.object == index &&
          each.activity == static_cast<std::uint32_t>(activity))
        found.push_back(&each);
    return found;
  }
  // Names of frames whose functions belong to the target; a repeated name appears once.
  [[nodiscard]] std::vector<std::string> names(StackId id) const {
    std::vector<std::string> found;
    if (id == 0) return found;
    const threadmark::Stack& stack = shared_->stacks[id - 1];
    for (std::uint32_t i = 0; i < stack.depth; ++i) {
      std::string name = symbols().at(shared_->frames[stack.first + i] - 1);
      if (name != "?" && (found.empty() || found.back() != name)) found.push_back(name);
    }
    return found;
  }
  Outcome outcome;

 private:
  int file_;
  Shared* shared_;
};

using Names = std::vector<std::string>;

bool has_in_order(const Names& all, const Names& wanted) {
  auto at = all.begin();
  for (const std::string& name : wanted) {
    at = std::find(at, all.end(), name);
    if (at == all.end()) return false;
    ++at;
  }
  return true;
}

void expect_five_waits(const Recorded& run) {
  const Object* mutex = run.object(ObjectKind::mutex, symbols().address("known_mutex"));
  ASSERT_NE(mutex, nullptr);
  EXPECT_EQ(mutex->waits, 5U);
}

TEST(Agent, names_the_mutex_the_wait_and_both_stacks) {
  const Recorded run("known_waits");
  ASSERT_EQ(run.outcome, (Outcome{"five waits\n", 0}));
  expect_five_waits(run);
  const Object* mutex = run.object(ObjectKind::mutex, symbols().address("known_mutex"));
  ASSERT_NE(mutex, nullptr);
  EXPECT_EQ(mutex->waiters, 0U);
  // The holder sleeps 100 ms five times; the waiter comes a little after each hold begins.
  EXPECT_GT(mutex->wait_ns, 400'000'000U);
  EXPECT_LT(mutex->wait_ns, 650'000'000U);
  EXPECT_EQ(run.total(Activity::mutex), mutex->wait_ns);
  std::uint64_t waits = 0;
  bool holder_seen = false;
  for (const Pair* pair : run.pairs(mutex, Activity::mutex)) {
    waits += pair->waits;
    EXPECT_TRUE(has_in_order(run.names(pair->waiter), {"wait_for_it", "waiter_outer"}))
        << ::testing::PrintToString(run.names(pair->waiter));
    holder_seen |= has_in_order(run.names(pair->holder), {"hold_it", "holder_outer"});
  }
  EXPECT_EQ(waits, 5U);
  EXPECT_TRUE(holder_seen);
  std::uint64_t held = 0;
  for (const threadmark::Hold& hold : run.shared().holds)
    if (has_in_order(run.names(hold.stack), {"hold_it", "holder_outer"})) held += hold.hold_ns;
  EXPECT_GT(held, 300'000'000U);  // the first of five was taken before anybody waited
}

TEST(Agent, sees_every_kind_of_wait) {
  const Recorded run("all_kinds");
  ASSERT_EQ(run.outcome, (Outcome{"all kinds k 1 7\n", 0}));
  const auto expect = [&](ObjectKind kind, const char* name, Activity activity,
                          const char* function) {
    const Object* object = run.object(kind, symbols().address(name));
    ASSERT_NE(object, nullptr) << name;
    std::uint64_t ns = 0;
    bool seen = false;
    for (const Pair* pair : run.pairs(object, activity)) {
      ns += pair->wait_ns;
      seen |= has_in_order(run.names(pair->waiter), {function});
    }
    EXPECT_TRUE(seen) << function;
    EXPECT_GT(ns, 40'000'000U) << name;
    EXPECT_LT(ns, 200'000'000U) << name;
    EXPECT_EQ(object->waiters, 0U) << name;
  };
  expect(ObjectKind::rwlock, "known_rwlock", Activity::read_lock, "wait_reading");
  expect(ObjectKind::rwlock, "known_rwlock", Activity::write_lock, "wait_writing");
  expect(ObjectKind::semaphore, "known_semaphore", Activity::semaphore, "wait_semaphore");
  expect(ObjectKind::barrier, "known_barrier", Activity::barrier, "wait_barrier");
  expect(ObjectKind::condition, "known_condition", Activity::condition, "wait_condition");
  expect(ObjectKind::spin_lock, "known_spin", Activity::spin_lock, "wait_spin");
  expect(ObjectKind::once, "known_once", Activity::once, "wait_once");
  expect(ObjectKind::once, "_ZGVZ10wait_guardE5value", Activity::once, "wait_guard");
  EXPECT_GT(run.total(Activity::timed_condition), 55'000'000U);
  EXPECT_GT(run.total(Activity::futex), 40'000'000U);
  EXPECT_GT(run.total(Activity::join), 80'000'000U);
  EXPECT_GT(run.total(Activity::io), 40'000'000U);
  EXPECT_GT(run.total(Activity::sleep), 400'000'000U);
  for (const auto& [name, function] :
       {std::pair{"known_once", "run_once"}, {"_ZGVZ10wait_guardE5value", "run_guard"}}) {
    const Object* once = run.object(ObjectKind::once, symbols().address(name));
    ASSERT_NE(once, nullptr);
    for (const Pair* pair : run.pairs(once, Activity::once)) {
      EXPECT_TRUE(has_in_order(run.names(pair->holder), {function})) << name;
      EXPECT_FALSE(has_in_order(run.names(pair->waiter), {function})) << name;
    }
  }
  const Object* condition = run.object(ObjectKind::condition, symbols().address("known_condition"));
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ(condition->signals, 1U);
  EXPECT_EQ(condition->broadcasts, 0U);
  const Object* word = run.object(ObjectKind::futex, symbols().address("known_word"));
  ASSERT_NE(word, nullptr);
  EXPECT_EQ(word->broadcasts, word->signals);
  EXPECT_EQ(word->signals, 1U);
  for (const auto& [kind, name] : {std::pair{ObjectKind::semaphore, "known_semaphore"},
                                   {ObjectKind::barrier, "known_barrier"}}) {
    const Object* made = run.object(kind, symbols().address(name));
    ASSERT_NE(made, nullptr);
    EXPECT_TRUE(has_in_order(run.names(made->made_at), {"make_objects"})) << name;
  }
  EXPECT_TRUE(has_in_order(run.names(condition->signal_stack), {"signal_it"}));
}

TEST(Agent, counts_waits_for_a_condition_that_were_woken_for_nothing) {
  const Recorded run("futile");
  ASSERT_EQ(run.outcome.output.substr(0, 7), "futile ");
  const auto expected = std::stoull(run.outcome.output.substr(7));
  EXPECT_GE(expected, 10U);  // more if the system wakes threads without cause
  const Object* condition =
      run.object(ObjectKind::condition, symbols().address("futile_condition"));
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ(condition->futile, expected);
  EXPECT_EQ(condition->broadcasts, 2U);
  EXPECT_GE(condition->waits, 25U);
}

TEST(Agent, tells_who_held_the_mutex_that_a_woken_thread_locks_again) {
  const Recorded run("convoy");
  ASSERT_EQ(run.outcome, (Outcome{"convoy\n", 0}));
  const Object* condition =
      run.object(ObjectKind::condition, symbols().address("convoy_condition"));
  const Object* mutex = run.object(ObjectKind::mutex, symbols().address("convoy_mutex"));
  ASSERT_NE(condition, nullptr);
  ASSERT_NE(mutex, nullptr);
  EXPECT_EQ(condition->mutex, static_cast<std::uint32_t>(mutex - run.shared().objects + 1));
  std::uint64_t ns = 0, of_holder = 0;
  for (const Pair* pair : run.pairs(condition, Activity::relock)) {
    ns += pair->wait_ns;
    EXPECT_TRUE(has_in_order(run.names(pair->waiter), {"convoy_waiter"}));
    EXPECT_FALSE(has_in_order(run.names(pair->holder), {"convoy_signal"}));
    if (has_in_order(run.names(pair->holder), {"convoy_holder"})) of_holder += pair->wait_ns;
  }
  EXPECT_GT(ns, 250'000'000U);         // six times 60 ms
  EXPECT_GT(of_holder, 200'000'000U);  // all but the first, before which nobody waited
  for (const Pair* pair : run.pairs(condition, Activity::condition))
    EXPECT_TRUE(has_in_order(run.names(pair->holder), {"convoy_signal"}));
}

TEST(Agent, tells_where_the_holder_of_a_lock_writes) {
  const Recorded run("short_output");
  ASSERT_EQ(run.outcome, (Outcome{"short output\n", 0}));
  std::uint64_t with = 0, without = 0;
  for (const Pair& pair : run.shared().pairs) {
    if (pair.key == 0 || pair.activity != static_cast<std::uint32_t>(Activity::io)) continue;
    const Names names = run.names(pair.waiter);
    if (has_in_order(names, {"write_shortly", "write_with_lock"})) with += pair.waits;
    if (has_in_order(names, {"write_shortly", "write_without_lock"})) without += pair.waits;
  }
  EXPECT_GT(with, 10'000U);    // of 120,000; some came before anybody waited
  EXPECT_LT(without, 1'000U);  // the long ones
}

TEST(Agent, accounts_for_threads_from_their_making_to_their_end) {
  const Recorded run("many_threads");
  ASSERT_EQ(run.outcome, (Outcome{"threads 1000\n", 0}));
  const auto threads = run.threads();
  EXPECT_EQ(threads.size(), 1003U);
  std::set<int> tids;
  for (const Thread* thread : threads) {
    if (thread->maker == 0) {
      EXPECT_EQ(thread->use, Thread::live);
      continue;
    }
    EXPECT_EQ(thread->use, Thread::ended);
    EXPECT_GT(thread->begin_ns, 0U);
    EXPECT_GT(thread->end_ns, thread->begin_ns);
    EXPECT_GT(thread->processor_ns, 0U);
    EXPECT_EQ(thread->total[static_cast<int>(Activity::starting)].times, 1U);
    EXPECT_LE(thread->total[static_cast<int>(Activity::starting)].ns,
              thread->end_ns - thread->begin_ns);
    EXPECT_NE(thread->made_at, 0U);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(thread->name)).substr(0, 15),
              std::string("agent_target").substr(0, 15));
  }
}

TEST(Agent, knows_a_thread_that_is_older_than_it_from_its_first_wait_on) {
  const Recorded run("early_thread");
  ASSERT_EQ(run.outcome, (Outcome{"early thread\n", 0}));
  const Object* mutex = run.object(ObjectKind::mutex, symbols().address("known_mutex"));
  ASSERT_NE(mutex, nullptr);
  const auto pairs = run.pairs(mutex, Activity::mutex);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0]->waits, 1U);
  EXPECT_TRUE(has_in_order(run.names(pairs[0]->waiter), {"wait_for_it", "waiter_outer"}));
  EXPECT_TRUE(has_in_order(run.names(pairs[0]->holder), {"holder_outer"}));
  int found = 0;
  for (const Thread* thread : run.threads()) {
    const Thread::Total& total = thread->total[static_cast<int>(Activity::mutex)];
    if (total.times == 0) continue;
    ++found;
    EXPECT_EQ(total.ns, mutex->wait_ns);
    EXPECT_EQ(thread->use, Thread::ended);
    EXPECT_EQ(thread->maker, 0);  // made before the agent existed
    EXPECT_GT(thread->tid, 0);
    EXPECT_GT(thread->end_ns, thread->begin_ns);
  }
  EXPECT_EQ(found, 1);
}

TEST(Agent, goes_on_in_a_program_that_replaces_the_process) {
  const Recorded run("replaced");
  EXPECT_EQ(
      run.outcome,
      (Outcome{"HOME=/\nKEPT=yes\nPATH=/usr/bin:/bin\nfirst descriptor 3\nfive waits\n0\n", 0}));
  expect_five_waits(run);
}

TEST(Agent, gives_back_the_preload_that_was_there) {
  const std::string other = OTHER_PRELOAD;
  const Outcome bare = run("environment", {"LD_PRELOAD=" + other});
  const Recorded with("environment", other);
  EXPECT_NE(bare.output.find("LD_PRELOAD=" + other), std::string::npos) << bare;
  EXPECT_EQ(with.outcome, bare);
}

TEST(Agent, goes_together_with_a_malloc_that_takes_a_mutex) {
  const std::string other = OTHER_PRELOAD;
  for (const char* program : {"known_waits", "all_kinds", "many_threads", "early_constructor"}) {
    const Outcome bare = run(program, {"LD_PRELOAD=" + other});
    const Recorded with(program, other);
    EXPECT_EQ(bare.status, 0);
    EXPECT_EQ(with.outcome, bare) << program;
    EXPECT_EQ(with.shared().attached, 1U);
  }
}

TEST(Agent, records_waits_after_one_that_was_left_by_a_jump) {
  const Recorded run("jump_out");
  ASSERT_EQ(run.outcome, (Outcome{"left\nfive waits\n", 0}));
  expect_five_waits(run);
  for (const Object& object : run.shared().objects) EXPECT_EQ(object.waiters, 0U);
}

TEST(Agent, keeps_the_innermost_frames_of_a_deep_stack) {
  const Recorded run("deep_recursion");
  const Object* mutex = run.object(ObjectKind::mutex, symbols().address("known_mutex"));
  ASSERT_NE(mutex, nullptr);
  const auto pairs = run.pairs(mutex, Activity::mutex);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_TRUE(has_in_order(run.names(pairs[0]->waiter), {"wait_for_it", "waiter_outer", "deep"}));
  EXPECT_EQ(run.shared().stacks[pairs[0]->waiter - 1].depth, threadmark::kMostFrames);
}

TEST(Agent, knows_the_stacks_of_all_callers_of_a_locks_own_class) {
  constexpr std::uint64_t kKnown_ns = 500;  // walking each stack takes four times that
  std::uint64_t least_ns = ~std::uint64_t{0};
  for (int attempt = 0; attempt < 3 && least_ns > kKnown_ns; ++attempt) {  // a walk may lose its
    const Recorded run("many_places");                                     // processor
    const Object* mutex = run.object(ObjectKind::mutex, symbols().address("known_mutex"));
    ASSERT_NE(mutex, nullptr);
    std::uint64_t waits = 0;
    for (const Pair* pair : run.pairs(mutex, Activity::mutex)) {
      waits += pair->waits;
      EXPECT_GT(run.names(pair->waiter).size(), 2U);
    }
    ASSERT_GT(waits, 1000U);
    least_ns = std::min(least_ns, run.shared().agent_ns / waits);
  }
  EXPECT_LE(least_ns, kKnown_ns);
}

TEST(Agent, unwinds_a_fiber_on_its_own_stack) {
  const Recorded run("fibers");
  ASSERT_EQ(run.outcome, (Outcome{"fiber back\n", 0}));
  const Object* mutex = run.object(ObjectKind::mutex, symbols().address("known_mutex"));
  ASSERT_NE(mutex, nullptr);
  const auto pairs = run.pairs(mutex, Activity::mutex);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_TRUE(has_in_order(run.names(pairs[0]->waiter), {"wait_for_it", "waiter_outer"}));
}

TEST(Agent, adds_little_to_closing_libraries_that_stay) {
  const auto begin = std::chrono::steady_clock::now();
  const Recorded run("closes_often");
  const auto time = std::chrono::steady_clock::now() - begin;
  ASSERT_EQ(run.outcome, (Outcome{"closes wrong 0\n", 0}));
  EXPECT_LT(time, std::chrono::seconds(4));  // alone it takes 20 ms
}

TEST(Agent, unwinds_below_libraries_and_beside_threads_that_unload_them) {
  const Recorded run("plugins");
  ASSERT_EQ(run.outcome, (Outcome{"plugins wrong 0\n", 0}));
  const Object* mutex = run.object(ObjectKind::mutex, symbols().address("known_mutex"));
  ASSERT_NE(mutex, nullptr);
  std::map<std::string, std::uint64_t> waits;
  std::uint64_t all = 0, whole = 0;
  for (const Pair* pair : run.pairs(mutex, Activity::mutex)) {
    EXPECT_NE(pair->waiter, 0U);
    const Names names = run.names(pair->waiter);
    if (!has_in_order(names, {"wait_for_it"})) continue;  // a wait of the holder itself
    all += pair->waits;
    for (const char* name : {"wait_beside", "call_small", "call_large"}) {
      if (!has_in_order(names, {"wait_for_it", "waiter_outer", name})) continue;
      waits[name] += pair->waits;
      whole += pair->waits;
    }
  }
  EXPECT_EQ(waits.size(), 3U);
  EXPECT_GT(whole, all * 8 / 10);
}

TEST(Agent, does_nothing_without_a_recorder) {
  const Outcome bare = run("environment", {});
  const std::string agent = AGENT;
  for (const std::string probe : {"/nowhere", "/dev/null", "/etc/passwd"}) {
    const Outcome with = run("environment", {"LD_PRELOAD=" + agent, "THREADMARK_PROBE=" + probe});
    EXPECT_EQ(with, bare) << probe;
  }
}

TEST(Agent, records_the_lock_that_children_share_as_one_object) {
  const Recorded run("shared_by_children", "", true);
  ASSERT_EQ(run.outcome, (Outcome{"five waits\nfive waits\nwrong 0\n", 0}));
  std::vector<const Object*> shared, own;
  for (const Object* each : run.objects(ObjectKind::mutex)) {
    if ((each->type & threadmark::kSharedByProcesses) != 0) shared.push_back(each);
    if (each->address == symbols().address("known_mutex")) own.push_back(each);
  }
  ASSERT_EQ(shared.size(), 1U);
  EXPECT_EQ(shared[0]->waits, 3U);
  EXPECT_GT(shared[0]->wait_ns, 200'000'000U);
  EXPECT_TRUE(has_in_order(run.names(shared[0]->made_at), {"make_shared"}));
  bool holder_seen = false;
  for (const Pair* pair : run.pairs(shared[0], Activity::mutex)) {
    EXPECT_TRUE(has_in_order(run.names(pair->waiter), {"wait_for_shared"}));
    if (pair->holder == 0) continue;
    EXPECT_TRUE(has_in_order(run.names(pair->holder), {"hold_shared"}));
    EXPECT_NE(run.shared().stacks[pair->waiter - 1].image,
              run.shared().stacks[pair->holder - 1].image);
    holder_seen = true;
  }
  EXPECT_TRUE(holder_seen);
  ASSERT_EQ(own.size(), 2U);
  EXPECT_NE(own[0]->image, own[1]->image);
  for (const Object* each : own) EXPECT_EQ(each->waits, 5U);
  // The parent waits for one child after the other.
  EXPECT_GT(run.total(Activity::join), 300'000'000U);
}

TEST(Agent, records_children_however_they_are_made) {
  const Recorded run("kinds_of_children", "", true);
  ASSERT_EQ(run.outcome, (Outcome{"children wrong 0\n", 0}));
  std::map<std::string, const Thread*> by_name;
  for (const Thread* thread : run.threads())
    by_name[reinterpret_cast<const char*>(thread->name)] = thread;
  for (const char* name : {"forked", "forked raw", "cloned", "executed", "vforked", "spawned",
                           "spawned p", "system", "popen"}) {
    ASSERT_TRUE(by_name.contains(name)) << name;
    const Thread& thread = *by_name[name];
    EXPECT_EQ(thread.process, thread.tid) << name;
    EXPECT_NE(thread.process, run.shared().pid) << name;
    EXPECT_GT(thread.total[static_cast<int>(Activity::sleep)].ns, 25'000'000U) << name;
    EXPECT_GT(thread.processor_ns, 0U) << name;
    EXPECT_GT(thread.end_ns, thread.begin_ns) << name;
  }
  EXPECT_EQ(by_name["forked"]->maker, run.shared().pid);
  EXPECT_TRUE(has_in_order(run.names(by_name["forked"]->made_at), {"main"}));
}

TEST(Agent, records_no_children_that_are_not_followed) {
  for (const char* program : {"shared_by_children", "kinds_of_children"}) {
    const Recorded run(program);
    for (const Thread* thread : run.threads()) EXPECT_EQ(thread->process, run.shared().pid);
    EXPECT_EQ(run.shared().images_used, 1U);
  }
}

TEST(Agent, loses_nothing_when_a_child_is_killed) {
  const Recorded run("killed_child", "", true);
  ASSERT_EQ(run.outcome, (Outcome{"killed by 9\nfive waits\n", 0}));
  expect_five_waits(run);
}

TEST(Agent, gives_children_the_environment_that_they_have_alone) {
  const std::string other = OTHER_PRELOAD;
  const Outcome bare = run("environment_of_children", {"LD_PRELOAD=" + other});
  const Recorded with("environment_of_children", other, true);
  EXPECT_EQ(with.outcome, bare);
  EXPECT_EQ(run("environment_of_children", {}),
            Recorded("environment_of_children", "", true).outcome);
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (std::size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, got);
  return pclose(pipe) == 0 ? text : "";
}

TEST(Agent, needs_no_c_library_newer_than_2_28_and_no_c_plus_plus_library) {
  const std::string text = output_of("readelf -W -d -V '" AGENT "'");
  if (text.empty()) GTEST_SKIP() << "no readelf";
  const std::regex version("Name: GLIBC_2\\.(\\d+)"), needed("Shared library: \\[(\\w+)");
  int newest = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), version), end; at != end; ++at)
    newest = std::max(newest, std::stoi((*at)[1]));
  EXPECT_GE(newest, 2);
  EXPECT_LE(newest, 28);
  std::set<std::string> libraries;
  for (std::sregex_iterator at(text.begin(), text.end(), needed), end; at != end; ++at)
    libraries.insert((*at)[1]);
  EXPECT_TRUE(libraries.contains("libc"));
  for (const std::string& each : libraries) EXPECT_TRUE(each == "libc" || each == "libdl") << each;
}

TEST(Agent, exports_nothing_of_its_own) {
  const std::string text = output_of("readelf -W --dyn-syms '" AGENT "'");
  if (text.empty()) GTEST_SKIP() << "no readelf";
  EXPECT_NE(text.find(" pthread_mutex_lock\n"), std::string::npos);
  EXPECT_NE(text.find(" pthread_create\n"), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line.find(" UND ") != std::string::npos ||
                line.find("threadmark") == std::string::npos)
        << line;
}

// Programs that are hard for an agent. Each behaves the same as without the agent.
class Odd : public ::testing::TestWithParam<const char*> {};

TEST_P(Odd, behaves_as_it_does_alone) {
  const Outcome bare = run(GetParam(), {});
  const Recorded with(GetParam());
  EXPECT_EQ(with.outcome, bare);
  EXPECT_EQ(with.shared().attached, 1U);
  EXPECT_NE(bare.status, 99 << 8);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(with.shared().lost[i], 0U) << i;
}

TEST_P(Odd, behaves_as_it_does_alone_when_children_are_followed) {
  const Outcome bare = run(GetParam(), {});
  const Recorded with(GetParam(), "", true);
  EXPECT_EQ(with.outcome, bare);
  EXPECT_EQ(with.shared().attached, 1U);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(with.shared().lost[i], 0U) << i;
}

INSTANTIATE_TEST_SUITE_P(Programs, Odd,
                         ::testing::Values("known_waits", "all_kinds", "convoy", "cancelled_waits",
                                           "kinds_of_mutexes", "small_stacks", "seccomp_filter",
                                           "fork_in_threads", "close_all", "profile_signals",
                                           "early_constructor", "early_thread", "jump_out",
                                           "replaced", "environment", "many_threads",
                                           "deep_recursion", "fibers", "hammer", "once_again",
                                           "closes_often", "plugins", "old_conditions",
                                           "exits_in_thread", "aborts", "kinds_of_children",
                                           "killed_child", "environment_of_children"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
