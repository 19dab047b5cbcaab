// The definitions. The protocol of the threads is in ../merge.md.
#include "merge.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "../complaint.hpp"
#include "../input.hpp"
#include "../interruption.hpp"
#include "../partial_file.hpp"
#include "../progress.hpp"
#include "block_store.hpp"
#include "join.hpp"
#include "places.hpp"
#include "result_files.hpp"
#include "scatter.hpp"
#include "shares.hpp"

namespace students {
namespace {

constexpr std::uint64_t kPieceBytes = std::uint64_t{2} << 20;

// A part of one file, as a worker takes it.
struct Piece {
  const Input* input;
  std::uint64_t begin;
  std::uint64_t end;
};

class Inputs {
 public:
  Inputs(const std::string& folder, std::uint32_t maximum) {
    for (std::size_t i = 0; i < kFiles; ++i) {
      inputs_[i].emplace(folder, static_cast<File>(i), maximum);
      const Input& input = *inputs_[i];
      bytes_ += input.size();
      for (std::uint64_t at = input.first(); at < input.size(); at += kPieceBytes) {
        pieces_.push_back({&input, at, std::min(at + kPieceBytes, input.size())});
      }
    }
  }

  const Input& operator[](File file) const { return *inputs_[file]; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  std::uint64_t bytes() const { return bytes_; }

  // Calls call(worker, file, line) for each line of the pieces, and `done` with the bytes of each
  // piece.
  template <typename MakeCall, typename Done>
  void read(unsigned workers, MakeCall make_call, Done done) const {
    share_out(workers, pieces_.size(), [&](unsigned worker) {
      // The reader is begun anew for each piece and keeps its buffer.
      return [this, &done, call = make_call(worker),
              reader = std::optional<LineReader>()](std::uint64_t number) mutable {
        const Piece& piece = pieces_[number];
        if (reader) {
          reader->restart(*piece.input, piece.begin, piece.end);
        } else {
          reader.emplace(*piece.input, piece.begin, piece.end);
        }
        Line line;
        const File file = piece.input->rules().file;
        while (reader->next(line)) call(file, line);
        done(piece.end - piece.begin);
      };
    });
  }

 private:
  std::array<std::optional<Input>, kFiles> inputs_;
  std::vector<Piece> pieces_;
  std::uint64_t bytes_ = 0;
};

// The bytes of the compact record of a line.
std::uint64_t weight_of(const Line& line) { return sizeof(Compact) + line.person.size(); }

class Merge {
 public:
  explicit Merge(const MergePlan& plan)
      : plan_(plan),
        inputs_(plan.folder, plan.maximum),
        result_(checked(plan), kOtherResult),
        list_(list_of(plan.target), kOtherResult),
        progress_(3 * inputs_.bytes(), plan.progress, {.name = "MB", .count = 1e6}) {}

  MergeFacts run() {
    const Weights weights = count();
    const Layout layout = students::layout(weights, plan_.threads, plan_.memory_bytes);
    const auto folder = std::filesystem::absolute(plan_.target).parent_path().string();
    BlockStore store(layout.block_bytes, layout.blocks_in_memory, folder);
    const auto scatters = sort(layout, store);
    join(layout, store, scatters);
    facts_.input_bytes = inputs_.bytes();
    facts_.partitions = layout.partitions.size();
    facts_.spilled_bytes = store.spilled_bytes();
    facts_.threads = layout.threads;
    publish(result_, list_, facts_.incomplete > 0);
    return facts_;
  }

 private:
  using Scatters = std::vector<std::unique_ptr<Scatter>>;

  // The path of the result, if it and the list may be written.
  static const std::string& checked(const MergePlan& plan) {
    check_target(plan.target, plan.folder);
    return plan.target;
  }

