// Matrix product by the Winograd form of Strassen's algorithm: seven recursive products per node.
// Each product makes the sums that it multiplies in its own task (INNCABS makes them all in the
// parent, serially), so additions run in parallel and live no longer than needed. For n = 4096 one
// depth-first path holds 0.21 GiB beside the matrices; if every node is alive at once (a thread per
// task) it is 12.7 GiB, and a failed allocation ends the run as out_of_memory.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "matrix_product.hpp"
#include "random.hpp"

namespace {

// A square part of a row-major matrix; `ld` is the distance of two rows, in elements.
template <class T>
struct View {
  T* data;
  std::size_t ld, n;

  T* row(std::size_t i) const { return data + i * ld; }
  // Quadrant (i, j), each 0 or 1.
  View quadrant(std::size_t i, std::size_t j) const {
    return {data + i * n / 2 * ld + j * n / 2, ld, n / 2};
  }
  operator View<const T>() const { return {data, ld, n}; }
};
using Output = View<double>;
using Input = View<const double>;

// A matrix of its own memory, not initialised.
class Temporary {
 public:
  explicit Temporary(std::size_t n)
      : data_(std::make_unique_for_overwrite<double[]>(n * n)), n_(n) {}
  Output view() const { return {data_.get(), n_, n_}; }

