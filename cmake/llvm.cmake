# MLIR and LLVM 19, as shared libraries: parplan::mlir. The tools that tests use: PARPLAN_LLVM_TOOLS_DIR.

find_package(MLIR 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/mlir)
find_program(PARPLAN_MLIR_TBLGEN NAMES mlir-tblgen mlir-tblgen-19 HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
set(PARPLAN_LLVM_TOOLS_DIR ${LLVM_TOOLS_BINARY_DIR})
list(GET LLVM_INCLUDE_DIRS 0 PARPLAN_LLVM_INCLUDE_DIR)
separate_arguments(definitions UNIX_COMMAND "${LLVM_DEFINITIONS}")

add_library(ParplanMLIR INTERFACE)
add_library(parplan::mlir ALIAS ParplanMLIR)
target_include_directories(ParplanMLIR SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(ParplanMLIR INTERFACE ${definitions})
target_link_libraries(ParplanMLIR INTERFACE MLIR LLVM)

parplan_precompile(MLIR)
