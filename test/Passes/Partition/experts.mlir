// RUN: parplan-opt %s -parplan-insert-reshards -parplan-reshards-to-collectives -parplan-localize -parplan-verify-local -split-input-file | FileCheck %s

parplan.mesh @mesh <["p"=2 expert]>
parplan.initializer @w0 "w" : tensor<4x8x6xf32> in "" at 0 length 768

// Tokens on the batch, experts on e: an all-to-all before and after, and both again on the way back. All of them carry
// what every token sends to the experts of the other rank; the gradients of the experts' weights are complete.
// CHECK-LABEL: func.func @forward_and_backward
// CHECK-SAME: %[[X:.*]]: tensor<5x8xf32>
// CHECK: %[[W:.*]] = parplan.parameter @w0
// CHECK: %[[SENT:.*]] = parplan.moe_dispatch %[[X]], %{{.*}} : tensor<5x8xf32>, tensor<5x2xi64> to tensor<4x5x8xf32>
// CHECK: %[[ROWS:.*]] = parplan.all_to_all %[[SENT]] axes <"p"> from 1 to_dim 0 {{.*}} -> tensor<2x10x8xf32>
// CHECK: %[[ANSWERS:.*]] = parplan.matmul "etk,ekn->etn" %[[ROWS]], %[[W]] {{.*}} : tensor<2x10x8xf32>, tensor<2x8x6xf32>
// CHECK: %[[BACK:.*]] = parplan.all_to_all %[[ANSWERS]] axes <"p"> from 0 to_dim 1 {{.*}} -> tensor<4x5x6xf32>
// CHECK: %[[Y:.*]] = parplan.moe_combine %[[BACK]]
// CHECK: parplan.moe_weight_gradient %[[BACK]]
// CHECK: %[[GRADIENTS:.*]] = parplan.moe_dispatch
// CHECK: %[[THERE:.*]] = parplan.all_to_all %[[GRADIENTS]] axes <"p"> from 1 to_dim 0 {{.*}} -> tensor<2x10x6xf32>
// CHECK: %[[DW:.*]] = parplan.matmul "etk,etn->ekn" %[[ROWS]], %[[THERE]]
// CHECK: %[[DROWS:.*]] = parplan.matmul "etn,ekn->etk" %[[THERE]], %[[W]]
// CHECK: %[[HOME:.*]] = parplan.all_to_all %[[DROWS]] axes <"p"> from 0 to_dim 1 {{.*}} -> tensor<4x5x8xf32>
// CHECK: %[[DX:.*]] = parplan.moe_combine %[[HOME]]
// CHECK-NOT: parplan.all
// CHECK-NOT: parplan.reduce_scatter
// CHECK: return %[[Y]], %[[DX]], %[[DW]]
func.func @forward_and_backward(
    %x: tensor<10x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
    %i: tensor<10x2xi64> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
    %s: tensor<10x2xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
    %g: tensor<10x6xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>})
    -> (tensor<10x6xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
        tensor<10x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>},
        tensor<4x8x6xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}, {}]>},
        tensor<10x2xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>}) {
  %w = parplan.parameter @w0 {parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<4x8x6xf32>
  %rows = parplan.moe_dispatch %x, %i {parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {"p"}, {}]>]} : tensor<10x8xf32>, tensor<10x2xi64> to tensor<4x10x8xf32>
  %answers = parplan.matmul "etk,ekn->etn" %rows, %w {parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<4x10x8xf32>, tensor<4x8x6xf32>
  %y = parplan.moe_combine %answers, %i weights %s : tensor<10x2xf32> {parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}]>]} : tensor<4x10x6xf32>, tensor<10x2xi64>
  %ds = parplan.moe_weight_gradient %answers, %g, %i {parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}]>]} : tensor<4x10x6xf32>, tensor<10x6xf32>, tensor<10x2xi64>
  %gradients = parplan.moe_dispatch %g, %i weights %s : tensor<10x2xf32> {parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {"p"}, {}]>]} : tensor<10x6xf32>, tensor<10x2xi64> to tensor<4x10x6xf32>
  %dw = parplan.matmul "etk,etn->ekn" %rows, %gradients {parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<4x10x8xf32>, tensor<4x10x6xf32>
  %drows = parplan.matmul "etn,ekn->etk" %gradients, %w {parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<4x10x6xf32>, tensor<4x8x6xf32>
  %dx = parplan.moe_combine %drows, %i {parplan.factors = #parplan.factors<@mesh, {t = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}]>]} : tensor<4x10x8xf32>, tensor<10x2xi64>
  return %y, %dx, %dw, %ds : tensor<10x6xf32>, tensor<10x8xf32>, tensor<4x8x6xf32>, tensor<10x2xf32>
}

// -----

parplan.mesh @mesh <["p"=2 expert]>

// Ranks that have all tokens dispatch to their own experts. The last one has an expert too few: the row of its padding
// would be that of an expert of nobody, or of another rank. What they combine is pending.
// CHECK-LABEL: func.func @experts_of_a_rank
// CHECK: %[[FIRST:.*]] = parplan.block_start 3 axes <"p">
// CHECK: %[[ROWS:.*]] = parplan.moe_dispatch %{{.*}}, %{{.*}} first %[[FIRST]] : tensor<i64> {{.*}} to tensor<2x10x8xf32>
// CHECK: %[[CLEAN:.*]] = parplan.clear_padding %[[ROWS]] dims [0] sizes [3]
// CHECK: %[[START:.*]] = parplan.block_start 3 axes <"p">
// CHECK: %[[SUM:.*]] = parplan.moe_combine %[[CLEAN]], %{{.*}} first %[[START]] : tensor<i64>
// CHECK-NOT: clear_padding
// CHECK: parplan.reduce_scatter sum %[[SUM]] axes <"p"> {{.*}} -> tensor<5x8xf32>
func.func @experts_of_a_rank(
    %x: tensor<10x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>},
    %i: tensor<10x2xi64> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>})
    -> (tensor<10x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}]>}) {
  %rows = parplan.moe_dispatch %x, %i {parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<10x8xf32>, tensor<10x2xi64> to tensor<3x10x8xf32>
  %y = parplan.moe_combine %rows, %i {parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}]>]} : tensor<3x10x8xf32>, tensor<10x2xi64>
  return %y : tensor<10x8xf32>
}

