// RUN: parplan-opt %s -parplan-keep-updated-pieces -verify-diagnostics

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<8xf32> in "" at 0 length 32

func.func @whole_update(%g: tensor<8xf32>, %lr: tensor<f32>
  ) -> (tensor<8xf32> {parplan.variable = #parplan.variable<@w0>, parplan.sharding = #parplan.sharding<@mesh, [{}]>})
    attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w0 {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<8xf32>
  // expected-error@+1 {{is to leave the parameter in its pieces, but does not slice, replace and gather it alone}}
  %wn = parplan.optimizer_update sgd %w, %g learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 {parplan.role = "optimizer", parplan.tier = "host", parplan.in_pieces} : tensor<8xf32>, tensor<8xf32>, tensor<f32>
  return %wn : tensor<8xf32>
}
