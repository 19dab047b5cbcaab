// Rain statistics of weather stations: days, wet days and their rain, kept by each thread.
//
// category: false_sharing
// name: Statistics | statistics
// made: evaluate | main | note_day
// certain: any
// threads: 1,2
// why: The statistics of the threads lie side by side in one vector and are stored for each day.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 11786;

struct Statistics {
  std::uint64_t days = 0;
  std::uint64_t wet = 0;
  std::uint64_t rain = 0;
#ifdef WITHOUT_CAUSE
  char room[128];
#endif
};

[[gnu::noinline]] void note_day(Statistics& of, std::uint32_t rain) {
  of.days += 1;
  of.wet += rain > 40 ? 1 : 0;
  of.rain += rain;
}

[[gnu::noinline]] void evaluate(Statistics& of, int years) {
  for (int year = 0; year < years; ++year) {
    std::uint32_t sky = 1;
    for (int day = 0; day < 365; ++day) {
      sky = sky * 1664525 + 1013904223;
      note_day(of, sky >> 26);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int years = 2 + static_cast<int>(seconds * 900'000);
  std::vector<Statistics> statistics(threads);
  std::vector<std::thread> stations;
  for (int t = 1; t < threads; ++t) {
    const int share = years * (t + 1LL) / threads - years * static_cast<long long>(t) / threads;
    stations.emplace_back([&statistics, t, share] { evaluate(statistics[t], share); });
  }
  evaluate(statistics[0], years / threads);
  for (std::thread& each : stations) each.join();
  std::uint64_t rain = 0;
  std::uint64_t days = 0;
  for (const Statistics& each : statistics) {
    rain += each.rain;
    days += each.days;
  }
  std::printf("checksum %llu\n", static_cast<unsigned long long>(rain / years));
  return days == 365ULL * years && rain == expected * years ? 0 : 1;
}
