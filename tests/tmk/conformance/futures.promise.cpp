// [futures.promise]: promise<R>, promise<R&>, promise<void>.
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "subject.hpp"

namespace conformance {
namespace {

using FuturesPromise = Clause;
using subject::future;
using subject::future_errc;
using subject::future_status;
using subject::promise;

// Counts the bytes that it has given out, for all its copies, of any type.
template <class T>
struct CountingAllocator {
  using value_type = T;
  std::ptrdiff_t* bytes;
  int* calls;
  CountingAllocator(std::ptrdiff_t& b, int& c) : bytes(&b), calls(&c) {}
  template <class U>
  CountingAllocator(const CountingAllocator<U>& other) : bytes(other.bytes), calls(other.calls) {}
  T* allocate(std::size_t n) {
    ++*calls;
    *bytes += static_cast<std::ptrdiff_t>(n * sizeof(T));
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* memory, std::size_t n) {
    *bytes -= static_cast<std::ptrdiff_t>(n * sizeof(T));
    std::allocator<T>().deallocate(memory, n);
  }
  template <class U>
  bool operator==(const CountingAllocator<U>& other) const {
    return bytes == other.bytes;
  }
};

template <class T>
struct NoMemory {
  using value_type = T;
  NoMemory() = default;
  template <class U>
  NoMemory(const NoMemory<U>& /*other*/) {}
  T* allocate(std::size_t /*n*/) { throw std::bad_alloc(); }
  void deallocate(T* /*memory*/, std::size_t /*n*/) {}
  template <class U>
  bool operator==(const NoMemory<U>& /*other*/) const {
    return true;
  }
};

// A pointer of class type, which only its own members turn into an address.
template <class T>
class Fancy {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = Fancy;
  using reference = std::add_lvalue_reference_t<T>;
  using iterator_category = std::random_access_iterator_tag;
  template <class U>
  using rebind = Fancy<U>;

  Fancy() = default;
  Fancy(std::nullptr_t) {}  // NOLINT: as pointers do
  explicit Fancy(T* address) : address_(address) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  Fancy(const Fancy<U>& other) : address_(other.address_) {}
  template <class U>
    requires(!std::is_convertible_v<U*, T*>)
  explicit Fancy(const Fancy<U>& other) : address_(static_cast<T*>(other.address_)) {}
  template <class U = T>
    requires(!std::is_void_v<U>)
  static Fancy pointer_to(U& target) {
    return Fancy(std::addressof(target));
  }
  reference operator*() const
    requires(!std::is_void_v<T>)
  {
    return *address_;
  }
  T* operator->() const { return address_; }
  explicit operator bool() const { return address_ != nullptr; }
  bool operator==(const Fancy&) const = default;

