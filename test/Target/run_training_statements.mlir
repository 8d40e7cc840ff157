// Every statement of training, run and compared with NumPy.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/training_statements.py prepare %t
// RUN: parplan-opt %S/Inputs/training_statements.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -o %t/exec.mlir
// RUN: FileCheck %s --check-prefix=EXEC < %t/exec.mlir
// RUN: parplan-emit %t/exec.mlir -o %t --model %t/model.weights --compile host --runtime %runtime
// RUN: %t/program --input logits=%t/logits.npy --input labels=%t/labels.npy --input ids=%t/ids.npy --input rows=%t/rows.npy --input x=%t/x.npy --input gy=%t/gy.npy --input gp=%t/gp.npy --input lr=%t/lr.npy --input step=%t/step.npy --input correction=%t/correction.npy --output-dir %t/out
// RUN: %python %S/Inputs/training_statements.py compare %t | FileCheck %s

// The gradient of the loss is one kernel behind the loss.
// EXEC: exec.cross_entropy
// EXEC-NEXT: exec.launch
// EXEC-NEXT: exec.square_sum

// CHECK: d_elements: equal
// CHECK-NEXT: d_gathered: equal
// CHECK-NEXT: d_logits: equal
// CHECK-NEXT: d_max: equal
// CHECK-NEXT: d_mean: equal
// CHECK-NEXT: d_table: equal
// CHECK-NEXT: d_tuples: equal
// CHECK-NEXT: d_w: equal
// CHECK-NEXT: d_x: equal
// CHECK-NEXT: loss: equal
// CHECK-NEXT: momentum_b: equal
// CHECK-NEXT: momentum_w: equal
// CHECK-NEXT: new_m: equal
// CHECK-NEXT: new_v: equal
// CHECK-NEXT: new_w: equal
// CHECK-NEXT: norm: equal
// CHECK-NEXT: sgd_w: equal
