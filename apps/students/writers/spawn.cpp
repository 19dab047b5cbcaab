// The first version of the post: each flush starts four threads, which end with it. Protocol:
// protocols.md.
#include <array>
#include <exception>

#include "../crew.hpp"
#include "../lines.hpp"
#include "../writer.hpp"

namespace students {
namespace {

void run(const Job& job) {
  Buffers buffers(job.plan);
  for_each_block(job, buffers, [&](std::uint64_t block) {
    std::array<std::exception_ptr, kFiles> failures;
    {
      Crew crew;
      for (std::size_t i = 0; i < kFiles; ++i) {
        crew.start([&, i] {
          try {
            save_buffer(job, buffers, static_cast<File>(i), block);
          } catch (...) {
            failures[i] = std::current_exception();
          }
        });
      }
    }
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  });
}

const Registration registration({"spawn", "four threads are started for each block (first try)",
                                 "sequential", true, 4, run, memory_of_buffers});

}  // namespace
}  // namespace students
