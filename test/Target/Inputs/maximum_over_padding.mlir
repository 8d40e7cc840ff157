// The greatest of negative integers, of which four ranks hold two, two, one and none.
parplan.mesh @mesh <["x"=4 tensor]>

func.func @main(
    %words: tensor<5x3xi32> {parplan.name = "words", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>},
    %bytes: tensor<5x3xi8> {parplan.name = "bytes", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>},
    %longs: tensor<5x3xi64> {parplan.name = "longs", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>},
    %shorts: tensor<5x3xi16> {parplan.name = "shorts", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>},
    %unsigned: tensor<5x3xui32> {parplan.name = "unsigned", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}
  ) -> (
    tensor<3xi32> {parplan.name = "greatest_words", parplan.sharding = #parplan.sharding<@mesh, [{}]>},
    tensor<3xi8> {parplan.name = "greatest_bytes", parplan.sharding = #parplan.sharding<@mesh, [{}]>},
    tensor<3xi64> {parplan.name = "greatest_longs", parplan.sharding = #parplan.sharding<@mesh, [{}]>},
    tensor<3xi16> {parplan.name = "greatest_shorts", parplan.sharding = #parplan.sharding<@mesh, [{}]>},
    tensor<3xui32> {parplan.name = "greatest_unsigned", parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  %greatest_words = parplan.reduce max %words dims [0] {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = max{"x"}>]} : tensor<5x3xi32>
  %greatest_bytes = parplan.reduce max %bytes dims [0] {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = max{"x"}>]} : tensor<5x3xi8>
  %greatest_longs = parplan.reduce max %longs dims [0] {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = max{"x"}>]} : tensor<5x3xi64>
  %greatest_shorts = parplan.reduce max %shorts dims [0] {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = max{"x"}>]} : tensor<5x3xi16>
  %greatest_unsigned = parplan.reduce max %unsigned dims [0] {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = max{"x"}>]} : tensor<5x3xui32>
  return %greatest_words, %greatest_bytes, %greatest_longs, %greatest_shorts, %greatest_unsigned
    : tensor<3xi32>, tensor<3xi8>, tensor<3xi64>, tensor<3xi16>, tensor<3xui32>
}
