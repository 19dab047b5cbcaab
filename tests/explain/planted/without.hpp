// What -DWITHOUT_CAUSE changes alike in many planted programs: what all threads share becomes each
// thread's own, so that the cause is gone and all else is as before.
#pragma once

#ifdef WITHOUT_CAUSE
#define SHARED thread_local
#else
#define SHARED
#endif
