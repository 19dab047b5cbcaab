// The definitions: the loop of a node, which alone knows clock, sockets and descriptors.
#include "node.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>

#include "../complaint.hpp"
#include "../interruption.hpp"
#include "../merging/result_files.hpp"
#include "own.hpp"
#include "receiver.hpp"
#include "sender.hpp"
#include "wire.hpp"

namespace students::nodes {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kTick{100};  // signals are looked for at least so often
constexpr milliseconds kReportEach{50};
constexpr milliseconds kSayAfter{3000};  // that a neighbour is awaited
// How long a node whose work is done stays for one before it that does not know so yet. Started
// again it would answer too.
constexpr milliseconds kStay{5000};
// How long a node still listens when it has ended: ZeroMQ forgets what was not read when the other
// side has closed, and the answer to BYE was sent a moment ago.
constexpr milliseconds kParting{20};
constexpr int kMessagesInTurn = 64;  // of one neighbour, before the other's are read

class Station {
 public:
  explicit Station(const NodePlan& plan)
      : plan_(plan),
        own_(plan.folder, plan.node, plan.maximum),
        state_(plan.state, plan.node, own_.fingerprint(), plan.fresh),
        wire_(plan.listen, plan.next) {
    const Time now = Clock::now();
    heard_ = now;
    if (plan_.node == kBasic && state_.words().run == kNoRun) state_.begin(own_.size(), 0);
    if (!plan_.listen.empty()) {
      const auto send = [this](const std::string& peer, const Message& message) {
        wire_.to_before(peer, message);
      };
      receiver_.emplace(state_, own_, send, [this] { complete(); });
    }
    if (!plan_.next.empty()) {
      std::random_device device;
      const auto feed = [this](std::uint64_t number) { return batch(number); };
      const auto send = [this](const Message& message) { return wire_.to_next(message); };
      sender_.emplace(state_, feed, send, std::uint64_t{device()} << 32, now);
    }
    released_ = state_.words().released != 0;
  }

  NodeFacts run() {
    report();
    while (!done()) {
      check_signals();
      const Time now = Clock::now();
      const bool busy = take(now);
      if (receiver_) receiver_->work();
      if (sender_) sender_->work(now);
      check_neighbours(now);
      if (now - reported_ >= kReportEach) report();
      if (!busy && !done()) wait(now);
    }
    report();
    part();
    if (own_.above() > 0) {
      note(above_sentence(own_.above(), plan_.maximum));
    }
    const Words& words = state_.words();
    return {.received = words.received,
            .passed = words.passed,
            .acknowledged = words.acknowledged,
            .results = results_.value_or(Results{})};
  }

  // What was sent and is not delivered is sent again by the state.
  void leave_at_once() { wire_.forget(); }

  // Clears the line of progress.
  ~Station() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

 private:
  bool done() const {
    if (sender_ && !sender_->done()) return false;
    return !receiver_ || (state_.words().ended != 0 && released_);
  }

  std::optional<Batch> batch(std::uint64_t number) const {
    if (plan_.node != kBasic) return state_.batch(number);
    return own_.batch(static_cast<std::uint32_t>(number - 1));
  }

  // Answers a neighbour who asks once more.
  void part() {
    const Time until = Clock::now() + kParting;
    for (Time now = Clock::now(); receiver_ && now < until; now = Clock::now()) {
      if (!take(now)) wire_.wait(std::chrono::ceil<milliseconds>(until - now));
    }
  }

  // The stream that came in is whole.
  void complete() {
    if (plan_.node != kProject || results_) return;
    results_ = write_results(state_, plan_.target, plan_.maximum);
    state_.finish();
  }

  // Reads what neighbours have sent; false if there was nothing.
  bool take(Time now) {
    bool some = false;
    for (int i = 0; receiver_ && i < kMessagesInTurn; ++i) {
      const auto message = wire_.from_before(peer_);
      if (!message) break;
      some = true;
      heard_ = now;
      receiver_->take(peer_, *message);
    }
    for (int i = 0; sender_ && i < kMessagesInTurn; ++i) {
      const auto message = wire_.from_next();
      if (!message) break;
      some = true;
      sender_->take(*message, now);
    }
    return some;
  }

