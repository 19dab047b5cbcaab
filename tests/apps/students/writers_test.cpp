// All writers write the same bytes, and leave nothing behind if a file or a thread is refused.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "../../refuse_thread.hpp"
#include "students/complaint.hpp"
#include "students/interruption.hpp"
#include "students/output.hpp"
#include "students/writer.hpp"

namespace {

// The system refuses a thread after so many; less than zero: it refuses none.
std::atomic<int> threads_left{-1};

using students::Data;
using students::File;
using students::kFiles;
using students::Output;
using students::Plan;
using students::Progress;
using students::Writer;
using Contents = std::array<std::string, kFiles>;

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "students.XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }

  std::filesystem::path path;
};

Contents read(const Folder& folder) {
  Contents result;
  for (std::size_t i = 0; i < kFiles; ++i) {
    std::ostringstream text;
    text << std::ifstream(folder.path / students::kFileNames[i]).rdbuf();
    result[i] = text.str();
  }
  return result;
}

Plan plan_of(std::uint64_t count, std::uint64_t block, std::uint64_t exercises, unsigned threads) {
  Plan plan;
  plan.students = count;
  plan.block = std::min(block, count);
  plan.exercises = exercises;
  plan.threads = threads;
  plan.seed = 11;
  return plan;
}

void write(const Writer& writer, const Plan& plan, const Folder& folder) {
  const Data data(plan);
  Output output(folder.path.string(), false);
  Progress progress(plan.students, false);
  writer.run({plan, data, output, progress});
  output.commit();
}

const Writer& named(std::string_view name) {
  return *std::ranges::find(students::writers(), name, &Writer::name);
}

Contents written(const Writer& writer, const Plan& plan) {
  const Folder folder;
  write(writer, plan, folder);
  EXPECT_EQ(folder.files(), kFiles);
  return read(folder);
}

// Replaces a file by a device that is always full, in the folder and in open descriptors.
void fill(const std::string& path) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  for (int each = 3; each < 256; ++each) {
    std::error_code error;
    const auto link = std::filesystem::path("/proc/self/fd") / std::to_string(each);
    if (std::filesystem::read_symlink(link, error) == path) dup2(full, each);
  }
  close(full);
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/full", path);
}

TEST(Writers, every_writer_writes_the_same_bytes) {
  EXPECT_EQ(students::writers().size(), 8U);
  for (const auto& [count, block, exercises] : {std::array{1U, 1U, 1U},
                                                {7U, 5U, 4U},
                                                {1000U, 100U, 6U},
                                                {1003U, 100U, 17U},
                                                {2000U, 2000U, 10U},
                                                {301U, 5U, 16U}}) {
    const Plan plan = plan_of(count, block, exercises, 2);
    const Contents right = written(named("sequential"), plan);
    for (const Writer& writer : students::writers()) {
      EXPECT_EQ(written(writer, plan), right) << writer.name << ' ' << count;
    }
  }
}

TEST(Writers, each_is_compared_with_one_that_writes_on_one_thread) {
  for (const Writer& writer : students::writers()) {
    const Writer& serial = named(writer.serial);
    EXPECT_LE(serial.threads, 1U) << writer.name;  // 0: the writer takes the given number, also one
    EXPECT_EQ(serial.flushes, writer.flushes) << writer.name;
    EXPECT_EQ(serial.serial, serial.name) << writer.name;
  }
}

TEST(Writers, fast_writes_the_same_bytes_with_every_number_of_threads) {
  const Contents right = written(named("sequential"), plan_of(30'000, 100, 10, 1));
  for (unsigned threads = 1; threads <= 9; ++threads) {
    EXPECT_EQ(written(named("fast"), plan_of(30'000, 100, 10, threads)), right) << threads;
  }
}

TEST(Writers, numbers_grow_wider_than_five_digits_and_stay_the_same_in_every_writer) {
  const Plan plan = plan_of(100'500, 500, 3, 3);
  EXPECT_EQ(written(named("fast"), plan), written(named("persistent"), plan));
}

TEST(Writers, leave_no_file_when_files_must_not_grow) {
  students::note_signals();  // the limit must not end the process
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  for (const rlim_t bytes : {0U, 100U, 20'000U, 60'000U}) {
    const rlimit small{bytes, before.rlim_max};
    for (const Writer& writer : students::writers()) {
      const Folder folder;
      setrlimit(RLIMIT_FSIZE, &small);
      std::string complaint;
      try {
        write(writer, plan_of(20'000, 100, 10, 3), folder);
      } catch (const students::Failure& failure) {
        complaint = failure.what();
      }
      setrlimit(RLIMIT_FSIZE, &before);
      EXPECT_NE(complaint.find("File too large"), std::string::npos) << writer.name << complaint;
      EXPECT_EQ(folder.files(), 0U) << writer.name << ' ' << bytes;
    }
  }
}

TEST(Writers, end_and_leave_no_file_when_any_one_file_cannot_be_written) {
  for (const Writer& writer : students::writers()) {
    for (std::size_t i = 0; i < kFiles; ++i) {
      const Plan plan = plan_of(20'000, 100, 10, 3);
      const Folder folder;
      std::string complaint;
      try {
        const Data data(plan);
        Output output(folder.path.string(), false);
        Progress progress(plan.students, false);
        fill(output.path(static_cast<File>(i)));
        writer.run({plan, data, output, progress});
        output.commit();
      } catch (const students::Failure& failure) {
        complaint = failure.what();
      }
      EXPECT_NE(complaint.find(students::kFileNames[i]), std::string::npos) << writer.name;
      EXPECT_NE(complaint.find("No space left on device"), std::string::npos) << complaint;
      EXPECT_EQ(folder.files(), 0U) << writer.name;
    }
  }
}

TEST(Writers, end_and_leave_no_file_when_a_thread_is_refused) {
  for (const Writer& writer : students::writers()) {
    if (writer.threads == 1) continue;
    for (int refused = 0; refused < 4; ++refused) {
      const Folder folder;
      std::string complaint;
      threads_left.store(refused);
      try {
        write(writer, plan_of(20'000, 100, 10, 5), folder);
      } catch (const students::Failure& failure) {
        complaint = failure.what();
      }
      threads_left.store(-1);
      EXPECT_NE(complaint.find("A thread cannot be started"), std::string::npos) << writer.name;
      EXPECT_EQ(folder.files(), 0U) << writer.name;
    }
  }
}

// Last, because a noted signal stays noted.
TEST(WritersEnd, they_end_and_leave_no_file_after_a_signal) {
  students::note_signals();
  std::raise(SIGTERM);
  for (const Writer& writer : students::writers()) {
    const Folder folder;
    EXPECT_THROW(write(writer, plan_of(20'000, 100, 10, 3), folder), students::Interrupted)
        << writer.name;
    EXPECT_EQ(folder.files(), 0U) << writer.name;
  }
}

}  // namespace

bool refuses_thread() {
  if (threads_left.load() < 0) return false;
  return threads_left.fetch_sub(1) == 0;
}
