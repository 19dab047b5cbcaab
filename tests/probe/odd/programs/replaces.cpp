// The process becomes another program, by several functions of the exec family, also from a thread.
// The last program sees the environment and the descriptors of the first.
#include <dirent.h>

#include <string>

#include "odd.hpp"

extern char** environ;

int main(int count, char** words) {
  const int step = count > 1 ? std::atoi(words[1]) : 0;
  int variables = 0;
  for (char** at = environ; *at != nullptr; ++at) ++variables;
  int files = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++files;
  closedir(folder);
  say("step %d: %d variables, %d descriptors, counted %ld", step, variables, files,
      contend(2, 100));
  const std::string next = std::to_string(step + 1);
  char self[] = "/proc/self/exe", name[] = "again";
  std::string word = next;
  char* list[] = {name, word.data(), nullptr};
  char one[] = "ONE=1", two[] = "TWO=2";
  char* own[] = {one, two, nullptr};
  switch (step) {
    case 0:
      setenv("MORE", "yes", 1);
      execl(self, "again", next.c_str(), static_cast<char*>(nullptr));
      break;
    case 1:
      execv(self, list);
      break;
    case 2:
      begin([&] { execve(self, list, environ); });
      pause();
      break;
    case 3:
      execle(self, "again", next.c_str(), static_cast<char*>(nullptr), own);
      break;
    case 4:
      execlp(self, "again", next.c_str(), static_cast<char*>(nullptr));
      break;
    default:
      for (char** at = environ; *at != nullptr; ++at) say("%s", *at);
      return 12;
  }
  return 3;
}
