// The beginning and the end of recording in a process, and of each thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace threadmark::agent {

// In state.cpp: the memory of threads that waited, and the bounds of the main thread's stack.
void prepare_memory(void* thread_memory, std::uint64_t stack_low, std::uint64_t stack_high,
                    std::uint64_t usual_stack);
std::size_t thread_memory_size();
void* thread_memory();
// How much of it, from its beginning, the calling thread needs if there is no other.
std::size_t thread_memory_in_use();
void be_idle();

// In a child after fork: all other threads are gone, and what they were doing is never finished.
// `forked`: the process that it was made from; 0 for the program that a process begins with.
void begin_image(std::int32_t pid, std::int32_t forked, std::uint64_t begin_ns);
void forget_threads();
void forget_walks();  // in modules.cpp

// In process.cpp: the child of a call that the C library does not tell of.
void begin_child();

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
