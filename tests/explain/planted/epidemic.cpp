// An epidemic in a country's towns; after each day one thread travels between all towns.
//
// category: serial_dependency
// certain: any
// why: The travelling, done by the barrier's completion, takes as long as all the rest of a day.

#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t towns = 240;

struct Town {
  std::uint32_t healthy = 10'000;
  std::uint32_t ill = 10;
  std::uint32_t weather = 0;
};

class Country {
 public:
  Country() : towns_(towns) {
    for (std::uint32_t i = 0; i < towns; ++i) towns_[i].weather = i;
  }

  [[gnu::noinline]] void infect(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Town& town = towns_[i];
      for (int contact = 0; contact < 400; ++contact) {
        town.weather = town.weather * 1664525 + 1013904223;
        if (town.weather >> 24 < town.ill % 50 && town.healthy > 0) --town.healthy, ++town.ill;
      }
      if (town.ill > 4000) town = {10'000, 10, town.weather};
    }
  }

  // Who travels last meets those who travelled before: cannot be done in parallel as it is.
  [[gnu::noinline]] void travel() noexcept {
#ifdef WITHOUT_CAUSE
    constexpr int journeys = 1;
#else
    constexpr int journeys = 160;
#endif
    std::uint32_t bus = day_++;
    for (int journey = 0; journey < journeys; ++journey) {
      for (Town& town : towns_) {
        bus = (bus ^ town.weather) * 0x9e3779b1U;
        bus ^= bus >> 15;
      }
    }
    towns_[bus % towns].ill += 1;
  }
  [[nodiscard]] std::uint64_t state() const {
    std::uint64_t sum = 0;
    for (const Town& each : towns_) sum = sum * 31 + each.ill;
    return sum;
  }

 private:
  std::vector<Town> towns_;
  std::uint32_t day_ = 0;
};

std::uint64_t simulate(int threads, int days) {
  Country country;
  auto travel = [&country]() noexcept { country.travel(); };
  std::barrier evening(threads, travel);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      for (int day = 0; day < days; ++day) {
        country.infect(towns * t / threads, towns * (t + 1) / threads);
        evening.arrive_and_wait();
      }
    });
  }
  for (std::thread& each : workers) each.join();
  return country.state();
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int days = 10 + static_cast<int>(seconds * 5'400);
  const bool right = simulate(1, 50) == simulate(threads, 50);
  std::printf("state %llu\n", static_cast<unsigned long long>(simulate(threads, days)));
  return right ? 0 : 1;
}
