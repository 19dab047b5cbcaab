// Discrete Fourier transform of any length, mixed radix, out of place. The sub-transforms run in
// parallel (INNCABS calls them one after the other, which bounds its speed-up at 5.5), and the
// twiddle factors are a plan made before the run. Loops over columns are split in binary trees of
// tasks as published: down to 128 columns, and to `grain` columns (1) if the radix is odd. The file
// is long because the straight-line transforms and the independent check are in it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "random.hpp"
#include "small_vector.hpp"

namespace {

// Not std::complex: its product tests for NaN, which no loop over it survives as vector code.
struct Complex {
  double re, im;
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

// exp(-2 pi i numerator / denominator), to the last digits of both parts: the angle is taken from
// the nearest half turn. Precondition: denominator < 2^61.
Complex root(std::uint64_t numerator, std::uint64_t denominator) {
  const std::uint64_t twice = 2 * (numerator % denominator);
  const std::uint64_t halves = (twice + denominator / 2) / denominator;
  const auto rest = static_cast<std::int64_t>(twice - halves * denominator);
  const double angle =
      std::numbers::pi * static_cast<double>(rest) / static_cast<double>(denominator);
  const double sign = halves % 2 == 0 ? 1 : -1;
  return {sign * std::cos(angle), -sign * std::sin(angle)};
}

// All n-th roots of unity, each the product of two that were computed directly.
std::vector<Complex> roots(std::uint64_t n) {
  constexpr std::uint64_t kBlock = 1024;
  std::array<Complex, kBlock> fine;
  for (std::uint64_t k = 0; k < kBlock; ++k) fine[k] = root(k, n);
  std::vector<Complex> all(n);
  for (std::uint64_t first = 0; first < n; first += kBlock) {
    const Complex coarse = root(first, n);
    for (std::uint64_t k = first; k < std::min(first + kBlock, n); ++k) {
      all[k] = coarse * fine[k - first];
    }
  }
  return all;
}

// x exp(-2 pi i K / R), for R a power of two up to 32 and K < R / 2.
template <std::size_t K, std::size_t R>
Complex turn(Complex x) {
  constexpr std::array kCosines{1.0,
                                0.98078528040323044913,
                                0.92387953251128675613,
                                0.83146961230254523708,
                                0.70710678118654752440,
                                0.55557023301960222474,
                                0.38268343236508977173,
                                0.19509032201612826785,
                                0.0};  // of 2 pi k / 32
  constexpr std::size_t k = K * 32 / R;
  if constexpr (k == 0) {
    return x;
  } else if constexpr (k == 8) {
    return {x.im, -x.re};
  } else {
    constexpr double cosine = k < 8 ? kCosines[k] : -kCosines[16 - k];
    constexpr double sine = k < 8 ? kCosines[8 - k] : kCosines[k - 8];
    return {x.re * cosine + x.im * sine, x.im * cosine - x.re * sine};
  }
}

// The straight-line transforms, in place: powers of two by halving, 3 and 5 by their symmetry.
template <std::size_t R>
inline void dft(std::array<Complex, R>& x) {
  if constexpr (R == 3) {
    constexpr double sine = 0.86602540378443864676;
    const Complex sum = x[1] + x[2];
    const Complex difference = x[1] - x[2];
    const Complex half{x[0].re - sum.re / 2, x[0].im - sum.im / 2};
    const Complex side{sine * difference.im, -sine * difference.re};
    x = {x[0] + sum, half + side, half - side};
  } else if constexpr (R == 5) {
    constexpr double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410;
    constexpr double s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
    const Complex p = x[1] + x[4], q = x[2] + x[3];
    const Complex u = x[1] - x[4], v = x[2] - x[3];
    const Complex a{x[0].re + c1 * p.re + c2 * q.re, x[0].im + c1 * p.im + c2 * q.im};
    const Complex b{x[0].re + c2 * p.re + c1 * q.re, x[0].im + c2 * p.im + c1 * q.im};
    const Complex d{s1 * u.im + s2 * v.im, -s1 * u.re - s2 * v.re};
    const Complex e{s2 * u.im - s1 * v.im, -s2 * u.re + s1 * v.re};
    x = {x[0] + p + q, a + d, b + e, b - e, a - d};
  } else if constexpr (R > 1) {
    constexpr std::size_t kHalf = R / 2;
    std::array<Complex, kHalf> even, odd;
    for (std::size_t k = 0; k < kHalf; ++k) {
      even[k] = x[2 * k];
      odd[k] = x[2 * k + 1];
    }
    dft(even);
    dft(odd);
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((odd[K] = turn<K, R>(odd[K]), x[K] = even[K] + odd[K], x[K + kHalf] = even[K] - odd[K]),
       ...);
    }(std::make_index_sequence<kHalf>());
  }
}

constexpr bool is_straight(std::uint64_t n) { return n <= 32 && (n & (n - 1)) == 0; }

// INNCABS' (Cilk's) choice of the first radix.
std::uint64_t first_radix(std::uint64_t n) {
  for (const std::uint64_t eighth : {64u, 128u, 256u, 1024u, 2048u, 4096u}) {
    if (n == eighth) return 8;
  }
  for (const std::uint64_t r : {16u, 8u, 4u, 2u}) {
    if (n % r == 0) return r;
  }
  for (std::uint64_t r = 3; r * r <= n; r += 2) {
    if (n % r == 0) return r;
  }
  return n;
}

// One step of the recursion: `radix` transforms of m = length / radix points, then m columns.
struct Level {
  std::uint64_t length, radix, m;
  // Straight-line radix: the twiddle factor of row j > 0 and column i at (j - 1) m + i.
  // Other primes: all roots of order `length`.
  std::vector<Complex> twiddles;

