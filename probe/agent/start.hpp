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
// The number of bytes from the beginning of thread_memory that the calling thread needs if there is
// no other thread.
std::size_t thread_memory_in_use();
void be_idle();

// In a child after fork all other threads are gone, and never finish their work. `forked`: the
// parent process; 0 for the first program of a process.
void begin_image(std::int32_t pid, std::int32_t forked, std::uint64_t begin_ns);
void forget_threads();
void forget_walks();  // in modules.cpp

// In process.cpp: begins recording in the child of a call for which the C library runs no atfork
// handler.
void begin_child();

// In threads.cpp, before the first thread.
void prepare_threads();

// Makes end_thread() run in this thread after the target's own destructors.
void at_thread_end();

// Ends the waits of this thread that cancellation or longjmp has left. A call with the frame
// `frame` shows which waits those are.
void abandon_waits(std::uint64_t frame);

// The tid of the living thread with this handle; 0 when the thread has ended.
std::int32_t tid_of(unsigned long handle);

}  // namespace threadmark::agent
