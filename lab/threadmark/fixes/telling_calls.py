"""Functions that show that a fix can matter to a program, by their names in its table of
symbols."""

LOCKS_MUTEXES = ("pthread_mutex_lock",)
BINDS_THREADS = ("sched_setaffinity", "pthread_setaffinity_np", "pthread_attr_setaffinity_np")
SETS_LOCALE = (
    "setlocale",
    "newlocale",
    "localeC1EPKc",  # std::locale of a name, in any namespace
    "localeC2EPKc",
    "localeC1ERKS_PKci",
    "localeC1ERKS0_PKci",
    "localeC1ERKNS_12basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEE",
)
LOADS_LIBRARIES = ("dlopen", "dlmopen")
