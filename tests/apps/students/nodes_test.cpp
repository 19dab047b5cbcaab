// The protocol of the nodes: senders and receivers on real states, with a network and kills that a
// seed decides. apps/students/nodes/protocol.md has their guarantees.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "students/complaint.hpp"
#include "students/data.hpp"
#include "students/merging/merge.hpp"
#include "students/nodes/message.hpp"
#include "students/nodes/own.hpp"
#include "students/nodes/receiver.hpp"
#include "students/nodes/results.hpp"
#include "students/nodes/sender.hpp"
#include "students/nodes/state.hpp"

namespace students::nodes {
namespace {

// The test has one thread, so ThreadSanitizer, which slows the states, checks little here.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr std::uint64_t kSeeds = 4;
#else
constexpr std::uint64_t kSeeds = 24;
#endif
#else
constexpr std::uint64_t kSeeds = 24;
#endif

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "nodes-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Writes four files of so many students. Each file lacks about one in `lacks`; 0: it lacks none.
void write_files(const Folder& folder, unsigned students, unsigned lacks, std::mt19937_64& random) {
  for (std::size_t file = 0; file < kFiles; ++file) {
    std::vector<unsigned> numbers(students);
    for (unsigned i = 0; i < students; ++i) numbers[i] = i * 7 + 1;
    std::ranges::shuffle(numbers, random);
    std::ofstream out(folder / std::string(kFileNames[file]), std::ios::binary);
    out << kContentTypes[file] << '\n';
    for (const unsigned number : numbers) {
      if (lacks > 0 && random() % lacks == 0) continue;
      out << padded(number);
      if (file == kBasic) out << "\tNiemi Päivi" << number << "\tTOL";
      const int points = file == kBasic ? 0 : file == kExercise ? 3 : 1;
      for (int i = 0; i < points; ++i) out << '\t' << random() % 6;
      out << '\n';
    }
  }
}

// Ends a process at the place of a kill.
struct Killed {};

// All four nodes, the connections between them, and the events that can happen to them.
class World {
 public:
  World(const Folder& folder, std::uint64_t seed) : folder_(folder), random_(seed) {
    for (std::size_t i = 0; i < kNodes; ++i) start(i);
    for (std::size_t i = 0; i < kNodes; ++i) streams_[i] = stream(i);
  }

  // One event happens; with `evil` it may be a kill, a lost connection or a repeated message.
  void step(bool evil) {
    evil_ = evil;
    const std::size_t node = random_() % kNodes;
    const std::uint64_t what = random_() % 100;
    if (evil && what < 3) {
      kill(node);
    } else if (evil && what < 5) {
      kill(node);
      kill((node + 1) % kNodes);
    } else if (evil && what < 8) {
      disconnect(node);
    } else if (evil && what < 12) {
      repeat(node);
    } else if (what < 70) {
      deliver(node);
    } else {
      work(node);
    }
    for (std::size_t i = 0; i < kNodes; ++i) {
      if (!nodes_[i].state && random_() % 4 == 0) guarded(i, [&] { start(i); });
    }
    check();
  }

  bool done() const {
    for (std::size_t i = 0; i < kNodes; ++i) {
      const Process& node = nodes_[i];
      if (!node.state) return false;
      if (node.sender && !node.sender->done()) return false;
      if (node.receiver && !node.receiver->released()) return false;
    }
    return true;
  }

  // Checks the invariants that need the whole state.
  void check_state(std::size_t i) const {
    const State& state = *nodes_[i].state;
    const Words& words = state.words();
    std::uint64_t number = words.acknowledged + 1;
    std::size_t batches = 0;
    while (const auto each = state.batch(number)) {
      number += each->count;
      ++batches;
    }
    ASSERT_EQ(number, words.passed + 1) << "invariant 2, node " << i;
    ASSERT_EQ(batches, state.log_size()) << "invariant 2, node " << i;
    if (i != kProject && words.ended == 0) {
      ASSERT_LE(batches, kWindow);
    }
    const Own& own = *nodes_[i].own;
    std::multiset<std::uint32_t> used;
    state.read_used(
        [&](std::span<const std::uint32_t> places) { used.insert(places.begin(), places.end()); });
    std::multiset<std::uint32_t> joined;
    ASSERT_LE(words.received, streams_[i - 1].size());
    for (std::uint64_t k = 0; k < words.received; ++k) {
      if (const auto place = own.find(streams_[i - 1][k])) joined.insert(*place);
    }
    ASSERT_EQ(used, joined) << "invariant 4, node " << i;
    if (words.ended != 0) {
      ASSERT_EQ(words.received, streams_[i - 1].size()) << "node " << i;
      ASSERT_EQ(words.passed, words.total + own.size() - used.size()) << "invariant 3, node " << i;
    }
  }

