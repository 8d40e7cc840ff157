// RUN: parplan-opt %s -parplan-group-experts=groups=2 -split-input-file | FileCheck %s

// A token has two of eight experts: two rows in each group of four, of all that is between dispatch and combine.
// CHECK-LABEL: func.func @main
// CHECK: %[[ROWS:.*]] = parplan.moe_dispatch %{{.*}}, %{{.*}} groups [4, 2] : {{.*}} to tensor<4x5x6xf32>
// CHECK: %[[GATE:.*]] = parplan.matmul "etk,ekn->etn" %[[ROWS]], %{{.*}} groups [4, 2] : tensor<4x5x6xf32>, tensor<8x6x4xf32>
// CHECK: %[[HALF:.*]] = parplan.slice %[[GATE]] dims [2] from [0] to [2] step [1] : tensor<4x5x4xf32>
// CHECK: %[[WIDE:.*]] = parplan.reshape %{{.*}} : tensor<4x5x2xf32> to tensor<4x5x2x1xf32>
// CHECK: parplan.moe_combine %{{.*}} groups [4, 2]
func.func @main(%x: tensor<5x6xf32>, %i: tensor<5x2xi64>, %s: tensor<5x2xf32>, %w: tensor<8x6x4xf32>, %d: tensor<2xf32>) -> tensor<5x2xf32> {
  %rows = parplan.moe_dispatch %x, %i : tensor<5x6xf32>, tensor<5x2xi64> to tensor<8x5x6xf32>
  %gate = parplan.matmul "etk,ekn->etn" %rows, %w experts %i : tensor<5x2xi64> of 8 tokens "t" : tensor<8x5x6xf32>, tensor<8x6x4xf32>
  %half = parplan.slice %gate dims [2] from [0] to [2] step [1] : tensor<8x5x4xf32>
  %silu = parplan.silu %half : tensor<8x5x2xf32>
  %scaled = parplan.mul %silu, %d : tensor<8x5x2xf32>, tensor<2xf32>
  %wide = parplan.reshape %scaled : tensor<8x5x2xf32> to tensor<8x5x2x1xf32>
  %flat = parplan.reshape %wide : tensor<8x5x2x1xf32> to tensor<8x5x2xf32>
  %y = parplan.moe_combine %flat, %i weights %s : tensor<5x2xf32> : tensor<8x5x2xf32>, tensor<5x2xi64>
  return %y : tensor<5x2xf32>
}

// -----

// Two rows for groups of two experts: every expert has one anyway.
// CHECK-LABEL: func.func @main
// CHECK-NOT: groups
func.func @main(%x: tensor<5x6xf32>, %i: tensor<5x2xi64>) -> tensor<5x6xf32> {
  %rows = parplan.moe_dispatch %x, %i : tensor<5x6xf32>, tensor<5x2xi64> to tensor<4x5x6xf32>
  %y = parplan.moe_combine %rows, %i : tensor<4x5x6xf32>, tensor<5x2xi64>
  return %y : tensor<5x6xf32>
}

// -----

// Seven experts are no two groups.
// CHECK-LABEL: func.func @main
// CHECK-NOT: groups
func.func @main(%x: tensor<5x6xf32>, %i: tensor<5x2xi64>) -> tensor<5x6xf32> {
  %rows = parplan.moe_dispatch %x, %i : tensor<5x6xf32>, tensor<5x2xi64> to tensor<7x5x6xf32>
  %y = parplan.moe_combine %rows, %i : tensor<7x5x6xf32>, tensor<5x2xi64>
  return %y : tensor<5x6xf32>
}

// -----

