// RUN: parplan-opt %s -split-input-file -parplan-fuse-elementwise -parplan-delay-kernels | FileCheck %s

parplan.mesh @mesh <["tp0"=2 tensor]>

// %x is read at the end anyway: what the kernel makes is there only when the
// last but one product reads it.
// CHECK-LABEL: func.func @read_later(
func.func @read_later(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK-NEXT: %[[X:.*]] = parplan.matmul
  // CHECK-NEXT: %[[Z:.*]] = parplan.matmul "mk,kn->mn" %[[X]], %{{.*}}
  // CHECK-NEXT: %[[Y:.*]] = exec.map @kernel0(%[[X]])
  // CHECK-NEXT: parplan.matmul "mk,kn->mn" %[[Z]], %[[Y]]
  %x = parplan.matmul "mk,kn->mn" %a, %a : tensor<8x8xf32>, tensor<8x8xf32>
  %y = parplan.neg %x : tensor<8x8xf32>
  %z = parplan.matmul "mk,kn->mn" %x, %a : tensor<8x8xf32>, tensor<8x8xf32>
  %u = parplan.matmul "mk,kn->mn" %z, %y : tensor<8x8xf32>, tensor<8x8xf32>
  %v = parplan.matmul "mk,kn->mn" %u, %x : tensor<8x8xf32>, tensor<8x8xf32>
  return %v : tensor<8x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Views read the bytes of what they view.
// CHECK-LABEL: func.func @read_later_as_a_view(
func.func @read_later_as_a_view(%a: tensor<8x8xf32>) -> tensor<64xf32> {
  // CHECK-NEXT: %[[X:.*]] = parplan.matmul
  // CHECK-NEXT: parplan.reshape %[[X]]
  // CHECK-NEXT: parplan.matmul "mk,kn->mn" %[[X]]
  // CHECK-NEXT: exec.map @kernel0(%[[X]])
  // CHECK-NEXT: parplan.matmul
  %x = parplan.matmul "mk,kn->mn" %a, %a : tensor<8x8xf32>, tensor<8x8xf32>
  %y = parplan.neg %x : tensor<8x8xf32>
  %w = parplan.reshape %x : tensor<8x8xf32> to tensor<64xf32>
  %z = parplan.matmul "mk,kn->mn" %x, %a : tensor<8x8xf32>, tensor<8x8xf32>
  %u = parplan.matmul "mk,kn->mn" %z, %y : tensor<8x8xf32>, tensor<8x8xf32>
  return %w : tensor<64xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// The kernel writes in place of %x behind the product that reads it too.
// CHECK-LABEL: func.func @last_reader(
func.func @last_reader(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK-NEXT: %[[X:.*]] = parplan.matmul
  // CHECK-NEXT: parplan.matmul "mk,kn->mn" %[[X]]
  // CHECK-NEXT: exec.map @kernel0(%[[X]])
  // CHECK-NEXT: parplan.matmul
  %x = parplan.matmul "mk,kn->mn" %a, %a : tensor<8x8xf32>, tensor<8x8xf32>
  %y = parplan.neg %x : tensor<8x8xf32>
  %z = parplan.matmul "mk,kn->mn" %x, %a : tensor<8x8xf32>, tensor<8x8xf32>
  %u = parplan.matmul "mk,kn->mn" %z, %y : tensor<8x8xf32>, tensor<8x8xf32>
  return %u : tensor<8x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// %x would be kept in place of what is made of it, which is as large.
// CHECK-LABEL: func.func @only_reader(
func.func @only_reader(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK-NEXT: %[[X:.*]] = parplan.matmul
  // CHECK-NEXT: exec.map @kernel0(%[[X]])
  // CHECK-NEXT: parplan.matmul
  %x = parplan.matmul "mk,kn->mn" %a, %a : tensor<8x8xf32>, tensor<8x8xf32>
  %y = parplan.neg %x : tensor<8x8xf32>
  %z = parplan.matmul "mk,kn->mn" %a, %a : tensor<8x8xf32>, tensor<8x8xf32>
  %u = parplan.matmul "mk,kn->mn" %z, %y : tensor<8x8xf32>, tensor<8x8xf32>
  return %u : tensor<8x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Nothing is later because a collective waits for something else.
// CHECK-LABEL: func.func @collective(
func.func @collective(%a: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: %[[X:.*]] = parplan.matmul
  // CHECK-NEXT: exec.map @kernel0(%[[X]])
  // CHECK-NEXT: parplan.all_reduce
  %x = parplan.matmul "mk,kn->mn" %a, %a : tensor<8x8xf32>, tensor<8x8xf32>
  %y = parplan.neg %x : tensor<8x8xf32>
  %z = parplan.all_reduce sum %x axes <"tp0"> to <@mesh, [{}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  %u = parplan.matmul "mk,kn->mn" %z, %y : tensor<8x8xf32>, tensor<8x8xf32>
  return %u, %x : tensor<8x8xf32>, tensor<8x8xf32>
}
