// may use: students : students::writers : HAS_STUDENTS
// The writers of apps/students: four threads that write four files, and their improvement step by
// step. An operation is a whole generation. On one thread a way is the writer of the same method
// without threads; with more it has the writer's threads, which are four except for fast.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contention.hpp"

#if defined(HAS_STUDENTS)
#include <unistd.h>

#include <students/data.hpp>
#include <students/output.hpp>
#include <students/progress.hpp>
#include <students/writer.hpp>
#endif

namespace {

struct Kind {
  std::string_view name;
  std::string_view meaning;
  bench::Use use;
  bool remedy;
};

using enum bench::Use;
// The usual way first.
constexpr std::array kKinds{
    Kind{"as_published",
         "four threads take turns under one mutex, which each keeps while it writes", whole, false},
    Kind{"take_turns", "the same, whose finished threads sleep until the next block", whole, false},
    Kind{"turns_unflushed", "the same, whose files stay open and whose lines are not flushed",
         whole, false},
    Kind{"spawn", "four threads are started for each block and write without a lock", whole, false},
    Kind{"sequential", "one thread saves file after file and flushes each line", alone, false},
    Kind{"buffered", "one thread saves file after file without a flush", alone, true},
    Kind{"persistent", "four threads without the lock and the flush", whole, true},
    Kind{"fast", "flat texts of whole blocks, in few large writes", whole, true}};

#if defined(HAS_STUDENTS)

constexpr std::uint64_t kStudents = 1000;
constexpr std::uint64_t kInBlock = 250;

// A folder of this process, in memory where there is such a file system: no disk is measured.
std::filesystem::path make_folder() {
  const std::filesystem::path memory = "/dev/shm";
  const bool can = access(memory.c_str(), W_OK | X_OK) == 0;
  const auto parent = can ? memory : std::filesystem::temp_directory_path();
  std::string name = (parent / "students_write.XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("no folder can be made in " + parent.string());
  }
  return name;
}

// What is wrong with a file: it must have its first line and each student once.
std::string fault_of(const std::filesystem::path& path, std::string_view type) {
  std::ifstream file(path);
  std::string line;
  std::vector<bool> seen(kStudents + 1);
  std::uint64_t lines = 0;
  if (!std::getline(file, line) || line != type) return path.string() + " has another first line";
  while (std::getline(file, line)) {
    const std::uint64_t number = std::stoull(line);
    if (number < 1 || number > kStudents || seen[number]) {
      return path.string() + " has student " + line.substr(0, 5) + " twice, or should not have it";
    }
    seen[number] = true;
    ++lines;
  }
  return lines == kStudents ? "" : path.string() + " has " + std::to_string(lines) + " students";
}

template <std::size_t kIndex>
class Writing {
 public:
  explicit Writing(unsigned threads)
      : writer_(&named(kKinds[kIndex].name)), folder_(make_folder()) {
    if (threads == 1) writer_ = &named(writer_->serial);
    plan_.students = kStudents;
    plan_.block = kInBlock;
    plan_.seed = 1;
    plan_.threads = writer_->threads == 0 ? threads : writer_->threads;
    plan_.folder = folder_.string();
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  ~Writing() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  class contender {
   public:
    contender(Writing& shared, unsigned) : shared_(shared) {}
    void run(std::uint64_t operations) {
      for (; operations > 0; --operations) shared_.write();
    }
    std::string check(std::uint64_t) { return shared_.fault(); }

   private:
    Writing& shared_;
  };

 private:
  static const students::Writer& named(std::string_view name) {
    const auto& all = students::writers();
    const auto found = std::ranges::find(all, name, &students::Writer::name);
    if (found == all.end()) throw std::logic_error("no writer " + std::string(name));
    return *found;
  }

  void write() {
    const students::Data data(plan_);
    students::Output output(plan_.folder, false);
    students::Progress progress(plan_.students, false);
    writer_->run({plan_, data, output, progress});
    output.commit();
  }

  std::string fault() const {
    for (std::size_t i = 0; i < students::kFiles; ++i) {
      std::string found = fault_of(folder_ / students::kFileNames[i], students::kContentTypes[i]);
      if (!found.empty()) return found;
    }
    return {};
  }

  const students::Writer* writer_;
  std::filesystem::path folder_;
  students::Plan plan_;
};

template <std::size_t kIndex>
bench::Way way() {
  constexpr Kind kind = kKinds[kIndex];
  if (kind.remedy) return bench::remedy<Writing<kIndex>>(kind.name, kind.meaning, kind.use);
  return bench::usual<Writing<kIndex>>(kind.name, kind.meaning, kind.use);
}

template <std::size_t... kIndices>
std::vector<bench::Way> all_ways(std::index_sequence<kIndices...>) {
  return {way<kIndices>()...};
}
std::vector<bench::Way> ways() { return all_ways(std::make_index_sequence<kKinds.size()>()); }

#else

std::vector<bench::Way> ways() {
  std::vector<bench::Way> found;
  for (const Kind& kind : kKinds) {
    found.push_back(bench::lacking(kind.name, kind.meaning,
                                   "the applications are not built; ./threadmark setup --apps "
                                   "builds them, and then this too"));
    found.back().remedy = kind.remedy;
    found.back().use = kind.use;
  }
  return found;
}

#endif

}  // namespace

CONTENTION_PROGRAM(.name = "students_write",
                   .summary = "four threads that write four files of their own",
                   .operation = "write 1000 students into four files, in blocks of 250",
                   .origin = "A. Juustila, writing to disk with threads (2019)", .ways = ways())
