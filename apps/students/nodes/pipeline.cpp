// The definitions. One thread and no socket of ZeroMQ is here, so that a process may fork.
#include "pipeline.hpp"

#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "../complaint.hpp"
#include "../interruption.hpp"
#include "child.hpp"
#include "names.hpp"
#include "run_folder.hpp"

namespace students::nodes {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kMostDeaths = 10;  // of a node, one after the other without progress between
constexpr milliseconds kGrace{3000};
constexpr milliseconds kShowEach{200};

class Pipeline {
 public:
  explicit Pipeline(const PipelinePlan& plan)
      : plan_(plan),
        folder_(plan.state.empty() ? plan.target + ".state" : plan.state, plan.fresh) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() { clear_line(); }

  // The sentence about incomplete students, if there are any.
  std::optional<std::string> run() {
    try {
      for (std::size_t i = 0; i < kNodes; ++i) start(i);
      while (!done()) {
        check_signals();
        wait();
        for (std::size_t i = 0; i < kNodes; ++i) look_at(i);
        show();
      }
    } catch (const Interrupted&) {
      stop();
      clear_line();
      std::fprintf(stderr,
                   "tmk-students: The nodes have ended; the same command goes on from the state in "
                   "%s.\n",
                   folder_.path().c_str());
      throw;
    } catch (...) {
      stop();
      if (folder_.made() && !begun()) folder_.remove();
      throw;
    }
    folder_.remove();
    return incomplete_;
  }

 private:
  struct Watched {
    std::unique_ptr<Child> child;
    std::array<unsigned long long, 3> words{};  // received, passed, acknowledged
    int deaths = 0;                             // without progress
    bool done = false;
  };

  void start(std::size_t node) {
    const auto text = [](auto number) { return std::to_string(number); };
    std::vector<std::string> words{"tmk-students",
                                   "node",
                                   std::string(kNodeNames[node]),
                                   "--state",
                                   folder_.of(static_cast<Node>(node)),
                                   "--in",
                                   plan_.folder,
                                   "--points",
                                   text(plan_.maximum),
                                   "--timeout",
                                   text(plan_.timeout_s),
                                   "--report",
                                   text(Child::kReport)};
    const auto add = [&words](const char* option, const std::string& value) {
      words.insert(words.end(), {option, value});
    };
    if (node != kBasic) add("--listen", ports_[node - 1].address());
    if (node != kProject) add("--next", ports_[node].address());
    if (node == kProject) add("--output", plan_.target);
    nodes_[node].child = std::make_unique<Child>(words);
  }

  // Whether any node has said that its state holds more than its beginning.
  bool begun() const {
    for (const Watched& each : nodes_) {
      if (each.words[0] != 0 || each.words[2] != 0) return true;
    }
    return false;
  }

  bool done() const {
    for (const Watched& each : nodes_) {
      if (!each.done) return false;
    }
    return true;
  }

  // Until a node says something or ends, which closes what it says it on.
  void wait() {
    std::vector<pollfd> all;
    for (const Watched& each : nodes_) {
      if (each.done) continue;
      for (const int descriptor : {each.child->report(), each.child->error()}) {
        if (descriptor >= 0) all.push_back({descriptor, POLLIN, 0});
      }
    }
    // Between the end of both pipes and that of the process there is a moment.
    poll(all.data(), all.size(), all.empty() ? 1 : 100);
  }

  void look_at(std::size_t node) {
    Watched& watched = nodes_[node];
    if (watched.done) return;
    const bool ended = watched.child->ended();  // before reading, so that nothing is missed
    watched.child->read();
    for (const std::string& line : watched.child->lines()) take(watched, line);
    if (!ended) return;
    const int status = watched.child->status();
    if (WIFSIGNALED(status)) {
      died(node, WTERMSIG(status));
    } else {
      left(node, WEXITSTATUS(status));
    }
  }

