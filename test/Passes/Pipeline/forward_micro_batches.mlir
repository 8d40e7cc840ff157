// RUN: parplan-opt %s -split-input-file -parplan-place-stages -parplan-unroll-micro-batches -parplan-verify-unrolled -parplan-verify-pipeline | FileCheck %s

parplan.mesh @mesh <["dp0"=2 data]>

// Micro-batches follow each other, what does not depend on samples is made once,
// and parts of a result lie one behind the other.
// CHECK-LABEL: func.func @one_stage(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x2x3xf32> {parplan.batch}, %[[M:[^:]*]]: tensor<3xf32>)
// CHECK-SAME: -> (tensor<2x2x3xf32> {parplan.batch_dim = 0 : i64, parplan.global_type = tensor<2x4x3xf32>, parplan.name = "y", parplan.sharding = #parplan.sharding<@mesh, [{}, {"dp0"}, {}]>}, tensor<3xf32>)
func.func @one_stage(%x: tensor<2x3xf32> {parplan.batch}, %m: tensor<3xf32>)
    -> (tensor<2x3xf32> {parplan.name = "y", parplan.batch_dim = 0 : i64, parplan.global_type = tensor<4x3xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>}, tensor<3xf32>)
    attributes {parplan.forward_only, parplan.micro_batches = 2 : i64} {
  // CHECK-NEXT: %[[E:.*]] = parplan.exp %[[M]]
  // CHECK-NEXT: parplan.slice %[[X]] dims [0] from [0] to [1]
  // CHECK-NEXT: %[[X0:.*]] = parplan.reshape
  // CHECK-NEXT: %[[Y0:.*]] = parplan.mul %[[X0]], %[[E]]
  // CHECK-NEXT: parplan.slice %[[X]] dims [0] from [1] to [2]
  // CHECK-NEXT: %[[X1:.*]] = parplan.reshape
  // CHECK-NEXT: %[[Y1:.*]] = parplan.mul %[[X1]], %[[E]]
  // CHECK-NEXT: %[[ALL:.*]] = parplan.pack %[[Y0]], %[[Y1]] at [0, 6] : tensor<2x3xf32>, tensor<2x3xf32> to tensor<12xf32>
  // CHECK-NEXT: %[[Y:.*]] = parplan.reshape %[[ALL]] : tensor<12xf32> to tensor<2x2x3xf32>
  // CHECK-NEXT: return %[[Y]], %[[E]]
  %e = parplan.exp %m : tensor<3xf32>
  %y = parplan.mul %x, %e {parplan.per_micro_batch} : tensor<2x3xf32>, tensor<3xf32>
  return %y, %e : tensor<2x3xf32>, tensor<3xf32>
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
parplan.initializer @w "w" : tensor<3xf32> in "" at 0 length 12

// A position works on the next micro-batch while the other has the one before.
// What runs once is sent ahead of all passes.
func.func @main(%x: tensor<3xf32> {parplan.batch}, %m: tensor<3xf32>) -> (tensor<3xf32> {parplan.name = "y", parplan.batch_dim = 0 : i64})
    attributes {parplan.forward_only, parplan.micro_batches = 2 : i64, parplan.pipeline_schedule = "forward-only",
                parplan.pass_seconds = array<f64: 1.0, 0.0, 0.0, 1.0, 0.0, 0.0>} {
  %w = parplan.parameter @w : tensor<3xf32>
  %e = parplan.exp %m {parplan.stage = 0 : i64} : tensor<3xf32>
  %a = parplan.mul %x, %e {parplan.stage = 0 : i64, parplan.per_micro_batch} : tensor<3xf32>, tensor<3xf32>
  %b = parplan.mul %a, %w {parplan.stage = 1 : i64, parplan.per_micro_batch} : tensor<3xf32>, tensor<3xf32>
  %c = parplan.add %b, %e {parplan.stage = 1 : i64, parplan.per_micro_batch} : tensor<3xf32>, tensor<3xf32>
  return %c : tensor<3xf32>
}

// CHECK-LABEL: func.func @stage0(
// CHECK: %[[E:.*]] = parplan.exp
// CHECK-NEXT: parplan.send %[[E]] to 1
// CHECK: %[[A0:.*]] = parplan.mul {{.*}}parplan.micro_batch = 0
// CHECK-NEXT: parplan.send %[[A0]] to 1
// CHECK: %[[A1:.*]] = parplan.mul {{.*}}parplan.micro_batch = 1
// CHECK-NEXT: parplan.send %[[A1]] to 1
// CHECK-NEXT: return

// CHECK-LABEL: func.func @stage1(
// CHECK-SAME: -> (tensor<2x3xf32> {parplan.batch_dim = 0 : i64, parplan.name = "y"})
// CHECK: %[[E:.*]] = parplan.receive from 0
// CHECK: %[[A0:.*]] = parplan.receive from 0
// CHECK: parplan.mul %[[A0]]
// CHECK-NEXT: %[[C0:.*]] = parplan.add
// CHECK: %[[C1:.*]] = parplan.add
// CHECK-NEXT: %[[ALL:.*]] = parplan.pack %[[C0]], %[[C1]] at [0, 3]
// CHECK-NEXT: %[[Y:.*]] = parplan.reshape %[[ALL]] : tensor<6xf32> to tensor<2x3xf32>
// CHECK-NEXT: return %[[Y]]
