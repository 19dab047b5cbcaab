// The stress tests with a kernel that refuses membarrier from the start, so the owner of a deque
// always takes the slow path.
#include "deque_stress_test.cpp"
#include "refuse_membarrier.hpp"
#include "stress_test.cpp"

bool refuses_membarrier(int /*command*/) { return true; }

TEST(Symmetric, the_kernel_has_refused_membarrier) { EXPECT_FALSE(tmk::detail::has_membarrier); }
