// Moves and collectives of padded blocks, run on four ranks and compared with their inputs and their prediction.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/moves.py prepare %t
// RUN: parplan-opt %S/Inputs/moves.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -o %t/exec.mlir
// RUN: parplan-emit %t/exec.mlir -o %t --compile host --runtime %runtime
// RUN: %t/program --input a=%t/a.npy --input b=%t/b.npy --output-dir %t/out --metrics %t/metrics.json
// RUN: parplan-emit %t/exec.mlir --prediction > %t/prediction.json
// RUN: %python %S/Inputs/moves.py compare %t | FileCheck %s

// CHECK: cut: equal
// CHECK-NEXT: gathered: equal
// CHECK-NEXT: joined: equal
// CHECK-NEXT: reduced: equal
// CHECK-NEXT: scattered: equal
// CHECK-NEXT: sent: equal
// CHECK-NEXT: stored: equal
// CHECK-NEXT: told: equal
// CHECK-NEXT: turned: equal
// CHECK-NEXT: communication, order and memory are as predicted
