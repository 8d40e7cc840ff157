//===- platform.h - What differs between the two compilers ----------------===//
//
// An emitted program is one text for g++ (host) and nvcc (CUDA). Everything
// that the two spell differently is hidden behind the macros of this file.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_PLATFORM_H
#define PARPLAN_RUNTIME_PLATFORM_H

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define PARPLAN_CUDA 1
/// Marks the call operator of an emitted kernel and every function it calls.
#define PARPLAN_DEVICE __host__ __device__ __forceinline__
#define PARPLAN_IGNORE_DEPENDENCES
#else
#define PARPLAN_DEVICE inline __attribute__((always_inline))
/// Before an innermost loop whose iterations are independent.
#define PARPLAN_IGNORE_DEPENDENCES _Pragma("GCC ivdep")
#endif

#endif // PARPLAN_RUNTIME_PLATFORM_H
