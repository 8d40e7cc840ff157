// Two positions of a pipeline, each on two ranks of tp0. Position 0 makes hidden = gelu(x W1) and, of what comes
// back, a = y + x; position 1 makes y = gelu(gelu(hidden W1) W2) W3, where W1 is the same weight and W2, W3 are split.
parplan.mesh @mesh <["pp0"=2 pipeline, "tp0"=2 tensor]>
parplan.initializer @w0 "fc1.weight" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @w1 "fc2.weight" : tensor<8x16xf32> in "" at 256 length 512
parplan.initializer @w2 "fc3.weight" : tensor<16x8xf32> in "" at 768 length 512

func.func @stage0(%x: tensor<6x8xf32> {parplan.name = "x"}) -> (tensor<6x8xf32> {parplan.name = "a"}) attributes {parplan.position = 0 : i64} {
  %w = parplan.parameter @w0 : tensor<8x8xf32>
  %0 = parplan.matmul "mk,kn->mn" %x, %w {parplan.node = 1} : tensor<6x8xf32>, tensor<8x8xf32>
  %1 = parplan.gelu %0 {parplan.node = 2} : tensor<6x8xf32>
  parplan.send %1 to 1 over <"pp0"> {parplan.node = 2} : tensor<6x8xf32>
  %y = parplan.receive from 1 over <"pp0"> : tensor<6x8xf32>
  %a = parplan.add %y, %x {parplan.node = 7} : tensor<6x8xf32>, tensor<6x8xf32>
  return %a : tensor<6x8xf32>
}
func.func @stage1() -> (tensor<6x8xf32> {parplan.name = "y"}) attributes {parplan.position = 1 : i64} {
  %h = parplan.receive from 0 over <"pp0"> : tensor<6x8xf32>
  %w = parplan.parameter @w0 : tensor<8x8xf32>
  %w2 = parplan.parameter @w1 {parplan.global_type = tensor<8x16xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {"tp0"}]>]} : tensor<8x8xf32>
  %w3 = parplan.parameter @w2 {parplan.global_type = tensor<16x8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{"tp0"}, {}]>]} : tensor<8x8xf32>
  %0 = parplan.matmul "mk,kn->mn" %h, %w {parplan.node = 3} : tensor<6x8xf32>, tensor<8x8xf32>
  %1 = parplan.gelu %0 {parplan.node = 4} : tensor<6x8xf32>
  %2 = parplan.matmul "mk,kn->mn" %1, %w2 {parplan.node = 5} : tensor<6x8xf32>, tensor<8x8xf32>
  %3 = parplan.gelu %2 {parplan.node = 5} : tensor<6x8xf32>
  %4 = parplan.matmul "mk,kn->mn" %3, %w3 {parplan.node = 6, parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"tp0"}>]} : tensor<6x8xf32>, tensor<8x8xf32>
  %y = parplan.all_reduce sum %4 axes <"tp0"> to <@mesh, [{}, {}]> {parplan.node = 6} : tensor<6x8xf32> -> tensor<6x8xf32>
  parplan.send %y to 0 over <"pp0"> {parplan.node = 6} : tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
