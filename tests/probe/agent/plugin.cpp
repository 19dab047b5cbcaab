// A library that a target loads and unloads while threads wait below its frames. The build makes it
// twice: with LARGE it has other code and unwind tables, for the same place in memory.
namespace {

#ifdef LARGE
template <int number>
[[gnu::noinline]] int filler(int value) {
  int room[number];
  for (int& each : room) each = value;
  asm volatile("" : : "r"(room) : "memory");
  if constexpr (number > 1) return filler<number - 1>(room[0]);
  return value;
}
#endif

}  // namespace

extern "C" [[gnu::visibility("default")]] int call_from_plugin(void (*function)()) {
#ifdef LARGE
  char room[4096];
  asm volatile("" : : "r"(room) : "memory");
  const int value = filler<200>(1);
#else
  const int value = 1;
#endif
  function();
  asm volatile("" ::: "memory");
  return value;
}