  unsigned kills() const { return kills_; }
  const State& state(std::size_t node) const { return *nodes_[node].state; }

 private:
  struct Process {
    std::unique_ptr<Own> own;
    std::unique_ptr<State> state;
    std::unique_ptr<Receiver> receiver;
    std::unique_ptr<Sender> sender;
  };
  // The messages from node i to node i + 1 and back.
  struct Connection {
    std::deque<std::string> forth;
    std::deque<std::string> back;
    unsigned number = 0;
  };

  bool chance(unsigned one_in) { return evil_ && random_() % one_in == 0; }

  void start(std::size_t i) {
    Process& node = nodes_[i];
    node.own = std::make_unique<Own>(folder_.path(), static_cast<Node>(i), kDefaultMaximum);
    node.state = std::make_unique<State>(folder_ / ("state" + std::to_string(i)),
                                         static_cast<Node>(i), node.own->fingerprint(), false);
    if (i == kBasic && node.state->words().run == kNoRun) node.state->begin(node.own->size(), 0);
    if (i > 0) {
      const auto send = [this, i](const std::string& peer, const Message& message) {
        if (chance(60)) throw Killed();  // after the commit, before the message
        Connection& connection = connections_[i - 1];
        if (peer == std::to_string(connection.number)) connection.back.push_back(encode(message));
        if (chance(60)) throw Killed();  // after the message
      };
      node.receiver = std::make_unique<Receiver>(*node.state, *node.own, send, [this, i] {
        if (chance(3)) throw Killed();  // before the result is written
        if (i != kProject) return;
        write_results(*nodes_[i].state, folder_ / "result", kDefaultMaximum);
        if (chance(3)) throw Killed();  // before the state notes it
        nodes_[i].state->finish();
      });
    }
    if (i + 1 < kNodes) {
      const auto send = [this, i](const Message& message) {
        if (chance(60)) throw Killed();
        if (!nodes_[i + 1].state) return false;
        connections_[i].forth.push_back(encode(message));
        if (chance(60)) throw Killed();
        return true;
      };
      const auto feed = [this, i](std::uint64_t number) { return batch(i, number); };
      node.sender = std::make_unique<Sender>(*node.state, feed, send, random_(), now_);
    }
  }

  // The ids in the stream from this node, computed from the files alone.
  std::vector<std::uint32_t> stream(std::size_t i) const {
    std::vector<std::uint32_t> ids;
    if (i > 0) ids = streams_[i - 1];
    const std::set<std::uint32_t> before(ids.begin(), ids.end());
    Record record;
    for (std::uint32_t place = 0; place < nodes_[i].own->size(); ++place) {
      nodes_[i].own->read(place, record);
      if (!before.contains(record.number)) ids.push_back(record.number);
    }
    return ids;
  }

  // Batches are short, and the first node cuts them differently after a restart.
  std::optional<Batch> batch(std::size_t i, std::uint64_t number) {
    if (i != kBasic) return nodes_[i].state->batch(number);
    Batch batch;
    Record record;
    const std::uint64_t most =
        std::min<std::uint64_t>(nodes_[i].own->size() - (number - 1), 1 + random_() % 9);
    for (; batch.count < most; ++batch.count) {
      nodes_[i].own->read(static_cast<std::uint32_t>(number - 1 + batch.count), record);
      append_record(batch.bytes, record);
    }
    return batch;
  }

