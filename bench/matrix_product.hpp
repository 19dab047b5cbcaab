// The inner kernel of the dense programs: C += A B or C -= A B on small row-major blocks.
// Two rows of C take four rows of B at a time, so that each loaded element of B is used twice and
// each element of C is written once per four products; compilers make vector code of the loop over
// columns for any instruction set.
#pragma once

#include <cstddef>
#include <functional>

namespace bench {
namespace detail {

template <std::size_t kDepth, class Op, class T>
inline void two_rows(T* __restrict c0, T* __restrict c1, const T* __restrict a0,
                     const T* __restrict a1, const T* __restrict b, std::size_t ldb,
                     std::size_t columns) {
  for (std::size_t j = 0; j < columns; ++j) {
    T sum0 = a0[0] * b[j];
    T sum1 = a1[0] * b[j];
    for (std::size_t d = 1; d < kDepth; ++d) {
      sum0 += a0[d] * b[d * ldb + j];
      sum1 += a1[d] * b[d * ldb + j];
    }
    c0[j] = Op()(c0[j], sum0);
    c1[j] = Op()(c1[j], sum1);
  }
}

}  // namespace detail

// C = Op(C, A B), with Op std::plus<> or std::minus<>. `ld`: distance of two rows, in elements.
// Precondition: no element of C is one of A or B.
template <class Op, class T>
void accumulate_product(T* c, std::size_t ldc, const T* a, std::size_t lda, const T* b,
                        std::size_t ldb, std::size_t rows, std::size_t depth, std::size_t columns) {
  constexpr std::size_t kDepth = 4;
  std::size_t i = 0;
  for (; i + 2 <= rows; i += 2) {
    T* const c0 = c + i * ldc;
    const T* const a0 = a + i * lda;
    std::size_t k = 0;
    for (; k + kDepth <= depth; k += kDepth) {
      detail::two_rows<kDepth, Op>(c0, c0 + ldc, a0 + k, a0 + lda + k, b + k * ldb, ldb, columns);
    }
    for (; k < depth; ++k) {
      detail::two_rows<1, Op>(c0, c0 + ldc, a0 + k, a0 + lda + k, b + k * ldb, ldb, columns);
    }
  }
  if (i == rows) return;
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t j = 0; j < columns; ++j) {
      c[i * ldc + j] = Op()(c[i * ldc + j], a[i * lda + k] * b[k * ldb + j]);
    }
  }
}

}  // namespace bench
