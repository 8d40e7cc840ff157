# ONNX, which scripts/build-onnx puts where all build folders find it, against Debian's Protobuf: parplan::onnx.

execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/build-onnx --where
                OUTPUT_VARIABLE prefix COMMAND_ERROR_IS_FATAL ANY)
set(PARPLAN_ONNX ${prefix} CACHE PATH "Where ONNX is installed")
if(NOT EXISTS ${PARPLAN_ONNX}/lib/libonnx.a)
  message(FATAL_ERROR "ONNX is not in ${PARPLAN_ONNX}: run scripts/setup first")
endif()

find_package(Protobuf REQUIRED)
add_library(ParplanONNXMessages STATIC IMPORTED)
set_target_properties(ParplanONNXMessages PROPERTIES IMPORTED_LOCATION ${PARPLAN_ONNX}/lib/libonnx_proto.a)
target_link_libraries(ParplanONNXMessages INTERFACE protobuf::libprotobuf)

# Imported targets are SYSTEM, so warnings in ONNX's headers stay silent.
add_library(ParplanONNX STATIC IMPORTED)
add_library(parplan::onnx ALIAS ParplanONNX)
set_target_properties(ParplanONNX PROPERTIES IMPORTED_LOCATION ${PARPLAN_ONNX}/lib/libonnx.a)
target_include_directories(ParplanONNX INTERFACE ${PARPLAN_ONNX}/include)
target_compile_definitions(ParplanONNX INTERFACE ONNX_NAMESPACE=onnx ONNX_ML=1)
target_link_libraries(ParplanONNX INTERFACE ParplanONNXMessages)