  bool is_odd() const { return radix % 2 == 1; }
  bool is_general() const { return is_odd() && radix > 5; }
};

struct Plan {
  std::uint64_t n, grain;
  std::vector<Level> levels;

  std::uint64_t unshuffle_limit(const Level& l) const { return l.is_odd() ? 15 : 127; }
  std::uint64_t columns_limit(const Level& l) const { return l.is_odd() ? grain : 127; }
  // Smaller sub-transforms than the largest straight-line one are no tasks.
  static bool spawns(const Level& l) { return l.m > 32; }
};

template <std::size_t R>
void columns(const Level& level, const Complex* in, Complex* out, std::uint64_t first,
             std::uint64_t last) {
  const std::uint64_t m = level.m;
  const Complex* twiddles = level.twiddles.data();
  for (std::uint64_t i = first; i < last; ++i) {
    std::array<Complex, R> x;
    x[0] = in[i];
    for (std::size_t j = 1; j < R; ++j) x[j] = in[j * m + i] * twiddles[(j - 1) * m + i];
    dft(x);
    for (std::size_t j = 0; j < R; ++j) out[j * m + i] = x[j];
  }
}

void general_columns(const Level& level, const Complex* in, Complex* out, std::uint64_t first,
                     std::uint64_t last) {
  for (std::uint64_t i = first; i < last; ++i) {
    for (std::uint64_t k = i; k < level.length; k += level.m) {
      Complex sum = in[i];
      std::uint64_t turns = 0;
      for (std::uint64_t j = 1; j < level.radix; ++j) {
        turns += k;
        if (turns >= level.length) turns -= level.length;
        sum = sum + in[j * level.m + i] * level.twiddles[turns];
      }
      out[k] = sum;
    }
  }
}

template <std::size_t R>
void straight(const Complex* in, Complex* out) {
  std::array<Complex, R> x;
  std::copy_n(in, R, x.begin());
  dft(x);
  std::copy_n(x.begin(), R, out);
}

template <bench::Form kForm>
class Fourier {
 public:
  explicit Fourier(const Plan& plan) : plan_(plan) {}

  // out = DFT(in) on the plan's levels from `depth`; destroys in.
  void transform(std::size_t depth, Complex* in, Complex* out, std::uint64_t n) const {
    if (is_straight(n)) {
      switch (n) {
        case 1:
          return straight<1>(in, out);
        case 2:
          return straight<2>(in, out);
        case 4:
          return straight<4>(in, out);
        case 8:
          return straight<8>(in, out);
        case 16:
          return straight<16>(in, out);
        default:
          return straight<32>(in, out);
      }
    }
    const Level& level = plan_.levels[depth];
    if (level.m == 1) return butterflies(level, in, out, 0, 1);
    split(0, level.m, plan_.unshuffle_limit(level), [&](std::uint64_t first, std::uint64_t last) {
      for (std::uint64_t i = first; i < last; ++i) {
        for (std::uint64_t j = 0; j < level.radix; ++j)
          out[j * level.m + i] = in[i * level.radix + j];
      }
    });
    sub_transforms(level, depth, in, out);
    split(0, level.m, plan_.columns_limit(level), [&](std::uint64_t first, std::uint64_t last) {
      butterflies(level, in, out, first, last);
    });
  }

