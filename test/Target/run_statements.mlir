// Every statement of exec, run on two ranks and compared with NumPy.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/all_statements.py prepare %t
// RUN: parplan-opt %S/Inputs/all_statements.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -o %t/exec.mlir
// RUN: parplan-emit %t/exec.mlir -o %t --model %t/model.weights --compile host --runtime %runtime
// RUN: %t/program --input x=%t/x.npy --input ids=%t/ids.npy --input q=%t/q.npy --input mask=%t/mask.npy --input block=%t/block.npy --output-dir %t/out
// RUN: %python %S/Inputs/all_statements.py compare %t | FileCheck %s

// CHECK: best: equal
// CHECK-NEXT: chosen: equal
// CHECK-NEXT: context: equal
// CHECK-NEXT: joined: equal
// CHECK-NEXT: numbers: equal
// CHECK-NEXT: pooled: equal
// CHECK-NEXT: rows: equal
