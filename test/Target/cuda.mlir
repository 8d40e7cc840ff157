// REQUIRES: cuda
// RUN: mkdir -p %t
// RUN: parplan-opt %S/Inputs/all_statements.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit > %t/all_statements.cu
// RUN: parplan-opt %S/Inputs/tensor_parallel_mlp.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit > %t/mlp.cu
// RUN: parplan-opt %S/Inputs/training_statements.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit > %t/training.cu
// RUN: parplan-opt %S/Inputs/narrow.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit > %t/narrow.cu
// RUN: parplan-opt %S/Inputs/panels.mlir -parplan-insert-reshards -parplan-reshards-to-collectives -parplan-localize -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit > %t/panels.cu
// RUN: parplan-opt %S/Inputs/experts.mlir -parplan-insert-reshards -parplan-reshards-to-collectives -parplan-localize -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit > %t/experts.cu
// RUN: parplan-opt %S/Inputs/stages.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit > %t/stages.cu
// RUN: parplan-opt %S/Inputs/tiers.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit > %t/tiers.cu
// RUN: parplan-opt %S/Inputs/host_updates.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit > %t/host_updates.cu
// RUN: %nvcc -x cu -std=c++17 -I%S/../../runtime/include -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100 -c %t/all_statements.cu -o %t/all_statements.o
// RUN: %nvcc -x cu -std=c++17 -I%S/../../runtime/include -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100 -c %t/mlp.cu -o %t/mlp.o
// RUN: %nvcc -x cu -std=c++17 -I%S/../../runtime/include -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100 -c %t/training.cu -o %t/training.o
// RUN: %nvcc -x cu -std=c++17 -I%S/../../runtime/include -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100 -c %t/narrow.cu -o %t/narrow.o
// RUN: %nvcc -x cu -std=c++17 -I%S/../../runtime/include -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100 -c %t/panels.cu -o %t/panels.o
// RUN: %nvcc -x cu -std=c++17 -I%S/../../runtime/include -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100 -c %t/experts.cu -o %t/experts.o
// RUN: %nvcc -x cu -std=c++17 -I%S/../../runtime/include -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100 -c %t/stages.cu -o %t/stages.o
// RUN: %nvcc -x cu -std=c++17 -I%S/../../runtime/include -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100 -c %t/tiers.cu -o %t/tiers.o
// RUN: %nvcc -x cu -std=c++17 -I%S/../../runtime/include -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100 -c %t/host_updates.cu -o %t/host_updates.o