  void kill(std::size_t i) {
    ++kills_;
    if (nodes_[i].state) last_[i] = nodes_[i].state->words();
    nodes_[i].sender.reset();
    nodes_[i].receiver.reset();
    nodes_[i].state.reset();
    // Messages that the node has sent may still arrive; those on their way to it are lost.
    if (i > 0) connections_[i - 1].forth.clear();
    if (i + 1 < kNodes) connections_[i].back.clear();
    for (const std::size_t each : {i - 1, i}) {
      if (random_() % 2 == 0) disconnect(each);
    }
  }

  void disconnect(std::size_t i) {
    if (i >= connections_.size() - 1) return;
    connections_[i].forth.clear();
    connections_[i].back.clear();
    ++connections_[i].number;
  }

  // Repeats a message. No connection does so, but an old connection may seem to.
  void repeat(std::size_t i) {
    if (i + 1 >= kNodes) return;
    for (auto* queue : {&connections_[i].forth, &connections_[i].back}) {
      if (!queue->empty()) queue->push_back((*queue)[random_() % queue->size()]);
    }
  }

  void deliver(std::size_t i) {
    if (i + 1 >= kNodes) return;
    Connection& connection = connections_[i];
    const bool forth = random_() % 2 == 0;
    auto& queue = forth ? connection.forth : connection.back;
    const std::size_t to = forth ? i + 1 : i;
    if (queue.empty() || !nodes_[to].state) return;
    const std::string text = std::exchange(queue.front(), {});
    queue.pop_front();
    const auto message = decode(text);
    ASSERT_TRUE(message);
    guarded(to, [&] {
      if (forth) {
        nodes_[to].receiver->take(std::to_string(connection.number), *message);
      } else {
        nodes_[to].sender->take(*message, now_);
      }
    });
  }

  void work(std::size_t i) {
    now_ += milliseconds(random_() % (random_() % 8 == 0 ? 400 : 10));
    if (!nodes_[i].state) return;
    guarded(i, [&] {
      if (nodes_[i].receiver) nodes_[i].receiver->work();
      if (nodes_[i].sender) nodes_[i].sender->work(now_);
    });
  }

  template <typename Call>
  void guarded(std::size_t i, Call call) {
    try {
      call();
    } catch (const Killed&) {
      kill(i);
    }
  }

  // Checks the invariants of protocol.md, and that no durable word goes back.
  void check() {
    for (std::size_t i = 0; i < kNodes; ++i) {
      if (!nodes_[i].state) continue;
      const Words& words = nodes_[i].state->words();
      const Words before = std::exchange(last_[i], words);
      ASSERT_GE(words.received, before.received);
      ASSERT_GE(words.passed, before.passed);
      ASSERT_GE(words.acknowledged, before.acknowledged);
      if (i + 1 < kNodes) {
        ASSERT_LE(words.acknowledged, last_[i + 1].received) << "invariant 1, node " << i;
        ASSERT_LE(last_[i + 1].received, words.passed) << "invariant 1, node " << i;
      }
      if (i == kBasic) continue;
      ASSERT_EQ(words.ended != 0 ? words.total : words.passed, words.received)
          << "invariant 3, node " << i;
      if (++checks_ % 16 != 0) continue;  // check_state() is slow
      check_state(i);
    }
  }

