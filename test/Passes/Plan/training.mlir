// RUN: parplan-opt %s -parplan-plan="gpus=2 data=2 zero=0" | FileCheck %s --check-prefixes=CHECK,WHOLE
// RUN: parplan-opt %s -parplan-plan="gpus=2 data=2 zero=1" | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: parplan-opt %s -parplan-plan="gpus=2 data=2 zero=2" | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: parplan-opt %s -parplan-plan="gpus=2 data=2 zero=3" | FileCheck %s --check-prefixes=CHECK,THREE
// RUN: parplan-opt %s -parplan-plan="gpus=2 tensor=2" | FileCheck %s --check-prefix=TENSOR
// RUN: not parplan-opt %s -parplan-plan="gpus=2 tensor=2 zero=1" 2>&1 | FileCheck %s --check-prefix=REFUSED

// REFUSED: error: no plan

// One step of an MLP with two micro-batches: the gradients follow the products
// and are added up before they are reduced, and updates are stored from stage 1
// on, sums of gradients from 2 on, parameters in 3.

parplan.initializer @up "up" : tensor<64x256xf32> in "" at 0 length 65536
parplan.initializer @down "down" : tensor<256x64xf32> in "" at 65536 length 65536

// CHECK-LABEL: func.func @main
// CHECK-SAME: parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>
// TENSOR-LABEL: func.func @main
func.func @main(
    %x: tensor<8x64xf32> {parplan.name = "x", parplan.batch},
    %seed: tensor<8x64xf32> {parplan.name = "seed", parplan.batch},
    %rate: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<64x256xf32> {parplan.variable = #parplan.variable<@up>},
        tensor<256x64xf32> {parplan.variable = #parplan.variable<@down>},
        tensor<256x64xf32> {parplan.variable = #parplan.variable<@down, slot = "momentum_buffer">})
    attributes {parplan.micro_batches = 2 : i64} {
  // WHOLE: parplan.parameter @up {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]}
  // ONE: parplan.parameter @up {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]}
  // TWO: parplan.parameter @up {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]}
  // THREE: parplan.parameter @up {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], stored = {"dp0"}>]}
  %up = parplan.parameter @up : tensor<64x256xf32>
  %down = parplan.parameter @down : tensor<256x64xf32>
  // WHOLE: parplan.parameter @down slot "momentum_buffer" {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]}
  // ONE: parplan.parameter @down slot "momentum_buffer" {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], stored = {"dp0"}>]}
  %momentum = parplan.parameter @down slot "momentum_buffer"
      : tensor<256x64xf32>
  // TENSOR: parplan.matmul "bk,kn->bn"
  // TENSOR-SAME: {n = ["tp0"]}
  %hidden = parplan.matmul "bk,kn->bn" %x, %up
      {parplan.node = 0 : i64, parplan.onnx_op = "MatMul",
       parplan.group = 0 : i64, parplan.per_micro_batch}
      : tensor<8x64xf32>, tensor<64x256xf32>
  // TENSOR: parplan.matmul "bk,kn->bn"
  // TENSOR-SAME: {k = ["tp0"]}
  %y = parplan.matmul "bk,kn->bn" %hidden, %down
      {parplan.node = 1 : i64, parplan.onnx_op = "MatMul",
       parplan.group = 1 : i64, parplan.per_micro_batch}
      : tensor<8x256xf32>, tensor<256x64xf32>
  // TENSOR: parplan.matmul "bn,kn->bk"
  // TENSOR-SAME: {k = ["tp0"]}
  // TENSOR-SAME: [{}, {"tp0"}]
  %of_hidden = parplan.matmul "bn,kn->bk" %seed, %down
      {parplan.node = 1 : i64, parplan.group = 1 : i64,
       parplan.role = "input_gradient", parplan.per_micro_batch}
      : tensor<8x64xf32>, tensor<256x64xf32>
  // The gradient of a parameter is pending over the data (S17).
  // CHECK: parplan.matmul "bk,bn->kn"
  // WHOLE-SAME: parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"dp0"}>]
  // ONE-SAME: parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"dp0"}>]
  // TENSOR: parplan.matmul "bk,bn->kn"
  // TENSOR-SAME: {k = ["tp0"]}
  %of_down = parplan.matmul "bk,bn->kn" %hidden, %seed
      {parplan.node = 1 : i64, parplan.group = 1 : i64,
       parplan.role = "weight_gradient", parplan.per_micro_batch}
      : tensor<8x256xf32>, tensor<8x64xf32>
  %of_up = parplan.matmul "bk,bn->kn" %x, %of_hidden
      {parplan.node = 0 : i64, parplan.group = 0 : i64,
       parplan.role = "weight_gradient", parplan.per_micro_batch}
      : tensor<8x64xf32>, tensor<8x256xf32>
  // WHOLE: parplan.accumulate
  // WHOLE-SAME: parplan.factors = #parplan.factors<@mesh, {}, pending = {"dp0"}>
  // ONE: parplan.accumulate
  // ONE-SAME: parplan.factors = #parplan.factors<@mesh, {}, pending = {"dp0"}>
  // TWO: parplan.accumulate
  // TWO-SAME: parplan.factors = #parplan.factors<@mesh, {}, stored = {"dp0"}>
  // THREE: parplan.accumulate
  // THREE-SAME: parplan.factors = #parplan.factors<@mesh, {}, stored = {"dp0"}>
  %sum_up = parplan.accumulate %of_up {parplan.role = "gradient_sum"}
      : tensor<64x256xf32>
  %sum_down = parplan.accumulate %of_down {parplan.role = "gradient_sum"}
      : tensor<256x64xf32>
  // ONE: parplan.optimizer_update sgd
  // ONE-SAME: stored = {"dp0"}
  // TENSOR: parplan.optimizer_update sgd
  // TENSOR-SAME: {d1 = ["tp0"]}
  %new_up = parplan.optimizer_update sgd %up, %sum_up learning_rate %rate
      betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.9
      {parplan.group = 2 : i64, parplan.role = "optimizer"}
      : tensor<64x256xf32>, tensor<64x256xf32>, tensor<f32>
  // WHOLE: parplan.optimizer_update momentum
  // WHOLE-NOT: stored
  // WHOLE: return
  %new_down, %new_momentum = parplan.optimizer_update momentum
      %down, %sum_down states %momentum learning_rate %rate
      betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.9
      {parplan.group = 3 : i64, parplan.role = "optimizer"}
      : tensor<256x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>, tensor<f32>
  return %new_up, %new_down, %new_momentum
      : tensor<64x256xf32>, tensor<256x64xf32>, tensor<256x64xf32>
}
