// RUN: parplan-opt %s -verify-diagnostics -split-input-file

func.func @no_mesh(%a: tensor<8x8xf32>) {
  // expected-error@+1 {{there is no mesh @mesh}}
  parplan.reshard %a to <@mesh, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @reshard_to_unknown_axis(%a: tensor<8x8xf32>) {
  // expected-error@+1 {{names an axis that the mesh @mesh lacks (S2)}}
  parplan.reshard %a to <@mesh, [{"z"}, {}]> : tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @reshard_to_axis_twice(%a: tensor<8x8xf32>) {
  // expected-error@+1 {{S1: }}
  parplan.reshard %a to <@mesh, [{"x"}, {"x"}]> : tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @collective_of_no_axes(%a: tensor<8x8xf32>) {
  // expected-error@+1 {{are not axes of the mesh @mesh (S2)}}
  parplan.all_gather %a axes <> dim 0 to <@mesh, [{}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @gather_of_another_axis(%a: tensor<8x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // expected-error@+1 {{{"y"} is not the minor end of dimension 0}}
  parplan.all_gather %a axes <"y"> dim 0 to <@mesh, [{}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @gather_of_the_major_axis(%a: tensor<8x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x", "y"}, {}]>}) {
  // expected-error@+1 {{{"x"} is not the minor end of dimension 0}}
  parplan.all_gather %a axes <"x"> dim 0 to <@mesh, [{"y"}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @gather_that_claims_too_much(%a: tensor<8x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>}) {
  // expected-error@+1 {{out_sharding is #parplan.sharding<@mesh, [{}, {}]>, but the operand #parplan.sharding<@mesh, [{"x"}, {"y"}]> becomes #parplan.sharding<@mesh, [{}, {"y"}]>}}
  parplan.all_gather %a axes <"x"> dim 0 to <@mesh, [{}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @gather_of_no_dimension(%a: tensor<8x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // expected-error@+1 {{there is no dimension 2 (S2)}}
  parplan.all_gather %a axes <"x"> dim 2 to <@mesh, [{}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @slice_along_a_used_axis(%a: tensor<8x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // expected-error@+1 {{"x" is already used by the operand (S1)}}
  parplan.shard_slice %a axes <"x"> dim 1 to <@mesh, [{}, {"x"}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @reduction_of_a_complete_value(%a: tensor<8x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // expected-error@+1 {{the operand is not pending over "y" (S8)}}
  parplan.all_reduce sum %a axes <"y"> to <@mesh, [{"x"}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @reduction_of_another_kind(%a: tensor<8x8xf32>) {
  %b = parplan.neg %a {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = max{"x"}>]} : tensor<8x8xf32>
  // expected-error@+1 {{the operand is pending as a max, not as a sum (S8)}}
  parplan.all_reduce sum %b axes <"x"> to <@mesh, [{}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @pend_of_a_pending_max(%a: tensor<8x8xf32>) {
  %b = parplan.neg %a {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = max{"x"}>]} : tensor<8x8xf32>
  // expected-error@+1 {{the operand is already pending as a max (S9)}}
  parplan.pend %b axes <"y"> to <@mesh, [{}, {}], partial = sum{"x", "y"}> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @view_of_nothing_stored(%a: tensor<8x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // expected-error@+1 {{neither the storage starts with {"y"} nor dimension 0 ends with it (S6)}}
  parplan.storage_view %a axes <"y"> to <@mesh, [{"x", "y"}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=3 tensor]>
func.func @send_of_another_size(%a: tensor<8x8xf32>) {
  // expected-error@+1 {{the blocks differ in size (S12)}}
  parplan.send_receive %a axes <"x", "y"> from <@mesh, [{"x"}, {}]> to <@mesh, [{"y"}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @send_of_a_pending_value(%a: tensor<8x8xf32>) {
  // expected-error@+1 {{a pending value cannot be sent (S12)}}
  parplan.send_receive %a axes <"x", "y"> from <@mesh, [{}, {}], partial = sum{"x"}> to <@mesh, [{}, {}], partial = sum{"y"}> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @send_from_elsewhere(%a: tensor<8x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>}) {
  // expected-error@+1 {{is sent from #parplan.sharding<@mesh, [{"x"}, {}]>, but the operand lies as #parplan.sharding<@mesh, [{}, {}]>}}
  parplan.send_receive %a axes <"x", "y"> from <@mesh, [{"x"}, {}]> to <@mesh, [{"y"}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @root_beyond_the_group(%a: tensor<8x8xf32>) {
  // expected-error@+1 {{root 2 of 2 ranks}}
  parplan.broadcast_from %a axes <"x"> root 2 to <@mesh, [{}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @block_start_of_unknown_axis() {
  // expected-error@+1 {{are not axes of the mesh (S2)}}
  parplan.block_start 5 axes <"z"> : tensor<i64>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @block_start_of_negative_size() {
  // expected-error@+1 {{size is negative}}
  parplan.block_start -5 axes <"x"> : tensor<i64>
  return
}

// -----

func.func @block_start_without_mesh() {
  // expected-error@+1 {{needs a module with one mesh}}
  parplan.block_start 5 axes <"x"> : tensor<i64>
  return
}

// -----

func.func @clear_padding_without_mesh(%a: tensor<3x8xf32>) {
  // expected-error@+1 {{needs a module with one mesh}}
  parplan.clear_padding %a dims [0] sizes [5] axes [#parplan.axes<"x">] fill 0.0 : tensor<3x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @clear_padding_without_size(%a: tensor<3x8xf32>) {
  // expected-error@+1 {{needs one size and one axis list per dimension}}
  parplan.clear_padding %a dims [0] sizes [] axes [#parplan.axes<"x">] fill 0.0 : tensor<3x8xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @clear_padding_of_unknown_axis(%a: tensor<3x8xf32>) {
  // expected-error@+1 {{are not axes of the mesh (S2)}}
  parplan.clear_padding %a dims [0] sizes [5] axes [#parplan.axes<"z">] fill 0.0 : tensor<3x8xf32>
  return
}
