// A thread that writes three bytes COUNT times into FILE and waits for the disk now and then.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

int main(int, char** words) {
  const int file = open(words[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  std::thread writer([&] {
    for (int i = 0; i < std::atoi(words[2]); ++i) {
      if (write(file, "abc", 3) != 3) std::exit(1);
      if (i % 10 == 0) fsync(file);
    }
  });
  writer.join();
}
