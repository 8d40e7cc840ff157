// Two positions on two ranks each compute what one device does, and communicate as predicted.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/stages.py prepare %t
// RUN: parplan-opt %S/Inputs/stages.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -parplan-verify-programs -o %t/exec.mlir
// RUN: parplan-emit %t/exec.mlir -order -o %t --model %t/model.weights --compile host --runtime %runtime
// RUN: %t/program --input x=%t/x.npy --output-dir %t/out --metrics %t/metrics.json
// RUN: parplan-emit %t/exec.mlir --prediction > %t/prediction.json
// RUN: %python %S/Inputs/stages.py compare %t | FileCheck %s

// CHECK: a equal
// CHECK-NEXT: y equal
// CHECK-NEXT: communication and order are as predicted
// CHECK-NEXT: memory is as predicted
// CHECK-NEXT: recv=1 send=1
// CHECK-NEXT: recv=1 send=1
// CHECK-NEXT: all_reduce=1 recv=1 send=1
// CHECK-NEXT: all_reduce=1 recv=1 send=1
// The weight of both positions is there once.
// CHECK-NEXT: weights: 1280
