// RUN: parplan-opt %s -parplan-plan="gpus=2 pipeline=2 schedule=1f1b" | FileCheck %s --check-prefixes=CHECK,DEVICE
// RUN: parplan-opt %s -parplan-plan="gpus=2 pipeline=2 schedule=gpipe recompute=full offload=optimizer:cpu" | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: parplan-opt %s -parplan-plan="gpus=2 pipeline=2 schedule=1f1b" | parplan-opt -parplan-plan="gpus=2 data=2" | FileCheck %s --check-prefix=AGAIN
// RUN: not parplan-opt %s -parplan-plan="gpus=2 pipeline=2 schedule=2f2b" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not parplan-opt %s -parplan-plan="gpus=1 recompute=some" 2>&1 | FileCheck %s --check-prefix=SOME
// RUN: not parplan-opt %s -parplan-plan="gpus=1 offload=gradients:cpu" 2>&1 | FileCheck %s --check-prefix=OFFLOAD

// NAME: error: '2f2b' is no schedule
// SOME: error: 'some' is not none, selective or full
// OFFLOAD: error: 'gradients:cpu' is not KIND:TIER

// One step of two products with two micro-batches, in two stages: every op is in
// that of what it is the gradient or update of. Another plan leaves nothing of it.

// CHECK: parplan.mesh @mesh <["pp0"=2 pipeline]>
// AGAIN: parplan.mesh @mesh <["dp0"=2 data]>
// AGAIN-NOT: parplan.stage
// AGAIN-NOT: parplan.pipeline_schedule
// AGAIN-NOT: parplan.pass_seconds
parplan.initializer @up "up" : tensor<64x256xf32> in "" at 0 length 65536
parplan.initializer @down "down" : tensor<256x64xf32> in "" at 65536 length 65536

// CHECK-LABEL: func.func @main
// CHECK: parplan.pass_seconds = array<f64:
// DEVICE-SAME: parplan.pipeline_schedule = "1f1b"
// HOST-SAME: parplan.pipeline_schedule = "gpipe"
func.func @main(
    %x: tensor<8x64xf32> {parplan.name = "x", parplan.batch},
    %seed: tensor<8x64xf32> {parplan.name = "seed", parplan.batch},
    %rate: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<256x64xf32> {parplan.variable = #parplan.variable<@down>},
        tensor<256x64xf32> {parplan.variable = #parplan.variable<@down, slot = "momentum_buffer">})
    attributes {parplan.micro_batches = 2 : i64} {
  %up = parplan.parameter @up : tensor<64x256xf32>
  // DEVICE-NOT: parplan.tier
  %down = parplan.parameter @down : tensor<256x64xf32>
  // HOST: parplan.parameter @down slot "momentum_buffer" {{.*}}parplan.tier = "host"
  %momentum = parplan.parameter @down slot "momentum_buffer"
      : tensor<256x64xf32>
  // CHECK: parplan.matmul "bk,kn->bn"
  // CHECK-SAME: parplan.stage = 0 : i64
  %hidden = parplan.matmul "bk,kn->bn" %x, %up
      {parplan.node = 0 : i64, parplan.onnx_op = "MatMul",
       parplan.group = 0 : i64, parplan.per_micro_batch}
      : tensor<8x64xf32>, tensor<64x256xf32>
  // CHECK: parplan.matmul "bk,kn->bn"
  // CHECK-SAME: parplan.stage = 1 : i64
  %y = parplan.matmul "bk,kn->bn" %hidden, %down
      {parplan.node = 1 : i64, parplan.onnx_op = "MatMul",
       parplan.group = 1 : i64, parplan.per_micro_batch}
      : tensor<8x256xf32>, tensor<256x64xf32>
  // CHECK: parplan.matmul "bk,bn->kn"
  // CHECK-SAME: parplan.stage = 1 : i64
  %of_down = parplan.matmul "bk,bn->kn" %hidden, %seed
      {parplan.node = 1 : i64, parplan.group = 1 : i64,
       parplan.role = "weight_gradient", parplan.per_micro_batch}
      : tensor<8x256xf32>, tensor<8x64xf32>
  // CHECK: parplan.accumulate
  // CHECK-SAME: parplan.stage = 1 : i64
  %sum = parplan.accumulate %of_down {parplan.role = "gradient_sum"}
      : tensor<256x64xf32>
  // CHECK: parplan.optimizer_update
  // CHECK-SAME: parplan.stage = 1 : i64
  %new_down, %new_momentum = parplan.optimizer_update momentum
      %down, %sum states %momentum learning_rate %rate
      betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.9
      {parplan.group = 3 : i64, parplan.role = "optimizer"}
      : tensor<256x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>, tensor<f32>
  return %new_down, %new_momentum : tensor<256x64xf32>, tensor<256x64xf32>
}
