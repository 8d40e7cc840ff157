# How a folder declares what it builds. One call per library, tool or test; nothing else is needed there.

# parplan_add_folders(FOLDER...)
# Adds the folders, in this order.
function(parplan_add_folders)
  foreach(folder IN LISTS ARGN)
    add_subdirectory(${folder})
  endforeach()
endfunction()

# parplan_precompile([MLIR] [EXCEPTIONS] [TEST])
# Precompiles headers for all targets of these flags that are declared later: MLIR's, and what unit tests include.
# Parsing is most of what such files cost: a pass compiles in a quarter of the time, a test in 60 %.
function(parplan_precompile)
  if(NOT PARPLAN_PRECOMPILED_HEADERS)
    return()
  endif()
  cmake_parse_arguments(ARG "MLIR;EXCEPTIONS;TEST" "" "" ${ARGN})
  _parplan_name_headers(name)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled/Anchor.cpp)
  _parplan_apply_flags(${name})
  target_compile_options(${name} PRIVATE -fpch-preprocess)
  if(ARG_MLIR)
    target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled/MLIR.h)
  endif()
  if(ARG_TEST)
    target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest)
    target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled/Tests.h)
  endif()
endfunction()

# The name of the precompiled headers of targets with the flags ARG_MLIR, ARG_EXCEPTIONS and ARG_TEST.
macro(_parplan_name_headers result)
  set(${result} ParplanHeaders)
  foreach(flag MLIR EXCEPTIONS TEST)
    if(ARG_${flag})
      string(APPEND ${result} _${flag})
    endif()
  endforeach()
endmacro()

# Applies ARG_MLIR, ARG_EXCEPTIONS and ARG_TEST to a target.
macro(_parplan_apply_flags name)
  if(NOT ARG_EXCEPTIONS)
    target_compile_options(${name} PRIVATE -fno-exceptions)
  endif()
  if(ARG_MLIR)
    target_link_libraries(${name} PUBLIC parplan::mlir)
  endif()
  if(ARG_TEST)
    # A test compiles in less time, and runs in about the same.
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endmacro()

# Applies MLIR, EXCEPTIONS, LINK and DEPENDS of the functions below to a target.
function(_parplan_configure_target name)
  cmake_parse_arguments(ARG "MLIR;EXCEPTIONS;TEST" "" "LINK;DEPENDS" ${ARGN})
  target_include_directories(${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
  # SYSTEM: what mlir-tblgen generates is not free of warnings.
  target_include_directories(${name} SYSTEM PUBLIC ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  _parplan_apply_flags(${name})
  _parplan_name_headers(headers)
  if(TARGET ${headers})
    target_precompile_headers(${name} REUSE_FROM ${headers})
    target_compile_options(${name} PRIVATE -fpch-preprocess) # ccache asks for it
    if(ARG_TEST AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Of a precompiled std::string, GCC 12 reports overflows that are none.
      target_compile_options(${name} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict)
    endif()
  endif()
endfunction()

# parplan_add_library(NAME [MLIR] [EXCEPTIONS] SOURCES ... [LINK ...] [DEPENDS ...])
# A static library. MLIR: includes MLIR and LLVM and links them. EXCEPTIONS: may throw and catch.
# LINK: libraries whose headers it includes, passed on to its users. DEPENDS: targets of parplan_add_tablegen.
function(parplan_add_library name)
  cmake_parse_arguments(ARG "MLIR;EXCEPTIONS" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  _parplan_forward_options(ARG)
  _parplan_configure_target(${name} ${options})
endfunction()

# parplan_add_tool(NAME [MLIR] [EXCEPTIONS] SOURCES ... [LINK ...] [DEPENDS ...])
# A program of build/<preset>/bin that is installed.
function(parplan_add_tool name)
  cmake_parse_arguments(ARG "MLIR;EXCEPTIONS" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  _parplan_forward_options(ARG)
  _parplan_configure_target(${name} ${options})
  install(TARGETS ${name} COMPONENT compiler)
endfunction()

# parplan_add_unittest(NAME [MLIR] [EXCEPTIONS] SOURCES ... [LINK ...] [DEPENDS ...] [TIMEOUT SECONDS])
# A GoogleTest program, run by ctest under the label "unit".
function(parplan_add_unittest name)
  cmake_parse_arguments(ARG "MLIR;EXCEPTIONS" "TIMEOUT" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  list(APPEND ARG_LINK GTest::gmock GTest::gtest GTest::gtest_main)
  _parplan_forward_options(ARG)
  _parplan_configure_target(${name} TEST ${options})
  # Tests of one program may have fixtures and helpers of one name.
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/bin UNITY_BUILD OFF)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT ${ARG_TIMEOUT})
  set_property(GLOBAL APPEND PROPERTY PARPLAN_TEST_TARGETS ${name})
endfunction()

# parplan_add_tablegen(NAME TD FILE GENERATE "OPTIONS... OUTPUT" ...)
# Runs mlir-tblgen on FILE once per entry of GENERATE. Outputs go to the build folder that mirrors the source folder, so
# "dialects/parplan/ParplanOps.h.inc" names one in an #include. Example of an entry: "-gen-op-decls ParplanOps.h.inc".
# Libraries that include the outputs say DEPENDS NAME; users of these libraries need not.
function(parplan_add_tablegen name)
  cmake_parse_arguments(ARG "" "TD" "GENERATE" ${ARGN})
  set(outputs)
  foreach(entry IN LISTS ARG_GENERATE)
    separate_arguments(options UNIX_COMMAND ${entry})
    list(POP_BACK options file)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${file})
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${PARPLAN_MLIR_TBLGEN} ${options} -I ${PROJECT_SOURCE_DIR} -I ${CMAKE_CURRENT_SOURCE_DIR}
              -I ${PARPLAN_LLVM_INCLUDE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_TD}
              -o ${output} -d ${output}.d --write-if-changed
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_TD}
      DEPFILE ${output}.d
      COMMENT "Generating ${file}"
      VERBATIM)
    list(APPEND outputs ${output})
  endforeach()
  add_custom_target(${name} DEPENDS ${outputs})
endfunction()

# Turns the parsed options <prefix>_MLIR, _EXCEPTIONS, _LINK and _DEPENDS back into a list named "options".
macro(_parplan_forward_options prefix)
  set(options)
  foreach(flag MLIR EXCEPTIONS)
    if(${prefix}_${flag})
      list(APPEND options ${flag})
    endif()
  endforeach()
  foreach(list LINK DEPENDS)
    if(${prefix}_${list})
      list(APPEND options ${list} ${${prefix}_${list}})
    endif()
  endforeach()
endmacro()
