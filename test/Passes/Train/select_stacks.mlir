// RUN: parplan-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(parplan-select-parameters{freeze=*.frozen})' | FileCheck %s

// A stack is trained, or stays as it is, as all of its initializers.
// CHECK-DAG: parplan.initializer @a "a" {{.*}} {parplan.trained = "the loss depends on it"}
// CHECK-DAG: parplan.initializer @b "b" {{.*}} {parplan.trained = "the loss depends on it"}
// CHECK-DAG: parplan.initializer @s "s" {{.*}} of [@a, @b] {{.*}} {parplan.trained = "the loss depends on it"}
// CHECK-DAG: parplan.initializer @t "t" {{.*}} of [@c, @d] {{.*}} {parplan.frozen = "frozen by '*.frozen'"}
// CHECK-LABEL: func.func @main
// CHECK: parplan.parameter @s : tensor<2x4xf32>
// CHECK: parplan.parameter @t : tensor<2x4xf32>
parplan.initializer @a "a" : tensor<4xf32> in "" at 0 length 16
parplan.initializer @b "b" : tensor<4xf32> in "" at 16 length 16
parplan.initializer @s "s" : tensor<2x4xf32> of [@a, @b] in "" at 0 length 32
parplan.initializer @c "c.frozen" : tensor<4xf32> in "" at 32 length 16
parplan.initializer @d "d.frozen" : tensor<4xf32> in "" at 48 length 16
parplan.initializer @t "t" : tensor<2x4xf32> of [@c, @d] in "" at 0 length 32
func.func @main() -> tensor<2x4xf32> {
  %s = parplan.parameter @s : tensor<2x4xf32>
  %t = parplan.parameter @t : tensor<2x4xf32>
  %y = parplan.mul %s, %t : tensor<2x4xf32>, tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// Where they differ, they are read one by one, in the block and for the node of their stack.
// CHECK-DAG: parplan.initializer @a "a" {{.*}} {parplan.trained = "the loss depends on it"}
// CHECK-DAG: parplan.initializer @b "b.frozen" {{.*}} {parplan.frozen = "frozen by '*.frozen'"}
// CHECK-NOT: of [
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = parplan.parameter @a view <offset = 1, strides = [2, 1]> {parplan.block = 1 : i64, parplan.node = 3 : i64} : tensor<2x1xf32>
// CHECK: %[[FIRST:.*]] = parplan.reshape %[[A]] {parplan.block = 1 : i64, parplan.node = 3 : i64} : tensor<2x1xf32> to tensor<1x2x1xf32>
// CHECK: %[[B:.*]] = parplan.parameter @b view <offset = 1, strides = [2, 1]> {parplan.block = 1 : i64, parplan.node = 3 : i64} : tensor<2x1xf32>
// CHECK: %[[SECOND:.*]] = parplan.reshape %[[B]] {parplan.block = 1 : i64, parplan.node = 3 : i64} : tensor<2x1xf32> to tensor<1x2x1xf32>
// CHECK: %[[Y:.*]] = parplan.concat %[[FIRST]], %[[SECOND]] dim 0 {parplan.block = 1 : i64, parplan.node = 3 : i64}
// CHECK: return %[[Y]]
parplan.initializer @a "a" : tensor<2x2xf32> in "" at 0 length 16
parplan.initializer @b "b.frozen" : tensor<2x2xf32> in "" at 16 length 16
// expected-warning@below {{of 's' some are trained and others are not: no rank can hold only some of these experts}}
parplan.initializer @s "s" : tensor<2x2x2xf32> of [@a, @b] in "" at 0 length 32
func.func @main() -> tensor<2x2x1xf32> {
  %s = parplan.parameter @s view <offset = 1, strides = [4, 2, 1]> {parplan.block = 1 : i64, parplan.node = 3 : i64} : tensor<2x2x1xf32>
  return %s : tensor<2x2x1xf32>
}
