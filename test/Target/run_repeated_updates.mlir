// What steps wrote to the host and to NVMe is what the next ones read.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/repeated_updates.py prepare %t
// RUN: parplan-opt %S/Inputs/repeated_updates.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -o %t/exec.mlir
// RUN: parplan-emit %t/exec.mlir -o %t --model %t/model.weights --compile host --runtime %runtime
// RUN: %t/program --input g0=%t/g0.npy --input g1=%t/g1.npy --input rate=%t/rate.npy --steps 3 --output-dir %t/out
// RUN: %python %S/Inputs/repeated_updates.py compare %t | FileCheck %s

// CHECK: hosted equal
// CHECK-NEXT: stored equal
