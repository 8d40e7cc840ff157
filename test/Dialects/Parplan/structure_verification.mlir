// RUN: parplan-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{two axes of the mesh are named 'x'}}
parplan.mesh @mesh <["x"=2 data, "x"=2 tensor]>

// -----

// expected-error@+1 {{axis 0 of the mesh has no name}}
parplan.mesh @mesh <[""=2 data]>

// -----

// expected-error@+1 {{axis 'x' has size 0; at least 1 is needed}}
parplan.mesh @mesh <["x"=0 data]>

// -----

// expected-error@+1 {{axis "x" has the unknown role rows}}
parplan.mesh @mesh <["x"=2 rows]>

// -----

// expected-error@+1 {{the axis 'ps0' of servers is not the last one}}
parplan.mesh @mesh <["ps0"=1 server, "dp0"=2 data]>

// -----

// expected-error@+1 {{the mesh has more than 2147483647 ranks}}
parplan.mesh @mesh <["x"=65536 data, "y"=65536 data]>

// -----

func.func @parameter_of_nothing() {
  // expected-error@+1 {{@w does not name a parplan.initializer}}
  parplan.parameter @w : tensor<4xf32>
  return
}

// -----

parplan.initializer @w "w" : tensor<4x4xf32> in "" at 0 length 64
func.func @parameter_of_another_type() {
  // expected-error@+1 {{reads 'f64' from an initializer of 'f32'}}
  parplan.parameter @w : tensor<4x4xf64>
  return
}

// -----

parplan.initializer @w "w" : tensor<4x4xf32> in "" at 0 length 64
func.func @parameter_of_another_shape() {
  // expected-error@+1 {{without a view has the type of its initializer, 'tensor<4x4xf32>', not 'tensor<16xf32>'}}
  parplan.parameter @w : tensor<16xf32>
  return
}

// -----

parplan.initializer @w "w" : tensor<4x4xf32> in "" at 0 length 64
func.func @view_of_another_rank() {
  // expected-error@+1 {{view has 1 strides for 2 dimensions}}
  parplan.parameter @w view <offset = 0, strides = [1]> : tensor<4x4xf32>
  return
}

// -----

parplan.initializer @w "w" : tensor<4x4xf32> in "" at 0 length 64
func.func @view_past_the_end() {
  // expected-error@+1 {{view reads elements 1 to 16 of an initializer of 16}}
  parplan.parameter @w view <offset = 1, strides = [4, 1]> : tensor<4x4xf32>
  return
}

// -----

parplan.initializer @w "w" : tensor<4x4xf32> in "" at 0 length 64
func.func @view_before_the_start() {
  // expected-error@+1 {{view reads elements -3 to 0 of an initializer of 16}}
  parplan.parameter @w view <offset = 0, strides = [-1]> : tensor<4xf32>
  return
}

// -----

parplan.initializer @w "w" : tensor<4x4xf32> in "" at 0 length 64
func.func @view_that_overflows() {
  // expected-error@+1 {{view is too large}}
  parplan.parameter @w view <offset = 0, strides = [9223372036854775807]> : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @axis_twice(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{S1: }}
  parplan.neg %a {parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {"x"}]>]} : tensor<4x4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @axis_of_another_mesh(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{names an axis that the mesh @mesh lacks (S2)}}
  parplan.neg %a {parplan.shardings = [#parplan.sharding<@mesh, [{"z"}, {}]>]} : tensor<4x4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @sharding_of_another_rank(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{S2: }}
  parplan.neg %a {parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<4x4xf32>
  return
}

// -----

func.func @no_mesh(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{'parplan.shardings' names the mesh @mesh, which the module lacks}}
  parplan.neg %a {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]} : tensor<4x4xf32>
  return
}

// -----

func.func @two_shardings_of_one_result(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{'parplan.shardings' must have one sharding for each of the 1 results}}
  parplan.neg %a {parplan.shardings = []} : tensor<4x4xf32>
  return
}

// -----

