// COUNT threads, one after the other, that end at once.
#include <cstdlib>
#include <thread>

int main(int, char** words) {
  for (int i = 0; i < std::atoi(words[1]); ++i) std::thread([] {}).join();
}
