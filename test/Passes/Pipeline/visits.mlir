// RUN: parplan-opt %s -parplan-place-stages -parplan-unroll-micro-batches -parplan-verify-pipeline | FileCheck %s

parplan.mesh @mesh <["pp0"=2 pipeline, "dp0"=2 data]>

// Four micro-batches in groups of two: position 1 visits stage 1 twice, for two
// micro-batches each. What they contribute to %sum is added up before it is
// reduced, what they contribute to %other is not.
func.func @main(%x: tensor<4xf32> {parplan.batch, parplan.name = "x"}) -> (tensor<2xf32>, tensor<2xf32>)
    attributes {parplan.micro_batches = 4 : i64, parplan.pipeline_schedule = "interleaved:2",
                parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>} {
  %a = parplan.neg %x {parplan.per_micro_batch, parplan.stage = 0 : i64} : tensor<4xf32>
  %b = parplan.neg %a {parplan.per_micro_batch, parplan.stage = 1 : i64} : tensor<4xf32>
  %c = parplan.neg %b {parplan.per_micro_batch, parplan.stage = 2 : i64} : tensor<4xf32>
  %d = parplan.neg %c {parplan.per_micro_batch, parplan.stage = 3 : i64} : tensor<4xf32>
  %dc = parplan.abs %d {parplan.per_micro_batch, parplan.role = "input_gradient", parplan.stage = 3 : i64} : tensor<4xf32>
  %db = parplan.abs %dc {parplan.per_micro_batch, parplan.role = "input_gradient", parplan.stage = 2 : i64} : tensor<4xf32>
  %g = parplan.mul %db, %a {parplan.per_micro_batch, parplan.role = "weight_gradient", parplan.stage = 1 : i64} : tensor<4xf32>, tensor<4xf32>
  %p = parplan.reduce_scatter sum %g axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> {parplan.per_micro_batch, parplan.role = "weight_gradient", parplan.stage = 1 : i64} : tensor<4xf32> -> tensor<2xf32>
  %sum = parplan.accumulate %p {parplan.per_visit, parplan.role = "gradient_sum", parplan.stage = 1 : i64} : tensor<2xf32>
  %h = parplan.max %db, %a {parplan.per_micro_batch, parplan.role = "weight_gradient", parplan.stage = 1 : i64} : tensor<4xf32>, tensor<4xf32>
  %q = parplan.reduce_scatter sum %h axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> {parplan.per_micro_batch, parplan.role = "weight_gradient", parplan.stage = 1 : i64} : tensor<4xf32> -> tensor<2xf32>
  %other = parplan.accumulate %q {parplan.role = "gradient_sum", parplan.stage = 1 : i64} : tensor<2xf32>
  return %sum, %other : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @stage1(
// CHECK: %[[G0:.*]] = parplan.mul %{{.*}} {parplan.micro_batch = 0 : i64
// CHECK-NEXT: %[[H0:.*]] = parplan.max
// CHECK-NEXT: %[[Q0:.*]] = parplan.reduce_scatter sum %[[H0]]
// CHECK: %[[G1:.*]] = parplan.mul %{{.*}} {parplan.micro_batch = 1 : i64
// CHECK-NEXT: %[[V0:.*]] = parplan.add %[[G0]], %[[G1]] {parplan.micro_batch = 1 : i64, parplan.role = "gradient_sum", parplan.stage = 1 : i64
// CHECK-NEXT: %[[P0:.*]] = parplan.reduce_scatter sum %[[V0]]
// CHECK-NEXT: %[[H1:.*]] = parplan.max
// CHECK-NEXT: %[[Q1:.*]] = parplan.reduce_scatter sum %[[H1]]
// CHECK-NEXT: parplan.add %[[Q0]], %[[Q1]]
// CHECK: %[[G2:.*]] = parplan.mul %{{.*}} {parplan.micro_batch = 2 : i64
// CHECK-NOT: parplan.reduce_scatter sum %[[G2]]
// CHECK: %[[G3:.*]] = parplan.mul %{{.*}} {parplan.micro_batch = 3 : i64
// CHECK-NEXT: %[[V1:.*]] = parplan.add %[[G2]], %[[G3]]
// CHECK-NEXT: %[[P1:.*]] = parplan.reduce_scatter sum %[[V1]]
// CHECK-NEXT: %[[SUM:.*]] = parplan.add %[[P0]], %[[P1]]
// CHECK: return %[[SUM]]
