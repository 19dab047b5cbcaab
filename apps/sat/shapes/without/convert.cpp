// The definitions of tmk-sat, which starts tmk-sat-shapes beside it: the libraries of Open CASCADE
// take 30 ms and 30 MiB of each process that is linked with them. If tmk-sat-shapes was not built,
// the command can only report that.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sat/shapes/convert.hpp"
#include "students/complaint.hpp"
#include "students/interruption.hpp"

namespace sat::shapes {
namespace {

// The command line of this process.
std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size(); at += words.back().size() + 1) {
    words.emplace_back(all.c_str() + at);
  }
  return words;
}

}  // namespace

struct Conversion::Shape {
  Report report;
};

void Conversion::require_kernel() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string program = (self.parent_path() / "tmk-sat-shapes").string();
  std::vector<std::string> words = command_line();
  std::vector<char*> arguments;
  for (std::string& each : words) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  students::check_signals();
  execv(program.c_str(), arguments.data());
  if (errno != ENOENT) {
    throw students::Failure(
        program + " cannot be started; build it again with ./threadmark setup " + "--apps.");
  }
  throw students::Failure(
      "This build has no shapes (Open CASCADE was not there, or it is for libc++ or a sanitizer); "
      "install it with apt-get install libocct-modeling-algorithms-dev "
      "libocct-data-exchange-dev, then build with ./threadmark setup --apps.");
}

Conversion::Conversion(const Model&, Team&, bool) { require_kernel(); }
Conversion::~Conversion() = default;
const Report& Conversion::report() const { return shape_->report; }
std::uint64_t Conversion::write(Format, const std::string&, const std::string&, Team&) const {
  require_kernel();
  return 0;
}

}  // namespace sat::shapes
