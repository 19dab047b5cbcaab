# What the compiler must not find in our own files.
include_guard(GLOBAL)
add_library(threadmark_warnings INTERFACE)
target_compile_options(threadmark_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror)
