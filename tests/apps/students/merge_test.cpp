// The parts of the merge: blocks, layouts, joins, and whole merges of files with damage at every
// byte.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../../refuse_thread.hpp"
#include "students/complaint.hpp"
#include "students/crew.hpp"
#include "students/merging/block_store.hpp"
#include "students/merging/join.hpp"
#include "students/merging/layout.hpp"
#include "students/merging/merge.hpp"
#include "students/merging/places.hpp"
#include "students/merging/result_files.hpp"
#include "students/merging/scatter.hpp"
#include "students/merging/shares.hpp"

namespace {

// The system refuses a thread after so many; less than zero: it refuses none.
std::atomic<int> threads_left{-1};

using students::BlockStore;
using students::Failure;
using students::File;
using students::kFiles;
using students::Layout;
using students::MergeFacts;
using students::MergePlan;
using students::Partition;
using students::Weights;
using Contents = std::array<std::string, kFiles>;

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "students.XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }

  std::string of(std::string_view name) const { return (path / name).string(); }
  void write(const Contents& contents) const {
    for (std::size_t i = 0; i < kFiles; ++i) write(static_cast<File>(i), contents[i]);
  }
  // Makes a new file, because ext4 writes a file that replaces another to the device at once.
  void write(File file, const std::string& text) const {
    std::filesystem::remove(of(students::kFileNames[file]));
    std::ofstream(of(students::kFileNames[file]), std::ios::binary) << text;
  }
  std::set<std::string> lines(std::string_view name) const {
    std::ifstream in(of(name));
    std::set<std::string> result;
    for (std::string line; std::getline(in, line);) result.insert(line);
    return result;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }

  std::filesystem::path path;
};

Contents small_contents() {
  return {
      "studentdata\n00001\tLaine Onni\tTOL\n00020\tJ\xc3\xa4rvi P\xc3\xa4ivi\tSO\n"
      "00003\tAli Baba Aino\tENF\n",
      "examdata\n00020\t5\n00001\t3\n00003\t0\n",
      "exercisedata\n00003\t1\t2\t3\t4\t5\t0\n00001\t5\t4\t3\t2\t1\t0\n"
      "00020\t5\t5\t5\t5\t5\t4\n",
      "exerciseworkdata\n00001\t3\n00003\t4\n00020\t5\n"};
}

MergePlan plan_of(const Folder& folder, unsigned threads = 1) {
  MergePlan plan;
  plan.folder = folder.path;
  plan.target = folder.of("summary.txt");
  plan.threads = threads;
  return plan;
}

// The complaint of a merge, or nothing; a merge without a complaint sets `facts`.
std::string complaint_of(const MergePlan& plan, MergeFacts& facts) {
  std::filesystem::remove(plan.target);
  std::filesystem::remove(students::list_of(plan.target));
  try {
    facts = students::merge(plan);
    return "";
  } catch (const Failure& failure) {
    return failure.what();
  }
}

TEST(Merge, of_files_that_end_at_any_byte_gives_a_line_or_a_right_result) {
  const Folder folder;
  const Contents whole = small_contents();
  folder.write(whole);
  const MergePlan plan = plan_of(folder);
  EXPECT_EQ(students::merge(plan).complete, 3U);
  const std::set<std::string> right = folder.lines("summary.txt");
  ASSERT_EQ(right.size(), 4U);
  for (std::size_t i = 0; i < kFiles; ++i) {
    const File file = static_cast<File>(i);
    for (std::size_t bytes = 0; bytes < whole[i].size(); ++bytes) {
      folder.write(file, whole[i].substr(0, bytes));
      MergeFacts facts;
      const std::string complaint = complaint_of(plan, facts);
      if (bytes == 0 || whole[i][bytes - 1] != '\n') {
        const std::string name = folder.of(students::kFileNames[i]);
        const auto lines = std::count(whole[i].data(), whole[i].data() + bytes, '\n') + 1;
        const std::string place =
            bytes == 0 ? name + " is empty" : name + ", line " + std::to_string(lines) + ": ";
        EXPECT_EQ(complaint.substr(0, place.size()), place) << bytes;
        EXPECT_EQ(complaint.back(), '.');
        continue;
      }
      EXPECT_EQ(complaint, "");
      EXPECT_EQ(facts.complete + facts.incomplete, 3U);
      const std::set<std::string> found = folder.lines("summary.txt");
      EXPECT_EQ(found.size(), facts.complete + 1);
      EXPECT_EQ(folder.lines("summary.txt.incomplete").size(), facts.incomplete + 1);
      EXPECT_TRUE(std::ranges::includes(right, found)) << bytes;
    }
    folder.write(file, whole[i]);
  }
}