  Weights count() {
    const unsigned workers = threads_to_count(plan_.threads, plan_.memory_bytes);
    std::vector<Weights> weights(workers);
    std::vector<std::uint64_t> above(workers);
    const auto make_call = [&](unsigned worker) {
      weights[worker].resize(kRanges);
      return [&mine = weights[worker], &high = above[worker]](File, const Line& line) {
        mine[line.number / kRangeNumbers] += weight_of(line);
        if (line.above) ++high;
      };
    };
    inputs_.read(workers, make_call, [this](std::uint64_t bytes) { progress_.advance(bytes); });
    Weights sum(kRanges);
    for (unsigned i = 0; i < workers; ++i) {
      facts_.above += above[i];
      for (std::size_t j = 0; j < weights[i].size(); ++j) sum[j] += weights[i][j];
    }
    return sum;
  }

  Scatters sort(const Layout& layout, BlockStore& store) {
    Scatters scatters(layout.threads);
    for (auto& each : scatters) each = std::make_unique<Scatter>(layout, store);
    const auto make_call = [&](unsigned worker) {
      return [&layout, &mine = *scatters[worker]](File file, const Line& line) {
        const std::uint32_t partition = layout.partition_of[line.number / kRangeNumbers];
        if (partition == kNoPartition) throw files_changed();
        const auto value =
            file == kBasic ? static_cast<std::uint32_t>(line.person.size()) : line.points;
        mine.add(partition, Compact(file, line.number, value), line.person);
      };
    };
    inputs_.read(layout.threads, make_call,
                 [this](std::uint64_t bytes) { progress_.advance(bytes); });
    return scatters;
  }

  void join(const Layout& layout, const BlockStore& store, const Scatters& scatters) {
    const Scale scale{.maximum = plan_.maximum, .exercises = inputs_[kExercise].rules().exercises};
    const TextBytes first{kResultType.size() + 1, kIncompleteType.size() + 1};
    result_.write_at(0, std::string(kResultType) + "\n");
    list_.write_at(0, std::string(kIncompleteType) + "\n");
    std::uint64_t weight = 1;
    for (const Partition& each : layout.partitions) weight += each.weight;
    Places places(first);
    std::mutex mutex;  // of the numbers of students in facts_
    const auto make = [&](unsigned) {
      return [&, joiner = Joiner(layout, scale),
              buffer = std::make_unique_for_overwrite<char[]>(layout.block_bytes)](
                 std::uint64_t number) mutable {
        check_signals();
        const Partition& partition = layout.partitions[number];
        joiner.begin(partition);
        for (const auto& each : scatters) add_all(joiner, each->last(number), store, buffer.get());
        if (joiner.twice()) throw inputs_[joiner.twice()->file].twice(joiner.twice()->number);
        auto place = places.take(number, joiner.sizes());
        if (!place) return;
        const TextBytes students = joiner.write([&](Text text, std::string_view part) {
          (text == kResult ? result_ : list_).write_at((*place)[text], part);
          (*place)[text] += part.size();
        });
        const double share = static_cast<double>(partition.weight) / static_cast<double>(weight);
        progress_.advance(static_cast<std::uint64_t>(share * static_cast<double>(inputs_.bytes())));
        const std::lock_guard lock(mutex);
        facts_.complete += students[kResult];
        facts_.incomplete += students[kMissing];
      };
    };
    share_out(layout.threads, layout.partitions.size(), make, [&] { places.fail(); });
  }

  static void add_all(Joiner& joiner, const char* block, const BlockStore& store, char* buffer) {
    for (;;) {
      joiner.add(block);
      BlockHeader header{};
      std::memcpy(&header, block, sizeof header);
      if (header.previous == BlockStore::kNone) return;
      block = store.read(header.previous, buffer);
    }
  }

  const MergePlan& plan_;
  Inputs inputs_;
  PartialFile result_;
  PartialFile list_;
  Progress progress_;
  MergeFacts facts_;
};

}  // namespace

MergeFacts merge(const MergePlan& plan) { return Merge(plan).run(); }

}  // namespace students
