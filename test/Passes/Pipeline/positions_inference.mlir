// RUN: parplan-opt %s -parplan-place-stages -parplan-unroll-micro-batches -parplan-verify-pipeline | FileCheck %s

parplan.mesh @mesh <["pp0"=2 pipeline]>
parplan.initializer @w "w" : tensor<3xf32> in "" at 0 length 12

// Forward only, one micro-batch, arguments as they are. A mask that has no
// stage is made by every position; a value that two later stages read is sent
// once to each position, and not between chunks of one.
func.func @main(%x: tensor<3xf32> {parplan.batch, parplan.name = "x"}) -> (tensor<3xf32> {parplan.name = "y"})
    attributes {parplan.pipeline_schedule = "forward-only:2",
                parplan.pass_seconds = array<f64: 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0>} {
  %w = parplan.parameter @w : tensor<3xf32>
  %mask = parplan.abs %x : tensor<3xf32>
  %a = parplan.mul %mask, %w {parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>
  %b = parplan.mul %a, %mask {parplan.stage = 1 : i64} : tensor<3xf32>, tensor<3xf32>
  %c = parplan.mul %a, %b {parplan.stage = 2 : i64} : tensor<3xf32>, tensor<3xf32>
  %d = parplan.mul %a, %c {parplan.stage = 3 : i64} : tensor<3xf32>, tensor<3xf32>
  return %d : tensor<3xf32>
}

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3xf32> {parplan.batch, parplan.name = "x"}) attributes
// CHECK-NEXT: %[[W:.*]] = parplan.parameter @w
// CHECK-NEXT: %[[MASK:.*]] = parplan.abs %[[X]]
// CHECK-NEXT: %[[A:.*]] = parplan.mul %[[MASK]], %[[W]]
// CHECK-NEXT: parplan.send %[[A]] to 1
// CHECK-NEXT: %[[B:.*]] = parplan.receive from 1
// CHECK-NEXT: %[[C:.*]] = parplan.mul %[[A]], %[[B]]
// CHECK-NEXT: parplan.send %[[C]] to 1
// CHECK-NEXT: return

// CHECK-LABEL: func.func @stage1(
// CHECK-NEXT: %[[A:.*]] = parplan.receive from 0
// CHECK-NEXT: %[[MASK:.*]] = parplan.abs
// CHECK-NEXT: %[[B:.*]] = parplan.mul %[[A]], %[[MASK]]
// CHECK-NEXT: parplan.send %[[B]] to 0
// CHECK-NEXT: %[[C:.*]] = parplan.receive from 0
// CHECK-NEXT: %[[D:.*]] = parplan.mul %[[A]], %[[C]]
// CHECK-NEXT: return %[[D]]
