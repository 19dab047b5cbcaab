// A library that was preloaded before the agent came: it does nothing.
extern "C" int threadmark_other_preload() { return 1; }