TEST(Merge, of_files_with_any_other_byte_gives_a_sentence_or_a_result) {
  const Folder folder;
  const Contents whole = small_contents();
  folder.write(whole);
  const MergePlan plan = plan_of(folder);
  int refused = 0;
  for (std::size_t i = 0; i < kFiles; ++i) {
    for (std::size_t at = 0; at < whole[i].size(); ++at) {
      for (const char byte : {'\0', '\t', '\n', '9', '\xc3', '\xff'}) {
        std::string text = whole[i];
        text[at] = byte;
        folder.write(static_cast<File>(i), text);
        MergeFacts facts;
        const std::string complaint = complaint_of(plan, facts);
        if (complaint.empty()) {
          EXPECT_EQ(folder.lines("summary.txt").size(), facts.complete + 1);
          continue;
        }
        ++refused;
        EXPECT_EQ(complaint.rfind(folder.of(students::kFileNames[i]) + ", line ", 0), 0U)
            << complaint;
        EXPECT_EQ(complaint.back(), '.');
      }
    }
    folder.write(static_cast<File>(i), whole[i]);
  }
  EXPECT_GT(refused, 1000);
}

// The memory is so small that blocks go to the file.
TEST(Merge, is_the_same_with_every_number_of_threads_and_in_a_small_memory) {
  const Folder folder;
  Contents contents;
  for (std::size_t i = 0; i < kFiles; ++i)
    contents[i] = std::string(students::kContentTypes[i]) + "\n";
  const std::array<std::string, kFiles> rests{"\tVirtanen Veikko\tTUT\n", "\t4\n", "\t1\t2\n",
                                              "\t3\n"};
  const std::array<std::uint32_t, kFiles> factors{7919, 7921, 7923, 7927};
  for (std::uint32_t i = 0; i < 40'000; ++i) {
    for (std::size_t file = 0; file < kFiles; ++file) {
      if ((i + file) % 1000 == 0) continue;
      // Each file has another order: the factors have no divisor in common with 40,000.
      const std::uint32_t number = 1 + i * factors[file] % 40'000 * 25;
      contents[file] += std::to_string(number) + rests[file];
    }
  }
  folder.write(contents);
  const auto texts = [&folder] {
    std::array<std::string, 2> result;
    for (std::size_t i = 0; i < result.size(); ++i) {
      std::ostringstream text;
      text << std::ifstream(folder.of(i == 0 ? "summary.txt" : "summary.txt.incomplete")).rdbuf();
      result[i] = text.str();
    }
    return result;
  };
  MergeFacts facts;
  EXPECT_EQ(complaint_of(plan_of(folder), facts), "");
  EXPECT_EQ(facts.spilled_bytes, 0U);
  const auto right = texts();
  EXPECT_GT(facts.complete, 30'000U);
  EXPECT_GT(facts.incomplete, 100U);
  for (unsigned threads = 1; threads <= 4; ++threads) {
    MergePlan plan = plan_of(folder, threads);
    plan.memory_bytes = (7 + 2 * threads) << 20;
    EXPECT_EQ(complaint_of(plan, facts), "");
    EXPECT_GT(facts.spilled_bytes, 100'000U) << threads;
    EXPECT_EQ(facts.threads, threads);
    EXPECT_GT(facts.partitions, 4U);
    EXPECT_TRUE(texts() == right) << threads;
  }
}

TEST(Merge, names_the_first_bad_line_of_two_pieces_with_every_number_of_threads) {
  const Folder folder;
  folder.write(small_contents());
  std::string text = "examdata\n";
  std::size_t bad_offset = 0;
  while (text.size() < 7'000'000) {
    // A bad line is in the second piece and in each later one.
    const bool bad = text.size() > bad_offset + 2'000'000;
    if (bad) bad_offset = text.size();
    text += std::to_string(100'000 + text.size()) + (bad ? "\tx\n" : "\t1\n");
  }
  folder.write(students::kExam, text);
  const auto line = std::count(text.data(), text.data() + text.find("\tx"), '\n') + 1;
  for (unsigned threads = 1; threads <= 6; ++threads) {
    MergeFacts facts;
    const std::string complaint = complaint_of(plan_of(folder, threads), facts);
    const std::string name = folder.of("exam-info.txt") + ", line " + std::to_string(line) + ":";
    EXPECT_EQ(complaint.substr(0, name.size()), name);
  }
}

TEST(Merge, ends_and_leaves_no_file_when_a_thread_is_refused) {
  const Folder folder;
  folder.write(small_contents());
  for (int refused = 0; refused < 6; ++refused) {
    MergeFacts facts;
    threads_left.store(refused);
    const std::string complaint = complaint_of(plan_of(folder, 3), facts);
    threads_left.store(-1);
    EXPECT_NE(complaint.find("A thread cannot be started"), std::string::npos) << refused;
    EXPECT_EQ(folder.files(), kFiles);
  }
}

TEST(Shares, keep_the_failure_of_the_lowest_number) {
  for (unsigned workers = 1; workers <= 5; ++workers) {
    std::string said;
    try {
      students::share_out(workers, 100, [](unsigned) {
        return [](std::uint64_t number) {
          if (number >= 20) throw Failure(std::to_string(number));
        };
      });
    } catch (const Failure& failure) {
      said = failure.what();
    }
    EXPECT_EQ(said, "20");
  }
}

TEST(Places, follow_one_another_whoever_asks_first) {
  students::Places places({12, 15});
  std::array<students::TextBytes, 5> found{};
  {
    students::Crew crew;
    for (std::uint64_t i = found.size(); i-- > 0;) {
      crew.start([&, i] { found[i] = places.take(i, {10 + i, i}).value(); });
    }
  }
  students::TextBytes end{12, 15};
  for (std::uint64_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], end);
    end[0] += 10 + i;
    end[1] += i;
  }
}

// The failing worker's partition never takes its place, and all other workers wait for it.
TEST(Places, let_nobody_wait_when_a_worker_has_failed) {
  students::Places places({0, 0});
  std::atomic<int> begun{0};
  std::string said;
  try {
    students::share_out(
        4, 4,
        [&](unsigned) {
          return [&](std::uint64_t number) {
            ++begun;
            while (begun < 4) std::this_thread::yield();
            if (number == 0) throw Failure("the first");
            EXPECT_FALSE(places.take(number, {1, 1}).has_value());
          };
        },
        [&] { places.fail(); });
  } catch (const Failure& failure) {
    said = failure.what();
  }
  EXPECT_EQ(said, "the first");
}

TEST(BlockStore, gives_back_each_block_of_memory_and_file_to_whoever_added_it) {
  const Folder folder;
  constexpr std::size_t kBytes = 512;
  BlockStore store(kBytes, 5, folder.path);
  std::array<std::vector<std::uint32_t>, 3> numbers;
  {
    students::Crew crew;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      crew.start([&store, &mine = numbers[i], i] {
        for (char j = 0; j < 20; ++j) {
          const std::string block(kBytes, static_cast<char>('a' + 20 * static_cast<char>(i) + j));
          mine.push_back(store.add(block.data()));
        }
      });
    }
  }
  EXPECT_EQ(store.spilled_bytes(), 55 * kBytes);
  EXPECT_EQ(folder.files(), 0U);
  std::array<char, kBytes> buffer{};
  std::set<std::uint32_t> all;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (std::size_t j = 0; j < numbers[i].size(); ++j) {
      all.insert(numbers[i][j]);
      const std::string found(store.read(numbers[i][j], buffer.data()), kBytes);
      EXPECT_EQ(found, std::string(kBytes, static_cast<char>('a' + 20 * i + j)));
    }
  }
  EXPECT_EQ(all.size(), 60U);
}

