# GoogleTest, lit, and a Python with numpy and jsonschema.

find_package(GTest REQUIRED)
if(PARPLAN_BUILD_COMPILER)
  parplan_precompile(TEST)
  parplan_precompile(MLIR TEST)
  parplan_precompile(MLIR EXCEPTIONS TEST)
endif()

# Tests compare arrays in Python. A Python earlier in PATH need not be the one that has them.
foreach(candidate python3 /usr/bin/python3)
  execute_process(COMMAND ${candidate} -c "import jsonschema, numpy, sys; print(sys.executable, end='')"
                  OUTPUT_VARIABLE python RESULT_VARIABLE failed ERROR_QUIET)
  if(failed EQUAL 0)
    break()
  endif()
endforeach()
if(NOT failed EQUAL 0)
  message(FATAL_ERROR "There is no Python with numpy and jsonschema: run scripts/setup --tests first")
endif()
set(PARPLAN_PYTHON ${python} CACHE FILEPATH "A Python with numpy and jsonschema")

# parplan_add_lit_suite()
# Runs lit over the folder it is called from, which has lit.cfg.py and lit.site.cfg.py.in.
function(parplan_add_lit_suite)
  find_program(PARPLAN_LIT NAMES lit.py llvm-lit HINTS ${LLVM_INSTALL_PREFIX}/build/utils/lit NO_DEFAULT_PATH REQUIRED)
  set(site ${CMAKE_CURRENT_BINARY_DIR}/lit.site.cfg.py)
  configure_file(lit.site.cfg.py.in ${site} @ONLY)
  add_test(NAME lit COMMAND ${PARPLAN_PYTHON} ${PARPLAN_LIT} -v ${CMAKE_CURRENT_BINARY_DIR})
  set_tests_properties(lit PROPERTIES LABELS lit TIMEOUT 1800 PROCESSORS 2)
endfunction()
