// For sources that use std::async and must not be edited: c++ -include tmk/redirect_std.hpp
// source.cpp
//
//   The name std becomes a macro for tmk_std, a namespace that has everything of std and, in front
//   of it, tmk's async, future, shared_future, promise, packaged_task and launch. So only whole
//   names after std:: and names that `using` brings in are redirected; m.lock(), launch::async or a
//   variable called future keep their meaning. Nothing is added to namespace std. std::lock and
//   scoped_lock stay: argument-dependent lookup would find them beside ours.
//
//   All standard headers come first, because their own namespace std { } must mean std. Hence its
//   limits, each of which the compiler or the linker reports unless said otherwise:
//   * `namespace std { template <> struct hash<Mine> ... }` after it is refused; `template <>
//     struct std::hash<Mine>` is not. Headers that do it, extensions of the library
//     (<experimental/...>, <ext/...>) and libraries that were built with std::future must be forced
//     in before: -include their.hpp -include tmk/redirect_std.hpp. They keep the standard's.
//   * Sources that pass futures to each other are all compiled with it, or none: the names of
//     functions that take or return tmk's differ, so that they do not link. Not reported: a class
//     with a future as a member that some sources see as tmk's and others as the standard's.
//   * `import std;` finds no module of that name.
//   * A macro by which a source configures the standard headers comes too late: give it on the
//     command line. Not reported.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "tmk/redirect_std.hpp needs C++20: add -std=c++20, and do not force it into C sources"
#endif

#include <algorithm>
#include <any>
#include <array>
#include <atomic>
#include <barrier>
#include <bit>
#include <bitset>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <cfenv>
#include <cfloat>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <climits>
#include <clocale>
#include <cmath>
#include <codecvt>
#include <compare>
#include <complex>
#include <concepts>
#include <condition_variable>
#include <coroutine>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuchar>
#include <cwchar>
#include <cwctype>
#include <deque>
#include <exception>
#include <filesystem>
#include <forward_list>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iomanip>
#include <ios>
#include <iosfwd>
#include <iostream>
#include <istream>
#include <iterator>
#include <latch>
#include <limits>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <numbers>
#include <numeric>
#include <optional>
#include <ostream>
#include <queue>
#include <random>
#include <ranges>
#include <ratio>
#include <regex>
#include <scoped_allocator>
#include <semaphore>
#include <set>
#include <shared_mutex>
#include <source_location>
#include <span>
#include <sstream>
#include <stack>
#include <stdexcept>
#include <stop_token>
#include <streambuf>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <valarray>
#include <variant>
#include <vector>
#include <version>

// Headers that not every library has yet.
#if __has_include(<debugging>)
#include <debugging>
#endif
#if __has_include(<execution>) && !(defined(__GLIBCXX__) && __has_include(<tbb/tbb.h>))
#include <execution>  // libstdc++'s would have the program linked with oneTBB
#endif
#if __has_include(<expected>)
#include <expected>
#endif
#if __has_include(<flat_map>)
#include <flat_map>
#endif
#if __has_include(<flat_set>)
#include <flat_set>
#endif
#if __has_include(<format>)
#include <format>
#endif
#if __has_include(<generator>)
#include <generator>
#endif
#if __has_include(<hazard_pointer>)
#include <hazard_pointer>
#endif
#if __has_include(<hive>)
#include <hive>
#endif
#if __has_include(<inplace_vector>)
#include <inplace_vector>
#endif
#if __has_include(<linalg>)
#include <linalg>
#endif
#if __has_include(<mdspan>)
#include <mdspan>
#endif
#if __has_include(<print>)
#include <print>
#endif
#if __has_include(<rcu>)
#include <rcu>
#endif
#if __has_include(<simd>)
#include <simd>
#endif
#if __has_include(<spanstream>)
#include <spanstream>
#endif
#if __has_include(<stacktrace>)
#include <stacktrace>
#endif
#if __has_include(<stdfloat>)
#include <stdfloat>
#endif
#if __has_include(<syncstream>)
#include <syncstream>
#endif
#if __has_include(<text_encoding>)
#include <text_encoding>
#endif

// The library's own under names that no source uses: else `using namespace std; future<int> f;`
// would find two. They are not defined before, because <coroutine> has another `promise`.
#define async tmk_unused_async
#define future tmk_unused_future
#define launch tmk_unused_launch
#define packaged_task tmk_unused_packaged_task
#define promise tmk_unused_promise
#define shared_future tmk_unused_shared_future
#include <future>
#undef async
#undef future
#undef launch
#undef packaged_task
#undef promise
#undef shared_future

#include "async.hpp"
#include "fork_join.hpp"
#include "future.hpp"
#include "mutex.hpp"
#include "pool.hpp"
#include "promise.hpp"
#include "version.hpp"
#include "when_all.hpp"

namespace tmk_std {
using namespace ::std;
using ::tmk::async;
using ::tmk::future;
using ::tmk::launch;
using ::tmk::packaged_task;
using ::tmk::promise;
using ::tmk::shared_future;
}  // namespace tmk_std

#define std tmk_std
