// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-verify-local

parplan.mesh @mesh <["x"=2 data]>
// expected-error@below {{after partition: argument 0 has no parplan.global_type}}
func.func @argument_without_global_type(%a: tensor<2xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>}) {
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
// expected-error@below {{after partition: result 0 has no parplan.global_type}}
func.func @result_without_global_type(
    %a: tensor<2xf32> {parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>})
    -> (tensor<2xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>}) {
  return %a : tensor<2xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @result_lies_elsewhere(
    %a: tensor<2xf32> {parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>})
    -> (tensor<2xf32> {parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{after partition: S7: operand 0 lies in [{x}], not in [{}]}}
  return %a : tensor<2xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data]>
// expected-error@below {{after partition: S3: blocks of 'tensor<5xf32>' in [{x}] have type 'tensor<3xf32>', not 'tensor<2xf32>'}}
func.func @block_of_the_wrong_size(
    %a: tensor<2xf32> {parplan.global_type = tensor<5xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>}) {
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @reshard_is_left(
    %a: tensor<4xf32> {parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{after partition: S11: a reshard is left}}
  %b = parplan.reshard %a to <@mesh, [{"x"}]> : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @move_without_global_type(
    %a: tensor<4xf32> {parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{after partition: no parplan.global_type}}
  %b = parplan.shard_slice %a axes <"x"> dim 0 to <@mesh, [{"x"}]> : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @dirty_padding(
    %a: tensor<3xf32> {parplan.global_type = tensor<5xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>})
    -> (tensor<3xf32> {parplan.global_type = tensor<5xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>}) {
  // expected-error@below {{after partition: S4: padding of dimension 0 is not zero}}
  %b = parplan.exp %a {parplan.global_type = tensor<5xf32>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}]>]} : tensor<3xf32>
  // expected-note@below {{and is read here}}
  return %b : tensor<3xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @op_without_shardings(
    %a: tensor<4xf32> {parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{has no parplan.shardings}}
  %b = parplan.neg %a {parplan.global_type = tensor<4xf32>} : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @global_type_is_no_type(
    %a: tensor<4xf32> {parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{'parplan.global_type' must be a tensor type}}
  %b = parplan.neg %a {parplan.global_type = 4 : i64} : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w "w" : tensor<8xf32> in "" at 0 length 32

// expected-error@+1 {{S14: result 0 replaces #parplan.variable<@w>, which rests in [{}] stored={dp0}, and ends in [{}]}}
func.func @elsewhere() -> (tensor<8xf32> {parplan.variable = #parplan.variable<@w>, parplan.global_type = tensor<8xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  %w = parplan.parameter @w {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<4xf32>
  %all = parplan.all_gather %w axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.global_type = tensor<8xf32>} : tensor<4xf32> -> tensor<8xf32>
  return %all : tensor<8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w "w" : tensor<8xf32> in "" at 0 length 32

// expected-error@+1 {{result 0 replaces #parplan.variable<@w, slot = "exp_avg">, which 0 parameters read}}
func.func @nothing_reads() -> (tensor<8xf32> {parplan.variable = #parplan.variable<@w, slot = "exp_avg">, parplan.global_type = tensor<8xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  %w = parplan.parameter @w {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return %w : tensor<8xf32>
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=2 tensor]>
func.func @panels_of_another_operand(
    %x: tensor<4x4xf32> {parplan.global_type = tensor<8x8xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"y"}, {"x"}]>},
    %w: tensor<4x4xf32> {parplan.global_type = tensor<8x8xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>}) {
  // expected-error@below {{after partition: S21: dimension 1 of operand 0 lies in [{y}, {x}], not split by #parplan.axes<"y">}}
  %y = parplan.panel_matmul "mk,kn->mn" %x, %w panel "k" size 8 axes lhs <"y"> rhs <"x"> result <> {
    parplan.global_type = tensor<8x8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {"y"}]>]}
    : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=2 tensor]>
func.func @panels_of_another_result(
    %g: tensor<4x4xf32> {parplan.global_type = tensor<8x8xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>},
    %w: tensor<4x4xf32> {parplan.global_type = tensor<8x8xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>}) {
  // expected-error@below {{after partition: S21: dimension 1 of result 0 lies in [{y}, {x}], not split by #parplan.axes<"y">}}
  %dx = parplan.panel_matmul "mn,kn->mk" %g, %w panel "k" size 8 axes lhs <> rhs <"x"> result <"y"> {
    parplan.global_type = tensor<8x8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{"y"}, {"x"}]>]}
    : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=2 tensor]>
func.func @panels_without_global_type(
    %x: tensor<4x4xf32> {parplan.global_type = tensor<8x8xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>},
    %w: tensor<4x4xf32> {parplan.global_type = tensor<8x8xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>}) {
  // expected-error@below {{after partition: no parplan.global_type}}
  %y = parplan.panel_matmul "mk,kn->mn" %x, %w panel "k" size 8 axes lhs <"y"> rhs <"x"> result <> : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}
