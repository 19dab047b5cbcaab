// The modules that the agent treats as never unloaded, in a program of this test's own.
#include "probe/agent/loader.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace {

using threadmark::agent::count_of_start;
using threadmark::agent::each_loaded;
using threadmark::agent::is_of_start;
using threadmark::agent::Loaded;

std::size_t count_loaded() {
  std::size_t count = 0;
  each_loaded([&](const Loaded&) { return ++count != 0; });
  return count;
}

std::uint64_t changes() {
  return each_loaded([](const Loaded&) { return false; });
}

TEST(Loader, knows_what_was_loaded_with_the_program) {
  const std::size_t at_start = count_loaded();
  void* plugin = dlopen(SMALL_PLUGIN, RTLD_NOW);
  void* other = dlopen(LARGE_PLUGIN, RTLD_NOW);
  void* library = dlopen("libc.so.6", RTLD_NOW);
  ASSERT_NE(plugin, nullptr);
  ASSERT_NE(other, nullptr);
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(count_loaded(), at_start + 2);
  EXPECT_EQ(count_of_start(reinterpret_cast<std::uint64_t>(&count_loaded)), at_start);
  EXPECT_TRUE(is_of_start(library));
  EXPECT_TRUE(is_of_start(dlopen(nullptr, RTLD_NOW)));
  EXPECT_FALSE(is_of_start(plugin));
  EXPECT_FALSE(is_of_start(other));
  EXPECT_FALSE(is_of_start(nullptr));
  dlclose(library);
  dlclose(plugin);
  dlclose(other);
}

TEST(Loader, says_another_number_after_a_module_is_gone) {
  const std::uint64_t before = changes();
  EXPECT_NE(before, 0U);
  dlclose(dlopen("libc.so.6", RTLD_NOW));
  EXPECT_EQ(changes(), before);
  void* plugin = dlopen(SMALL_PLUGIN, RTLD_NOW);
  const std::uint64_t with = changes();
  dlclose(dlopen(SMALL_PLUGIN, RTLD_NOW));
  EXPECT_EQ(changes(), with);
  dlclose(plugin);
  EXPECT_NE(changes(), with);
}

}  // namespace
