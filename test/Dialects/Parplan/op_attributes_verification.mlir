// RUN: parplan-opt %s -verify-diagnostics -split-input-file

// What attributes of ops have to be; those of pipelines and training are with
// their ops.

func.func @unit(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.forward_only' must be a unit attribute}}
  %y = parplan.neg %x {parplan.forward_only = 1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @integer(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.node' must be an i64 attribute}}
  %y = parplan.neg %x {parplan.node = 1 : i32} : tensor<4xf32>
  return
}

// -----

func.func @block(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.block' must be an i64 attribute}}
  %y = parplan.neg %x {parplan.block = "first"} : tensor<4xf32>
  return
}

// -----

func.func @text(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.onnx_op' must be a string attribute}}
  %y = parplan.neg %x {parplan.onnx_op = 3 : i64} : tensor<4xf32>
  return
}

// -----

func.func @micro_batch(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.micro_batch' must be an i64 that is not negative}}
  %y = parplan.neg %x {parplan.micro_batch = -1 : i64} : tensor<4xf32>
  return
}

// -----

// expected-error@+1 {{'parplan.staleness' must be an i64 of at least 0 of a function}}
func.func @staleness() attributes {parplan.staleness = -1 : i64} {
  return
}

// -----

// expected-error@+1 {{'parplan.pipeline_schedule' must be a string attribute}}
func.func @schedule() attributes {parplan.pipeline_schedule = 1 : i64} {
  return
}

// -----

func.func @padding_of_no_embedding(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.padding_id' belongs to an embedding}}
  %y = parplan.neg %x {parplan.padding_id = 1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @padding(%i: tensor<2xi64>, %t: tensor<3x4xf32>) {
  // expected-error@+1 {{'parplan.padding_id' must be an i64 attribute}}
  %e = parplan.embedding %i, %t {parplan.padding_id = "none"} : tensor<2xi64>, tensor<3x4xf32>
  return
}

// -----

// A sharding that is sound for one value need not be for another.
parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
func.func @rank(%a: tensor<8x8xf32>, %b: tensor<8xf32>) {
  %c = parplan.neg %a {parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<8x8xf32>
  // expected-error@+1 {{'parplan.shardings'}}
  %d = parplan.neg %b {parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<8xf32>
  return
}

// -----

// Nor under another mesh of the same name.
parplan.mesh @mesh <["y"=4 tensor]>
func.func @mesh_without_the_axis(%a: tensor<8x8xf32>) {
  // expected-error@+1 {{names an axis that the mesh @mesh lacks (S2)}}
  %c = parplan.neg %a {parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<8x8xf32>
  return
}