 private:
  template <class>
  friend class Fancy;
  T* address_ = nullptr;
};

// Remembers the blocks that it has given out, for all its copies, of any type.
template <class T>
struct FancyAllocator {
  using value_type = T;
  using pointer = Fancy<T>;
  std::map<const void*, std::size_t>* given;
  explicit FancyAllocator(std::map<const void*, std::size_t>& g) : given(&g) {}
  template <class U>
  FancyAllocator(const FancyAllocator<U>& other) : given(other.given) {}
  pointer allocate(std::size_t n) {
    T* const memory = std::allocator<T>().allocate(n);
    (*given)[memory] = n * sizeof(T);
    return pointer(memory);
  }
  void deallocate(pointer memory, std::size_t n) {
    const auto found = given->find(memory.operator->());
    ASSERT_NE(found, given->end());
    EXPECT_EQ(found->second, n * sizeof(T));
    given->erase(found);
    std::allocator<T>().deallocate(memory.operator->(), n);
  }
  template <class U>
  bool operator==(const FancyAllocator<U>& other) const {
    return given == other.given;
  }
};

// A promise of each kind; set() and check() for its result.
struct OfValue {
  using Promise = promise<int>;
  static void set(Promise& p) { p.set_value(4); }
  static void set_at_exit(Promise& p) { p.set_value_at_thread_exit(4); }
  static void check(future<int>& f) { EXPECT_EQ(f.get(), 4); }
};
struct OfReference {
  using Promise = promise<int&>;
  inline static int target = 0;
  static void set(Promise& p) { p.set_value(target); }
  static void set_at_exit(Promise& p) { p.set_value_at_thread_exit(target); }
  static void check(future<int&>& f) { EXPECT_EQ(&f.get(), &target); }
};
struct OfNothing {
  using Promise = promise<void>;
  static void set(Promise& p) { p.set_value(); }
  static void set_at_exit(Promise& p) { p.set_value_at_thread_exit(); }
  static void check(future<void>& f) { f.get(); }
};
// Calls test.operator()<Kind>() for the three kinds.
template <class Test>
void for_each_kind(const Test& test) {
  test.template operator()<OfValue>();
  test.template operator()<OfReference>();
  test.template operator()<OfNothing>();
}

// synopsis
TEST_F(FuturesPromise, it_can_be_moved_and_not_copied) {
  for_each_kind([]<class Kind>() {
    using P = typename Kind::Promise;
    EXPECT_TRUE(std::is_default_constructible_v<P>);
    EXPECT_TRUE(std::is_nothrow_move_constructible_v<P>);
    EXPECT_TRUE(std::is_nothrow_move_assignable_v<P>);
    EXPECT_FALSE(std::is_copy_constructible_v<P>);
    EXPECT_FALSE(std::is_copy_assignable_v<P>);
    EXPECT_TRUE(std::is_nothrow_destructible_v<P>);
    EXPECT_TRUE(noexcept(std::declval<P&>().swap(std::declval<P&>())));
    EXPECT_TRUE(noexcept(swap(std::declval<P&>(), std::declval<P&>())));
  });
  EXPECT_TRUE((std::is_same_v<decltype(promise<int>().get_future()), future<int>>));
  EXPECT_TRUE((std::is_same_v<decltype(promise<int&>().get_future()), future<int&>>));
  EXPECT_TRUE((std::is_same_v<decltype(promise<void>().get_future()), future<void>>));
}

// p1, set_value: the overloads of each specialisation
TEST_F(FuturesPromise, set_value_takes_what_the_specialisation_says) {
  EXPECT_TRUE((requires(promise<int> p, const int value) { p.set_value(value); }));
  EXPECT_TRUE((requires(promise<int&> p, int value) { p.set_value(value); }));
  EXPECT_TRUE((requires(promise<const int&> p, const int value) { p.set_value(value); }));
  EXPECT_TRUE((requires(promise<void> p) { p.set_value(); }));
  const auto takes_rvalue = []<class P>(P&& p) { return requires { p.set_value(1); }; };
  EXPECT_TRUE(takes_rvalue(promise<int>()));
  EXPECT_FALSE(takes_rvalue(promise<int&>()));
  EXPECT_FALSE(takes_rvalue(promise<void>()));
}

// the constructor with an allocator
TEST_F(FuturesPromise, an_allocator_gives_the_memory_and_gets_it_back_with_the_last_reference) {
  for_each_kind([]<class Kind>() {
    using P = typename Kind::Promise;
    std::ptrdiff_t bytes = 0;
    int calls = 0;
    {
      auto result = [&] {
        P provider(std::allocator_arg, CountingAllocator<char>(bytes, calls));
        EXPECT_GT(calls, 0);
        EXPECT_GT(bytes, 0);
        Kind::set(provider);
        return provider.get_future();
      }();
      EXPECT_GT(bytes, 0);
      Kind::check(result);
    }
    EXPECT_EQ(bytes, 0);
    {
      const P unused(std::allocator_arg, CountingAllocator<int>(bytes, calls));
    }
    EXPECT_EQ(bytes, 0);
  });
}
// [allocator.requirements]: the pointer may be a class
TEST_F(FuturesPromise, an_allocator_with_pointers_of_a_class_gets_back_what_it_gave) {
  for_each_kind([]<class Kind>() {
    using P = typename Kind::Promise;
    std::map<const void*, std::size_t> given;
    {
      P provider(std::allocator_arg, FancyAllocator<char>(given));
      EXPECT_FALSE(given.empty());
      auto result = provider.get_future();
      Kind::set(provider);
      Kind::check(result);
      const P unused(std::allocator_arg, FancyAllocator<int>(given));
      auto broken = P(std::allocator_arg, FancyAllocator<int>(given)).get_future();
      EXPECT_EQ(code_of([&] { return static_cast<void>(broken.get()), 0; }),
                future_errc::broken_promise);
    }
    EXPECT_TRUE(given.empty());
  });
}
TEST_F(FuturesPromise, what_the_allocator_throws_comes_out) {
  for_each_kind([]<class Kind>() {
    using P = typename Kind::Promise;
    EXPECT_THROW(P(std::allocator_arg, NoMemory<int>()), std::bad_alloc);
  });
}
TEST_F(FuturesPromise, it_uses_allocators) {
  EXPECT_TRUE((std::uses_allocator_v<promise<int>, std::allocator<int>>));
  EXPECT_TRUE((std::uses_allocator_v<promise<int&>, std::allocator<char>>));
  EXPECT_TRUE((std::uses_allocator_v<promise<void>, NoMemory<int>>));
}

// the move constructor
TEST_F(FuturesPromise, a_moved_from_promise_has_no_state) {
  for_each_kind([]<class Kind>() {
    typename Kind::Promise from;
    auto result = from.get_future();
    typename Kind::Promise to(std::move(from));
    const auto error = std::make_exception_ptr(1);
    EXPECT_EQ(code_of([&] { return from.get_future(), 0; }), future_errc::no_state);
    EXPECT_EQ(code_of([&] { return Kind::set(from), 0; }), future_errc::no_state);
    EXPECT_EQ(code_of([&] { return Kind::set_at_exit(from), 0; }), future_errc::no_state);
    EXPECT_EQ(code_of([&] { return from.set_exception(error), 0; }), future_errc::no_state);
    EXPECT_EQ(code_of([&] { return from.set_exception_at_thread_exit(error), 0; }),
              future_errc::no_state);
    Kind::set(to);
    Kind::check(result);
  });
}

// the destructor
TEST_F(FuturesPromise, a_destroyed_promise_abandons_its_state) {
  for_each_kind([]<class Kind>() {
    auto result = typename Kind::Promise().get_future();
    EXPECT_EQ(result.wait_for(0s), future_status::ready);
    EXPECT_EQ(code_of([&] { return static_cast<void>(result.get()), 0; }),
              future_errc::broken_promise);
  });
}

// move assignment
TEST_F(FuturesPromise, move_assignment_abandons_the_old_state_and_takes_the_other) {
  for_each_kind([]<class Kind>() {
    typename Kind::Promise to, from;
    auto old = to.get_future(), result = from.get_future();
    EXPECT_EQ(&(to = std::move(from)), &to);
    EXPECT_EQ(code_of([&] { return static_cast<void>(old.get()), 0; }),
              future_errc::broken_promise);
    EXPECT_EQ(code_of([&] { return Kind::set(from), 0; }), future_errc::no_state);
    Kind::set(to);
    Kind::check(result);
  });
}

// swap, the member and the function
TEST_F(FuturesPromise, swap_exchanges_the_states) {
  for_each_kind([]<class Kind>() {
    typename Kind::Promise a, b;
    auto of_a = a.get_future(), of_b = b.get_future();
    a.swap(b);
    Kind::set(a);
    Kind::check(of_b);
    swap(a, b);
    EXPECT_EQ(code_of([&] { return Kind::set(b), 0; }), future_errc::promise_already_satisfied);
    Kind::set(a);
    Kind::check(of_a);
    typename Kind::Promise none(std::move(a));
    a.swap(none);
    EXPECT_EQ(code_of([&] { return Kind::set(none), 0; }), future_errc::no_state);
    subject::swap(a, a);
    EXPECT_EQ(code_of([&] { return Kind::set(a), 0; }), future_errc::promise_already_satisfied);
  });
}

// get_future
TEST_F(FuturesPromise, the_future_is_given_out_once) {
  for_each_kind([]<class Kind>() {
    typename Kind::Promise provider;
    EXPECT_TRUE(provider.get_future().valid());
    EXPECT_EQ(code_of([&] { return provider.get_future(), 0; }),
              future_errc::future_already_retrieved);
    Kind::set(provider);
    EXPECT_EQ(code_of([&] { return provider.get_future(), 0; }),
              future_errc::future_already_retrieved);
  });
}
TEST_F(FuturesPromise, the_future_can_be_asked_for_after_the_result_is_set) {
  for_each_kind([]<class Kind>() {
    typename Kind::Promise provider;
    Kind::set(provider);
    auto result = provider.get_future();
    EXPECT_EQ(result.wait_for(0s), future_status::ready);
    Kind::check(result);
  });
}
// get_future, Synchronization
TEST_F(FuturesPromise, get_future_does_not_race_with_setting_the_result) {
  for (int i = 0; i < 100; ++i) {
    promise<int> provider;
    std::latch both(2);
    std::thread setter([&] {
      both.arrive_and_wait();
      provider.set_value(i);
    });
    both.arrive_and_wait();
    EXPECT_EQ(provider.get_future().get(), i);
    setter.join();
  }
}

// set_...: every function refuses a second result, and the first stays
TEST_F(FuturesPromise, a_result_is_set_once) {
  for_each_kind([]<class Kind>() {
    using P = typename Kind::Promise;
    const auto again = [](P& p) {
      const auto error = std::make_exception_ptr(1);
      EXPECT_EQ(code_of([&] { return Kind::set(p), 0; }), future_errc::promise_already_satisfied);
      EXPECT_EQ(code_of([&] { return Kind::set_at_exit(p), 0; }),
                future_errc::promise_already_satisfied);
      EXPECT_EQ(code_of([&] { return p.set_exception(error), 0; }),
                future_errc::promise_already_satisfied);
      EXPECT_EQ(code_of([&] { return p.set_exception_at_thread_exit(error), 0; }),
                future_errc::promise_already_satisfied);
    };
    P value, value_at_exit, failed, failed_at_exit;
    auto of_value = value.get_future(), of_value_at_exit = value_at_exit.get_future();
    auto of_failed = failed.get_future(), of_failed_at_exit = failed_at_exit.get_future();
    std::thread([&] {
      Kind::set(value);
      again(value);
      Kind::set_at_exit(value_at_exit);
      again(value_at_exit);
      failed.set_exception(std::make_exception_ptr('a'));
      again(failed);
      failed_at_exit.set_exception_at_thread_exit(std::make_exception_ptr('b'));
      again(failed_at_exit);
    }).join();
    Kind::check(of_value);
    Kind::check(of_value_at_exit);
    EXPECT_THROW(of_failed.get(), char);
    EXPECT_THROW(of_failed_at_exit.get(), char);
  });
}
// p2: as if under one mutex
TEST_F(FuturesPromise, of_many_who_set_at_once_one_succeeds) {
  for (int round = 0; round < 20; ++round) {
    promise<int> provider;
    std::latch all(4);
    std::atomic<int> winner{-1}, refused{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        all.arrive_and_wait();
        if (code_of([&] { return provider.set_value(i), 0; }) ==
            future_errc::promise_already_satisfied) {
          ++refused;
        } else {
          winner = i;
        }
      });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(refused, 3);
    EXPECT_EQ(provider.get_future().get(), winner);
  }
}

// set_value, the overloads
TEST_F(FuturesPromise, an_lvalue_is_copied_and_an_rvalue_moved) {
  const auto numbers = Counted::count();
  const Counted original(numbers);
  promise<Counted> copied;
  copied.set_value(original);
  EXPECT_EQ(numbers->copies, 1);
  promise<Counted> moved;
  moved.set_value(Counted(numbers));
  EXPECT_EQ(numbers->copies, 1);
  EXPECT_GE(numbers->moves, 1);
  promise<std::unique_ptr<int>> owner;
  owner.set_value(std::make_unique<int>(6));
  EXPECT_EQ(*owner.get_future().get(), 6);
  promise<std::vector<int>> braces;
  braces.set_value({1, 2, 3});
  EXPECT_EQ(braces.get_future().get(), (std::vector{1, 2, 3}));
}
// set_value, Throws: "any exception thrown by the constructor selected to copy (or move)"
TEST_F(FuturesPromise, what_copying_throws_comes_out_and_leaves_the_promise_open) {
  const ThrowsOnCopy bad;
  promise<ThrowsOnCopy> copies, copies_at_exit;
  auto result = copies.get_future();
  EXPECT_THROW(copies.set_value(bad), int);
  EXPECT_THROW(copies_at_exit.set_value_at_thread_exit(bad), int);
  EXPECT_EQ(result.wait_for(0s), future_status::timeout);
  copies.set_exception(std::make_exception_ptr(std::logic_error("later")));
  result.wait();
  EXPECT_THROW(result.get(), std::logic_error);
}
TEST_F(FuturesPromise, what_moving_throws_comes_out) {
  promise<ThrowsOnMove> moves, moves_at_exit;
  EXPECT_THROW(moves.set_value(ThrowsOnMove()), int);
  EXPECT_THROW(moves_at_exit.set_value_at_thread_exit(ThrowsOnMove()), int);
  EXPECT_EQ(moves.get_future().wait_for(0s), future_status::timeout);
}
// A value is stored without its operator&.
struct NoAddress {
  int value = 0;
  void operator&() const = delete;  // NOLINT: that is what is tested
};
TEST_F(FuturesPromise, values_and_references_need_no_address_operator) {
  promise<NoAddress> provider;
  provider.set_value(NoAddress{9});
  EXPECT_EQ(provider.get_future().get().value, 9);
  NoAddress target;
  promise<NoAddress&> refers;
  refers.set_value(target);
  EXPECT_EQ(std::addressof(refers.get_future().get()), std::addressof(target));
}

// set_exception
TEST_F(FuturesPromise, any_exception_can_be_set) {
  for_each_kind([]<class Kind>() {
    typename Kind::Promise provider;
    auto result = provider.get_future();
    provider.set_exception(std::make_exception_ptr(std::out_of_range("this one")));
    try {
      static_cast<void>(result.get());
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::out_of_range& error) {
      EXPECT_STREQ(error.what(), "this one");
    }
  });
}

// set_..._at_thread_exit
TEST_F(FuturesPromise, what_is_set_at_thread_exit_is_not_ready_before) {
  for_each_kind([]<class Kind>() {
    typename Kind::Promise value, failed;
    auto of_value = value.get_future(), of_failed = failed.get_future();
    std::thread([&] {
      Kind::set_at_exit(value);
      failed.set_exception_at_thread_exit(std::make_exception_ptr(1));
      EXPECT_EQ(of_value.wait_for(1ms), future_status::timeout);
      EXPECT_EQ(of_failed.wait_for(0s), future_status::timeout);
    }).join();
    EXPECT_EQ(of_value.wait_for(0s), future_status::ready);
    EXPECT_EQ(of_failed.wait_for(0s), future_status::ready);
    Kind::check(of_value);
    EXPECT_THROW(of_failed.get(), int);
  });
}
TEST_F(FuturesPromise, what_is_set_at_thread_exit_is_kept_when_the_promise_goes) {
  for_each_kind([]<class Kind>() {
    auto provider = std::make_unique<typename Kind::Promise>();
    auto result = provider->get_future();
    std::thread([&] {
      Kind::set_at_exit(*provider);
      provider.reset();
      EXPECT_EQ(result.wait_for(0s), future_status::timeout);
    }).join();
    Kind::check(result);
  });
}

}  // namespace
}  // namespace conformance