// -----

parplan.mesh @mesh <["p"=2 tensor]>
parplan.initializer @w0 "w" : tensor<4x6x8xf32> in "" at 0 length 768

// Answers that are pending over the inner width are combined first: a fourth of the bytes.
// CHECK-LABEL: func.func @combines_pending_answers
// CHECK: %[[ANSWERS:.*]] = parplan.matmul
// CHECK-NEXT: %[[SUM:.*]] = parplan.moe_combine %[[ANSWERS]]
// CHECK-NEXT: parplan.all_reduce sum %[[SUM]]
func.func @combines_pending_answers(
    %h: tensor<4x10x6xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}, {"p"}]>},
    %i: tensor<10x2xi64> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>})
    -> (tensor<10x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>}) {
  %w = parplan.parameter @w0 {parplan.shardings = [#parplan.sharding<@mesh, [{}, {"p"}, {}]>]} : tensor<4x6x8xf32>
  %answers = parplan.matmul "etk,ekn->etn" %h, %w {parplan.factors = #parplan.factors<@mesh, {k = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {}, {}], partial = sum{"p"}>]} : tensor<4x10x6xf32>, tensor<4x6x8xf32>
  %y = parplan.moe_combine %answers, %i {parplan.factors = #parplan.factors<@mesh, {}, pending = {"p"}, operand = 0>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]} : tensor<4x10x8xf32>, tensor<10x2xi64>
  return %y : tensor<10x8xf32>
}

// -----

parplan.mesh @mesh <["p"=2 expert]>

// Ranks have a group of four experts each, which begin at four times the group.
// CHECK-LABEL: func.func @groups_of_ranks
// CHECK: %[[GROUP:.*]] = parplan.block_start 2 axes <"p">
// CHECK: %[[FOUR:.*]] = parplan.constant dense<4>
// CHECK: %[[FIRST:.*]] = parplan.mul %[[GROUP]], %[[FOUR]]
// CHECK: parplan.moe_dispatch %{{.*}}, %{{.*}} first %[[FIRST]] : tensor<i64> groups [4, 2] {{.*}} to tensor<2x10x8xf32>
func.func @groups_of_ranks(
    %x: tensor<10x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>},
    %i: tensor<10x2xi64> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>})
    -> (tensor<4x10x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {}, {}]>}) {
  %rows = parplan.moe_dispatch %x, %i groups [4, 2] {parplan.factors = #parplan.factors<@mesh, {e = ["p"]}>, parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {}, {}]>]} : tensor<10x8xf32>, tensor<10x2xi64> to tensor<4x10x8xf32>
  return %rows : tensor<4x10x8xf32>
}
