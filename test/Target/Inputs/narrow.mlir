// Products, sums and an update with 16-bit floats.
parplan.mesh @mesh <["dp0"=1 data]>
func.func @main(
    %x: tensor<4x8xbf16> {parplan.name = "x"}, %w: tensor<8x6xbf16> {parplan.name = "w"}, %p: tensor<4x6xf32> {parplan.name = "p"},
    %lr: tensor<f32> {parplan.name = "lr"}, %labels: tensor<4xi64> {parplan.name = "labels"}
  ) -> (tensor<4x6xf32> {parplan.name = "new"}, tensor<4xf32> {parplan.name = "loss"}, tensor<f64> {parplan.name = "norm"}, tensor<4x6xf16> {parplan.name = "half"}) {
  %y = parplan.matmul "mk,kn->mn" %x, %w : tensor<4x8xbf16>, tensor<8x6xbf16>
  %two = parplan.constant dense<2.0> : tensor<bf16>
  %z = parplan.mul %y, %two : tensor<4x6xbf16>, tensor<bf16>
  %s = parplan.softmax %z dim 1 : tensor<4x6xbf16>
  %loss, %lse = parplan.cross_entropy %s, %labels : tensor<4x6xbf16>, tensor<4xi64>
  %norm = parplan.square_sum %s : tensor<4x6xbf16>
  %g = parplan.cast %s : tensor<4x6xbf16> to tensor<4x6xf32>
  %h = parplan.cast %s : tensor<4x6xbf16> to tensor<4x6xf16>
  %new = parplan.optimizer_update sgd %p, %g learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>
  return %new, %loss, %norm, %h : tensor<4x6xf32>, tensor<4xf32>, tensor<f64>, tensor<4x6xf16>
}
