// The writer of -z: the main thread saves one buffer after the other, with the code of
// as_published.
#include "../lines.hpp"
#include "../writer.hpp"

namespace students {
namespace {

void run(const Job& job) {
  Buffers buffers(job.plan);
  for_each_block(job, buffers, [&](std::uint64_t block) {
    for (std::size_t i = 0; i < kFiles; ++i) {
      save_buffer(job, buffers, static_cast<File>(i), block);
    }
  });
}

const Registration registration({"sequential", "one thread saves file after file (-z)",
                                 "sequential", true, 1, run, memory_of_buffers});

}  // namespace
}  // namespace students