  const Folder& folder_;
  std::mt19937_64 random_;
  std::array<Process, kNodes> nodes_;
  std::array<Connection, kNodes> connections_;
  std::array<Words, kNodes> last_{};
  std::array<std::vector<std::uint32_t>, kNodes> streams_;  // the ids that each node passes on
  Time now_{};
  bool evil_ = false;
  unsigned kills_ = 0;
  unsigned checks_ = 0;
};

void outlives_kills(std::uint64_t seed, unsigned students, unsigned lacks) {
  const Folder folder;
  std::mt19937_64 random(seed);
  write_files(folder, students, lacks, random);
  MergePlan plan;
  plan.folder = folder.path();
  plan.target = folder / "merged";
  const MergeFacts facts = merge(plan);
  World world(folder, seed);
  unsigned steps = 0;
  while (!world.done() && steps < 4000 && !testing::Test::HasFatalFailure()) {
    world.step(++steps % 1000 < 700);
  }
  // Without evil events the nodes must end.
  for (steps = 0; !world.done() && !testing::Test::HasFatalFailure(); ++steps) {
    ASSERT_LT(steps, 200'000U) << "seed " << seed;
    world.step(false);
  }
  ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
  EXPECT_EQ(content(folder / "result"), content(folder / "merged")) << "seed " << seed;
  EXPECT_EQ(content(folder / "result.incomplete"), content(folder / "merged.incomplete"));
  for (std::size_t i = kExam; i < kNodes; ++i) world.check_state(i);
  for (std::size_t i = 0; i + 1 < kNodes; ++i) {
    EXPECT_EQ(world.state(i).words().acknowledged, world.state(i).words().passed);
  }
  EXPECT_EQ(world.state(kProject).words().passed, facts.complete + facts.incomplete);
  if (students > 100) {
    EXPECT_GT(world.kills(), 10U);
  }
  std::set<std::string> names;
  for (const auto& each : fs::directory_iterator(folder.path())) {
    const std::string name = each.path().filename().string();
    EXPECT_EQ(name.find(".partial"), std::string::npos) << name;
  }
}

TEST(Nodes, end_with_the_result_of_merge_whatever_is_killed_lost_or_repeated) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    outlives_kills(seed, 400, seed % 2 == 0 ? 0 : 20);
    if (HasFatalFailure()) return;
  }
}

TEST(Nodes, end_when_nobody_is_in_any_file_or_only_one_is) {
  for (const unsigned students : {0U, 1U, 2U}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) outlives_kills(seed, students, 2);
  }
}

