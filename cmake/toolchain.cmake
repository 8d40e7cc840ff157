# Language level, warnings, linker and compiler cache: the same for every target.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

add_compile_options(-Wall -Wextra -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Of libstdc++ 12's own std::stable_sort.
  add_compile_options(-Wno-deprecated-declarations)
endif()

# A sanitizer build (see CMakePresets.json) names its sanitizers here.
set(PARPLAN_SANITIZERS "" CACHE STRING "Sanitizers, as in -fsanitize=")
if(PARPLAN_SANITIZERS)
  # LLVM's libraries are not instrumented, so types of theirs have no data for the vptr check.
  add_compile_options(-fsanitize=${PARPLAN_SANITIZERS} -fno-sanitize=vptr -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PARPLAN_SANITIZERS})
endif()

find_program(PARPLAN_LLD NAMES ld.lld-19 ld.lld)
mark_as_advanced(PARPLAN_LLD)
if(PARPLAN_LLD)
  # g++ looks for "ld.lld"; -B lets it find a copy that carries a version in its name.
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/linker)
  file(CREATE_LINK ${PARPLAN_LLD} ${CMAKE_BINARY_DIR}/linker/ld.lld SYMBOLIC)
  add_link_options(-B${CMAKE_BINARY_DIR}/linker -fuse-ld=lld)
endif()

find_program(PARPLAN_CCACHE ccache)
mark_as_advanced(PARPLAN_CCACHE)
if(PARPLAN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without this leniency ccache refuses every file that uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${PARPLAN_CCACHE})
endif()
