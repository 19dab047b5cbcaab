// The default allocator of Open CASCADE's lists and maps. Each list and map counts itself at its
// allocator. Open CASCADE has a single one, so all threads write its counter whenever they make a
// list. Here each thread has its own allocator. The libraries call this definition and not theirs,
// because a program's symbols come first.
#include <atomic>

#include <NCollection_BaseAllocator.hxx>

#include "convert.hpp"

namespace {

std::atomic<bool> one_for_all = false;

}  // namespace

namespace sat::shapes {

void share_allocator(bool shared) { one_for_all = shared; }

}  // namespace sat::shapes

const Handle(NCollection_BaseAllocator) & NCollection_BaseAllocator::CommonBaseAllocator() {
  using Allocator = Handle(NCollection_BaseAllocator);
  // Never freed: destructors of static objects make lists too, and lists outlive their threads.
  static const Allocator* const shared = new Allocator(new NCollection_BaseAllocator);
  if (one_for_all) return *shared;
  thread_local const Allocator* const own = new Allocator(new NCollection_BaseAllocator);
  return *own;
}
