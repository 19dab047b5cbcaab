// tmk::when_all: one future for several.
#pragma once

#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "async.hpp"

namespace tmk {

// Returns a future that is ready when all of the given futures or shared_futures are, and that
// holds them. It throws none of their exceptions, and an invalid future stays invalid. A task waits
// for each future, so the caller does not block. The thread of that task runs a pending task in
// place when it waits for that task.
template <class... F>
[[nodiscard]] future<std::tuple<F...>> when_all(F... futures) {
  return async(
      [](std::tuple<F...> all) {
        std::apply([](F&... each) { ((each.valid() ? each.wait() : void()), ...); }, all);
        return all;
      },
      std::tuple<F...>(std::move(futures)...));
}

// The same for a range of futures, which are moved from.
template <std::input_iterator I>
  requires requires(I i) { (*i).valid(), (*i).wait(); }
[[nodiscard]] future<std::vector<std::iter_value_t<I>>> when_all(I first, I last) {
  std::vector<std::iter_value_t<I>> all(std::make_move_iterator(first),
                                        std::make_move_iterator(last));
  return async(
      [](std::vector<std::iter_value_t<I>> each) {
        for (auto& future : each) {
          if (future.valid()) future.wait();
        }
        return each;
      },
      std::move(all));
}

}  // namespace tmk
