// Statements and calls of rows of groups: eight experts in two groups of four, of which a rank has one, for tokens with two.
// RUN: parplan-opt %s -parplan-insert-reshards -parplan-reshards-to-collectives -parplan-localize -parplan-verify-local -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -o %t.mlir
// RUN: FileCheck %s --check-prefix=EXEC < %t.mlir
// RUN: parplan-emit %t.mlir | FileCheck %s --check-prefix=SOURCE

// Two rows of a token in each group, of which one group is exchanged for other tokens.
// EXEC: exec.moe_dispatch %{{.*}}, %{{.*}} into %{{.*}} shape [4, 5, 8, 2] {{.*}}groups = array<i64: 4, 2>
// EXEC: exec.moe_matmul {{.*}} sizes [4, 2] shape [10, 6, 8] experts [80, 48, 60] {{.*}}shape [3, 6, 8, 4]{{.*}}groups = array<i64: 4, 2>
// A bias needs neither a library's workspace nor counts of tokens.
// EXEC: exec.moe_matmul %{{.*}} [1, 10], %{{.*}} [6, 1], %{{[0-9]+}} first %{{[0-9]+}} : !exec.buffer<i64> into %{{.*}} shape [10, 6, 1] experts [10, 6, 60] {{.*}}cost<reduction {{.*}}groups = array<i64: 4, 2>
// EXEC: exec.moe_combine {{.*}} shape [4, 5, 6, 2] {{.*}}groups = array<i64: 4, 2>

// SOURCE: moeDispatch<float, int64_t>({{.*}}ExpertShape{4, 5, 8, 2, {4, 2{{[}][}]}});
// SOURCE: moeMatmul<float, int64_t>({{.*}}ExpertProductShape{4, 2, false, {80, 48, 60}, MatmulShape{10, 6, 8, 8, 1, 6, 1, 6, 1}, {4, 2{{[}][}]}}, rank.workspace({{.*}}));
// SOURCE: moeMatmul<float, int64_t>({{.*}}ExpertProductShape{4, 2, false, {10, 6, 60}, MatmulShape{10, 6, 1, {{.*}}}, {4, 2{{[}][}]}}, Workspace{});
// SOURCE: moeCombine<float, int64_t>({{.*}}ExpertShape{4, 5, 6, 2, {4, 2{{[}][}]}});

parplan.mesh @mesh <["p"=2 expert]>
parplan.initializer @w0 "w" : tensor<8x8x6xf32> in "" at 0 length 1536
parplan.initializer @b0 "b" : tensor<8x1x6xf32> in "" at 1536 length 192

func.func @main(
    %x: tensor<10x8xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
    %i: tensor<10x2xi64> {parplan.name = "i", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>})
    -> (tensor<10x6xf32> {parplan.name = "y", parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>}) {
  %w = parplan.parameter @w0 {parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<8x8x6xf32>
  %rows = parplan.moe_dispatch %x, %i groups [4, 2] {parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {"p"}, {}]>]} : tensor<10x8xf32>, tensor<10x2xi64> to tensor<4x10x8xf32>
  %answers = parplan.matmul "etk,ekn->etn" %rows, %w experts %i : tensor<10x2xi64> of 8 tokens "t" groups [4, 2] {parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<4x10x8xf32>, tensor<8x8x6xf32>
  %b = parplan.parameter @b0 {parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<8x1x6xf32>
  %one = parplan.constant {parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}]>]} dense<1.0> : tensor<10x1xf32>
  %ones = parplan.moe_dispatch %one, %i groups [4, 2] {parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {"p"}, {}]>]} : tensor<10x1xf32>, tensor<10x2xi64> to tensor<4x10x1xf32>
  %biases = parplan.matmul "etk,ekn->etn" %ones, %b experts %i : tensor<10x2xi64> of 8 tokens "t" groups [4, 2] {parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<4x10x1xf32>, tensor<8x1x6xf32>
  %sums = parplan.add %answers, %biases {parplan.factors = #parplan.factors<@mesh, {d0 = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<4x10x6xf32>, tensor<4x10x6xf32>
  %y = parplan.moe_combine %sums, %i groups [4, 2] {parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}]>]} : tensor<4x10x6xf32>, tensor<10x2xi64>
  return %y : tensor<10x6xf32>
}
