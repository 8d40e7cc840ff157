// Every move and collective on four ranks. Sizes are not divisible, so blocks are padded. Whatever the moves do, each
// output is one of the two inputs again.
parplan.mesh @mesh <["x"=2 tensor, "y"=2 tensor]>

func.func @main(
    %a: tensor<3x5xf32> {parplan.name = "a", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>, parplan.global_type = tensor<5x5xf32>},
    %b: tensor<2xf32> {parplan.name = "b", parplan.sharding = #parplan.sharding<@mesh, [{"x", "y"}]>, parplan.global_type = tensor<8xf32>}
  ) -> (
    tensor<5x5xf32> {parplan.name = "gathered"},
    tensor<5x3xf32> {parplan.name = "turned", parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}]>, parplan.global_type = tensor<5x5xf32>},
    tensor<5x5xf32> {parplan.name = "reduced"},
    tensor<5x3xf32> {parplan.name = "scattered", parplan.sharding = #parplan.sharding<@mesh, [{}, {"y"}]>, parplan.global_type = tensor<5x5xf32>},
    tensor<5x2xf32> {parplan.name = "cut", parplan.sharding = #parplan.sharding<@mesh, [{}, {"x", "y"}]>, parplan.global_type = tensor<5x5xf32>},
    tensor<5x5xf32> {parplan.name = "joined"},
    tensor<2xf32> {parplan.name = "sent", parplan.sharding = #parplan.sharding<@mesh, [{"y", "x"}]>, parplan.global_type = tensor<8xf32>},
    tensor<5x5xf32> {parplan.name = "told"},
    tensor<5x5xf32> {parplan.name = "stored"}) {
  %gathered = parplan.all_gather %a axes <"x"> dim 0 to <@mesh, [{}, {}]> : tensor<3x5xf32> -> tensor<5x5xf32>
  %turned = parplan.all_to_all %a axes <"x"> from 0 to_dim 1 to <@mesh, [{}, {"x"}]> : tensor<3x5xf32> -> tensor<5x3xf32>
  %pending = parplan.pend %gathered axes <"x", "y"> to <@mesh, [{}, {}], partial = sum{"x", "y"}> : tensor<5x5xf32> -> tensor<5x5xf32>
  %reduced = parplan.all_reduce sum %pending axes <"x", "y"> to <@mesh, [{}, {}]> : tensor<5x5xf32> -> tensor<5x5xf32>
  %half = parplan.pend %gathered axes <"y"> to <@mesh, [{}, {}], partial = sum{"y"}> : tensor<5x5xf32> -> tensor<5x5xf32>
  %scattered = parplan.reduce_scatter sum %half axes <"y"> dim 1 to <@mesh, [{}, {"y"}]> : tensor<5x5xf32> -> tensor<5x3xf32>
  %cut = parplan.shard_slice %gathered axes <"x", "y"> dim 1 to <@mesh, [{}, {"x", "y"}]> : tensor<5x5xf32> -> tensor<5x2xf32>
  %joined = parplan.all_gather %cut axes <"x", "y"> dim 1 to <@mesh, [{}, {}]> : tensor<5x2xf32> -> tensor<5x5xf32>
  %sent = parplan.send_receive %b axes <"x", "y"> from <@mesh, [{"x", "y"}]> to <@mesh, [{"y", "x"}]> : tensor<2xf32> -> tensor<2xf32>
  %told = parplan.broadcast_from %gathered axes <"y"> root 1 to <@mesh, [{}, {}]> : tensor<5x5xf32> -> tensor<5x5xf32>
  %piece = parplan.shard_slice %gathered axes <"x", "y"> dim -1 to <@mesh, [{}, {}], stored = {"x", "y"}> : tensor<5x5xf32> -> tensor<7xf32>
  %stored = parplan.all_gather %piece axes <"x", "y"> dim -1 to <@mesh, [{}, {}]> : tensor<7xf32> -> tensor<5x5xf32>
  return %gathered, %turned, %reduced, %scattered, %cut, %joined, %sent, %told, %stored : tensor<5x5xf32>, tensor<5x3xf32>, tensor<5x5xf32>, tensor<5x3xf32>, tensor<5x2xf32>, tensor<5x5xf32>, tensor<2xf32>, tensor<5x5xf32>, tensor<5x5xf32>
}