  void take(Watched& watched, const std::string& line) {
    std::array<unsigned long long, 3> words{};
    if (line.starts_with("! ")) {
      clear_line();
      std::fprintf(stderr, "tmk-students: %s\n", line.c_str() + 2);
    } else if (std::sscanf(line.c_str(), "%llu %llu %llu", &words[0], &words[1], &words[2]) == 3 &&
               words != watched.words) {
      watched.words = words;
      watched.deaths = 0;
    }
  }

  void left(std::size_t node, int status) {
    Watched& watched = nodes_[node];
    std::string sentence = watched.child->complaint();
    if (sentence.ends_with('\n')) sentence.pop_back();
    constexpr std::string_view kPrefix = "tmk-students: ";
    if (sentence.starts_with(kPrefix)) sentence.erase(0, kPrefix.size());
    if (status == kIncomplete && node == kProject) {
      incomplete_ = sentence;
    } else if (status == kUsage) {
      throw BadRequest(sentence);
    } else if (status != kOk) {
      throw Failure(sentence.empty()
                        ? "The node " + std::string(kNodeNames[node]) + " has ended with status " +
                              std::to_string(status) + " and no word; begin again."
                        : sentence);
    }
    watched.done = true;
  }

  void died(std::size_t node, int signal) {
    Watched& watched = nodes_[node];
    if (signal == SIGTERM) {  // of all processes of a session or service, perhaps
      poll(nullptr, 0, 50);
      check_signals();
    }
    if (++watched.deaths >= kMostDeaths) {
      throw Failure(
          "The node " + std::string(kNodeNames[node]) + " was ended by signal " +
          std::to_string(signal) + " (" + strsignal(signal) + ") " + std::to_string(kMostDeaths) +
          " times without progress; see to its cause, such as a lack of memory. The state "
          "in " +
          folder_.path() + " lets the same command go on.");
    }
    clear_line();
    std::fprintf(stderr,
                 "tmk-students: The node %s was ended by signal %d (%s) and is started again.\n",
                 std::string(kNodeNames[node]).c_str(), signal, strsignal(signal));
    start(node);
    // The next one may have left already, and this one may not know that it has all.
    if (node != kProject && nodes_[node + 1].done) {
      nodes_[node + 1].done = false;
      start(node + 1);
    }
  }

  // Ends all, and waits for it.
  void stop() {
    for (const Watched& each : nodes_) {
      if (each.child) each.child->signal(SIGTERM);
    }
    const auto until = Clock::now() + kGrace;
    for (const Watched& each : nodes_) {
      while (each.child && !each.child->ended()) {
        if (Clock::now() > until) each.child->signal(SIGKILL);
        poll(nullptr, 0, 5);
      }
    }
  }

  void show() {
    const auto now = Clock::now();
    if (!plan_.progress || now < show_at_) return;
    show_at_ = now + kShowEach;
    const auto total = nodes_[kBasic].words[1];
    const auto share = [total](unsigned long long count) {
      return total == 0 ? 0 : static_cast<int>(100 * std::min(count, total) / total);
    };
    std::fprintf(stderr,
                 "\r%llu students: basic %d %% passed on, exam %d %%, exercise %d %%, "
                 "project %d %% received\x1b[K",
                 total, share(nodes_[kBasic].words[2]), share(nodes_[kExam].words[2]),
                 share(nodes_[kExercise].words[2]), share(nodes_[kProject].words[0]));
    std::fflush(stderr);
    shown_ = true;
  }

  void clear_line() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
  }

  const PipelinePlan& plan_;
  RunFolder folder_;
  std::array<Port, kNodes - 1> ports_;
  std::array<Watched, kNodes> nodes_;
  std::optional<std::string> incomplete_;
  Clock::time_point show_at_ = Clock::now() + kShowEach;
  bool shown_ = false;
};

}  // namespace

void run_pipeline(const PipelinePlan& plan) {
  std::optional<std::string> incomplete;
  {
    Pipeline pipeline(plan);
    incomplete = pipeline.run();
  }
  if (incomplete) throw Incomplete(*incomplete);
}

}  // namespace students::nodes