// Every expert has a bias of its own.
parplan.initializer @b0 "b" : tensor<8x6xf32> in "" at 0 length 192
// CHECK-LABEL: func.func @main
// CHECK-NOT: groups
func.func @main(%x: tensor<5x6xf32>, %i: tensor<5x2xi64>) -> tensor<5x6xf32> {
  %b = parplan.parameter @b0 : tensor<8x6xf32>
  %wide = parplan.reshape %b : tensor<8x6xf32> to tensor<8x1x6xf32>
  %rows = parplan.moe_dispatch %x, %i : tensor<5x6xf32>, tensor<5x2xi64> to tensor<8x5x6xf32>
  %sum = parplan.add %rows, %wide : tensor<8x5x6xf32>, tensor<8x1x6xf32>
  %y = parplan.moe_combine %sum, %i : tensor<8x5x6xf32>, tensor<5x2xi64>
  return %y : tensor<5x6xf32>
}

// -----

parplan.initializer @b0 "b" : tensor<8x1x6xf32> in "" at 0 length 192
// CHECK-LABEL: func.func @main
// CHECK-NOT: groups
func.func @main(%x: tensor<5x6xf32>, %i: tensor<5x2xi64>) -> tensor<5x6xf32> {
  %b = parplan.parameter @b0 : tensor<8x1x6xf32>
  %rows = parplan.moe_dispatch %x, %i : tensor<5x6xf32>, tensor<5x2xi64> to tensor<8x5x6xf32>
  %sum = parplan.add %rows, %b : tensor<8x5x6xf32>, tensor<8x1x6xf32>
  %y = parplan.moe_combine %sum, %i : tensor<8x5x6xf32>, tensor<5x2xi64>
  return %y : tensor<5x6xf32>
}

// -----

// Two mixtures read one constant: each has its own of as many rows, others keep it.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: parplan.moe_combine %{{.*}}, %{{.*}} groups [4, 2] : tensor<4x5x6xf32>
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}} : tensor<5x6xf32>, tensor<5x6xf32>, tensor<8x5x6xf32>
func.func @main(%x: tensor<5x6xf32>, %i: tensor<5x2xi64>, %j: tensor<5x2xi64>) -> (tensor<5x6xf32>, tensor<5x6xf32>, tensor<8x5x6xf32>) {
  %c = parplan.constant dense<2.0> : tensor<8x5x6xf32>
  %rows = parplan.moe_dispatch %x, %i : tensor<5x6xf32>, tensor<5x2xi64> to tensor<8x5x6xf32>
  %scaled = parplan.mul %rows, %c : tensor<8x5x6xf32>, tensor<8x5x6xf32>
  %y = parplan.moe_combine %scaled, %i : tensor<8x5x6xf32>, tensor<5x2xi64>
  %others = parplan.moe_dispatch %x, %j : tensor<5x6xf32>, tensor<5x2xi64> to tensor<8x5x6xf32>
  %double = parplan.mul %others, %c : tensor<8x5x6xf32>, tensor<8x5x6xf32>
  %z = parplan.moe_combine %double, %j : tensor<8x5x6xf32>, tensor<5x2xi64>
  return %y, %z, %c : tensor<5x6xf32>, tensor<5x6xf32>, tensor<8x5x6xf32>
}

// -----

// Something sums over experts, or has the rows of other choices.
// CHECK-LABEL: func.func @main
// CHECK-NOT: groups
func.func @main(%x: tensor<5x6xf32>, %i: tensor<5x2xi64>, %j: tensor<5x2xi64>) -> (tensor<5x6xf32>, tensor<5x6xf32>) {
  %rows = parplan.moe_dispatch %x, %i : tensor<5x6xf32>, tensor<5x2xi64> to tensor<8x5x6xf32>
  %sum = parplan.reduce sum %rows dims [0] : tensor<8x5x6xf32>
  %others = parplan.moe_dispatch %x, %j : tensor<5x6xf32>, tensor<5x2xi64> to tensor<8x5x6xf32>
  %y = parplan.moe_combine %others, %i : tensor<8x5x6xf32>, tensor<5x2xi64>
  return %sum, %y : tensor<5x6xf32>, tensor<5x6xf32>
}
