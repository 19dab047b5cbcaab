// LU factorisation of a sparse matrix of dense blocks, without pivoting: three kinds of coarse
// tasks in phases with a barrier after each. It is the whole factorisation (INNCABS' loop nest
// leaves most block columns out), so the product of the factors gives the matrix back. The
// file is long because its check also tells wrong factors from a matrix that has none.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench.hpp"
#include "matrix_product.hpp"
#include "random.hpp"

namespace {

// The triangular solves do all but a thin panel at a time as products, which run faster.
constexpr std::size_t kPanel = 16;

// In place: block = L U, the unit diagonal of L is not stored.
void factorise_block(float* block, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k + 1; i < n; ++i) block[i * n + k] /= block[k * n + k];
    const std::size_t left = n - k - 1;
    bench::accumulate_product<std::minus<>>(block + (k + 1) * n + k + 1, n, block + (k + 1) * n + k,
                                            n, block + k * n + k + 1, n, left, 1, left);
  }
}

// block = L^-1 block, with L from the factorised diagonal block.
void solve_lower(float* block, const float* diagonal, std::size_t n) {
  for (std::size_t p = 0; p < n; p += kPanel) {
    const std::size_t end = std::min(p + kPanel, n);
    bench::accumulate_product<std::minus<>>(block + p * n, n, diagonal + p * n, n, block, n,
                                            end - p, p, n);
    for (std::size_t i = p + 1; i < end; ++i) {
      bench::accumulate_product<std::minus<>>(block + i * n, n, diagonal + i * n + p, n,
                                              block + p * n, n, 1, i - p, n);
    }
  }
}

// block = block U^-1, with U from the factorised diagonal block.
void solve_upper(float* block, const float* diagonal, std::size_t n) {
  for (std::size_t p = 0; p < n; p += kPanel) {
    const std::size_t end = std::min(p + kPanel, n);
    bench::accumulate_product<std::minus<>>(block + p, n, block, n, diagonal + p, n, n, p, end - p);
    for (std::size_t k = p; k < end; ++k) {
      const float pivot = diagonal[k * n + k];
      for (std::size_t i = 0; i < n; ++i) block[i * n + k] /= pivot;
      bench::accumulate_product<std::minus<>>(block + k + 1, n, block + k, n,
                                              diagonal + k * n + k + 1, n, n, 1, end - k - 1);
    }
  }
}

class BlockMatrix {
 public:
  BlockMatrix(std::size_t side, std::size_t block) : side_(side), block_(block), at_(side * side) {}

  std::size_t side() const { return side_; }
  std::size_t block() const { return block_; }
  float* at(std::size_t i, std::size_t j) const { return at_[i * side_ + j].get(); }

  // The block, which is made of zeros if it was absent. Only one task may ask for the same block.
  float* require(std::size_t i, std::size_t j) {
    auto& place = at_[i * side_ + j];
    if (!place) place = std::make_unique<float[]>(block_ * block_);
    return place.get();
  }

  void assign(const BlockMatrix& other) {
    for (std::size_t p = 0; p < at_.size(); ++p) {
      const float* from = other.at_[p].get();
      at_[p] = from ? std::make_unique_for_overwrite<float[]>(block_ * block_) : nullptr;
      if (from) std::copy_n(from, block_ * block_, at_[p].get());
    }
  }

  bool finite() const {
    const std::vector<double> sums =
        times(std::vector<double>(side_ * block_, 1.0), Part::all, true);
    return std::all_of(sums.begin(), sums.end(), [](double sum) { return std::isfinite(sum); });
  }

  enum class Part { all, strictly_lower, upper };

  // The product of one part of this matrix, or of its absolute values, and a vector.
  std::vector<double> times(const std::vector<double>& from, Part part, bool absolute) const {
    std::vector<double> to(side_ * block_);
    for (std::size_t row = 0; row < to.size(); ++row) {
      const std::size_t first = part == Part::upper ? row : 0;
      const std::size_t last = part == Part::strictly_lower ? row : to.size();
      for (std::size_t j = first / block_; j * block_ < last; ++j) {
        const float* block = at(row / block_, j);
        if (!block) continue;
        const float* entry = block + row % block_ * block_;
        const std::size_t end = std::min(last, (j + 1) * block_);
        for (std::size_t column = std::max(first, j * block_); column < end; ++column) {
          const double value = entry[column - j * block_];
          to[row] += (absolute ? std::abs(value) : value) * from[column];
        }
      }
    }
    return to;
  }

 private:
  std::size_t side_, block_;
  std::vector<std::unique_ptr<float[]>> at_;
};

// One task: what to do with which blocks.
struct Step {
  enum class Kind { lower, upper, inner } kind;
  BlockMatrix* matrix;
  std::size_t k, i, j;

  void operator()() const {
    const std::size_t n = matrix->block();
    switch (kind) {
      case Kind::lower:
        return solve_lower(matrix->at(k, j), matrix->at(k, k), n);
      case Kind::upper:
        return solve_upper(matrix->at(i, k), matrix->at(k, k), n);
      case Kind::inner:
        return bench::accumulate_product<std::minus<>>(matrix->require(i, j), n, matrix->at(i, k),
                                                       n, matrix->at(k, j), n, n, n, n);
    }
  }
};

// The tasks of one phase as futures; bench::scope is the other form.
class Futures {
 public:
  void spawn(const Step& step) { handles_.push_back(bench::async(step)); }
  void wait() {
    for (auto& handle : handles_) handle.get();
  }