 private:
  void sub_transforms(const Level& level, std::size_t depth, Complex* in, Complex* out) const {
    const auto sub = [=, this, m = level.m](std::uint64_t j) {
      transform(depth + 1, out + j * m, in + j * m, m);
    };
    if (!Plan::spawns(level)) {
      for (std::uint64_t j = 0; j < level.radix; ++j) sub(j);
    } else if constexpr (kForm == bench::Form::fork_join) {
      bench::scope scope;
      for (std::uint64_t j = 0; j < level.radix; ++j) scope.spawn([sub, j] { sub(j); });
      scope.wait();
    } else {
      bench::small_vector<bench::handle<decltype(sub), std::uint64_t>, 16> handles(level.radix);
      for (std::uint64_t j = 0; j < level.radix; ++j) {
        handles.emplace_from([&] { return bench::async(sub, j); });
      }
      for (auto& handle : handles) handle.get();
    }
  }

  static void butterflies(const Level& level, const Complex* in, Complex* out, std::uint64_t first,
                          std::uint64_t last) {
    switch (level.radix) {
      case 2:
        return columns<2>(level, in, out, first, last);
      case 3:
        return columns<3>(level, in, out, first, last);
      case 4:
        return columns<4>(level, in, out, first, last);
      case 5:
        return columns<5>(level, in, out, first, last);
      case 8:
        return columns<8>(level, in, out, first, last);
      case 16:
        return columns<16>(level, in, out, first, last);
      default:
        return general_columns(level, in, out, first, last);
    }
  }

  // body(first, last) on ranges of at most `limit`, made by halving.
  template <class Body>
  static void split(std::uint64_t first, std::uint64_t last, std::uint64_t limit,
                    const Body& body) {
    if (last - first <= limit) return body(first, last);
    const std::uint64_t middle = first + (last - first) / 2;
    const auto left = [=, &body] { split(first, middle, limit, body); };
    const auto right = [=, &body] { split(middle, last, limit, body); };
    if constexpr (kForm == bench::Form::fork_join) {
      bench::fork_join(left, right);
    } else {
      auto left_handle = bench::async(left);
      auto right_handle = bench::async(right);
      left_handle.get();
      right_handle.get();
    }
  }

  const Plan& plan_;
};

// Tasks that split() makes: 2^d ranges at depth d, whose lengths differ by at most one.
std::uint64_t tasks_of_split(std::uint64_t length, std::uint64_t limit) {
  std::uint64_t splits = 0;
  for (std::uint64_t ranges = 1; length / ranges + 1 > limit; ranges *= 2) {
    splits += length / ranges > limit ? ranges : length % ranges;
  }
  return 2 * splits;
}

// exp(-2 pi i (start + j step) / denominator) for j = 0, 1, ...; set anew every 32 steps.
class Rotation {
 public:
  Rotation(std::uint64_t start, std::uint64_t step, std::uint64_t denominator)
      : start_(start), step_(step), denominator_(denominator), turn_(root(step, denominator)) {}

  Complex next() {
    ++j_;
    return value_ = j_ % 32 == 0 ? exact() : value_ * turn_;
  }
  // The value that next() returned, to the last digit.
  Complex exact() const { return root(start_ + j_ * step_, denominator_); }

 private:
  std::uint64_t start_, step_, denominator_;
  std::uint64_t j_ = ~std::uint64_t{0};  // of the value returned last; none yet
  Complex turn_, value_{};
};

double square(Complex x) { return x.re * x.re + x.im * x.im; }

class Fft final : public bench::Instance {
 public:
  explicit Fft(const bench::Arguments& arguments)
      : plan_{static_cast<std::uint64_t>(arguments["n"]),
              static_cast<std::uint64_t>(arguments["grain"]),
              {}},
        input_(plan_.n),
        work_(plan_.n),
        output_(plan_.n) {
    for (std::uint64_t length = plan_.n; !is_straight(length);) {
      const std::uint64_t radix = first_radix(length);
      plan_.levels.push_back({length, radix, length / radix, {}});
      length /= radix;
      if (plan_.n > kMaxWork / radix) {
        throw bench::BadInput("n has the prime factor " + std::to_string(radix) +
                              ", which would take minutes; choose n with smaller factors");
      }
    }
    bench::Random random(arguments.seed());
    for (Complex& x : input_) x = {2 * random.unit() - 1, 2 * random.unit() - 1};
  }

  void prepare() override {
    const std::vector<Complex> w = roots(plan_.n);
    for (Level& level : plan_.levels) {
      const std::uint64_t stride = plan_.n / level.length;
      for (std::uint64_t k = 0; level.is_general() && k < level.length; ++k) {
        level.twiddles.push_back(w[k * stride]);
      }
      for (std::uint64_t j = 1; !level.is_general() && j < level.radix; ++j) {
        for (std::uint64_t i = 0; i < level.m; ++i) level.twiddles.push_back(w[i * j * stride]);
      }
    }
    reference();
  }

