// RUN: parplan-opt %s -parplan-number-blocks | FileCheck %s

parplan.initializer @a "a" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @b "b" : tensor<8x8xf32> in "" at 256 length 256
parplan.initializer @c "c" : tensor<8x8xf32> in "" at 512 length 256

// Three residual layers behind an op of their own. A layer is cut where one
// value crosses: behind its addition.
// CHECK-LABEL: func.func @layers
func.func @layers(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = parplan.parameter @a : tensor<8x8xf32>
  %b = parplan.parameter @b : tensor<8x8xf32>
  %c = parplan.parameter @c : tensor<8x8xf32>
  // CHECK: parplan.tanh
  // CHECK-NOT: parplan.block
  %0 = parplan.tanh %x : tensor<4x8xf32>
  // CHECK: parplan.matmul "mk,kn->mn" %{{.*}} {parplan.block = 0 : i64}
  // CHECK: parplan.relu {{.*}}parplan.block = 0 : i64
  // CHECK: parplan.add {{.*}}parplan.block = 0 : i64
  %1 = parplan.matmul "mk,kn->mn" %0, %a : tensor<4x8xf32>, tensor<8x8xf32>
  %2 = parplan.relu %1 : tensor<4x8xf32>
  %3 = parplan.add %0, %2 : tensor<4x8xf32>, tensor<4x8xf32>
  // CHECK: parplan.matmul {{.*}}parplan.block = 1 : i64
  // CHECK: parplan.relu {{.*}}parplan.block = 1 : i64
  // CHECK: parplan.add {{.*}}parplan.block = 1 : i64
  %4 = parplan.matmul "mk,kn->mn" %3, %b : tensor<4x8xf32>, tensor<8x8xf32>
  %5 = parplan.relu %4 : tensor<4x8xf32>
  %6 = parplan.add %3, %5 : tensor<4x8xf32>, tensor<4x8xf32>
  // CHECK: parplan.matmul {{.*}}parplan.block = 2 : i64
  // CHECK: parplan.relu {{.*}}parplan.block = 2 : i64
  // CHECK: parplan.add {{.*}}parplan.block = 2 : i64
  %7 = parplan.matmul "mk,kn->mn" %6, %c : tensor<4x8xf32>, tensor<8x8xf32>
  %8 = parplan.relu %7 : tensor<4x8xf32>
  %9 = parplan.add %6, %8 : tensor<4x8xf32>, tensor<4x8xf32>
  // CHECK: parplan.exp
  // CHECK-NOT: parplan.block
  %10 = parplan.exp %9 : tensor<4x8xf32>
  return %10 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @nothing_repeats
func.func @nothing_repeats(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NOT: parplan.block
  %0 = parplan.tanh %x : tensor<4x8xf32>
  %1 = parplan.relu %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// Layers that alternate in what they add: a block has two.
// CHECK-LABEL: func.func @alternating
func.func @alternating(%x: tensor<4x8xf32>, %near: tensor<4x8xf32>, %far: tensor<8xf32>) -> tensor<4x8xf32> {
  %w = parplan.parameter @a : tensor<8x8xf32>
  %t = parplan.tanh %x : tensor<4x8xf32>
  // CHECK: parplan.matmul {{.*}}parplan.block = 0 : i64
  %a0 = parplan.matmul "mk,kn->mn" %t, %w : tensor<4x8xf32>, tensor<8x8xf32>
  %b0 = parplan.add %a0, %near : tensor<4x8xf32>, tensor<4x8xf32>
  %c0 = parplan.relu %b0 : tensor<4x8xf32>
  // CHECK: parplan.matmul {{.*}}parplan.block = 0 : i64
  %a1 = parplan.matmul "mk,kn->mn" %c0, %w : tensor<4x8xf32>, tensor<8x8xf32>
  %b1 = parplan.add %a1, %far : tensor<4x8xf32>, tensor<8xf32>
  %c1 = parplan.relu %b1 : tensor<4x8xf32>
  // CHECK: parplan.matmul {{.*}}parplan.block = 1 : i64
  %a2 = parplan.matmul "mk,kn->mn" %c1, %w : tensor<4x8xf32>, tensor<8x8xf32>
  %b2 = parplan.add %a2, %near : tensor<4x8xf32>, tensor<4x8xf32>
  %c2 = parplan.relu %b2 : tensor<4x8xf32>
  // CHECK: parplan.matmul {{.*}}parplan.block = 1 : i64
  %a3 = parplan.matmul "mk,kn->mn" %c2, %w : tensor<4x8xf32>, tensor<8x8xf32>
  %b3 = parplan.add %a3, %far : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: parplan.relu {{.*}}parplan.block = 1 : i64
  %c3 = parplan.relu %b3 : tensor<4x8xf32>
  return %c3 : tensor<4x8xf32>
}
