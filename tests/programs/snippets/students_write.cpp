// The card's code on students_write: all lines are in the file, and a full disk is noticed.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void save(const std::string& path, const std::vector<std::string>& lines) {
  // snippet
}

}  // namespace

int main() {
  std::string path = "/tmp/students_write.XXXXXX";
  assert(mkstemp(path.data()) >= 0);
  save(path, {"00001\t5", "00002\t0"});
  std::ifstream file(path);
  const std::string found(std::istreambuf_iterator<char>(file), {});
  assert(found == "00001\t5\n00002\t0\n");
  std::remove(path.c_str());

  bool noticed = false;
  try {
    save("/dev/full", {"00001\t5"});
  } catch (const std::runtime_error&) {
    noticed = true;
  }
  assert(noticed);
}
