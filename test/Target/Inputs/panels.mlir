// One linear layer on six ranks in panels of thirteen, which neither two nor three blocks divide: products of all forms
// of SUMMA, one whose left operand stays, and one that has to be transposed.
parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>

func.func @main(
    %x: tensor<2x5x13xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {"y"}]>},
    %w: tensor<13x7xf32> {parplan.name = "w", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>},
    %g: tensor<2x5x7xf32> {parplan.name = "g", parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {"y"}]>},
    %v: tensor<13x7xf32> {parplan.name = "v", parplan.sharding = #parplan.sharding<@mesh, [{"y"}, {"x"}]>}
  ) -> (
    tensor<2x5x7xf32> {parplan.name = "product", parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {"y"}]>},
    tensor<2x5x13xf32> {parplan.name = "input_gradient", parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {"y"}]>},
    tensor<13x7xf32> {parplan.name = "weight_gradient", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>},
    tensor<2x5x7xf32> {parplan.name = "stationary", parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {"y"}]>},
    tensor<7x5x2xf32> {parplan.name = "turned", parplan.sharding = #parplan.sharding<@mesh, [{"y"}, {"x"}, {}]>}) {
  %product = parplan.matmul "bsk,kn->bsn" %x, %w {
    parplan.factors = #parplan.factors<@mesh, {s = ["x"], n = ["y"]}, panels = {k = ["x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}, {"y"}]>]} : tensor<2x5x13xf32>, tensor<13x7xf32>
  %input_gradient = parplan.matmul "bsn,kn->bsk" %g, %w {
    parplan.factors = #parplan.factors<@mesh, {s = ["x"], n = ["y"]}, panels = {k = ["x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}, {"y"}]>]} : tensor<2x5x7xf32>, tensor<13x7xf32>
  %weight_gradient = parplan.matmul "bsk,bsn->kn" %x, %g {
    parplan.factors = #parplan.factors<@mesh, {s = ["x"], n = ["y"]}, panels = {k = ["x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {"y"}]>]} : tensor<2x5x13xf32>, tensor<2x5x7xf32>
  %stationary = parplan.matmul "bsk,kn->bsn" %x, %v {
    parplan.factors = #parplan.factors<@mesh, {s = ["x"], k = ["y"]}, panels = {n = ["x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}, {"y"}]>]} : tensor<2x5x13xf32>, tensor<13x7xf32>
  %turned = parplan.matmul "bsk,kn->nsb" %x, %w {
    parplan.factors = #parplan.factors<@mesh, {s = ["x"], n = ["y"]}, panels = {k = ["x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"y"}, {"x"}, {}]>]} : tensor<2x5x13xf32>, tensor<13x7xf32>
  return %product, %input_gradient, %weight_gradient, %stationary, %turned : tensor<2x5x7xf32>, tensor<2x5x13xf32>, tensor<13x7xf32>, tensor<2x5x7xf32>, tensor<7x5x2xf32>
}
