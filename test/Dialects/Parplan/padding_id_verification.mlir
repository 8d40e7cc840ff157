// RUN: not parplan-opt %s 2>&1 | FileCheck %s

// The op is refused, not only reported.
// CHECK: 'parplan.padding_id' must be an i64 attribute
// CHECK-NOT: func.func
func.func @padding(%i: tensor<2xi64>, %t: tensor<3x4xf32>) {
  %e = parplan.embedding %i, %t {parplan.padding_id = "none"} : tensor<2xi64>, tensor<3x4xf32>
  return
}