TEST(Nodes, pass_on_no_more_than_their_log_may_hold) {
  // The last node does not exist, so the middle node must stop the first one.
  const Folder folder;
  std::mt19937_64 random(1);
  write_files(folder, 40'000, 0, random);
  Own basic(folder.path(), kBasic, kDefaultMaximum);
  Own exam(folder.path(), kExam, kDefaultMaximum);
  State from(folder / "from", kBasic, basic.fingerprint(), false);
  State to(folder / "to", kExam, exam.fingerprint(), false);
  from.begin(basic.size(), 0);
  std::deque<std::string> back;
  Receiver receiver(
      to, exam,
      [&](const std::string&, const Message& message) { back.push_back(encode(message)); }, [] {});
  Time now{};
  Sender sender(
      from,
      [&](std::uint64_t number) { return basic.batch(static_cast<std::uint32_t>(number - 1)); },
      [&](const Message& message) {
        receiver.take("peer", message);
        return true;
      },
      1, now);
  for (int i = 0; i < 200; ++i) {
    sender.work(now);
    for (; !back.empty(); back.pop_front()) sender.take(*decode(back.front()), now);
    now += milliseconds(100);
  }
  EXPECT_EQ(to.log_size(), kWindow);
  EXPECT_EQ(from.words().acknowledged, kWindow * kMostInMessage);
  // A next node that takes half of the log makes room again, and the receiver tells the sender.
  to.acknowledge(kWindow / 2 * kMostInMessage);
  receiver.work();
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(decode(back.front())->kind, Kind::kAck);
  EXPECT_EQ(decode(back.front())->count, kWindow / 2);
}

struct Pair {
  Pair() : Pair(kBasic, kExam) {}
  Pair(Node first, Node second) {
    std::mt19937_64 random(3);
    write_files(folder, 10, 0, random);
    before.emplace(folder.path(), first, kDefaultMaximum);
    after.emplace(folder.path(), second, kDefaultMaximum);
    from.emplace(folder / "from", first, before->fingerprint(), false);
    to.emplace(folder / "to", second, after->fingerprint(), false);
    from->begin(before->size(), 0);
  }

  // The receiver answers the first greeting of the sender, and the sender takes the answers.
  void greet() {
    std::optional<Sender> sender;
    std::deque<std::string> back;
    Receiver receiver(
        *to, *after,
        [&](const std::string&, const Message& message) { back.push_back(encode(message)); },
        [] {});
    sender.emplace(
        *from,
        [&](std::uint64_t number) { return before->batch(static_cast<std::uint32_t>(number - 1)); },
        [&](const Message& message) {
          receiver.take("peer", message);
          return true;
        },
        1, Time{});
    sender->work(Time{});
    for (; !back.empty(); back.pop_front()) sender->take(*decode(back.front()), Time{});
  }

  std::string refusal() {
    try {
      greet();
    } catch (const Failure& error) {
      return error.what();
    }
    return "";
  }

  Folder folder;
  std::optional<Own> before;
  std::optional<Own> after;
  std::optional<State> from;
  std::optional<State> to;
};

TEST(Nodes, of_one_run_do_not_refuse_one_another) { EXPECT_EQ(Pair().refusal(), ""); }

TEST(Nodes, refuse_a_state_of_another_run) {
  Pair pair;
  nodes::Run other{};
  other.fill(7);
  pair.to->adopt(other);
  EXPECT_NE(pair.refusal().find("of another run; begin all nodes anew with --fresh."),
            std::string::npos);
}

TEST(Nodes, refuse_a_state_that_has_not_what_it_acknowledged) {
  Pair pair;
  pair.from->acknowledge(5);
  EXPECT_NE(pair.refusal().find("has not what it acknowledged (5 records)"), std::string::npos);
}

TEST(Nodes, refuse_to_part_with_a_next_node_that_has_not_the_whole_stream) {
  Pair pair;
  pair.from->acknowledge(pair.from->words().passed);
  pair.from->finish();
  EXPECT_NE(pair.refusal().find("The next node refuses: its state has not the end of the stream"),
            std::string::npos);
  EXPECT_EQ(pair.to->words().released, 0);
}

TEST(Nodes, refuse_a_next_node_that_has_more_than_was_passed_on) {
  Pair pair;
  pair.to->adopt(pair.from->words().run);
  Batch batch;
  Record record{.number = 1, .known = 1, .points = {}, .person = "A\tB"};
  for (; batch.count < 11; ++batch.count) append_record(batch.bytes, record);
  pair.to->append(batch, {});
  EXPECT_NE(pair.refusal().find("The next node has 11 records of this run, and this node has"),
            std::string::npos);
}

TEST(Nodes, refuse_another_order) {
  Pair pair(kBasic, kExercise);
  EXPECT_NE(pair.refusal().find("it is the node exercise, to which basic must not send"),
            std::string::npos);
}

std::string complaint(const Folder& folder, Node node, const Fingerprint& own) {
  try {
    const State state(folder / "state", node, own, false);
  } catch (const Failure& error) {
    return error.what();
  }
  return "";
}

// A pipeline that starts again right after a kill meets nodes of the killed one.
TEST(State, is_had_when_another_process_ends_a_moment_later) {
  const Folder folder;
  const Fingerprint own{.bytes = 3, .hash = 4};
  auto other = std::make_unique<State>(folder / "state", kExam, own, false);
  std::thread ends([&other] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    other.reset();
  });
  EXPECT_EQ(complaint(folder, kExam, own), "");
  ends.join();
}

TEST(State, is_for_one_process_one_node_and_one_file) {
  const Folder folder;
  const Fingerprint own{.bytes = 3, .hash = 4};
  {
    State state(folder / "state", kExam, own, false);
    EXPECT_NE(complaint(folder, kExam, own).find("Another process works on the state"),
              std::string::npos);
    state.adopt({1, 2, 3});
  }
  EXPECT_EQ(complaint(folder, kExam, own), "");
  EXPECT_NE(complaint(folder, kBasic, own).find("is of the node exam; choose another --state"),
            std::string::npos);
  EXPECT_NE(complaint(folder, kExam, {.bytes = 3, .hash = 5}).find("another exam-info.txt"),
            std::string::npos);
  const State fresh(folder / "state", kBasic, own, true);
  EXPECT_EQ(fresh.words().run, kNoRun);
}

