// fix: none
// why: The threads multiply matrices of their own that lie in the cache.
#include "threads.hpp"

int main(int, char** words) {
  in_threads(words[1], [](long share) {
    constexpr int kSize = 64;
    static thread_local double a[kSize][kSize], b[kSize][kSize], c[kSize][kSize];
    for (long round = 0; round < share / 4000; ++round)
      for (int i = 0; i < kSize; ++i)
        for (int j = 0; j < kSize; ++j)
          for (int k = 0; k < kSize; ++k) c[i][j] += a[i][k] * b[k][j];
    keep(c[1][1]);
  });
}