func.func @sharding_of_another_kind(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{'parplan.shardings' must be a #parplan.sharding of a tensor}}
  parplan.neg %a {parplan.shardings = [3]} : tensor<4x4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @axis_on_two_factors(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{S7: }}
  parplan.neg %a {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"], d1 = ["x"]}>} : tensor<4x4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @factor_of_another_op(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{assigns axes to the factor "k", which the op lacks (S7)}}
  parplan.neg %a {parplan.factors = #parplan.factors<@mesh, {k = ["x"]}>} : tensor<4x4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @factor_with_unknown_axis(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{names an axis that the mesh @mesh lacks (S2)}}
  parplan.neg %a {parplan.factors = #parplan.factors<@mesh, {d0 = ["z"]}>} : tensor<4x4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @pending_operand_of_a_nonlinear_op(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{S8: }}
  parplan.exp %a {parplan.factors = #parplan.factors<@mesh, {}, pending = {"x"}>} : tensor<4x4xf32>
  return
}

// -----

// expected-error@+1 {{'parplan.factors' must be #parplan.factors of an op with a sharding rule}}
func.func private @factors_of_a_function() attributes {parplan.factors = 1}

// -----

func.func @block_that_is_no_number(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{'parplan.block' must be an i64 attribute}}
  parplan.neg %a {parplan.block = "first"} : tensor<4x4xf32>
  return
}

// -----

func.func @operator_that_is_no_name(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{'parplan.onnx_op' must be a string attribute}}
  parplan.neg %a {parplan.onnx_op = 1} : tensor<4x4xf32>
  return
}

// -----

// expected-error@+1 {{'parplan.name' must be a string attribute}}
func.func private @argument_without_name(tensor<4xf32> {parplan.name})

// -----

// expected-error@+1 {{'parplan.batch' must be a unit attribute}}
func.func private @batch_with_value(tensor<4xf32> {parplan.batch = 1})

// -----

parplan.mesh @mesh <["x"=2 data]>
// expected-error@+1 {{argument 0 is pending; values enter a function complete (S8)}}
func.func private @pending_argument(tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}], partial = sum{"x"}>})

// -----

parplan.mesh @mesh <["x"=2 data]>
// expected-error@+1 {{result 0 is pending or stored; values leave a function complete (S8)}}
func.func private @pending_result() -> (tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"x"}>})

// -----

// expected-error@+1 {{a pending reduction is a sum or a max, not prod}}
func.func private @pending_product() attributes {s = #parplan.sharding<@mesh, [{}], partial = prod{"x"}>}

// -----

// expected-error@+1 {{a sharding has no field kept}}
func.func private @unknown_field() attributes {s = #parplan.sharding<@mesh, [{}], kept = {"x"}>}

// -----

// expected-error@+1 {{a factor assignment has no field kept}}
func.func private @unknown_field() attributes {s = #parplan.factors<@mesh, {}, kept = {"x"}>}

// -----

parplan.initializer @a "a" : tensor<4x3xf32> in "" at 0 length 48
parplan.initializer @b "b" : tensor<4x3xf32> in "" at 48 length 48
// expected-error@+1 {{a stack of 2 initializers has no type 'tensor<3x4x3xf32>'}}
parplan.initializer @s "s" : tensor<3x4x3xf32> of [@a, @b] in "" at 0 length 144

// -----

// expected-error@+1 {{@a is no initializer of the model}}
parplan.initializer @s "s" : tensor<1x4x3xf32> of [@a] in "" at 0 length 48

// -----

parplan.initializer @a "a" : tensor<4x3xf32> in "" at 0 length 48
parplan.initializer @b "b" : tensor<3x4xf32> in "" at 48 length 48
// expected-error@+1 {{@b is a 'tensor<3x4xf32>', not 'tensor<4x3xf32>'}}
parplan.initializer @s "s" : tensor<2x4x3xf32> of [@a, @b] in "" at 0 length 96

// -----

parplan.initializer @a "a" : tensor<4x3xf32> in "" at 0 length 48
// expected-error@+1 {{stacks @a twice}}
parplan.initializer @s "s" : tensor<2x4x3xf32> of [@a, @a] in "" at 0 length 96

// -----

// expected-error@+1 {{a mesh has at most 32 axes, not 33}}
parplan.mesh @mesh <["a0"=1 data, "a1"=1 data, "a2"=1 data, "a3"=1 data, "a4"=1 data, "a5"=1 data, "a6"=1 data, "a7"=1 data, "a8"=1 data, "a9"=1 data, "a10"=1 data, "a11"=1 data, "a12"=1 data, "a13"=1 data, "a14"=1 data, "a15"=1 data, "a16"=1 data, "a17"=1 data, "a18"=1 data, "a19"=1 data, "a20"=1 data, "a21"=1 data, "a22"=1 data, "a23"=1 data, "a24"=1 data, "a25"=1 data, "a26"=1 data, "a27"=1 data, "a28"=1 data, "a29"=1 data, "a30"=1 data, "a31"=1 data, "a32"=1 data]>
