// Every statement of the exec dialect once, on two ranks.
parplan.mesh @mesh <["tp0"=2 tensor]>
parplan.initializer @w0 "conv.weight" : tensor<4x3x3x3xf32> in "" at 0 length 432

func.func @main(
    %x: tensor<2x3x8x8xf32> {parplan.name = "x"}, %ids: tensor<2x5xi64> {parplan.name = "ids"},
    %q: tensor<1x5x2x4xf32> {parplan.name = "q"}, %mask: tensor<5x5xi1> {parplan.name = "mask"},
    %block: tensor<4xf32> {parplan.name = "block", parplan.sharding = #parplan.sharding<@mesh, [{"tp0"}]>, parplan.global_type = tensor<8xf32>}
  ) -> (tensor<2x4x1x1xf32> {parplan.name = "pooled"}, tensor<1x5x2x4xf32> {parplan.name = "context"},
        tensor<2x5x8xf32> {parplan.name = "rows"}, tensor<2x2x8xf32> {parplan.name = "chosen"},
        tensor<2x5xf32> {parplan.name = "numbers"}, tensor<2x3xi64> {parplan.name = "best"},
        tensor<8xf32> {parplan.name = "joined"}) {
  %w = parplan.parameter @w0 : tensor<4x3x3x3xf32>
  %bias = parplan.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %conv = parplan.conv %x, %w, %bias strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] groups 1 : tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>
  %max = parplan.max_pool %conv window [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] : tensor<2x4x8x8xf32>
  %mean = parplan.average_pool %max window [4, 4] strides [4, 4] pads [0, 0, 0, 0] dilations [1, 1] {count_include_pad} : tensor<2x4x4x4xf32>

  %context = parplan.attention %q, %q, %q mask %mask : tensor<5x5xi1> scale 0.5 : tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>

  %flat = parplan.reshape %max : tensor<2x4x4x4xf32> to tensor<16x8xf32>
  %soft = parplan.softmax %flat dim 1 : tensor<16x8xf32>
  %log = parplan.log_softmax %soft dim 0 : tensor<16x8xf32>
  %scale = parplan.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %layer = parplan.layer_norm %log scale %scale : tensor<8xf32> bias %scale : tensor<8xf32> dim 1 epsilon 1.0e-5 : tensor<16x8xf32>
  %rms = parplan.rms_norm %layer scale %scale : tensor<8xf32> dim 1 epsilon 1.0e-6 : tensor<16x8xf32>
  %rows = parplan.embedding %ids, %rms : tensor<2x5xi64>, tensor<16x8xf32>
  %pick = parplan.constant dense<[0, 3]> : tensor<2xi64>
  %chosen = parplan.gather %rows, %pick dim 1 : tensor<2x5x8xf32>, tensor<2xi64>
  %scores = parplan.matmul "bie,bje->bij" %rows, %rows : tensor<2x5x8xf32>, tensor<2x5x8xf32>
  %sums = parplan.reduce sum %scores dims [2] : tensor<2x5x5xf32>
  %running = parplan.cumsum %sums dim 1 : tensor<2x5xf32>
  %elements = parplan.gather_elements %running, %ids dim 1 : tensor<2x5xf32>, tensor<2x5xi64>
  %values, %indices = parplan.topk %elements k 3 dim 1 largest true : tensor<2x5xf32>
  %tuples = parplan.constant dense<[[[0], [1], [2], [3], [4]], [[4], [3], [2], [1], [0]]]> : tensor<2x5x1xi64>
  %numbers = parplan.gather_nd %elements, %tuples batch_dims 1 : tensor<2x5xf32>, tensor<2x5x1xi64>

  %pending = parplan.neg %block {parplan.shardings = [#parplan.sharding<@mesh, [{"tp0"}]>]} : tensor<4xf32>
  %sent = parplan.reduce max %pending dims [] {parplan.shardings = [#parplan.sharding<@mesh, [{"tp0"}]>]} : tensor<4xf32>
  %joined = parplan.all_gather %sent axes <"tp0"> dim 0 to <@mesh, [{}]> : tensor<4xf32> -> tensor<8xf32>
  return %mean, %context, %rows, %chosen, %numbers, %indices, %joined : tensor<2x4x1x1xf32>, tensor<1x5x2x4xf32>, tensor<2x5x8xf32>, tensor<2x2x8xf32>, tensor<2x5xf32>, tensor<2x3xi64>, tensor<8xf32>
}
