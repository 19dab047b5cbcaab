// The definitions.
#include "sender.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "../complaint.hpp"

namespace students::nodes {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetry{20};       // without a connection
constexpr milliseconds kImpatient{250};  // for an answer, at first
constexpr milliseconds kPatient{4000};   // at last
constexpr milliseconds kIdle{1000};      // a greeting shows the next node that this one lives
constexpr milliseconds kAgain{100};      // an unanswered BYE
constexpr milliseconds kLeaving{1000};   // that the next node may be told of the end

}  // namespace

Sender::Sender(State& state, Feed feed, Send send, std::uint64_t first_epoch, Time now)
    : state_(state),
      feed_(std::move(feed)),
      send_(std::move(send)),
      epoch_(first_epoch),
      heard_(now),
      due_(now),
      patience_(kImpatient) {
  if (state_.words().finished != 0) {
    phase_ = Phase::kLeaving;
    leave_until_ = now + kLeaving;
  }
}

bool Sender::complete() const { return state_.words().node == kBasic || state_.words().ended != 0; }

void Sender::work(Time now) {
  if (phase_ == Phase::kDone) return;
  if (phase_ == Phase::kLeaving) {
    leave(now);
    return;
  }
  if (now >= due_) greet(now);
  if (phase_ == Phase::kStreaming) send_batches(now);
  const Words& words = state_.words();
  if (phase_ == Phase::kStreaming && complete() && words.acknowledged == words.passed) {
    Message end{.kind = Kind::kEnd};
    end.count = words.exercises;
    end.epoch = epoch_;
    end.number = words.passed;
    phase_ = send_(end) ? Phase::kEnding : Phase::kGreeting;
    wait(now);
  }
}

void Sender::greet(Time now) {
  ++epoch_;
  phase_ = Phase::kGreeting;
  in_flight_.clear();
  credit_ = 0;
  const Words& words = state_.words();
  if (words.run == kNoRun) {  // it comes with the first greeting of the node before
    due_ = now + kRetry;
    return;
  }
  Message hello{.kind = Kind::kHello};
  hello.node = static_cast<Node>(words.node);
  hello.epoch = epoch_;
  hello.number = words.acknowledged;
  hello.body = text_of(words.run);
  if (!send_(hello)) {
    due_ = now + kRetry;
    return;
  }
  due_ = now + patience_;
  patience_ = std::min(2 * patience_, kPatient);
}

void Sender::wait(Time now) {
  if (phase_ == Phase::kGreeting) {  // something could not be sent
    due_ = now + kRetry;
  } else if (phase_ == Phase::kEnding || !in_flight_.empty()) {
    due_ = now + patience_;
  } else {
    due_ = now + kIdle;
  }
}

void Sender::send_batches(Time now) {
  bool sent = false;
  while (in_flight_.size() < credit_ && next_ <= state_.words().passed) {
    const std::optional<Batch> batch = feed_(next_);
    if (!batch) {
      throw Failure("The next node has a part of what this node passed on in one piece (to " +
                    std::to_string(next_ - 1) + "); begin all nodes anew with --fresh.");
    }
    Message message{.kind = Kind::kBatch};
    message.count = batch->count;
    message.epoch = epoch_;
    message.number = next_;
    message.body = batch->bytes;
    sent = true;
    if (!send_(message)) {
      phase_ = Phase::kGreeting;
      break;
    }
    next_ += batch->count;
    in_flight_.push_back(next_ - 1);
  }
  if (sent) wait(now);
}

void Sender::take(const Message& message, Time now) {
  if (phase_ == Phase::kDone || message.epoch != epoch_) return;
  heard_ = now;
  if (message.kind == Kind::kRefused || message.version != kVersion) {
    throw Failure(message.kind == Kind::kRefused && message.version == kVersion
                      ? "The next node refuses: " + std::string(message.body)
                      : "The next node is of another version of tmk-students; use the same.");
  }
  if (phase_ == Phase::kLeaving) {
    if (message.kind == Kind::kEnded) phase_ = Phase::kDone;
    return;
  }
  if (message.kind == Kind::kWelcome && phase_ == Phase::kGreeting) welcome(message, now);
  if (message.kind == Kind::kAck) acknowledge(message, now);
  if (message.kind == Kind::kEnded && phase_ == Phase::kEnding) finish(now);
  if (message.kind == Kind::kResync) due_ = now;
}

void Sender::welcome(const Message& message, Time now) {
  const Words& words = state_.words();
  const bool fits = message.number >= words.acknowledged && message.number <= words.passed &&
                    (!message.ended || (complete() && message.number == words.passed));
  if (!fits) {
    throw Failure("The next node has " + std::to_string(message.number) +
                  " records of this run, and this node has passed on " +
                  std::to_string(words.passed) +
                  ", so that one of the states is of another run; begin all nodes anew with "
                  "--fresh.");
  }
  state_.acknowledge(message.number);
  phase_ = Phase::kStreaming;
  patience_ = kImpatient;
  next_ = message.number + 1;
  credit_ = message.count;
  wait(now);
  if (message.ended) finish(now);
}

void Sender::acknowledge(const Message& message, Time now) {
  const bool expected = phase_ == Phase::kStreaming || phase_ == Phase::kEnding;
  if (!expected || message.number < state_.words().acknowledged || message.number >= next_) return;
  while (!in_flight_.empty() && in_flight_.front() <= message.number) in_flight_.pop_front();
  state_.acknowledge(message.number);
  credit_ = message.count;
  patience_ = kImpatient;
  wait(now);
}

void Sender::finish(Time now) {
  state_.finish();
  phase_ = Phase::kLeaving;
  leave_until_ = now + kLeaving;
  due_ = now;
  leave(now);
}

void Sender::leave(Time now) {
  Message bye{.kind = Kind::kBye};
  bye.epoch = epoch_;
  if (now >= leave_until_) phase_ = Phase::kDone;  // the next node has everything without this
  if (now < due_) return;
  due_ = now + (send_(bye) ? kAgain : kRetry);
}

}  // namespace students::nodes
