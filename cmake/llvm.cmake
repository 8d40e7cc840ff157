# What is used of MLIR and LLVM 19: parplan::mlir, and LLVM's containers alone: parplan::llvm. The tools that tests use:
# PARPLAN_LLVM_TOOLS_DIR.
#
# As static libraries: the shared ones are 190 MB, and where they have to be read from a disk, a plan that takes a second takes
# a quarter of a second more. Sanitizers need the shared ones: libraries that are not instrumented must not get the code of
# allocators from objects that are.

find_package(MLIR 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/mlir)
find_program(PARPLAN_MLIR_TBLGEN NAMES mlir-tblgen mlir-tblgen-19 HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
set(PARPLAN_LLVM_TOOLS_DIR ${LLVM_TOOLS_BINARY_DIR})
list(GET LLVM_INCLUDE_DIRS 0 PARPLAN_LLVM_INCLUDE_DIR)
separate_arguments(definitions UNIX_COMMAND "${LLVM_DEFINITIONS}")

# Sets `result` to the files of MLIR's libraries that are named and of those that they need. Debian's depend on the shared
# library of LLVM, which is left out.
function(parplan_find_archives result)
  set(open ${ARGN})
  set(found)
  set(archives)
  while(open)
    list(POP_FRONT open library)
    if(library MATCHES "^MLIR" AND NOT library IN_LIST found)
      list(APPEND found ${library})
      list(APPEND archives $<TARGET_FILE:${library}>)
      get_target_property(needed ${library} INTERFACE_LINK_LIBRARIES)
      if(needed)
        list(APPEND open ${needed})
      endif()
    endif()
  endwhile()
  set(${result} ${archives} PARENT_SCOPE)
endfunction()

add_library(ParplanLLVM INTERFACE)
add_library(parplan::llvm ALIAS ParplanLLVM)
target_include_directories(ParplanLLVM SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
if(PARPLAN_SANITIZERS)
  target_link_libraries(ParplanLLVM INTERFACE LLVM)
else()
  target_link_libraries(ParplanLLVM INTERFACE $<TARGET_FILE:LLVMSupport> $<TARGET_FILE:LLVMDemangle> ZLIB::ZLIB ${CMAKE_DL_LIBS})
endif()

add_library(ParplanMLIR INTERFACE)
add_library(parplan::mlir ALIAS ParplanMLIR)
target_include_directories(ParplanMLIR SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS})
target_compile_definitions(ParplanMLIR INTERFACE ${definitions})
if(PARPLAN_SANITIZERS)
  target_link_libraries(ParplanMLIR INTERFACE MLIR parplan::llvm)
else()
  parplan_find_archives(archives MLIRDialectUtils MLIRFuncDialect MLIROptLib MLIRTransforms)
  # In whatever order they need each other.
  target_link_libraries(ParplanMLIR INTERFACE "$<LINK_GROUP:RESCAN,${archives}>" parplan::llvm)
endif()

parplan_precompile(MLIR)
