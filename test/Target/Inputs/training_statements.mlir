// Every statement that only training steps have, once.
parplan.mesh @mesh <["dp0"=1 data]>
parplan.initializer @w0 "conv.weight" : tensor<4x3x3x3xf32> in "" at 0 length 432

func.func @main(
    %logits: tensor<2x5x6xf32> {parplan.name = "logits"}, %labels: tensor<2x5xi64> {parplan.name = "labels"},
    %ids: tensor<2x5xi64> {parplan.name = "ids"}, %rows: tensor<2x5x8xf32> {parplan.name = "rows"},
    %x: tensor<2x3x8x8xf32> {parplan.name = "x"}, %gy: tensor<2x4x8x8xf32> {parplan.name = "gy"},
    %gp: tensor<2x3x4x4xf32> {parplan.name = "gp"},
    %lr: tensor<f32> {parplan.name = "lr"}, %step: tensor<f32> {parplan.name = "step"}, %correction: tensor<f32> {parplan.name = "correction"}
  ) -> (tensor<2x5xf32> {parplan.name = "loss"}, tensor<2x5x6xf32> {parplan.name = "d_logits"}, tensor<f32> {parplan.name = "norm"},
        tensor<6x8xf32> {parplan.name = "d_table"}, tensor<2x6x8xf32> {parplan.name = "d_gathered"}, tensor<2x6x8xf32> {parplan.name = "d_elements"},
        tensor<2x6x4xf32> {parplan.name = "d_tuples"}, tensor<2x3x8x8xf32> {parplan.name = "d_x"}, tensor<4x3x3x3xf32> {parplan.name = "d_w"},
        tensor<2x3x8x8xf32> {parplan.name = "d_max"}, tensor<2x3x8x8xf32> {parplan.name = "d_mean"},
        tensor<4x3x3x3xf32> {parplan.name = "new_w"}, tensor<4x3x3x3xf32> {parplan.name = "new_m"}, tensor<4x3x3x3xf32> {parplan.name = "new_v"},
        tensor<4x3x3x3xf32> {parplan.name = "momentum_w"}, tensor<4x3x3x3xf32> {parplan.name = "momentum_b"}, tensor<4x3x3x3xf32> {parplan.name = "sgd_w"}) {
  %loss, %lse = parplan.cross_entropy %logits, %labels : tensor<2x5x6xf32>, tensor<2x5xi64>
  // The gradient of the mean loss: one kernel.
  %classes = parplan.iota 2 : tensor<2x5x6xi64>
  %lr3 = parplan.reshape %labels : tensor<2x5xi64> to tensor<2x5x1xi64>
  %hit = parplan.compare eq %classes, %lr3 : tensor<2x5x6xi64>, tensor<2x5x1xi64>
  %one = parplan.constant dense<1.0> : tensor<f32>
  %zero = parplan.constant dense<0.0> : tensor<f32>
  %onehot = parplan.select %hit, %one, %zero : tensor<2x5x6xi1>, tensor<f32>, tensor<f32>
  %lse3 = parplan.reshape %lse : tensor<2x5xf32> to tensor<2x5x1xf32>
  %shifted = parplan.sub %logits, %lse3 : tensor<2x5x6xf32>, tensor<2x5x1xf32>
  %p = parplan.exp %shifted : tensor<2x5x6xf32>
  %difference = parplan.sub %p, %onehot : tensor<2x5x6xf32>, tensor<2x5x6xf32>
  %ignored = parplan.constant dense<-100> : tensor<i64>
  %kept = parplan.compare ne %lr3, %ignored : tensor<2x5x1xi64>, tensor<i64>
  %dlogits = parplan.select %kept, %difference, %zero : tensor<2x5x1xi1>, tensor<2x5x6xf32>, tensor<f32>

  %s0 = parplan.square_sum %rows : tensor<2x5x8xf32>
  %s1 = parplan.square_sum %x : tensor<2x3x8x8xf32>
  %squares = parplan.sum %s0, %s1 : tensor<f64>
  %norm = parplan.cast %squares : tensor<f64> to tensor<f32>

  %dtable = parplan.embedding_gradient %ids, %rows : tensor<2x5xi64>, tensor<2x5x8xf32> to tensor<6x8xf32>
  %pick = parplan.constant dense<[0, 3, -1, 3, 0]> : tensor<5xi64>
  %dgathered = parplan.gather_gradient %rows, %pick dim 1 : tensor<2x5x8xf32>, tensor<5xi64> to tensor<2x6x8xf32>
  %ids3 = parplan.reshape %ids : tensor<2x5xi64> to tensor<2x5x1xi64>
  %ids8 = parplan.broadcast %ids3 : tensor<2x5x1xi64> to tensor<2x5x8xi64>
  %delements = parplan.gather_elements_gradient %rows, %ids8 dim 1 : tensor<2x5x8xf32>, tensor<2x5x8xi64> to tensor<2x6x8xf32>
  %half = parplan.slice %rows dims [2] from [0] to [4] step [1] : tensor<2x5x8xf32>
  %dtuples = parplan.gather_nd_gradient %half, %ids3 batch_dims 1 : tensor<2x5x4xf32>, tensor<2x5x1xi64> to tensor<2x6x4xf32>

  %w = parplan.parameter @w0 : tensor<4x3x3x3xf32>
  %dx = parplan.conv_input_gradient %gy, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] groups 1 : tensor<2x4x8x8xf32>, tensor<4x3x3x3xf32> to tensor<2x3x8x8xf32>
  %dw = parplan.conv_weight_gradient %x, %gy strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] groups 1 : tensor<2x3x8x8xf32>, tensor<2x4x8x8xf32> to tensor<4x3x3x3xf32>
  %dmax = parplan.max_pool_gradient %x, %gp window [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] : tensor<2x3x8x8xf32>, tensor<2x3x4x4xf32>
  %dmean = parplan.average_pool_gradient %gp window [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x8x8xf32>

  %m = parplan.mul %w, %w : tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>
  %v = parplan.abs %w : tensor<4x3x3x3xf32>
  %nw, %nm, %nv = parplan.optimizer_update adamw %w, %dw states %m, %v learning_rate %lr step_size %step bias_correction2_sqrt %correction scale %lr betas 0.9, 0.99 epsilon 1.0e-8 weight_decay 0.1 momentum 0.0 : tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  %mw, %mb = parplan.optimizer_update momentum %w, %dw states %m learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.9 : tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>, tensor<f32>
  %skip = parplan.compare lt %lr, %zero : tensor<f32>, tensor<f32>
  %sw = parplan.optimizer_update sgd %w, %dw learning_rate %lr skip %skip betas 0.0, 0.0 epsilon 0.0 weight_decay 0.1 momentum 0.0 : tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>, tensor<f32>, tensor<i1>
  return %loss, %dlogits, %norm, %dtable, %dgathered, %delements, %dtuples, %dx, %dw, %dmax, %dmean, %nw, %nm, %nv, %mw, %mb, %sw : tensor<2x5xf32>, tensor<2x5x6xf32>, tensor<f32>, tensor<6x8xf32>, tensor<2x6x8xf32>, tensor<2x6x8xf32>, tensor<2x6x4xf32>, tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>, tensor<4x3x3x3xf32>
}