 private:
  std::vector<bench::handle<const Step&>> handles_;
};

// No tasks.
struct AtOnce {
  void spawn(const Step& step) { step(); }
  void wait() {}
};

// Returns the number of tasks.
template <class Phase>
std::uint64_t factorise(BlockMatrix& a) {
  std::uint64_t tasks = 0;
  for (std::size_t k = 0; k < a.side(); ++k) {
    factorise_block(a.at(k, k), a.block());
    Phase solves;
    for (std::size_t m = k + 1; m < a.side(); ++m) {
      if (a.at(k, m)) solves.spawn(Step{Step::Kind::lower, &a, k, 0, m}), ++tasks;
      if (a.at(m, k)) solves.spawn(Step{Step::Kind::upper, &a, k, m, 0}), ++tasks;
    }
    solves.wait();
    Phase products;
    for (std::size_t i = k + 1; i < a.side(); ++i) {
      for (std::size_t j = k + 1; a.at(i, k) && j < a.side(); ++j) {
        if (a.at(k, j)) products.spawn(Step{Step::Kind::inner, &a, k, i, j}), ++tasks;
      }
    }
    products.wait();
  }
  return tasks;
}

// Whether no pivot is zero. The generator repeats itself, so blocks of some sizes are singular.
bool has_factors(const BlockMatrix& input) {
  BlockMatrix factors(input.side(), input.block());
  factors.assign(input);
  factorise<AtOnce>(factors);
  return factors.finite();
}

class SparseLu final : public bench::Instance {
 public:
  explicit SparseLu(const bench::Arguments& arguments)
      : input_(static_cast<std::size_t>(arguments["blocks"]),
               static_cast<std::size_t>(arguments["block"])),
        matrix_(input_.side(), input_.block()) {
    // Odd states of this generator never become even; seed 1 gives INNCABS' matrix.
    auto state = static_cast<std::uint32_t>(1325 + 2 * (arguments.seed() - 1)) % 65536;
    for (std::size_t i = 0; i < input_.side(); ++i) {
      for (std::size_t j = 0; j < input_.side(); ++j) {
        const bool far = i + 1 < j || j + 1 < i;
        const bool empty = (i < j && i % 3 != 0) || (i > j && j % 3 != 0) || i % 2 || j % 2;
        if (far && empty) continue;
        float* block = input_.require(i, j);
        for (std::size_t p = 0; p < input_.block() * input_.block(); ++p) {
          state = 3125 * state % 65536;
          block[p] = (static_cast<float>(state) - 32768) / 16384;
        }
      }
    }
  }

  void clear() override { matrix_.assign(input_); }

  void run(bench::Form form) override {
    tasks_ = form == bench::Form::futures ? factorise<Futures>(matrix_)
                                          : factorise<bench::scope>(matrix_);
  }

  // A x against L (U x) for a vector of random signs. Rounding leaves at most n u |L| |U| |x| in
  // each row, however large the factors grow without pivoting (Higham, Accuracy and Stability of
  // Numerical Algorithms, theorem 9.3). Errors of random sign cancel: observed are u for small n
  // and u / 15 for n = 5000; a single product of blocks left out shows as 3 u or more.
  bench::Check check() override {
    using enum BlockMatrix::Part;
    const std::size_t n = input_.side() * input_.block();
    bench::Random random(n);
    std::vector<double> x(n);
    for (double& sign : x) sign = random.below(2) ? 1 : -1;
    const std::vector<double> ax = input_.times(x, all, false);
    const std::vector<double> ux = matrix_.times(x, upper, false);
    const std::vector<double> lux = matrix_.times(ux, strictly_lower, false);
    const std::vector<double> bound_u = matrix_.times(std::vector<double>(n, 1.0), upper, true);
    const std::vector<double> bound_lu = matrix_.times(bound_u, strictly_lower, true);
    const double tolerance = 0x1p-24 * (0.5 + 8 / std::sqrt(n));
    double worst = 0;  // or NaN, if any error is
    for (std::size_t i = 0; i < n; ++i) {
      const double error = std::abs((ax[i] - ux[i] - lux[i]) / (bound_u[i] + bound_lu[i]));
      worst = std::isnan(error) ? error : std::max(worst, error);
    }
    if (std::isnan(worst) && !has_factors(input_)) {
      throw bench::BadInput("the matrix of block=" + std::to_string(input_.block()) +
                            " with this seed has a pivot of zero, and sparselu does not exchange "
                            "rows; change --arg block or --seed");
    }
    char answer[64];
    std::snprintf(answer, sizeof answer, "residual %.0e", worst);
    return {.ok = worst <= tolerance,
            .answer = answer,
            .reason = "A - LU is too large",
            .tasks = tasks_};
  }

 private:
  BlockMatrix input_, matrix_;
  std::uint64_t tasks_ = 0;
};

}  // namespace

BENCH_PROGRAM(
        .name = "sparselu", .summary = "LU factorisation of a sparse matrix of dense blocks",
        .structure = "loop-like", .granularity = "coarse", .synchronisation = "none",
        .origin = "BOTS",
        .parameters = {{.name = "blocks",
                        .meaning = "blocks along a side of the matrix",
                        .min = 1,
                        .max = 100,
                        .smoke = 12,
                        .quick = 14,
                        .full = 50},
                       {.name = "block",
                        .meaning = "floats along a side of a block",
                        .min = 1,
                        .max = 200,
                        .smoke = 50,
                        .quick = 100,
                        .full = 100}},
        .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<SparseLu>(arguments);
        })
