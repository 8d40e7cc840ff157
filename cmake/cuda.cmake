# Looks for nvcc. PARPLAN_NVCC is its path where the CUDA parts are on, and false where they are off.

set(PARPLAN_NVCC FALSE)
if(NOT PARPLAN_CUDA STREQUAL "OFF")
  find_program(PARPLAN_NVCC_PROGRAM nvcc HINTS /usr/local/cuda/bin $ENV{CUDA_HOME}/bin)
  mark_as_advanced(PARPLAN_NVCC_PROGRAM)
  if(PARPLAN_NVCC_PROGRAM)
    set(PARPLAN_NVCC ${PARPLAN_NVCC_PROGRAM})
  elseif(NOT PARPLAN_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "PARPLAN_CUDA is ${PARPLAN_CUDA}, but there is no nvcc")
  endif()
endif()
message(STATUS "nvcc: ${PARPLAN_NVCC}")
