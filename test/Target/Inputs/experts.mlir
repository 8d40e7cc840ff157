// Seven experts and ten tokens on three ranks, which divide neither: forward and backward with experts and tokens each on
// their ranks and products of the rows that count, and a dispatch of all tokens to the experts of every rank.
parplan.mesh @mesh <["p"=3 expert]>

func.func @main(
    %x: tensor<10x8xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
    %i: tensor<10x2xi64> {parplan.name = "i", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
    %s: tensor<10x2xf32> {parplan.name = "s", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
    %w: tensor<7x8x6xf32> {parplan.name = "w", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}, {}]>},
    %g: tensor<10x6xf32> {parplan.name = "g", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>}
  ) -> (
    tensor<10x6xf32> {parplan.name = "y", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
    tensor<10x8xf32> {parplan.name = "dx", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
    tensor<7x8x6xf32> {parplan.name = "dw", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}, {}]>},
    tensor<10x2xf32> {parplan.name = "ds", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
    tensor<10x8xf32> {parplan.name = "z", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
    tensor<10x2xf32> {parplan.name = "dz", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>}) {
  %rows = parplan.moe_dispatch %x, %i {
    parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"p"}, {}]>]} : tensor<10x8xf32>, tensor<10x2xi64> to tensor<7x10x8xf32>
  %answers = parplan.matmul "etk,ekn->etn" %rows, %w experts %i : tensor<10x2xi64> of 7 tokens "t" {
    parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<7x10x8xf32>, tensor<7x8x6xf32>
  %y = parplan.moe_combine %answers, %i weights %s : tensor<10x2xf32> {
    parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}]>]} : tensor<7x10x6xf32>, tensor<10x2xi64>
  %ds = parplan.moe_weight_gradient %answers, %g, %i {
    parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}]>]} : tensor<7x10x6xf32>, tensor<10x6xf32>, tensor<10x2xi64>
  %back = parplan.moe_dispatch %g, %i weights %s : tensor<10x2xf32> {
    parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"p"}, {}]>]} : tensor<10x6xf32>, tensor<10x2xi64> to tensor<7x10x6xf32>
  %dw = parplan.matmul "etk,etn->ekn" %rows, %back experts %i : tensor<10x2xi64> of 7 tokens "t" {
    parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<7x10x8xf32>, tensor<7x10x6xf32>
  %drows = parplan.matmul "etn,ekn->etk" %back, %w experts %i : tensor<10x2xi64> of 7 tokens "t" {
    parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<7x10x6xf32>, tensor<7x8x6xf32>
  %dx = parplan.moe_combine %drows, %i {
    parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}]>]} : tensor<7x10x8xf32>, tensor<10x2xi64>
  %own = parplan.moe_dispatch %x, %i weights %s : tensor<10x2xf32> {
    parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<10x8xf32>, tensor<10x2xi64> to tensor<7x10x8xf32>
  %z = parplan.moe_combine %own, %i {
    parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}]>]} : tensor<7x10x8xf32>, tensor<10x2xi64>
  %dz = parplan.moe_weight_gradient %own, %x, %i {
    parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}]>]} : tensor<7x10x8xf32>, tensor<10x8xf32>, tensor<10x2xi64>
  return %y, %dx, %dw, %ds, %z, %dz : tensor<10x6xf32>, tensor<10x8xf32>, tensor<7x8x6xf32>, tensor<10x2xf32>, tensor<10x8xf32>, tensor<10x2xf32>
}
