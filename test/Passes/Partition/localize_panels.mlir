// RUN: parplan-opt %s -split-input-file -parplan-localize -parplan-verify-local | FileCheck %s

parplan.mesh @mesh <["z"=2 data, "x"=2 tensor, "y"=3 tensor]>

// The forms of one linear layer, rows on z and x, columns on y, in panels of k: every tensor that has k lies split along
// it by the axes of the factors that it lacks (S21).
// CHECK-LABEL: func.func @linear
func.func @linear(
    %x: tensor<5x8x13xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"z"}, {"x"}, {"y"}]>},
    %w: tensor<13x7xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"z", "x"}, {"y"}]>},
    %g: tensor<5x8x7xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"z"}, {"x"}, {"y"}]>})
    -> (tensor<5x8x7xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"z"}, {"x"}, {"y"}]>},
        tensor<5x8x13xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"z"}, {"x"}, {"y"}]>},
        tensor<13x7xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"z", "x"}, {"y"}]>}) {
  // CHECK: parplan.panel_matmul "bsk,kn->bsn" %arg0, %arg1 panel "k" size 13 axes lhs <"y"> rhs <"z", "x"> result <>
  // CHECK-SAME: parplan.global_type = tensor<5x8x7xf32>
  // CHECK-SAME: parplan.node = 3
  // CHECK-NOT: parplan.factors
  // CHECK-SAME: : tensor<3x4x5xf32>, tensor<4x3xf32> -> tensor<3x4x3xf32>
  %y = parplan.matmul "bsk,kn->bsn" %x, %w {parplan.node = 3,
    parplan.factors = #parplan.factors<@mesh, {b = ["z"], s = ["x"], n = ["y"]}, panels = {k = ["z", "x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"z"}, {"x"}, {"y"}]>]} : tensor<5x8x13xf32>, tensor<13x7xf32>
  // CHECK: parplan.panel_matmul "bsn,kn->bsk" %arg2, %arg1 panel "k" size 13 axes lhs <> rhs <"z", "x"> result <"y">
  // CHECK-SAME: : tensor<3x4x3xf32>, tensor<4x3xf32> -> tensor<3x4x5xf32>
  %dx = parplan.matmul "bsn,kn->bsk" %g, %w {
    parplan.factors = #parplan.factors<@mesh, {b = ["z"], s = ["x"], n = ["y"]}, panels = {k = ["z", "x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"z"}, {"x"}, {"y"}]>]} : tensor<5x8x7xf32>, tensor<13x7xf32>
  // CHECK: parplan.panel_matmul "bsk,bsn->kn" %arg0, %arg2 panel "k" size 13 axes lhs <"y"> rhs <> result <"z", "x">
  // CHECK-SAME: : tensor<3x4x5xf32>, tensor<3x4x3xf32> -> tensor<4x3xf32>
  %dw = parplan.matmul "bsk,bsn->kn" %x, %g {
    parplan.factors = #parplan.factors<@mesh, {b = ["z"], s = ["x"], n = ["y"]}, panels = {k = ["z", "x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"z", "x"}, {"y"}]>]} : tensor<5x8x13xf32>, tensor<5x8x7xf32>
  return %y, %dx, %dw : tensor<5x8x7xf32>, tensor<5x8x13xf32>, tensor<13x7xf32>
}

// -----

parplan.mesh @mesh <["z"=2 data, "x"=2 tensor, "y"=3 tensor]>

// A depth that panels do not cross: the gradient of the weight stays pending over it.
// CHECK-LABEL: func.func @depth
func.func @depth(
    %x: tensor<8x13xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"z", "x"}, {"y"}]>},
    %g: tensor<8x7xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"z", "x"}, {"y"}]>})
    -> (tensor<13x7xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>}) {
  // CHECK: parplan.panel_matmul "mk,mn->kn" %arg0, %arg1 panel "k" size 13 axes lhs <"y"> rhs <> result <"x">
  // CHECK-SAME: partial = sum{"z"}
  %dw = parplan.matmul "mk,mn->kn" %x, %g {
    parplan.factors = #parplan.factors<@mesh, {m = ["z", "x"], n = ["y"]}, panels = {k = ["x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {"y"}], partial = sum{"z"}>]} : tensor<8x13xf32>, tensor<8x7xf32>
  %sum = parplan.all_reduce sum %dw axes <"z"> to <@mesh, [{"x"}, {"y"}]> : tensor<13x7xf32> -> tensor<13x7xf32>
  return %sum : tensor<13x7xf32>
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>

// The left operand stays: panels of n.
// CHECK-LABEL: func.func @stationary
func.func @stationary(
    %x: tensor<8x13xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>},
    %w: tensor<13x7xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<8x7xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>}) {
  // CHECK: parplan.panel_matmul "mk,kn->mn" %arg0, %arg1 panel "n" size 7 axes lhs <> rhs <"x"> result <"y">
  %y = parplan.matmul "mk,kn->mn" %x, %w {
    parplan.factors = #parplan.factors<@mesh, {m = ["x"], k = ["y"]}, panels = {n = ["x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {"y"}]>]} : tensor<8x13xf32>, tensor<13x7xf32>
  return %y : tensor<8x7xf32>
}

// -----

parplan.mesh @mesh <["p"=2 expert, "x"=2 tensor, "y"=3 tensor]>

// Rows of tokens on x, experts on p: they count from the first one of the rank's block, and choices stay where tokens are.
// CHECK-LABEL: func.func @rows_of_experts
// CHECK: %[[FIRST:.*]] = parplan.block_start 6 axes <"p">
// CHECK: parplan.panel_matmul "etk,ekn->etn" %arg0, %arg1 experts %arg2 : tensor<5x2xi64> of 6 tokens "t" first %[[FIRST]] : tensor<i64> panel "k" size 13 axes lhs <"y"> rhs <"x"> result <>
func.func @rows_of_experts(
    %x: tensor<6x10x13xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {"x"}, {"y"}]>},
    %w: tensor<6x13x7xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {"x"}, {"y"}]>},
    %i: tensor<10x2xi64> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6x10x7xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"p"}, {"x"}, {"y"}]>}) {
  %y = parplan.matmul "etk,ekn->etn" %x, %w experts %i : tensor<10x2xi64> of 6 tokens "t" {
    parplan.factors = #parplan.factors<@mesh, {e = ["p"], t = ["x"], n = ["y"]}, panels = {k = ["x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"p"}, {"x"}, {"y"}]>]} : tensor<6x10x13xf32>, tensor<6x13x7xf32>
  return %y : tensor<6x10x7xf32>
}
