"""Functions by which a program shows that a fix can matter to it, as its table of symbols names
them."""

LOCKS_MUTEXES = ("pthread_mutex_lock",)
BINDS_THREADS = ("sched_setaffinity", "pthread_setaffinity_np", "pthread_attr_setaffinity_np")
SETS_LOCALE = (
    "setlocale",
    "newlocale",
    "localeC1EPKc",  # std::locale of a name, in whichever namespace
    "localeC2EPKc",
    "localeC1ERKS_PKci",
    "localeC1ERKS0_PKci",
    "localeC1ERKNS_12basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEE",
)
LOADS_LIBRARIES = ("dlopen", "dlmopen")