TEST(State, that_is_no_database_is_refused) {
  const Folder folder;
  fs::create_directory(folder / "state");
  std::ofstream(folder / "state/data.mdb") << std::string(10'000, 'x');
  EXPECT_NE(complaint(folder, kExam, {}).find("begin anew with --fresh"), std::string::npos);
}

TEST(State, keeps_an_unchanged_log_when_a_batch_is_acknowledged_in_part) {
  const Folder folder;
  State state(folder / "state", kExam, {}, false);
  Batch batch{.count = 5, .bytes = "five"};
  state.append(batch, {});
  state.acknowledge(3);
  EXPECT_TRUE(state.batch(1));
  state.acknowledge(5);
  EXPECT_FALSE(state.batch(1));
}

TEST(Results, overwrite_what_a_killed_process_left_of_them) {
  const Folder folder;
  State state(folder / "state", kProject, {}, false);
  state.adopt({0xab, 0xcd, 0xef, 0x01});
  Batch batch;
  for (const unsigned number : {9U, 2U}) {
    append_record(batch.bytes, {.number = number,
                                .known = number == 2 ? kAllKnown : 3U,
                                .points = {.exam = 5, .exercises = 10, .project = 5},
                                .person = "A\tB"});
    ++batch.count;
  }
  state.append(batch, {});
  state.end(2, {});
  std::ofstream(folder / "out.partial-abcdef01") << std::string(1000, 'x');
  std::ofstream(folder / "out.incomplete.partial-abcdef01") << std::string(1000, 'x');
  const Results results = write_results(state, folder / "out", 5);
  EXPECT_EQ(results.complete, 1U);
  EXPECT_EQ(results.incomplete, 1U);
  EXPECT_EQ(content(folder / "out"), "summarydata\n00002\tA\tB\t5\t10\t5\t5\n");
  EXPECT_EQ(content(folder / "out.incomplete"),
            "incompletedata\n00009\texercise-info.txt\tproject-info.txt\n");
  EXPECT_FALSE(fs::exists(folder / "out.partial-abcdef01"));
  EXPECT_FALSE(fs::exists(folder / "out.incomplete.partial-abcdef01"));
}

Message sample(std::mt19937_64& random, std::string& body) {
  Message message{.kind = static_cast<Kind>(1 + random() % 9)};
  message.node = static_cast<Node>(random() % kNodes);
  message.ended = random() % 2 == 0;
  message.count = static_cast<std::uint32_t>(1 + random() % 5);
  message.epoch = random();
  message.number = 1 + random() % 1000;
  body.clear();
  if (message.kind == Kind::kHello) body.assign(16, 'r');
  if (message.kind == Kind::kRefused) body = "it does not fit.";
  if (message.kind == Kind::kBatch) {
    for (std::uint32_t i = 0; i < message.count; ++i) {
      append_record(body, {.number = static_cast<std::uint32_t>(1 + random() % 1000),
                           .known = static_cast<unsigned>(1 + random() % 15),
                           .points = {.exam = 4, .exercises = 44, .project = 1},
                           .person = std::string(random() % 256, 'p')});
    }
  }
  message.body = body;
  return message;
}

TEST(Messages, are_read_as_they_were_written) {
  std::mt19937_64 random(1);
  std::string body;
  for (int i = 0; i < 500; ++i) {
    const Message message = sample(random, body);
    const std::string text = encode(message);
    const auto read = decode(text);
    ASSERT_TRUE(read);
    EXPECT_EQ(encode(*read), text);
    EXPECT_EQ(read->number, message.number);
    EXPECT_EQ(read->body, body);
  }
}

TEST(Messages, that_are_cut_or_changed_are_refused_or_are_others) {
  std::mt19937_64 random(2);
  std::string body;
  for (int i = 0; i < 5000; ++i) {
    const Message message = sample(random, body);
    std::string text = encode(message);
    const std::string cut = text.substr(0, random() % text.size());
    const bool any_text = message.kind == Kind::kRefused && cut.size() >= kHeadBytes;
    EXPECT_EQ(decode(cut).has_value(), any_text);
    if (message.kind != Kind::kRefused) {
      EXPECT_FALSE(decode(text + 'x'));
    }
    text[random() % text.size()] ^= static_cast<char>(1U << random() % 8);
    const auto read = decode(text);
    if (read && read->kind == Kind::kBatch && read->version == kVersion) {
      EXPECT_TRUE(are_records(read->body, read->count));
    }
  }
}

}  // namespace
}  // namespace students::nodes