  void wait(Time now) {
    milliseconds time = kTick;
    if (sender_ && !sender_->done()) {
      const auto due = std::chrono::ceil<milliseconds>(sender_->due() - now);
      time = std::clamp(due, milliseconds{0}, time);
    }
    wire_.wait(time);
  }

  void check_neighbours(Time now) {
    bool silent = false;
    if (receiver_ && !released_) {
      const std::size_t before = plan_.node - 1;
      // Its work may be done, and whoever sent it has not come for the last word.
      released_ =
          receiver_->released() || (state_.words().ended != 0 &&
                                    now - heard_ > std::min<milliseconds>(kStay, plan_.timeout));
      if (!released_) {
        silent |= is_silent(now, heard_, before, plan_.listen);
        if (now - heard_ > plan_.timeout) {
          give_up(before, "has sent nothing to " + plan_.listen);
        }
      }
    }
    if (sender_ && !sender_->done()) {
      const std::size_t next = plan_.node + 1;
      silent |= is_silent(now, sender_->heard(), next, plan_.next);
      if (now - sender_->heard() > plan_.timeout) {
        give_up(next, "has not answered at " + plan_.next);
      }
    }
    if (!silent) said_ = false;
  }

  [[noreturn]] void give_up(std::size_t neighbour, const std::string& what) const {
    throw Failure("The node " + name(neighbour) + " " + what + " for " + seconds() +
                  "; start it, or choose a longer --timeout. The state in " + plan_.state +
                  " lets this node go on.");
  }

  // Says so once, when it is.
  bool is_silent(Time now, Time heard, std::size_t neighbour, const std::string& address) {
    if (now - heard < kSayAfter) return false;
    if (!said_) {
      said_ = true;
      note("waits for the node " + name(neighbour) + " at " + address + ", up to " + seconds() +
           " (--timeout).");
    }
    return true;
  }

  static std::string name(std::size_t node) { return std::string(kNodeNames[node]); }
  std::string seconds() const { return std::to_string(plan_.timeout.count()) + " s"; }

  // A sentence for the person.
  void note(const std::string& text) {
    const std::string sentence = name(plan_.node) + ": " + text + "\n";
    if (plan_.report >= 0) {
      tell("! " + sentence);
    } else {
      std::fprintf(stderr, "%stmk-students: %s", shown_ ? "\r\x1b[K" : "", sentence.c_str());
    }
  }

  // A watcher that does not read misses a line.
  void tell(const std::string& line) const {
    [[maybe_unused]] const ssize_t written = write(plan_.report, line.data(), line.size());
  }

  // To whoever watches, and on a terminal.
  void report() {
    reported_ = Clock::now();
    const Words& words = state_.words();
    if (plan_.report >= 0) {
      tell(std::to_string(words.received) + " " + std::to_string(words.passed) + " " +
           std::to_string(words.acknowledged) + "\n");
    }
    if (!plan_.progress) return;
    shown_ = true;
    std::fprintf(stderr, "\r%s: %llu received, %llu passed on, %llu acknowledged\x1b[K",
                 name(plan_.node).c_str(), static_cast<unsigned long long>(words.received),
                 static_cast<unsigned long long>(words.passed),
                 static_cast<unsigned long long>(words.acknowledged));
    std::fflush(stderr);
  }

  const NodePlan& plan_;
  Own own_;
  State state_;
  Wire wire_;
  std::optional<Receiver> receiver_;
  std::optional<Sender> sender_;
  std::optional<Results> results_;
  std::string peer_;
  Time heard_;  // the node before
  bool released_ = false;
  bool said_ = false;   // that a neighbour is awaited
  bool shown_ = false;  // a line of progress
  Time reported_{};
};

}  // namespace

NodeFacts run_node(const NodePlan& plan) {
  if (plan.report >= 0) fcntl(plan.report, F_SETFL, O_NONBLOCK);
  Station station(plan);
  try {
    return station.run();
  } catch (...) {
    station.leave_at_once();
    throw;
  }
}

}  // namespace students::nodes
