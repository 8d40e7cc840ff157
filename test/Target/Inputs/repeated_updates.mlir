// Updates with momentum of a weight on the host and of one on NVMe, in two tiles. The outputs are what the weights were
// before the step: repeated, they show what the steps before wrote.
parplan.mesh @mesh <["dp0"=1 data]>
parplan.initializer @w0 "hosted" : tensor<8x6xf32> in "" at 0 length 192
parplan.initializer @w1 "stored" : tensor<400000xf32> in "" at 192 length 1600000
func.func @main(%g0: tensor<8x6xf32> {parplan.name = "g0"}, %g1: tensor<400000xf32> {parplan.name = "g1"}, %lr: tensor<f32> {parplan.name = "rate"}) ->
   (tensor<8x6xf32> {parplan.name = "hosted_before"}, tensor<400000xf32> {parplan.name = "stored_before"},
        tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0>}, tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0, slot = "momentum_buffer">},
        tensor<400000xf32> {parplan.variable = #parplan.variable<@w1>}, tensor<400000xf32> {parplan.variable = #parplan.variable<@w1, slot = "momentum_buffer">}) {
  %w0 = parplan.parameter @w0 {parplan.tier = "host"} : tensor<8x6xf32>
  %m0 = parplan.parameter @w0 slot "momentum_buffer" {parplan.tier = "host"} : tensor<8x6xf32>
  %w1 = parplan.parameter @w1 {parplan.tier = "nvme"} : tensor<400000xf32>
  %m1 = parplan.parameter @w1 slot "momentum_buffer" {parplan.tier = "nvme"} : tensor<400000xf32>
  %u0 = parplan.transfer %w0 to "device" : tensor<8x6xf32>
  %n0 = parplan.neg %u0 : tensor<8x6xf32>
  %u1 = parplan.transfer %w1 to "device" : tensor<400000xf32>
  %n1 = parplan.neg %u1 : tensor<400000xf32>
  %g0h = parplan.transfer %g0 to "host" : tensor<8x6xf32>
  %w0n, %m0n = parplan.optimizer_update momentum %w0, %g0h states %m0 learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.9 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<f32>
  %w1h = parplan.transfer %w1 to "host" : tensor<400000xf32>
  %m1h = parplan.transfer %m1 to "host" : tensor<400000xf32>
  %g1h = parplan.transfer %g1 to "host" : tensor<400000xf32>
  %w1n, %m1n = parplan.optimizer_update momentum %w1h, %g1h states %m1h learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.9 : tensor<400000xf32>, tensor<400000xf32>, tensor<400000xf32>, tensor<f32>
  %w1b = parplan.transfer %w1n to "nvme" : tensor<400000xf32>
  %m1b = parplan.transfer %m1n to "nvme" : tensor<400000xf32>
  return %n0, %n1, %w0n, %m0n, %w1b, %m1b : tensor<8x6xf32>, tensor<400000xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<400000xf32>, tensor<400000xf32>
}
