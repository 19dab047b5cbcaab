// Every interleaving of the protocol of include/tmk/mutex.md, transcribed step by step. The
// protocol has one word, so only interleavings of atomic steps can happen. The search must find a
// mistake made on purpose in one step: this shows that the search can find mistakes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

constexpr int kLocked = 1, kSleepers = 2, kStarver = 4;

enum class Mistake {
  none,
  woken_forgets_others,     // takes without setting kSleepers
  starvers_are_dropped,     // free clears the whole word
  kernel_does_not_compare,  // sleeps for any value of the word
  sleeper_tells_nobody,     // does not set kSleepers
  starvers_are_not_woken,   // free wakes sleepers only
  give_up_when_kept,        // leaves a mutex that is kept for starvers
  barging_past_starvers,    // a newcomer takes a kept mutex
  free_is_no_exchange,      // decides by the word seen before, then stores
};

enum class Step : std::uint8_t {
  ask,
  look,
  take,
  announce,
  sleep,
  asleep,  // as newcomer and sleeper
  starve,
  look_starving,
  take_starving,
  sleep_starving,
  asleep_starving,
  give_up,
  free,
  free_contended,
  store_free,
  wake,
  done,
};

struct Thread {
  Step step = Step::ask;
  std::uint8_t rounds = 0;  // left
  std::uint8_t seen = 0;
  bool slept = false;
  bool late = false;
  bool wakes_starver = false;
};

constexpr std::size_t kThreads = 3;

struct State {
  int word = 0;
  std::array<Thread, kThreads> threads;

  // The threads are alike, so their order does not matter.
  std::uint64_t packed() const {
    std::array<std::uint64_t, kThreads> each;
    std::ranges::transform(threads, each.begin(), [](const Thread& thread) {
      std::uint64_t result = 0;
      for (const auto& [value, bits] : {std::pair{static_cast<unsigned>(thread.step), 5U},
                                        {thread.rounds, 2U},
                                        {thread.seen, 4U},
                                        {thread.slept, 1U},
                                        {thread.late, 1U},
                                        {thread.wakes_starver, 1U}}) {
        result = result << bits | value;
      }
      return result;
    });
    std::ranges::sort(each);
    auto result = static_cast<std::uint64_t>(word);
    for (const std::uint64_t thread : each) result = result << 14 | thread;
    return result;
  }
};

class Search {
 public:
  Search(Mistake mistake, std::uint8_t rounds) : mistake_(mistake) {
    State start;
    for (Thread& each : start.threads) each.rounds = rounds;
    open_.push_back(start);
    seen_.insert(start.packed());
    while (!open_.empty() && problem_.empty()) {
      const State state = open_.back();
      open_.pop_back();
      visit(state);
    }
  }
  const std::string& problem() const { return problem_; }
  std::size_t states() const { return seen_.size(); }

 private:
  static bool holds(const Thread& thread) {
    return thread.step == Step::free || thread.step == Step::free_contended ||
           thread.step == Step::store_free;
  }
  static bool starves(const Thread& thread) {
    return thread.step >= Step::look_starving && thread.step <= Step::give_up;
  }

  void visit(const State& state) {
    if (std::ranges::count_if(state.threads, holds) > 1) {
      problem_ = "two hold it";
      return;
    }
    const auto done = [](const Thread& each) { return each.step == Step::done; };
    if (std::ranges::all_of(state.threads, done)) {
      if (state.word != 0) problem_ = "the word is not free at the end";
      return;
    }
    bool moved = false;
    for (std::size_t i = 0; i < kThreads; ++i) {
      const Step step = state.threads[i].step;
      if (step == Step::done) continue;
      if (step == Step::asleep || step == Step::asleep_starving) {
        time_out(state, i);  // does not count, because no thread may need it to go on
      } else {
        moved = true;
        next(state, i);
      }
    }
    if (!moved) problem_ = "all sleep, and the word is " + std::to_string(state.word);
  }

  void add(const State& state) {
    if (seen_.insert(state.packed()).second) open_.push_back(state);
  }

  // Any time. Every starver has a deadline here, because a starver without one can do less.
  void time_out(State state, std::size_t i) {
    Thread& self = state.threads[i];
    if (self.step == Step::asleep) {
      self.step = Step::starve;
    } else {
      self.late = true;
      self.step = Step::look_starving;
    }
    add(state);
  }

  static void end_round(Thread& self) {
    const bool more = --self.rounds > 0;
    self = {.step = more ? Step::ask : Step::done, .rounds = self.rounds};
  }

