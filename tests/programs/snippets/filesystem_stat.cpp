// The answers are right for a folder with one file in it, and no descriptor is left open.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cstdlib>
#include <string>

#include "two_threads.hpp"

bool ask(const char* path, const char* name) {
  // snippet
  return exists;
}

int main() {
  std::string folder = "/tmp/filesystem_stat.XXXXXX";
  assert(::mkdtemp(folder.data()) != nullptr);
  const std::string file = folder + "/there";
  ::close(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
  const int before = ::dup(0);
  ::close(before);
  on_two_threads([&](unsigned) {
    assert(ask(folder.c_str(), "there"));
    assert(!ask(folder.c_str(), "elsewhere"));
    assert(!ask((folder + "/none").c_str(), "there"));  // no such folder
  });
  const int after = ::dup(0);
  ::unlink(file.c_str());
  ::rmdir(folder.c_str());
  assert(before == after);
}
