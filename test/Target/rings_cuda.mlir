// REQUIRES: cuda
// RUN: mkdir -p %t
// RUN: parplan-opt %S/Inputs/rings.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit > %t/rings.cu
// RUN: %nvcc -x cu -std=c++17 -I%S/../../runtime/include -gencode arch=compute_80,code=sm_80 -c %t/rings.cu -o %t/rings.o
