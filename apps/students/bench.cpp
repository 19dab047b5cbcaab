// `tmk-students bench` and `writers`: the lab compares the writers, so bench passes its words to
// the launcher of the checkout that built this program; writers lists the writers for the lab.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "options.hpp"
#include "writer.hpp"

namespace students {
namespace {

constexpr const char* kLauncher = STUDENTS_LAUNCHER;  // its path, from the build

std::string own_path() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    throw Failure("The path of this program is not known (" + error.message() +
                  "); mount /proc, or start " + kLauncher + " students --tool with it.");
  }
  return path.string();
}

// Ends this program, or throws Failure.
void hand_over(const std::vector<std::string>& words) {
  if (access(kLauncher, X_OK) != 0) {
    throw Failure(std::string("bench needs the checkout that built this program, and ") +
                  kLauncher + " cannot be started (" + std::strerror(errno) +
                  "); build it again there with ./threadmark setup --apps.");
  }
  std::vector<std::string> line{kLauncher, "students", "--tool", own_path()};
  line.insert(line.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : line) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // An ignored signal stays ignored in the next program; those that a handler notes do not.
  std::signal(SIGXFSZ, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);
  execv(kLauncher, pointers.data());
  throw Failure(std::string(kLauncher) + " cannot be started (" + std::strerror(errno) +
                "); give permission to execute it.");
}

void list() {
  for (const Writer& each : writers()) {
    print(std::string(each.name) + '\t' + std::to_string(each.threads) + '\t' +
          std::string(each.serial) + '\t' + (each.flushes ? "flushes" : "buffers") + '\t' +
          std::string(each.summary) + '\n');
  }
}

}  // namespace

Command add_bench(Options options) {
  options.pass_on();  // the lab explains them
  return [options] { hand_over(options.others()); };
}

Command add_writers(Options) { return list; }

}  // namespace students
