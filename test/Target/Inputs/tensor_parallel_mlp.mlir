// hidden = gelu(x W1 + b1), y = hidden W2 + b2 + x on the two ranks of tp0; the hidden width 15 is padded.
module {
  parplan.mesh @mesh <["tp0"=2 tensor]>
  parplan.initializer @w0 "fc1.\22weight??/\0A" : tensor<8x15xf32> in "" at 0 length 480
  parplan.initializer @w1 "fc1.bias" : tensor<15xf32> in "" at 480 length 60
  parplan.initializer @w2 "fc2.weight" : tensor<15x8xf32> in "" at 540 length 480
  parplan.initializer @w3 "fc2.bias" : tensor<8xf32> in "" at 1020 length 32
  func.func @main(%x: tensor<6x8xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>, parplan.global_type = tensor<6x8xf32>}) -> (tensor<6x8xf32> {parplan.name = "y", parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>, parplan.global_type = tensor<6x8xf32>}) {
    %w0 = parplan.parameter @w0 {parplan.global_type = tensor<8x15xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {"tp0"}]>]} : tensor<8x8xf32>
    %w1 = parplan.parameter @w1 {parplan.global_type = tensor<15xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{"tp0"}]>]} : tensor<8xf32>
    %w2 = parplan.parameter @w2 {parplan.global_type = tensor<15x8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{"tp0"}, {}]>]} : tensor<8x8xf32>
    %w3 = parplan.parameter @w3 : tensor<8xf32>
    %0 = parplan.matmul "mk,kn->mn" %x, %w0 {parplan.node = 1} : tensor<6x8xf32>, tensor<8x8xf32>
    %1 = parplan.add %0, %w1 {parplan.node = 1} : tensor<6x8xf32>, tensor<8xf32>
    %2 = parplan.gelu %1 {parplan.node = 2} : tensor<6x8xf32>
    %3 = parplan.clear_padding %2 dims [1] sizes [15] axes [#parplan.axes<"tp0">] fill 0.0 : tensor<6x8xf32>
    %4 = parplan.matmul "mk,kn->mn" %3, %w2 {parplan.node = 3, parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"tp0"}>]} : tensor<6x8xf32>, tensor<8x8xf32>
    %5 = parplan.all_reduce sum %4 axes <"tp0"> to <@mesh, [{}, {}]> {parplan.node = 3} : tensor<6x8xf32> -> tensor<6x8xf32>
    %6 = parplan.add %5, %w3 {parplan.node = 3} : tensor<6x8xf32>, tensor<8xf32>
    %7 = parplan.add %6, %x {parplan.node = 4} : tensor<6x8xf32>, tensor<6x8xf32>
    return %7 : tensor<6x8xf32>
  }
}