TEST(BlockStore, has_a_file_without_a_name_in_both_ways) {
  const Folder folder;
  for (const int file :
       {students::open_unnamed(folder.path), students::open_and_unlink(folder.path)}) {
    ASSERT_GE(file, 0);
    EXPECT_EQ(folder.files(), 0U);
    EXPECT_EQ(write(file, "abc", 3), 3);
    close(file);
  }
  EXPECT_LT(students::open_unnamed(folder.of("missing")), 0);
}

// The bytes that the threads hold at once, by merge.md, without the program itself.
std::uint64_t held_bytes(const Layout& layout) {
  std::uint64_t text = 0;
  std::uint64_t pages = 0;
  std::uint64_t entries = 0;
  for (const Partition& each : layout.partitions) {
    text = std::max(text, each.text_bytes());
    pages = std::max(pages, each.pages());
    entries = std::max(entries, each.index_entries());
  }
  const std::uint64_t join = text + 256 * pages + 4 * entries;
  return layout.threads * (join + layout.partitions.size() * layout.block_bytes) +
         layout.blocks_in_memory * layout.block_bytes;
}

TEST(Layout, keeps_to_the_memory_and_has_each_range_once) {
  std::mt19937_64 random(3);
  int refused = 0;
  for (int i = 0; i < 90; ++i) {
    Weights weights(students::kRanges);
    const std::uint64_t used = 1 + random() % (i % 3 == 0 ? 20 : weights.size());
    const std::uint64_t most = std::uint64_t{1} << (3 + random() % 22);
    for (std::uint64_t j = 0; j < used; ++j) weights[random() % used] = 8 + random() % most;
    const std::uint64_t memory = students::kLeastMemoryBytes << (random() % 4);
    const auto threads = static_cast<unsigned>(1 + random() % 16);
    Layout layout;
    try {
      layout = students::layout(weights, threads, memory);
    } catch (const students::BadRequest& error) {
      ++refused;
      const std::string text = error.what();
      const std::uint64_t enough = std::stoull(text.substr(text.find("--memory", 10) + 9));
      EXPECT_GT(enough << 20, memory);
      layout = students::layout(weights, threads, enough << 20);
      EXPECT_LE(held_bytes(layout), enough << 20);
      continue;
    }
    EXPECT_LE(layout.threads, threads);
    EXPECT_LE(held_bytes(layout), memory);
    std::uint64_t weight = 0;
    std::uint64_t end = 0;
    for (const Partition& each : layout.partitions) {
      EXPECT_GE(each.first, end);
      end = each.first + each.span;
      weight += each.weight;
    }
    EXPECT_EQ(weight, std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
    for (std::uint64_t j = 0; j < weights.size(); ++j) {
      if (weights[j] == 0) continue;
      const Partition& mine = layout.partitions.at(layout.partition_of[j]);
      EXPECT_LE(mine.first, j * students::kRangeNumbers);
      EXPECT_GE(mine.first + mine.span, (j + 1) * students::kRangeNumbers);
    }
  }
  EXPECT_GT(refused, 3);
  EXPECT_LT(refused, 60);
}

TEST(Joiner, says_how_many_bytes_it_writes) {
  std::minstd_rand random(5);
  const std::array<std::uint32_t, 8> numbers{1,       9'999,     10'000,      99'999,
                                             100'000, 1'000'000, 999'999'999, 1'000'000'000};
  Weights weights(students::kRanges);
  for (const std::uint32_t each : numbers) weights[each / students::kRangeNumbers] += 4 * 300;
  const Layout layout = students::layout(weights, 1, students::kLeastMemoryBytes);
  BlockStore store(layout.block_bytes, 100, ".");
  students::Scatter scatter(layout, store);
  for (const std::uint32_t number : numbers) {
    const std::size_t partition = layout.partition_of[number / students::kRangeNumbers];
    for (std::size_t file = 0; file < kFiles; ++file) {
      if (random() % 4 == 0) continue;
      const std::string person = file == 0 ? std::string(3 + random() % 253, 'p') : "";
      const auto points = static_cast<std::uint32_t>(random() % 1001);
      const auto value = file == 0 ? static_cast<std::uint32_t>(person.size())
                                   : points * (file == students::kExercise ? 9999 : 1);
      scatter.add(partition, students::Compact(static_cast<File>(file), number, value), person);
    }
  }
  students::Joiner joiner(layout, {.maximum = 1000, .exercises = 9999});
  students::TextBytes students{};
  for (std::size_t i = 0; i < layout.partitions.size(); ++i) {
    joiner.begin(layout.partitions[i]);
    joiner.add(scatter.last(i));
    students::TextBytes written{};
    const auto count = joiner.write(
        [&](students::Text text, std::string_view part) { written[text] += part.size(); });
    EXPECT_EQ(written, joiner.sizes());
    for (std::size_t text = 0; text < count.size(); ++text) students[text] += count[text];
  }
  EXPECT_EQ(students[0] + students[1], numbers.size());
  EXPECT_GT(students[0], 0U);
  EXPECT_GT(students[1], 0U);
}

TEST(ResultFiles, leave_an_earlier_list_where_the_result_cannot_take_its_name) {
  const Folder folder;
  const std::string target = folder.of("result");
  std::ofstream(students::list_of(target)) << "earlier";
  {
    students::PartialFile result(target, students::kOtherResult);
    students::PartialFile list(students::list_of(target), students::kOtherResult);
    list.write("new");
    std::filesystem::remove(result.path());
    EXPECT_THROW(students::publish(result, list, false), Failure);
  }
  std::string text;
  std::getline(std::ifstream(students::list_of(target)), text);
  EXPECT_EQ(text, "earlier");
  const std::filesystem::directory_iterator files(folder.path);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

}  // namespace

bool refuses_thread() {
  const int left = threads_left.load();
  return left >= 0 && threads_left.fetch_sub(1) <= 0;
}
