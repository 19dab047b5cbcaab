// Linked beside a contention program: the system refuses its third thread after two wait for work.
#include <atomic>

#include "../refuse_thread.hpp"

bool refuses_thread() {
  static constinit std::atomic<int> created{0};
  return created++ == 2;
}
