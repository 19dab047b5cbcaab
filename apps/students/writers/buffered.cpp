// sequential without the flush: the files stay open, and the main thread saves one buffer after the
// other. persistent does the same with four threads.
#include "../lines.hpp"
#include "../writer.hpp"

namespace students {
namespace {

void run(const Job& job) {
  Buffers buffers(job.plan);
  OpenFiles files(job);
  for_each_block(job, buffers, [&](std::uint64_t block) {
    for (std::size_t i = 0; i < kFiles; ++i) files.save(buffers, static_cast<File>(i), block);
  });
  files.close();
}

const Registration registration({"buffered", "sequential whose files stay open, without the flush",
                                 "buffered", false, 1, run, memory_of_buffers});

}  // namespace
}  // namespace students