  void clear() override {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    work_ = input_;
    std::fill(output_.begin(), output_.end(), Complex{nan, nan});
  }

  void run(bench::Form form) override {
    if (form == bench::Form::futures) {
      Fourier<bench::Form::futures>(plan_).transform(0, work_.data(), output_.data(), plan_.n);
    } else {
      Fourier<bench::Form::fork_join>(plan_).transform(0, work_.data(), output_.data(), plan_.n);
    }
  }

  bench::Check check() override {
    const double n = static_cast<double>(plan_.n);
    double energy = 0;
    for (const Complex x : output_) energy += square(x);
    const double parseval = std::abs(energy / n - energy_) / energy_;
    double sampled = 0;
    for (const auto& [k, expected] : samples_) sampled += square(output_[k] - expected);
    sampled = std::sqrt(sampled / energy_);
    const double weighted = std::sqrt(square(weighted_output() - weighted_) / energy_ / n);
    const bool ok = parseval <= kTolerance && sampled <= kTolerance && weighted <= kTolerance;
    char answer[64], reason[160];
    std::snprintf(answer, sizeof answer, "X[1] %.9f %+.9fi", output_[1 % plan_.n].re,
                  output_[1 % plan_.n].im);
    std::snprintf(reason, sizeof reason,
                  "relative errors above %.0e: of Parseval's sum %.0e, of frequencies computed "
                  "directly %.0e, of the weighted sum %.0e",
                  kTolerance, parseval, sampled, weighted);
    return {.ok = ok, .answer = answer, .reason = reason, .tasks = tasks()};
  }

 private:
  static constexpr std::uint64_t kMaxWork = 10'000'000'000;
  static constexpr double kTolerance = 1e-12;

  std::uint64_t tasks() const {
    std::uint64_t all = 0;
    std::uint64_t transforms = 1;
    for (const Level& level : plan_.levels) {
      if (level.m == 1) break;
      all += transforms * (tasks_of_split(level.m, plan_.unshuffle_limit(level)) +
                           tasks_of_split(level.m, plan_.columns_limit(level)) +
                           (Plan::spawns(level) ? level.radix : 0));
      transforms *= level.radix;
    }
    return all;
  }

  // Weights of the sum over all outputs, z^k with z^n = -1. It equals the sum of x[j] times the
  // geometric series 2 / (1 - z w^j), so every output is checked in O(n) without a transform.
  Rotation weights() const { return {0, odd_, 2 * plan_.n}; }

  Complex weighted_output() const {
    Rotation weight = weights();
    Complex sum{};
    for (const Complex x : output_) sum = sum + x * weight.next();
    return sum;
  }

  void reference() {
    const std::uint64_t n = plan_.n;
    odd_ = 2 * (n * 382 / 1000) + 1;
    Rotation half_angle(odd_, 2, 4 * n);
    for (const Complex x : input_) {
      energy_ += square(x);
      Complex half = half_angle.next();
      if (std::abs(half.im) < 0.01) half = half_angle.exact();
      // 2 / (1 - exp(-2 i a)) = 1 - i cot(a), which does not lose digits for small a.
      weighted_ = weighted_ + x * Complex{1, half.re / half.im};
    }
    bench::Random random(n);
    for (int sample = 0; sample < 4; ++sample) {
      const std::uint64_t k = random.below(static_cast<std::uint32_t>(n));
      Rotation rotation(0, k, n);
      Complex sum{};
      for (const Complex x : input_) sum = sum + x * rotation.next();
      samples_.emplace_back(k, sum);
    }
  }

  Plan plan_;
  std::vector<Complex> input_, work_, output_;
  double energy_ = 0;                                       // sum of |x|^2
  std::uint64_t odd_ = 1;                                   // z = exp(-2 pi i odd_ / 2n)
  Complex weighted_{};                                      // expected
  std::vector<std::pair<std::uint64_t, Complex>> samples_;  // expected X[k]
};

}  // namespace

BENCH_PROGRAM(
        .name = "fft", .summary = "discrete Fourier transform of any length, mixed radix",
        .structure = "recursive balanced", .granularity = "variable", .synchronisation = "none",
        .origin = "Cilk",
        .parameters = {{.name = "n",
                        .meaning = "points",
                        .min = 1,
                        .max = 8'388'608,
                        .smoke = 2000,
                        .quick = 500'000,
                        .full = 1'000'000},
                       {.name = "grain",
                        .meaning = "most columns of an odd radix in a task",
                        .min = 1,
                        .max = 8'388'608,
                        .smoke = 1,
                        .quick = 1,
                        .full = 1}},
        .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<Fft>(arguments);
        })
