// The beginning and the end of recording in a process, and of each thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace threadmark::agent {

// In state.cpp: the memory of threads that waited, and the bounds of the main thread's stack.
void prepare_memory(void* thread_memory, std::uint64_t stack_low, std::uint64_t stack_high,
                    std::uint64_t usual_stack);
std::size_t thread_memory_size();
void be_idle();

// In threads.cpp, before the first thread.
void prepare_threads();

// Sees to it that end_thread() runs in this thread, after the target's own destructors.
void at_thread_end();

// Ends the waits of this thread that were left, by cancellation or longjmp, as a call whose frame
// is `frame` shows.
void abandon_waits(std::uint64_t frame);

// The thread with this handle, while it lives; 0 when it has ended.
std::int32_t tid_of(unsigned long handle);

}  // namespace threadmark::agent
