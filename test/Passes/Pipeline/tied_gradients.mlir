// RUN: parplan-opt %s -parplan-place-stages | FileCheck %s

parplan.mesh @mesh <["pp0"=2 pipeline]>
parplan.initializer @w "w" : tensor<3xf32> in "" at 0 length 12

// Three parts of one gradient, two of them on one stage: each is summed up over
// the micro-batches by itself, and the sums are added from left to right. What
// is no value of a micro-batch stays in the sum that it is in.
// CHECK: %[[LAST:.*]] = parplan.accumulate %{{.*}} {parplan.role = "gradient_sum", parplan.stage = 1 : i64}
// CHECK-NEXT: %[[CAST:.*]] = parplan.cast %{{.*}} parplan.stage = 1 : i64
// CHECK-NEXT: %[[MIDDLE:.*]] = parplan.accumulate %[[CAST]] {parplan.role = "gradient_sum", parplan.stage = 1 : i64}
// CHECK-NEXT: %[[FIRST:.*]] = parplan.accumulate %{{.*}} {parplan.role = "gradient_sum", parplan.stage = 0 : i64}
// CHECK-NEXT: %[[TOTAL:.*]] = parplan.sum %[[LAST]], %[[MIDDLE]], %[[FIRST]] {parplan.role = "gradient_sum", parplan.stage = 0 : i64}
// CHECK: parplan.optimizer_update sgd %{{.*}}, %[[TOTAL]]
// CHECK: %[[SHIFTED:.*]] = parplan.add
// CHECK-NEXT: parplan.accumulate %[[SHIFTED]]
func.func @main(%x: tensor<3xf32> {parplan.batch}, %rate: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<3xf32> {parplan.variable = #parplan.variable<@w>}, tensor<3xf32>)
    attributes {parplan.micro_batches = 2 : i64, parplan.pipeline_schedule = "1f1b", parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>} {
  %w = parplan.parameter @w : tensor<3xf32>
  %a = parplan.mul %x, %w {parplan.per_micro_batch, parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>
  %b = parplan.mul %a, %w {parplan.per_micro_batch, parplan.stage = 1 : i64} : tensor<3xf32>, tensor<3xf32>
  %last = parplan.neg %b {parplan.per_micro_batch, parplan.role = "weight_gradient", parplan.stage = 1 : i64} : tensor<3xf32>
  %half = parplan.cast %b {parplan.per_micro_batch, parplan.role = "weight_gradient", parplan.stage = 1 : i64} : tensor<3xf32> to tensor<3xf16>
  %middle = parplan.neg %half {parplan.per_micro_batch, parplan.role = "weight_gradient", parplan.stage = 1 : i64} : tensor<3xf16>
  %wide = parplan.cast %middle {parplan.per_micro_batch, parplan.role = "gradient_sum", parplan.stage = 1 : i64} : tensor<3xf16> to tensor<3xf32>
  %first = parplan.mul %x, %last {parplan.per_micro_batch, parplan.role = "weight_gradient", parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>
  %later = parplan.add %last, %wide {parplan.per_micro_batch, parplan.role = "gradient_sum", parplan.stage = 1 : i64} : tensor<3xf32>, tensor<3xf32>
  %all = parplan.sum %later, %first {parplan.per_micro_batch, parplan.role = "gradient_sum", parplan.stage = 0 : i64} : tensor<3xf32>
  %gradient = parplan.accumulate %all {parplan.role = "gradient_sum", parplan.stage = 0 : i64} : tensor<3xf32>
  %new = parplan.optimizer_update sgd %w, %gradient learning_rate %rate betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0
    {parplan.role = "optimizer", parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>, tensor<f32>
  %shifted = parplan.add %b, %w {parplan.per_micro_batch, parplan.stage = 1 : i64} : tensor<3xf32>, tensor<3xf32>
  %sum = parplan.accumulate %shifted {parplan.stage = 1 : i64} : tensor<3xf32>
  return %new, %sum : tensor<3xf32>, tensor<3xf32>
}
