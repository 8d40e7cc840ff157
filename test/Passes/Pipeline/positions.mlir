// RUN: parplan-opt %s -parplan-place-stages -parplan-unroll-micro-batches -parplan-verify-pipeline | FileCheck %s

parplan.mesh @mesh <["pp0"=2 pipeline, "dp0"=2 data]>
parplan.initializer @w "w" : tensor<3xf32> in "" at 0 length 12
parplan.initializer @v "v" : tensor<3xf32> in "" at 0 length 12

// Two stages, one forward one backward, two micro-batches. The parameter @w is
// tied: both positions have a copy. Both get the norm.
func.func @main(
    %x: tensor<3xf32> {parplan.batch, parplan.name = "x"},
    %labels: tensor<3xf32> {parplan.batch, parplan.name = "labels"},
    %rate: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<f32> {parplan.name = "loss"}, tensor<f32> {parplan.name = "gradient_norm"},
        tensor<3xf32> {parplan.variable = #parplan.variable<@w>},
        tensor<3xf32> {parplan.variable = #parplan.variable<@v>})
    attributes {parplan.micro_batches = 2 : i64, parplan.pipeline_schedule = "1f1b",
                parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>} {
  %w = parplan.parameter @w : tensor<3xf32>
  %v = parplan.parameter @v : tensor<3xf32>
  // Stage 0.
  %a = parplan.mul %x, %w {parplan.per_micro_batch, parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>
  %b = parplan.mul %a, %v {parplan.per_micro_batch, parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>
  // Stage 1.
  %count = parplan.reduce sum %labels dims [0] {parplan.per_micro_batch, parplan.role = "loss", parplan.stage = 1 : i64} : tensor<3xf32>
  %labelCount = parplan.accumulate %count {parplan.role = "loss", parplan.stage = 1 : i64} : tensor<f32>
  %c = parplan.mul %b, %w {parplan.per_micro_batch, parplan.stage = 1 : i64} : tensor<3xf32>, tensor<3xf32>
  %d = parplan.div %c, %labelCount {parplan.per_micro_batch, parplan.role = "loss", parplan.stage = 1 : i64} : tensor<3xf32>, tensor<f32>
  %part = parplan.reduce sum %d dims [0] {parplan.per_micro_batch, parplan.role = "loss", parplan.stage = 1 : i64} : tensor<3xf32>
  %loss = parplan.accumulate %part {parplan.role = "loss", parplan.stage = 1 : i64} : tensor<f32>
  // Backward.
  %dc = parplan.neg %d {parplan.per_micro_batch, parplan.role = "input_gradient", parplan.stage = 1 : i64} : tensor<3xf32>
  %db = parplan.mul %dc, %w {parplan.per_micro_batch, parplan.role = "input_gradient", parplan.stage = 1 : i64} : tensor<3xf32>, tensor<3xf32>
  %gw1 = parplan.mul %dc, %b {parplan.per_micro_batch, parplan.role = "weight_gradient", parplan.stage = 1 : i64} : tensor<3xf32>, tensor<3xf32>
  %gv = parplan.mul %db, %a {parplan.per_micro_batch, parplan.role = "weight_gradient", parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>
  %da = parplan.mul %db, %v {parplan.per_micro_batch, parplan.role = "input_gradient", parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>
  %gw0 = parplan.mul %da, %x {parplan.per_micro_batch, parplan.role = "weight_gradient", parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>
  %gw = parplan.sum %gw1, %gw0 {parplan.per_micro_batch, parplan.role = "gradient_sum", parplan.stage = 0 : i64} : tensor<3xf32>
  %gradientV = parplan.accumulate %gv {parplan.role = "gradient_sum", parplan.stage = 0 : i64} : tensor<3xf32>
  %gradientW = parplan.accumulate %gw {parplan.role = "gradient_sum", parplan.stage = 0 : i64} : tensor<3xf32>
  %squareV = parplan.square_sum %gradientV {parplan.role = "optimizer", parplan.stage = 0 : i64} : tensor<3xf32>
  %squareW = parplan.square_sum %gradientW {parplan.role = "optimizer", parplan.stage = 0 : i64} : tensor<3xf32>
  %total = parplan.sum %squareV, %squareW {parplan.role = "optimizer"} : tensor<f64>
  %root = parplan.sqrt %total {parplan.role = "optimizer"} : tensor<f64>
  %norm = parplan.cast %root {parplan.role = "optimizer"} : tensor<f64> to tensor<f32>
  %newW = parplan.optimizer_update sgd %w, %gradientW learning_rate %rate betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0
    {parplan.role = "optimizer", parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>, tensor<f32>
  %newV = parplan.optimizer_update sgd %v, %gradientV learning_rate %rate betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0
    {parplan.role = "optimizer", parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>, tensor<f32>
  return %loss, %norm, %newW, %newV : tensor<f32>, tensor<f32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3xf32> {parplan.batch, parplan.name = "x"}
// CHECK-SAME: -> (tensor<f32> {parplan.name = "gradient_norm"}, tensor<3xf32> {parplan.variable = #parplan.variable<@w>}, tensor<3xf32> {parplan.variable = #parplan.variable<@v>})
// CHECK-SAME: parplan.position = 0 : i64
// CHECK-NEXT: %[[W:.*]] = parplan.parameter @w
// CHECK-NEXT: %[[V:.*]] = parplan.parameter @v
// Both forward passes come before the first gradient.
// CHECK: %[[A0:.*]] = parplan.mul %{{.*}}, %[[W]] {parplan.micro_batch = 0 : i64, parplan.stage = 0 : i64}
// CHECK-NEXT: %[[B0:.*]] = parplan.mul %[[A0]], %[[V]]
// CHECK-NEXT: parplan.send %[[B0]] to 1 over <"pp0"> {parplan.micro_batch = 0 : i64}
// CHECK: parplan.mul %{{.*}}, %[[W]] {parplan.micro_batch = 1 : i64
// CHECK: parplan.send %{{.*}} to 1 over <"pp0"> {parplan.micro_batch = 1 : i64}
// CHECK-NEXT: %[[D0:.*]] = parplan.receive from 1 over <"pp0"> {parplan.micro_batch = 0 : i64, parplan.role = "input_gradient"}
// CHECK-NEXT: parplan.mul %[[D0]], %[[A0]] {parplan.micro_batch = 0 : i64, parplan.role = "weight_gradient"
// CHECK: parplan.receive from 1 over <"pp0"> {parplan.micro_batch = 1 : i64, parplan.role = "input_gradient"}
// What is complete here is updated here; the tied gradient waits for its part.
// CHECK: %[[SQUARE:.*]] = parplan.square_sum
// CHECK-NEXT: %{{.*}} = parplan.optimizer_update sgd %[[V]]
// CHECK-NEXT: %[[PART:.*]] = parplan.receive from 1 over <"pp0"> {parplan.role = "gradient_sum"}
// CHECK-NEXT: %[[TIED:.*]] = parplan.sum %[[PART]], %{{.*}} {parplan.role = "gradient_sum"
// CHECK-NEXT: %[[SQUARE2:.*]] = parplan.square_sum %[[TIED]]
// CHECK-NEXT: %[[OWN:.*]] = parplan.sum %[[SQUARE]], %[[SQUARE2]] {{.*}} partial = sum{"pp0"}
// CHECK-NEXT: %[[TOTAL:.*]] = parplan.all_reduce sum %[[OWN]] axes <"pp0">
// CHECK-NEXT: %[[ROOT:.*]] = parplan.sqrt %[[TOTAL]]
// CHECK-NEXT: %[[NORM:.*]] = parplan.cast %[[ROOT]]
// CHECK-NEXT: %[[NEW:.*]] = parplan.optimizer_update sgd %[[W]], %[[TIED]]
// CHECK-NEXT: parplan.send %[[TIED]] to 1
// CHECK-NEXT: return %[[NORM]], %[[NEW]]

// CHECK-LABEL: func.func @stage1(
// CHECK-SAME: %[[LABELS:[^:]*]]: tensor<2x3xf32> {parplan.batch, parplan.name = "labels"}
// CHECK-SAME: -> (tensor<f32> {parplan.name = "loss"}, tensor<f32> {parplan.name = "gradient_norm"}, tensor<3xf32> {parplan.variable = #parplan.variable<@w>})
// CHECK-SAME: parplan.position = 1 : i64
// CHECK-NEXT: %[[W:.*]] = parplan.parameter @w
// All labels are counted before the first pass.
// CHECK: %[[COUNT:.*]] = parplan.add %{{.*}}, %{{.*}} {parplan.role = "loss", parplan.stage = 1 : i64}
// CHECK-NEXT: %[[B0:.*]] = parplan.receive from 0 over <"pp0"> {parplan.micro_batch = 0 : i64}
// CHECK-NEXT: %[[C0:.*]] = parplan.mul %[[B0]], %[[W]]
// CHECK-NEXT: parplan.div %[[C0]], %[[COUNT]]
// CHECK: parplan.receive from 0 over <"pp0"> {parplan.micro_batch = 1 : i64}
// CHECK: %[[DB0:.*]] = parplan.mul %{{.*}}, %[[W]] {parplan.micro_batch = 0 : i64, parplan.role = "input_gradient"
// CHECK: parplan.send %[[DB0]] to 0
// A position without variables of its own contributes nothing to the norm.
// CHECK: parplan.send %{{.*}} to 0 over <"pp0"> {parplan.role = "gradient_sum"}
// CHECK-NEXT: %[[ZERO:.*]] = parplan.constant {{.*}} dense<0.000000e+00>
// CHECK-NEXT: %[[TOTAL:.*]] = parplan.all_reduce sum %[[ZERO]] axes <"pp0">
// CHECK-NEXT: %[[ROOT:.*]] = parplan.sqrt %[[TOTAL]]
// CHECK-NEXT: %[[NORM:.*]] = parplan.cast %[[ROOT]]
// CHECK-NEXT: %[[TIED:.*]] = parplan.receive from 0
// CHECK-NEXT: %[[NEW:.*]] = parplan.optimizer_update sgd %[[W]], %[[TIED]]
// CHECK-NEXT: return %{{.*}}, %[[NORM]], %[[NEW]]
