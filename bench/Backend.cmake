# Makes the target backend.<name> from a backend's header, or says why it cannot be built.
# In: header (its full path), backend (its name). Out: available (true or false), reason (one sentence, safe inside JSON and without semicolons).
#
# The header's first line is its build requirement: // needs: <find_package arguments> : <targets>
# A library that is found may still be built for another standard library, so one small program is compiled and linked.
set(available true)
set(reason "")
add_library(backend.${backend} INTERFACE)
target_include_directories(backend.${backend} INTERFACE ${CMAKE_CURRENT_LIST_DIR})
target_compile_definitions(backend.${backend} INTERFACE BENCH_BACKEND="${header}")

file(STRINGS ${header} needs LIMIT_COUNT 1 REGEX "^// needs: ")
if(needs)
  string(REGEX REPLACE "^// needs: (.*) : (.*)$" "\\1;\\2" needs "${needs}")
  list(GET needs 0 package)
  list(GET needs 1 targets)
  separate_arguments(package_words UNIX_COMMAND "${package}")
  separate_arguments(targets UNIX_COMMAND "${targets}")
  list(GET targets 0 target)
  set(ours FALSE)  # made by this build: it is of this standard library, and there is nothing to probe
  if(TARGET ${target})
    get_target_property(ours ${target} ALIASED_TARGET)
  endif()
  if(NOT ours)
    find_package(${package_words} QUIET)
  endif()
  list(GET package_words 0 package_name)
  if(ours)
    target_link_libraries(backend.${backend} INTERFACE ${targets})
  elseif(NOT ${package_name}_FOUND)
    set(available false)
    set(reason "CMake finds no ${targets} (it looked for ${package}): ./threadmark setup brings it")
  else()
    target_link_libraries(backend.${backend} INTERFACE ${targets})
    try_compile(${backend}_links
      SOURCE_FROM_CONTENT probe.cpp
      "#include \"bench.hpp\"\nint main() {\n  bench::Backend b(1, bench::Backend::variants.front().name);\n  b.run([] { bench::async([] { return 1; }).get(); });\n}\n"
      CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${CMAKE_CURRENT_LIST_DIR}
      COMPILE_DEFINITIONS -DBENCH_BACKEND="${header}"
      LINK_LIBRARIES ${targets}
      OUTPUT_VARIABLE log)
    if(NOT ${backend}_links)
      file(WRITE ${CMAKE_BINARY_DIR}/backend.${backend}.log "${log}")
      set(available false)
      set(reason "the installed ${targets} was built for another compiler or standard library and does not link here: backend.${backend}.log in the build folder says why, a ${targets} built with this compiler would help")
    endif()
  endif()
endif()