 private:
  std::unique_ptr<double[]> data_;
  std::size_t n_;
};

// f(element of each input) for all elements, as a new matrix.
template <class F, class... Inputs>
Temporary combine(F f, Inputs... inputs) {
  const std::size_t n = std::get<0>(std::tie(inputs...)).n;
  Temporary result(n);
  for (std::size_t i = 0; i < n; ++i) {
    double* __restrict to = result.view().row(i);
    [&](const auto*... from) {
      for (std::size_t j = 0; j < n; ++j) to[j] = f(from[j]...);
    }(inputs.row(i)...);
  }
  return result;
}

// Runs the branches in the given form and waits for all.
template <bench::Form kForm, class... Branches>
void run_all(const Branches&... branches) {
  if constexpr (kForm == bench::Form::fork_join) {
    bench::fork_join(branches...);
  } else {
    std::tuple handles{bench::async(branches)...};
    std::apply([](auto&... handle) { (handle.get(), ...); }, handles);
  }
}

// C = A B.
template <bench::Form kForm>
void multiply(Output c, Input a, Input b, std::size_t cutoff) {
  if (c.n <= cutoff) {
    for (std::size_t i = 0; i < c.n; ++i) std::fill_n(c.row(i), c.n, 0.0);
    bench::accumulate_product<std::plus<>>(c.data, c.ld, a.data, a.ld, b.data, b.ld, c.n, c.n, c.n);
    return;
  }
  const Input a11 = a.quadrant(0, 0), a12 = a.quadrant(0, 1);
  const Input a21 = a.quadrant(1, 0), a22 = a.quadrant(1, 1);
  const Input b11 = b.quadrant(0, 0), b12 = b.quadrant(0, 1);
  const Input b21 = b.quadrant(1, 0), b22 = b.quadrant(1, 1);
  const Output c11 = c.quadrant(0, 0), c12 = c.quadrant(0, 1);
  const Output c21 = c.quadrant(1, 0), c22 = c.quadrant(1, 1);
  // The names are those of Winograd's schedule: S1..S8, M2, M5, T.
  const Temporary m2(c11.n), m5(c11.n), t(c11.n);
  run_all<kForm>(
      [&] { multiply<kForm>(m2.view(), a11, b11, cutoff); },
      [&] {
        const Temporary s1 = combine([](double x, double y) { return x + y; }, a21, a22);
        const Temporary s5 = combine([](double x, double y) { return x - y; }, b12, b11);
        multiply<kForm>(m5.view(), s1.view(), s5.view(), cutoff);
      },
      [&] {
        const Temporary s2 =
            combine([](double x, double y, double z) { return x + y - z; }, a21, a22, a11);
        const Temporary s6 =
            combine([](double x, double y, double z) { return x - (y - z); }, b22, b12, b11);
        multiply<kForm>(t.view(), s2.view(), s6.view(), cutoff);
      },
      [&] {
        const Temporary s3 = combine([](double x, double y) { return x - y; }, a11, a21);
        const Temporary s7 = combine([](double x, double y) { return x - y; }, b22, b12);
        multiply<kForm>(c22, s3.view(), s7.view(), cutoff);
      },
      [&] { multiply<kForm>(c11, a12, b21, cutoff); },
      [&] {
        const Temporary s4 =
            combine([](double w, double x, double y, double z) { return w - (x + y - z); }, a12,
                    a21, a22, a11);
        multiply<kForm>(c12, s4.view(), b22, cutoff);
      },
      [&] {
        const Temporary s8 =
            combine([](double w, double x, double y, double z) { return w - (x - y) - z; }, b22,
                    b12, b11, b21);
        multiply<kForm>(c21, a22, s8.view(), cutoff);
      });
  for (std::size_t i = 0; i < c11.n; ++i) {
    const double* from_m2 = m2.view().row(i);
    const double* from_m5 = m5.view().row(i);
    const double* from_t = t.view().row(i);
    double* r11 = c11.row(i);
    double* r12 = c12.row(i);
    double* r21 = c21.row(i);
    double* r22 = c22.row(i);
    for (std::size_t j = 0; j < c11.n; ++j) {
      const double t1 = from_m2[j] + from_t[j];
      const double t2 = t1 + r22[j];
      r11[j] += from_m2[j];
      r12[j] += t1 + from_m5[j];
      r21[j] = t2 - r21[j];
      r22[j] = t2 + from_m5[j];
    }
  }
}

std::vector<double> times(Input a, const std::vector<double>& x) {
  std::vector<double> result(a.n);
  for (std::size_t i = 0; i < a.n; ++i) {
    double sums[4] = {};  // independent chains, or the additions wait for each other
    for (std::size_t j = 0; j < a.n; j += 4) {
      for (std::size_t s = 0; s < 4; ++s) sums[s] += a.row(i)[j + s] * x[j + s];
    }
    result[i] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  return result;
}

class Strassen final : public bench::Instance {
 public:
  explicit Strassen(const bench::Arguments& arguments)
      : cutoff_(static_cast<std::size_t>(arguments["cutoff"])),
        a_(static_cast<std::size_t>(arguments["n"])),
        b_(a_.view().n),
        c_(a_.view().n) {
    std::size_t side = a_.view().n;
    while (side > cutoff_ && side % 2 == 0) side /= 2;
    if (side > cutoff_ || a_.view().n % 4 != 0) {
      throw bench::BadInput(
          "n must be a multiple of 4 that can be halved down to the cutoff, for example n=768 "
          "cutoff=64");
    }
    bench::Random random(arguments.seed());
    for (const Output m : {a_.view(), b_.view()}) {
      std::generate_n(m.data, m.n * m.n, [&] { return random.unit(); });
    }
  }

  void clear() override {
    const std::size_t n = c_.view().n;
    std::fill_n(c_.view().data, n * n, std::numeric_limits<double>::quiet_NaN());
  }

  void run(bench::Form form) override {
    if (form == bench::Form::futures) {
      multiply<bench::Form::futures>(c_.view(), a_.view(), b_.view(), cutoff_);
    } else {
      multiply<bench::Form::fork_join>(c_.view(), a_.view(), b_.view(), cutoff_);
    }
  }

  // Freivalds: C x = A (B x) for a vector of random signs, which an error in any element disturbs.
  bench::Check check() override {
    const std::size_t n = c_.view().n;
    bench::Random random(n);
    std::vector<double> x(n);
    for (double& sign : x) sign = random.below(2) ? 1 : -1;
    const std::vector<double> cx = times(c_.view(), x);
    const std::vector<double> abx = times(a_.view(), times(b_.view(), x));
    const std::vector<double> scale = times(a_.view(), times(b_.view(), std::vector(n, 1.0)));
    bool ok = true;
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double error = std::abs(cx[i] - abx[i]) / scale[i];
      ok = ok && error <= kTolerance;  // NaN is not
      worst = std::max(worst, error);
    }
    char answer[64];
    std::snprintf(answer, sizeof answer, "c[n-1][0] %.6f", c_.view().row(n - 1)[0]);
    char reason[96];
    std::snprintf(reason, sizeof reason, "|C x - A (B x)| is %.0e of |A| |B| |x|, above %.0e",
                  worst, kTolerance);
    std::uint64_t tasks = 0;
    std::uint64_t nodes = 1;
    for (std::size_t size = n; size > cutoff_; size /= 2) tasks += nodes *= 7;
    return {.ok = ok, .answer = answer, .reason = reason, .tasks = tasks};
  }

 private:
  static constexpr double kTolerance = 1e-15;

  std::size_t cutoff_;
  Temporary a_, b_, c_;
};

}  // namespace

BENCH_PROGRAM(
        .name = "strassen", .summary = "matrix product by Strassen's algorithm, Winograd form",
        .structure = "recursive balanced", .granularity = "moderate", .synchronisation = "none",
        .origin = "Cilk",
        .parameters = {{.name = "n",
                        .meaning =
                            "side of the matrices, a multiple of 4 whose halves end at the cutoff",
                        .min = 16,
                        .max = 8192,
                        .smoke = 256,
                        .quick = 512,
                        .full = 4096},
                       {.name = "cutoff",
                        .meaning = "side of the blocks that are multiplied "
                                   "directly",
                        .min = 16,
                        .max = 8192,
                        .smoke = 64,
                        .quick = 64,
                        .full = 64}},
        .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<Strassen>(arguments);
        })
