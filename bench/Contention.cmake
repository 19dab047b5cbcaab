# A contention program may use libraries that are not everywhere. Each is a line at its top:
#   // may use: <find_package arguments> : <target> : <macro>
# A library that has no package, such as the compiler's own libatomic, is found by the name of the target.
# Where the library is found and links with this standard library, the program is linked with it and <macro> is defined.
function(may_use executable source)
  file(STRINGS ${source} lines REGEX "^// may use: ")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^// may use: (.*) : (.*) : (.*)$" "\\1;\\2;\\3" words "${line}")
    list(GET words 0 package)
    list(GET words 1 target)
    list(GET words 2 macro)
    separate_arguments(package UNIX_COMMAND "${package}")
    if(NOT TARGET ${target})
      find_package(${package} QUIET)
    endif()
    if(NOT TARGET ${target} AND NOT target MATCHES "::")
      find_library(may_use_${target} ${target} HINTS ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
      if(may_use_${target})
        add_library(${target} INTERFACE IMPORTED GLOBAL)
        target_link_libraries(${target} INTERFACE ${may_use_${target}})
      endif()
    endif()
    if(TARGET ${target})
      target_link_libraries(${executable} PRIVATE ${target})
      target_compile_definitions(${executable} PRIVATE ${macro})
    endif()
  endforeach()
endfunction()

# One executable per contention program: it uses threads and no backend.
file(GLOB contentions CONFIGURE_DEPENDS programs/library/*.cpp)
add_library(contention_harness OBJECT contention_harness.cpp)
target_link_libraries(contention_harness PRIVATE threadmark_warnings PUBLIC executable)
find_package(Threads REQUIRED)
set(headers PRIVATE contention.hpp)  # compiled once for all: half of the time that a program takes
foreach(source IN LISTS contentions)
  cmake_path(GET source STEM program)
  add_executable(${program}.threads ${source})
  set_target_properties(${program}.threads PROPERTIES CXX_STANDARD 23)  # spanstream
  target_include_directories(${program}.threads PRIVATE .)
  target_link_libraries(${program}.threads PRIVATE contention_harness Threads::Threads threadmark_warnings)
  # libc++ keeps what it has of osyncstream and parallel algorithms behind this.
  target_compile_options(${program}.threads PRIVATE $<$<CXX_COMPILER_ID:Clang>:-fexperimental-library>)
  target_link_options(${program}.threads PRIVATE $<$<CXX_COMPILER_ID:Clang>:-fexperimental-library>)
  may_use(${program}.threads ${source})
  file(STRINGS ${source} uses LIMIT_COUNT 1 REGEX "^// may use: ")
  # Those that may use libraries have flags of their own. Clang takes va_list of a precompiled libc++ for another type.
  if(NOT uses AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${program}.threads ${headers})
    set(headers REUSE_FROM ${program}.threads)
  endif()
endforeach()
