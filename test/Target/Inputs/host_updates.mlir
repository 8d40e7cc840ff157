// Updates on the host: of a parameter and states that rest there, and of others that rest on NVMe, with a scale and a
// flag that the device computes; the norm of a gradient that came down.
parplan.mesh @mesh <["dp0"=1 data]>
parplan.initializer @w0 "hosted" : tensor<8x6xf32> in "" at 0 length 192
parplan.initializer @w1 "stored" : tensor<400000xf32> in "" at 192 length 1600000

func.func @main(%g0: tensor<8x6xf32> {parplan.name = "g0"}, %g1: tensor<400000xf32> {parplan.name = "g1"},
    %lr: tensor<f32> {parplan.name = "learning_rate", parplan.schedule = "learning_rate"},
    %step: tensor<f32> {parplan.name = "step_size", parplan.schedule = "step_size"},
    %correction: tensor<f32> {parplan.name = "bias_correction2_sqrt", parplan.schedule = "bias_correction2_sqrt"}
  ) -> (tensor<f64> {parplan.name = "gradient_norm"},
        tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0>}, tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0, slot = "exp_avg">},
        tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0, slot = "exp_avg_sq">},
        tensor<400000xf32> {parplan.variable = #parplan.variable<@w1>}, tensor<400000xf32> {parplan.variable = #parplan.variable<@w1, slot = "exp_avg">},
        tensor<400000xf32> {parplan.variable = #parplan.variable<@w1, slot = "exp_avg_sq">})
    attributes {parplan.micro_batches = 1 : i64} {
  %w0 = parplan.parameter @w0 {parplan.tier = "host"} : tensor<8x6xf32>
  %m0 = parplan.parameter @w0 slot "exp_avg" {parplan.tier = "host"} : tensor<8x6xf32>
  %v0 = parplan.parameter @w0 slot "exp_avg_sq" {parplan.tier = "host"} : tensor<8x6xf32>
  %w1 = parplan.parameter @w1 {parplan.tier = "nvme"} : tensor<400000xf32>
  %m1 = parplan.parameter @w1 slot "exp_avg" {parplan.tier = "nvme"} : tensor<400000xf32>
  %v1 = parplan.parameter @w1 slot "exp_avg_sq" {parplan.tier = "nvme"} : tensor<400000xf32>
  %sum = parplan.square_sum %g1 : tensor<400000xf32>
  %s = parplan.cast %sum : tensor<f64> to tensor<f32>
  %scale = parplan.rsqrt %s : tensor<f32>
  %skip = parplan.is_nan %s : tensor<f32>
  %g0h = parplan.transfer %g0 to "host" : tensor<8x6xf32>
  %norm = parplan.square_sum %g0h : tensor<8x6xf32>
  %w0n, %m0n, %v0n = parplan.optimizer_update adamw %w0, %g0h states %m0, %v0 learning_rate %lr step_size %step bias_correction2_sqrt %correction scale %scale skip %skip betas 0.9, 0.99 epsilon 1.0e-8 weight_decay 0.1 momentum 0.0 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>
  %w1h = parplan.transfer %w1 to "host" : tensor<400000xf32>
  %m1h = parplan.transfer %m1 to "host" : tensor<400000xf32>
  %v1h = parplan.transfer %v1 to "host" : tensor<400000xf32>
  %g1h = parplan.transfer %g1 to "host" : tensor<400000xf32>
  %w1n, %m1n, %v1n = parplan.optimizer_update adamw %w1h, %g1h states %m1h, %v1h learning_rate %lr step_size %step bias_correction2_sqrt %correction scale %scale skip %skip betas 0.9, 0.99 epsilon 1.0e-8 weight_decay 0.1 momentum 0.0 : tensor<400000xf32>, tensor<400000xf32>, tensor<400000xf32>, tensor<400000xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>
  %w1b = parplan.transfer %w1n to "nvme" : tensor<400000xf32>
  %m1b = parplan.transfer %m1n to "nvme" : tensor<400000xf32>
  %v1b = parplan.transfer %v1n to "nvme" : tensor<400000xf32>
  return %norm, %w0n, %m0n, %v0n, %w1b, %m1b, %v1b : tensor<f64>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<400000xf32>, tensor<400000xf32>, tensor<400000xf32>
}
