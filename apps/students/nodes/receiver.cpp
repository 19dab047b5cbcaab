// The definitions.
#include "receiver.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "../complaint.hpp"

namespace students::nodes {

Receiver::Receiver(State& state, Own& own, Send send, std::function<void()> complete)
    : state_(state),
      own_(own),
      send_(std::move(send)),
      complete_(std::move(complete)),
      node_(static_cast<Node>(state.words().node)) {
  state_.read_used([this](std::span<const std::uint32_t> places) { own_.use(places); });
  if (state_.words().ended != 0) complete_();
}

std::uint32_t Receiver::credit() const {
  const std::size_t log = node_ == kProject ? 0 : state_.log_size();
  return static_cast<std::uint32_t>(kWindow - std::min(log, kWindow));
}

void Receiver::answer(Kind kind) {
  Message message{.kind = kind};
  message.epoch = epoch_;
  if (kind == Kind::kWelcome || kind == Kind::kAck) {
    message.number = state_.words().received;
    message.ended = kind == Kind::kWelcome && state_.words().ended != 0;
    message.count = told_ = credit();
  }
  send_(peer_, message);
}

void Receiver::refuse(const std::string& peer, std::uint64_t epoch, const std::string& sentence) {
  Message message{.kind = Kind::kRefused};
  message.epoch = epoch;
  message.body = sentence;
  send_(peer, message);
}

void Receiver::take(const std::string& peer, const Message& message) {
  if (message.version != kVersion) {
    refuse(peer, message.epoch, "it is of another version.");
    return;
  }
  if (message.kind == Kind::kHello) {
    hello(peer, message);
    return;
  }
  if (message.kind == Kind::kBye) {
    bye(peer, message);
    return;
  }
  if (message.epoch == epoch_ && peer == peer_) {
    if (message.kind == Kind::kBatch) batch(message);
    if (message.kind == Kind::kEnd) end(message);
  } else if (message.kind == Kind::kBatch || message.kind == Kind::kEnd) {
    Message resync{.kind = Kind::kResync};
    resync.epoch = message.epoch;
    send_(peer, resync);
  }
}

void Receiver::hello(const std::string& peer, const Message& message) {
  if (message.node + 1U != node_) {
    refuse(peer, message.epoch,
           "it is the node " + name_of(node_) + ", to which " + name_of(message.node) +
               " must not send; the order is basic, exam, exercise, project.");
    return;
  }
  const Run run = run_of(message.body);
  const Words& words = state_.words();
  if (words.run != kNoRun && words.run != run) {
    refuse(peer, message.epoch, "its state is of another run; begin all nodes anew with --fresh.");
    return;
  }
  if (message.number > words.received) {
    refuse(peer, message.epoch,
           "its state has not what it acknowledged (" + std::to_string(message.number) +
               " records); give it the right --state, or begin all nodes anew with --fresh.");
    return;
  }
  if (words.run == kNoRun) state_.adopt(run);
  peer_ = peer;
  epoch_ = message.epoch;
  answer(Kind::kWelcome);
}

void Receiver::batch(const Message& message) {
  if (message.number != state_.words().received + 1 || state_.words().ended != 0) {
    answer(Kind::kResync);
    return;
  }
  used_.clear();
  Batch joined;
  joined.count = message.count;
  Record record;
  for (std::string_view bytes = message.body; take_record(bytes, record);) {
    join(record);
    append_record(joined.bytes, record);
    if (bytes.empty()) break;
  }
  state_.append(joined, used_);
  answer(Kind::kAck);
}

void Receiver::join(Record& record) {
  if (const std::optional<std::uint32_t> place = own_.find(record.number)) {
    own_.read(*place, mine_);
    if (own_.is_used(*place) || add_missing(record, mine_) != 0) {
      throw Failure("The node before has sent the student " + padded(record.number) +
                    " twice; begin all nodes anew with --fresh.");
    }
    own_.use({&*place, 1});
    used_.push_back(*place);
  }
  if (record.known != known_before(static_cast<Node>(node_ + 1))) {
    record.points = {};
    record.person.clear();
  }
}

void Receiver::end(const Message& message) {
  const Words& words = state_.words();
  if (message.number != words.received) {
    answer(Kind::kResync);
    return;
  }
  if (words.ended == 0) {
    state_.end(node_ == kExercise ? own_.exercises() : message.count, own_.unused());
  }
  complete_();
  answer(Kind::kEnded);
}

void Receiver::bye(const std::string& peer, const Message& message) {
  if (state_.words().ended == 0) {
    refuse(peer, message.epoch,
           "its state has not the end of the stream, which it acknowledged; give it the right "
           "--state, or begin all nodes anew with --fresh.");
    return;
  }
  if (state_.words().released == 0) state_.release();
  Message ended{.kind = Kind::kEnded};
  ended.epoch = message.epoch;
  send_(peer, ended);
}

void Receiver::work() {
  if (epoch_ == 0 || state_.words().ended != 0) return;
  const std::uint32_t now = credit();
  if (now > told_ && (told_ == 0 || now - told_ >= kWindow / 4)) answer(Kind::kAck);
}

}  // namespace students::nodes
