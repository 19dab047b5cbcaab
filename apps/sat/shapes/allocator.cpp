// The allocator that Open CASCADE gives to each of its lists and maps where they are given none.
// Each of them counts itself at it, so that Open CASCADE's own, which is one, has a number that all
// threads write whenever they make a list. Here each thread has its own. The libraries call this
// definition and not theirs, since a program's symbols come first.
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