  // One atomic step of thread i, in all its outcomes.
  void next(State state, std::size_t i) {
    Thread& self = state.threads[i];
    int& word = state.word;
    const Thread before = self;
    const auto see = [&] { self.seen = static_cast<std::uint8_t>(word); };
    const auto may_take = [&](int value) {
      return value == 0 || (mistake_ == Mistake::barging_past_starvers && (value & kLocked) == 0);
    };
    switch (self.step) {
      case Step::ask:
        if (may_take(word)) {
          word |= kLocked;
          self.step = Step::free;
        } else {
          self.step = Step::look;
        }
        break;
      case Step::look:
        see();
        if (may_take(self.seen)) {
          self.step = Step::take;
        } else if ((self.seen & kSleepers) != 0 || mistake_ == Mistake::sleeper_tells_nobody) {
          self.step = Step::sleep;
        } else {
          self.step = Step::announce;
        }
        break;
      case Step::take:
        self.step = Step::look;
        if (word == self.seen) {
          word |= kLocked;
          if (self.slept && mistake_ != Mistake::woken_forgets_others) word |= kSleepers;
          self.step = Step::free;
        }
        break;
      case Step::announce:
        self.step = Step::look;
        if (word == self.seen) {
          word |= kSleepers;
          see();
          self.step = Step::sleep;
        }
        break;
      case Step::sleep:
        if (word == self.seen || mistake_ == Mistake::kernel_does_not_compare) {
          self.step = Step::asleep;
        } else {
          self.slept = true;
          self.step = Step::look;
        }
        break;
      case Step::starve:
        word += kStarver;
        self.step = Step::look_starving;
        break;
      case Step::look_starving:
        see();
        if ((self.seen & kLocked) == 0 && !(self.late && mistake_ == Mistake::give_up_when_kept)) {
          self.step = Step::take_starving;
        } else {
          self.step = self.late ? Step::give_up : Step::sleep_starving;
        }
        break;
      case Step::take_starving:
        self.step = Step::look_starving;
        if (word == self.seen) {
          word = (word - kStarver) | kLocked;
          self.step = Step::free;
        }
        break;
      case Step::sleep_starving:
        self.step = word == self.seen || mistake_ == Mistake::kernel_does_not_compare
                        ? Step::asleep_starving
                        : Step::look_starving;
        break;
      case Step::give_up:
        self.step = Step::look_starving;
        if (word == self.seen) {
          word -= kStarver;
          end_round(self);
        }
        break;
      case Step::free:
        if (word == kLocked) {
          word = 0;
          end_round(self);
        } else {
          see();
          self.step = Step::free_contended;
        }
        break;
      case Step::free_contended:
        if (mistake_ == Mistake::free_is_no_exchange) {
          self.step = Step::store_free;
        } else if (word != self.seen) {
          see();
        } else {
          set_free(self, word);
        }
        break;
      case Step::store_free:
        set_free(self, word);
        break;
      case Step::wake: {
        const Step wanted = self.wakes_starver ? Step::asleep_starving : Step::asleep;
        end_round(self);
        bool any = false;
        for (std::size_t j = 0; j < kThreads; ++j) {
          if (state.threads[j].step != wanted) continue;
          any = true;
          State woken = state;
          woken.threads[j].slept = true;
          woken.threads[j].step = wanted == Step::asleep ? Step::look : Step::look_starving;
          add(woken);
        }
        if (any) return;
        break;
      }
      case Step::asleep:
      case Step::asleep_starving:
      case Step::done:
        return;
    }
    const bool newcomer = before.step == Step::ask || before.step == Step::take;
    if (newcomer && holds(self) && std::ranges::any_of(state.threads, starves))
      problem_ = "a starver was passed";
    add(state);
  }
  void set_free(Thread& self, int& word) const {
    const bool starvers = self.seen >= kStarver && mistake_ != Mistake::starvers_are_dropped;
    word = starvers ? self.seen - kLocked : 0;
    self.wakes_starver = starvers && mistake_ != Mistake::starvers_are_not_woken;
    self.step = Step::wake;
  }

  Mistake mistake_;
  std::vector<State> open_;
  std::unordered_set<std::uint64_t> seen_;
  std::string problem_;
};

TEST(MutexModel, no_two_hold_it_nobody_sleeps_for_ever_and_no_starver_is_passed) {
  const Search search(Mistake::none, 2);
  EXPECT_EQ(search.problem(), "");
  EXPECT_GT(search.states(), 10'000U);
}

TEST(MutexModel, every_step_is_needed) {
  for (const Mistake mistake : {Mistake::woken_forgets_others, Mistake::starvers_are_dropped,
                                Mistake::kernel_does_not_compare, Mistake::sleeper_tells_nobody,
                                Mistake::starvers_are_not_woken, Mistake::give_up_when_kept,
                                Mistake::barging_past_starvers, Mistake::free_is_no_exchange}) {
    EXPECT_NE(Search(mistake, 2).problem(), "") << "mistake " << static_cast<int>(mistake);
  }
}

}  // namespace
