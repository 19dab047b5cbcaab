// Sorts points into clusters; after each round the centres of the clusters are moved.
//
// category: serial_dependency
// holder: move_centres
// certain: any
// why: The first thread moves all centres alone, between two barriers at which the others wait.

#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr int points = 6'000;
constexpr int dimensions = 32;
constexpr int clusters = 6;

class Centroids {
 public:
  explicit Centroids(int threads) : threads_(threads), round_done_(threads) {
    std::uint32_t state = 20;
    for (float& each : points_)
      each = static_cast<float>((state = state * 1664525 + 1013904223) >> 24);
    for (int at = 0; at < clusters * dimensions; ++at) centres_[at] = points_[7 * at];
  }

  void work(int thread, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      choose(points * thread / threads_, points * (thread + 1) / threads_);
      round_done_.arrive_and_wait();
#ifdef WITHOUT_CAUSE
      move_centres(dimensions * thread / threads_, dimensions * (thread + 1) / threads_);
#else
      if (thread == 0) move_centres(0, dimensions);
#endif
      round_done_.arrive_and_wait();
    }
  }

  double energy() const { return std::accumulate(centres_.begin(), centres_.end(), 0.0); }

 private:
  void choose(int begin, int end) {
    for (int point = begin; point < end; ++point) {
      float best = 1e30F;
      for (int cluster = 0; cluster < clusters; ++cluster) {
        float distance = 0;
        for (int at = 0; at < dimensions; ++at) {
          const float apart =
              points_[point * dimensions + at] - centres_[cluster * dimensions + at];
          distance += apart * apart;
        }
        if (distance < best) {
          best = distance;
          of_[point] = cluster;
        }
      }
    }
  }

  // In three passes, so that points that lie far away count less.
  [[gnu::noinline]] void move_centres(int begin, int end) {
    for (int at = begin; at < end; ++at) {
      for (int pass = 0; pass < 3; ++pass) {
        double sums[clusters] = {};
        double weights[clusters] = {};
        for (int point = 0; point < points; ++point) {
          const double value = points_[point * dimensions + at];
          const double weight = 1 / (1 + std::fabs(value - centres_[of_[point] * dimensions + at]));
          sums[of_[point]] += weight * value;
          weights[of_[point]] += weight;
        }
        for (int each = 0; each < clusters; ++each) {
          if (weights[each] > 0) {
            centres_[each * dimensions + at] = static_cast<float>(sums[each] / weights[each]);
          }
        }
      }
    }
  }

  const int threads_;
  std::barrier<> round_done_;
  std::vector<float> points_ = std::vector<float>(points * dimensions);
  std::vector<float> centres_ = std::vector<float>(clusters * dimensions);
  std::vector<int> of_ = std::vector<int>(points);
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  Centroids centroids(threads);
  const int rounds = 2 + static_cast<int>(seconds * 560);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&centroids, t, rounds] { centroids.work(t, rounds); });
  }
  for (std::thread& each : workers) each.join();
  std::printf("centres %.3f\n", centroids.energy());
  return centroids.energy() > 0 ? 0 : 1;
}
