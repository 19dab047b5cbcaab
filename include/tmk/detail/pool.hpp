// The whole pool: its class, all of its functions, and its start. The functions lie in one file for
// each concept and call one another, so a header that uses a pool includes this header.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

#include "binding.hpp"
#include "closing.hpp"
#include "pool_class.hpp"
#include "process_fork.hpp"
#include "processors.hpp"
#include "threads.hpp"
#include "watchdog.hpp"

namespace tmk::detail {

inline Pool& Pool::standard() {
  // The pool uses the processors of the main thread, because the first user may be a pinned thread.
  static Pool* const pool = new Pool(usable_processors(processors_of(getpid())), true);
  return *pool;
}

inline Pool::Pool(std::uint32_t threads, bool endless)
    : target_(std::max(1u, threads)),
      endless_(endless),
      spreads_(keeps_woken_threads_away()),
      processors_(processors_of(0)),
      width_(
          std::min(target_, allowed_processors(endless ? processors_of(getpid()) : processors_))) {
  const std::lock_guard guard(registry().mutex);
  next_ = std::exchange(registry().pools, this);
}

}  // namespace tmk::detail
