// RUN: parplan-opt %s -split-input-file -parplan-insert-reshards | FileCheck %s

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
parplan.initializer @up "up" : tensor<8x16xf32> in "" at 0 length 512
parplan.initializer @down "down" : tensor<16x8xf32> in "" at 512 length 512

// Column then row parallel: one reduction after the second product, and nothing
// between the two.
// CHECK-LABEL: func.func @column_then_row
func.func @column_then_row(%a: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: %[[UP:.*]] = parplan.parameter @up
  // CHECK-SAME: parplan.shardings = [#parplan.sharding<@mesh, [{}, {"y"}]>]
  %up = parplan.parameter @up {parplan.shardings = [#parplan.sharding<@mesh, [{}, {"y"}]>]} : tensor<8x16xf32>
  %down = parplan.parameter @down {parplan.shardings = [#parplan.sharding<@mesh, [{"y"}, {}]>]} : tensor<16x8xf32>
  // CHECK: %[[HIDDEN:.*]] = parplan.matmul "mk,kn->mn" %{{.*}}, %[[UP]]
  %b = parplan.matmul "mk,kn->mn" %a, %up {
    parplan.factors = #parplan.factors<@mesh, {m = ["x"], n = ["y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {"y"}]>]} : tensor<4x8xf32>, tensor<8x16xf32>
  // CHECK-NEXT: %[[MADE:.*]] = parplan.matmul "mk,kn->mn" %[[HIDDEN]]
  // CHECK-SAME: parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}], partial = sum{"y"}>]
  // CHECK-NEXT: %[[REST:.*]] = parplan.reshard %[[MADE]] to <@mesh, [{"x"}, {}]> {parplan.node = 5 : i64}
  // CHECK-NEXT: return %[[REST]]
  %c = parplan.matmul "mk,kn->mn" %b, %down {parplan.node = 5 : i64,
    parplan.factors = #parplan.factors<@mesh, {m = ["x"], k = ["y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<4x16xf32>, tensor<16x8xf32>
  return %c : tensor<4x8xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data]>

// Two uses in one layout share one copy, made before the first (S15); a use in
// the layout at rest needs none.
// CHECK-LABEL: func.func @uses_share_a_copy
// CHECK-SAME: %[[A:.*]]: tensor<4x8xf32>
func.func @uses_share_a_copy(%a: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: parplan.neg %[[A]]
  // CHECK-NEXT: %[[COPY:.*]] = parplan.reshard %[[A]] to <@mesh, [{}, {"x"}]>
  // CHECK-NEXT: parplan.abs %[[COPY]]
  // CHECK-NEXT: %[[SIGN:.*]] = parplan.sign %[[COPY]]
  // CHECK-NEXT: %[[BACK:.*]] = parplan.reshard %[[SIGN]] to <@mesh, [{"x"}, {}]>
  // CHECK-NEXT: return %[[BACK]]
  %b = parplan.neg %a {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<4x8xf32>
  %c = parplan.abs %a {parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>
  %d = parplan.sign %a {parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data]>

// Of what a stage makes again for its backward pass, copies are made again too;
// not in a stage that received it, nor of what runs once per step.
// CHECK-LABEL: func.func @copies_are_made_again
func.func @copies_are_made_again(%a: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}]>}) {
  // CHECK: parplan.reshard {{.*}} to <@mesh, [{}, {"x"}]> {parplan.per_micro_batch, parplan.recompute, parplan.stage = 0 : i64}
  // CHECK-NEXT: parplan.abs
  // CHECK: parplan.reshard {{.*}} to <@mesh, [{}, {}]> {parplan.per_micro_batch, parplan.stage = 1 : i64}
  // CHECK-NEXT: parplan.sign
  %b = parplan.neg %a {parplan.per_micro_batch, parplan.recompute, parplan.stage = 0 : i64, parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<4x8xf32>
  %c = parplan.abs %b {parplan.per_micro_batch, parplan.stage = 0 : i64, parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>
  %d = parplan.sign %b {parplan.per_micro_batch, parplan.stage = 1 : i64, parplan.factors = #parplan.factors<@mesh, {}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]} : tensor<4x8xf32>
  // CHECK: %[[ONCE:.*]] = parplan.cos
  // CHECK-NEXT: parplan.reshard %[[ONCE]] to <@mesh, [{}, {"x"}]> : tensor
  %once = parplan.cos %a {parplan.recompute, parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<4x8xf32>
  %f = parplan.exp %once {parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>
  %e = parplan.add %c, %d {parplan.per_micro_batch, parplan.stage = 1 : i64, parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>, tensor<4x8xf32>
  return %e : tensor<4x8xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data]>

// Every stage has its own copy of what it reads of a micro-batch: a tied weight
// is read first and last.
// CHECK-LABEL: func.func @stages_have_copies
func.func @stages_have_copies(%w: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>})
    -> (tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}]>}) {
  // CHECK: parplan.reshard %{{.*}} to <@mesh, [{}, {"x"}]> {parplan.per_micro_batch, parplan.stage = 0 : i64}
  // CHECK-NEXT: parplan.abs
  %first = parplan.abs %w {parplan.per_micro_batch, parplan.stage = 0 : i64, parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>
  // CHECK-NEXT: parplan.reshard %{{.*}} to <@mesh, [{}, {"x"}]> {parplan.per_micro_batch, parplan.stage = 3 : i64}
  // CHECK-NEXT: parplan.sign
  // CHECK-NEXT: parplan.neg
  %last = parplan.sign %w {parplan.per_micro_batch, parplan.stage = 3 : i64, parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>
  %too = parplan.neg %w {parplan.per_micro_batch, parplan.stage = 3 : i64, parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>
  %sum = parplan.add %first, %last {parplan.per_micro_batch, parplan.stage = 3 : i64, parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>, tensor<4x8xf32>
  return %sum : tensor<4x8xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data]>

// What is kept stays in all its layouts, whoever reads them again; of what is
// gathered again, any reader that is made again needs the copy.
// CHECK-LABEL: func.func @copies_are_kept
func.func @copies_are_kept(%a: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}]>}) {
  // CHECK: %[[KEPT:.*]] = parplan.neg
  // CHECK: parplan.reshard %[[KEPT]] to <@mesh, [{}, {"x"}]> {parplan.per_micro_batch}
  // CHECK-NEXT: parplan.abs
  %kept = parplan.neg %a {parplan.per_micro_batch, parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<4x8xf32>
  %c = parplan.abs %kept {parplan.per_micro_batch, parplan.recompute, parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>
  // CHECK: %[[AGAIN:.*]] = parplan.cos
  // CHECK: parplan.reshard %[[AGAIN]] to <@mesh, [{}, {"x"}]> {parplan.per_micro_batch, parplan.recompute}
  // CHECK-NEXT: parplan.exp
  // CHECK-NEXT: parplan.sign
  %again = parplan.cos %a {parplan.per_micro_batch, parplan.gather_again, parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<4x8xf32>
  %d = parplan.exp %again {parplan.per_micro_batch, parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>
  %e = parplan.sign %again {parplan.per_micro_batch, parplan.recompute, parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>
  %f = parplan.add %d, %e {parplan.per_micro_batch, parplan.factors = #parplan.factors<@mesh, {d1 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>, tensor<4x8xf32>
  return %f : tensor<4x8xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>

// Splats, iotas and masks are made in every layout that is asked for; other
// constants are made whole and cut.
// CHECK-LABEL: func.func @sources_are_made_where_they_are_used
func.func @sources_are_made_where_they_are_used(%a: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>}) {
  // CHECK-DAG: %[[ROWS:.*]] = parplan.constant {parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} dense<2.000000e+00>
  // CHECK-DAG: %[[COLUMNS:.*]] = parplan.constant {parplan.shardings = [#parplan.sharding<@mesh, [{}, {"y"}]>]} dense<2.000000e+00>
  %two = parplan.constant dense<2.0> : tensor<4x8xf32>
  // CHECK-DAG: %[[WHOLE:.*]] = parplan.constant {parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} dense<[1.000000e+00, 2.000000e+00
  %list = parplan.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  // CHECK: parplan.add %{{.*}}, %[[ROWS]]
  %b = parplan.add %a, %two {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"y"}]>]} : tensor<4x8xf32>, tensor<4x8xf32>
  // CHECK: parplan.max %{{.*}}, %[[COLUMNS]]
  %c = parplan.max %b, %two {parplan.factors = #parplan.factors<@mesh, {d1 = ["y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"y"}]>]} : tensor<4x8xf32>, tensor<4x8xf32>
  // CHECK: %[[CUT:.*]] = parplan.reshard %[[WHOLE]] to <@mesh, [{"y"}]>
  // CHECK: parplan.mul %{{.*}}, %[[CUT]]
  %d = parplan.mul %c, %list {parplan.factors = #parplan.factors<@mesh, {d1 = ["y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]} : tensor<4x8xf32>, tensor<8xf32>
  return %d : tensor<4x8xf32>
}

// -----

parplan.mesh @mesh <["y"=2 tensor]>

// A complete term becomes pending before it is added to a pending one (S9).
// CHECK-LABEL: func.func @pending_terms_are_added_before_the_reduction
// CHECK-SAME: %[[BIAS:[a-z0-9]*]]: tensor<6xf32>
func.func @pending_terms_are_added_before_the_reduction(
    %bias: tensor<6xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>},
    %a: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"y"}]>},
    %b: tensor<8x6xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<4x6xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[PRODUCT:.*]] = parplan.matmul
  %c = parplan.matmul "mk,kn->mn" %a, %b {
    parplan.factors = #parplan.factors<@mesh, {k = ["y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"y"}>]} : tensor<4x8xf32>, tensor<8x6xf32>
  // CHECK-NEXT: %[[PENDING:.*]] = parplan.reshard %[[BIAS]] to <@mesh, [{}], partial = sum{"y"}>
  // CHECK-NEXT: %[[SUM:.*]] = parplan.add %[[PRODUCT]], %[[PENDING]]
  // CHECK-NEXT: parplan.reshard %[[SUM]] to <@mesh, [{}, {}]>
  %d = parplan.add %c, %bias {
    parplan.factors = #parplan.factors<@mesh, {}, pending = {"y"}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]} : tensor<4x6xf32>, tensor<6xf32>
  return %d : tensor<4x6xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w "w" : tensor<8x6xf32> in "" at 0 length 192

// A stored variable is gathered for the forward and again for the backward
// pass (S15), both per micro-batch as their readers. The gradient is reduced
// right behind its sum, before ops that do not wait for it; the update is flat,
// and its result leaves where it rests.
// CHECK-LABEL: func.func @stored_variable
func.func @stored_variable(
    %x: tensor<4x8xf32> {parplan.batch, parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>},
    %rate: tensor<f32> {parplan.sharding = #parplan.sharding<@mesh, []>})
    -> (tensor<8x6xf32> {parplan.variable = #parplan.variable<@w>, parplan.sharding = #parplan.sharding<@mesh, [{}, {}], stored = {"dp0"}>},
        tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>})
    attributes {parplan.micro_batches = 1 : i64} {
  // CHECK: %[[W:.*]] = parplan.parameter @w
  %w = parplan.parameter @w {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], stored = {"dp0"}>]} : tensor<8x6xf32>
  // CHECK: %[[FORWARD:.*]] = parplan.reshard %[[W]] to <@mesh, [{}, {}]> {parplan.group = 0 : i64, parplan.per_micro_batch}
  // CHECK-NEXT: %[[Y:.*]] = parplan.matmul "mk,kn->mn" %{{.*}}, %[[FORWARD]]
  %y = parplan.matmul "mk,kn->mn" %x, %w {parplan.per_micro_batch, parplan.group = 0 : i64,
    parplan.factors = #parplan.factors<@mesh, {m = ["dp0"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"dp0"}, {}]>]} : tensor<4x8xf32>, tensor<8x6xf32>
  // CHECK-NEXT: %[[PART:.*]] = parplan.matmul "mk,mn->kn"
  %g = parplan.matmul "mk,mn->kn" %x, %y {parplan.per_micro_batch, parplan.group = 0 : i64, parplan.role = "weight_gradient",
    parplan.factors = #parplan.factors<@mesh, {m = ["dp0"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"dp0"}>]} : tensor<4x8xf32>, tensor<4x6xf32>
  // CHECK-NEXT: %[[SUM:.*]] = parplan.accumulate %[[PART]]
  // CHECK-NEXT: %[[REDUCED:.*]] = parplan.reshard %[[SUM]] to <@mesh, [{}, {}], stored = {"dp0"}> {parplan.role = "gradient_sum"}
  %sum = parplan.accumulate %g {parplan.role = "gradient_sum",
    parplan.factors = #parplan.factors<@mesh, {}, pending = {"dp0"}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"dp0"}>]} : tensor<8x6xf32>
  // CHECK-NEXT: %[[BACKWARD:.*]] = parplan.reshard %[[W]] to <@mesh, [{}, {}]> {parplan.group = 0 : i64, parplan.per_micro_batch, parplan.role = "input_gradient"}
  // CHECK-NEXT: %[[D:.*]] = parplan.matmul "mn,kn->mk" %[[Y]], %[[BACKWARD]]
  %d = parplan.matmul "mn,kn->mk" %y, %w {parplan.per_micro_batch, parplan.group = 0 : i64, parplan.role = "input_gradient",
    parplan.factors = #parplan.factors<@mesh, {m = ["dp0"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"dp0"}, {}]>]} : tensor<4x6xf32>, tensor<8x6xf32>
  %total = parplan.accumulate %d {
    parplan.factors = #parplan.factors<@mesh, {d0 = ["dp0"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"dp0"}, {}]>]} : tensor<4x8xf32>
  // CHECK: %[[NEW:.*]] = parplan.optimizer_update sgd %[[W]], %[[REDUCED]]
  %new = parplan.optimizer_update sgd %w, %sum learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0 {
    parplan.role = "optimizer",
    parplan.factors = #parplan.factors<@mesh, {}, stored = {"dp0"}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], stored = {"dp0"}>]} : tensor<8x6xf32>, tensor<8x6xf32>, tensor<f32>
  // CHECK: return %[[NEW]]
  return %new, %total : tensor<8x6xf32>, tensor<4x8xf32>
}

// -----

parplan.mesh @mesh <["t"=2 tensor]>

// A value that is gathered again has a copy for the forward and one for the
// backward pass (S15).
// CHECK-LABEL: func.func @gathered_again
func.func @gathered_again(%a: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"t"}, {}]>})
    -> (tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>},
        tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[X:.*]] = parplan.neg
  %x = parplan.neg %a {parplan.gather_again,
    parplan.factors = #parplan.factors<@mesh, {d0 = ["t"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"t"}, {}]>]} : tensor<4x8xf32>
  // CHECK-NEXT: %[[FORWARD:.*]] = parplan.reshard %[[X]] to <@mesh, [{}, {}]>
  // CHECK-NEXT: parplan.abs %[[FORWARD]]
  // CHECK-NEXT: parplan.sign %[[FORWARD]]
  %b = parplan.abs %x {parplan.factors = #parplan.factors<@mesh, {}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]} : tensor<4x8xf32>
  %c = parplan.sign %x {parplan.factors = #parplan.factors<@mesh, {}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]} : tensor<4x8xf32>
  // CHECK-NEXT: %[[BACKWARD:.*]] = parplan.reshard %[[X]] to <@mesh, [{}, {}]>
  // CHECK-NEXT: parplan.mul %[[BACKWARD]]
  %d = parplan.mul %x, %c {parplan.role = "input_gradient",
    parplan.factors = #parplan.factors<@mesh, {}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]} : tensor<4x8xf32>, tensor<4x8xf32>
  return %b, %d : tensor<4x8xf32>, tensor<4x8xf32>
}
