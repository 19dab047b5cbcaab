// Samples a turbulent flow and adds the eddies to a spectrum that all threads share.
//
// category: mutex | spin
// name: spectrum | critical
// made: add_eddy | sample | main
// build: openmp
// certain: yes
// why: Most of the time is spent in the OpenMP critical section that updates the spectrum.

#include <omp.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

struct Eddy {
  double size;
  double energy;
};

class Spectrum {
 public:
  void add(const Eddy& eddy) {
    for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
      const double distance = eddy.size - 0.02 * static_cast<double>(bin);
      bins_[bin] += eddy.energy / (1.0 + 40.0 * distance * distance);
    }
    ++eddies_;
  }
  std::uint64_t eddies() const { return eddies_; }
  double total() const {
    double sum = 0;
    for (const double each : bins_) sum += each;
    return sum;
  }

 private:
  std::array<double, 500> bins_{};
  std::uint64_t eddies_ = 0;
};

Eddy sample(std::uint64_t number) {
  double phase = static_cast<double>(number % 1013) * 0.001;
  for (int i = 0; i < 25; ++i) phase = std::fabs(std::sin(phase * 3.1 + 0.2));
  return {phase, 1.0 / (0.1 + phase)};
}

[[gnu::noinline]] void add_eddy(Spectrum& spectrum, const Eddy& eddy) {
#ifdef WITHOUT_CAUSE
  spectrum.add(eddy);
#else
#pragma omp critical(spectrum)
  spectrum.add(eddy);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const auto eddies = static_cast<std::int64_t>(4 + seconds * 700'000);
  std::vector<std::unique_ptr<Spectrum>> spectra;
#ifdef WITHOUT_CAUSE
  for (int t = 0; t < threads; ++t) spectra.push_back(std::make_unique<Spectrum>());
#else
  spectra.push_back(std::make_unique<Spectrum>());
#endif
#pragma omp parallel num_threads(threads)
  {
    Spectrum& mine = *spectra[omp_get_thread_num() % spectra.size()];
#pragma omp for schedule(dynamic, 256)
    for (std::int64_t i = 0; i < eddies; ++i) add_eddy(mine, sample(i));
  }
  std::uint64_t counted = 0;
  double total = 0;
  for (const auto& spectrum : spectra) {
    counted += spectrum->eddies();
    total += spectrum->total();
  }
  std::printf("%llu eddies, %.6g\n", static_cast<unsigned long long>(counted), total);
  return counted == static_cast<std::uint64_t>(eddies) ? 0 : 1;
}
