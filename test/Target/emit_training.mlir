// The tables of a training step.
// RUN: parplan-opt %s -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit | FileCheck %s

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w "w" : tensor<8x6xf32> in "" at 0 length 192
parplan.initializer @b "b" : tensor<6xf32> in "" at 192 length 24

// CHECK: constexpr Parameter parameters[] = {
// A part of a bucket that is kept in pieces; a state.
// CHECK-NEXT: {"w", ElementType::Float32, 0, 192, 0, dimensions{{[0-9]+}}, [[P:[0-9]+]], nullptr, [[AXES:axes[0-9]+]], false, nullptr, true, 0, 64},
// CHECK-NEXT: {"b", ElementType::Float32, 192, 24, 0, dimensions{{[0-9]+}}, [[P]], nullptr, [[AXES]], false, nullptr, true, 48, 64},
// CHECK-NEXT: {"w", ElementType::Float32, 0, 0, 0, dimensions{{[0-9]+}}, [[M:[0-9]+]], nullptr, [[AXES]], true, "momentum_buffer", true, 0, 64},
// CHECK-NEXT: {"b", ElementType::Float32, 0, 0, 0, dimensions{{[0-9]+}}, [[M]], nullptr, [[AXES]], true, "momentum_buffer", true, 48, 64},
// CHECK: constexpr Tensor inputs[] = {
// CHECK-NEXT: {"g", ElementType::Float32, dimensions{{[0-9]+}}, {{[0-9]+}}, TensorRole::Data, true},
// CHECK-NEXT: {"learning_rate", ElementType::Float32, {}, {{[0-9]+}}, TensorRole::LearningRate, false},
// CHECK: constexpr Tensor outputs[] = {
// CHECK-NEXT: {"loss", ElementType::Float64, {}, {{[0-9]+}}, TensorRole::Data, false, 0, OutputRole::Loss},
// CHECK: constexpr Training training = {
// CHECK-NEXT: {OptimizerKind::Momentum, 0, 0, 0, 0.10000000000000001, 0.90000000000000002},
// CHECK-NEXT: /*learningRate=*/0,
// CHECK-NEXT: {LearningRateKind::Constant, 0, 0, 0},
// CHECK-NEXT: /*microBatches=*/1,
// CHECK-NEXT: /*initialLossScale=*/0,
// CHECK-NEXT: {},
// CHECK-NEXT: "",
// CHECK-NEXT: /*savesModel=*/true};
// CHECK: step},
// CHECK: stages,
// CHECK-NEXT: {},
// CHECK-NEXT: &training};
func.func @main(
    %g: tensor<1x64xf32> {parplan.name = "g", parplan.batch}, %lr: tensor<f32> {parplan.name = "learning_rate", parplan.schedule = "learning_rate"}
  ) -> (tensor<f64> {parplan.name = "loss"},
        tensor<32xf32> {parplan.bucket = [#parplan.member<variable = <@w>, type = tensor<8x6xf32>, sharding = <@mesh, [{}, {}]>, offset = 0>, #parplan.member<variable = <@b>, type = tensor<6xf32>, sharding = <@mesh, [{}]>, offset = 48>], parplan.global_type = tensor<64xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"dp0"}>},
        tensor<32xf32> {parplan.bucket = [#parplan.member<variable = <@w, slot = "momentum_buffer">, type = tensor<8x6xf32>, sharding = <@mesh, [{}, {}]>, offset = 0>, #parplan.member<variable = <@b, slot = "momentum_buffer">, type = tensor<6xf32>, sharding = <@mesh, [{}]>, offset = 48>], parplan.global_type = tensor<64xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"dp0"}>})
    attributes {parplan.micro_batches = 1 : i64} {
  %p = parplan.bucket_parameter [#parplan.member<variable = <@w>, type = tensor<8x6xf32>, sharding = <@mesh, [{}, {}]>, offset = 0>, #parplan.member<variable = <@b>, type = tensor<6xf32>, sharding = <@mesh, [{}]>, offset = 48>] {parplan.global_type = tensor<64xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<32xf32>
  %m = parplan.bucket_parameter [#parplan.member<variable = <@w, slot = "momentum_buffer">, type = tensor<8x6xf32>, sharding = <@mesh, [{}, {}]>, offset = 0>, #parplan.member<variable = <@b, slot = "momentum_buffer">, type = tensor<6xf32>, sharding = <@mesh, [{}]>, offset = 48>] {parplan.global_type = tensor<64xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<32xf32>
  %flat = parplan.reshape %g : tensor<1x64xf32> to tensor<64xf32>
  %pending = parplan.neg %flat {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<64xf32>
  %loss = parplan.square_sum %flat : tensor<64xf32>
  %piece = parplan.reduce_scatter sum %pending axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> : tensor<64xf32> -> tensor<32xf32>
  %pn, %mn = parplan.optimizer_update momentum %p, %piece states %m learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.1 momentum 0.9 : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<f32>
  return %loss, %pn, %mn : tensor<f64>, tensor<32xf32>, tensor<32xf32>
}
