// RUN: parplan-opt %s -parplan-place-stages -parplan-unroll-micro-batches -parplan-verify-pipeline | FileCheck %s
// RUN: sed -e '/room_bytes/d' %s | parplan-opt -parplan-place-stages -parplan-unroll-micro-batches -parplan-verify-pipeline | FileCheck %s --check-prefix=FREE

parplan.mesh @mesh <["pp0"=2 pipeline]>
parplan.initializer @v "v" : tensor<3xf32> in "" at 0 length 12

// The second stage is fast, so that gradients of inputs come in a row. There is
// room for one that waits for its weight gradient.
func.func @main(
    %x: tensor<3xf32> {parplan.batch, parplan.name = "x"},
    %rate: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<f32> {parplan.name = "loss"}, tensor<3xf32> {parplan.variable = #parplan.variable<@v>})
    attributes {parplan.micro_batches = 3 : i64, parplan.pipeline_schedule = "zb-h1",
                parplan.room_bytes = array<i64: 1, 9>, parplan.pass_bytes = array<i64: 0, 1, 0, 1, 1, 0, 1, 0, 1, 1>,
                parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 0.1, 0.1, 0.1>} {
  %v = parplan.parameter @v : tensor<3xf32>
  %b = parplan.mul %x, %v {parplan.per_micro_batch, parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>
  %part = parplan.reduce sum %b dims [0] {parplan.per_micro_batch, parplan.role = "loss", parplan.stage = 1 : i64} : tensor<3xf32>
  %loss = parplan.accumulate %part {parplan.role = "loss", parplan.stage = 1 : i64} : tensor<f32>
  %db = parplan.neg %b {parplan.per_micro_batch, parplan.role = "input_gradient", parplan.stage = 1 : i64} : tensor<3xf32>
  %da = parplan.neg %db {parplan.per_micro_batch, parplan.role = "input_gradient", parplan.stage = 0 : i64} : tensor<3xf32>
  %gv = parplan.mul %da, %x {parplan.per_micro_batch, parplan.role = "weight_gradient", parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>
  %gradient = parplan.accumulate %gv {parplan.role = "gradient_sum", parplan.stage = 0 : i64} : tensor<3xf32>
  %new = parplan.optimizer_update sgd %v, %gradient learning_rate %rate betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0
    {parplan.role = "optimizer", parplan.stage = 0 : i64} : tensor<3xf32>, tensor<3xf32>, tensor<f32>
  return %loss, %new : tensor<f32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @stage0(
// CHECK: parplan.neg {{.*}}micro_batch = 1
// CHECK: parplan.mul {{.*}}micro_batch = 1{{.*}}"weight_gradient"
// CHECK: parplan.neg {{.*}}micro_batch = 2
// CHECK: parplan.mul {{.*}}micro_batch = 2{{.*}}"weight_gradient"

// FREE-LABEL: func.func @stage0(
// FREE: parplan.neg {{.*}}micro_batch = 1
// FREE: parplan.neg {{.*}}micro_batch = 2
// FREE: parplan.mul {{.*}}micro_batch = 1{{.*}}"weight_gradient"
// FREE: parplan.mul {{.*}}micro_batch = 2{{.*}}"weight_gradient"
