// The library that the work in the host loads and unloads, and in which it waits.
extern "C" int some(int value, void (*pause_us)(long)) {
  pause_us(200);
  return value + 1;
}
