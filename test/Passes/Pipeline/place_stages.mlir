// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-place-stages | FileCheck %s

parplan.mesh @mesh <["pp0"=2 pipeline, "tp0"=2 tensor]>

// A move that makes less runs where its operand is made, one that makes more
// where its result is read. What is made of constants has no stage.
// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<4xf32> {parplan.batch}) -> (tensor<4xf32>, tensor<2xf32>)
    attributes {parplan.pipeline_schedule = "forward-only", parplan.pass_seconds = array<f64: 1.0, 0.0, 0.0, 1.0, 0.0, 0.0>} {
  // CHECK: parplan.constant dense
  %one = parplan.constant {parplan.stage = 0 : i64} dense<1.0> : tensor<4xf32>
  // CHECK: parplan.neg %{{.*}} {parplan.per_micro_batch} :
  %two = parplan.neg %one {parplan.stage = 1 : i64} : tensor<4xf32>
  %a = parplan.mul %x, %two {parplan.stage = 0 : i64, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<4xf32>, tensor<4xf32>
  // CHECK: parplan.shard_slice {{.*}} parplan.stage = 0
  %s = parplan.shard_slice %a axes <"tp0"> dim 0 to <@mesh, [{"tp0"}]> {parplan.stage = 1 : i64} : tensor<4xf32> -> tensor<2xf32>
  %b = parplan.neg %s {parplan.stage = 1 : i64} : tensor<2xf32>
  %c = parplan.abs %x {parplan.stage = 0 : i64} : tensor<4xf32>
  %d = parplan.shard_slice %c axes <"tp0"> dim 0 to <@mesh, [{"tp0"}]> {parplan.stage = 0 : i64} : tensor<4xf32> -> tensor<2xf32>
  // CHECK: parplan.all_gather {{.*}} parplan.stage = 1
  %g = parplan.all_gather %d axes <"tp0"> dim 0 to <@mesh, [{}]> {parplan.stage = 0 : i64} : tensor<2xf32> -> tensor<4xf32>
  %e = parplan.neg %g {parplan.stage = 1 : i64} : tensor<4xf32>
  return %e, %b : tensor<4xf32>, tensor<2xf32>
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @upstream(%x: tensor<4xf32> {parplan.batch}) -> tensor<4xf32>
    attributes {parplan.pipeline_schedule = "forward-only", parplan.pass_seconds = array<f64: 1.0, 0.0, 0.0, 1.0, 0.0, 0.0>} {
  // expected-note@+1 {{it is made here}}
  %a = parplan.neg %x {parplan.stage = 1 : i64} : tensor<4xf32>
  // expected-error@+1 {{of stage 0 reads a value of stage 1, forward (P4)}}
  %b = parplan.abs %a {parplan.stage = 0 : i64} : tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @downstream(%x: tensor<4xf32> {parplan.batch}) -> tensor<4xf32>
    attributes {parplan.micro_batches = 2 : i64, parplan.pipeline_schedule = "gpipe", parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>} {
  // expected-note@+1 {{it is made here}}
  %a = parplan.neg %x {parplan.stage = 0 : i64, parplan.per_micro_batch, parplan.role = "input_gradient"} : tensor<4xf32>
  // expected-error@+1 {{of stage 1 reads a value of stage 0, backward (P4)}}
  %b = parplan.abs %a {parplan.stage = 1 : i64, parplan.per_micro_batch, parplan.role = "input_gradient"} : tensor<4xf32>
  %c = parplan.accumulate %b : tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
// expected-error@+1 {{has a schedule, and no pipeline axis in its mesh}}
func.func @no_axis() attributes {parplan.pipeline_schedule = "gpipe"} {
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
// expected-error@+1 {{there is no schedule "spiral"}}
func.func @no_schedule() attributes {parplan.pipeline_schedule = "spiral"} {
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
// expected-error@+1 {{nothing waits for weight gradients in schedule 1f1b: it has no room for that}}
func.func @nothing_waits() attributes {parplan.pipeline_schedule = "1f1b", parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>, parplan.room_bytes = array<i64: 1, 1>} {
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
// expected-error@+1 {{the room is for 2 positions and 1 stages, schedule zb-h1 has 2 and 2}}
func.func @room_for_one_stage() attributes {parplan.pipeline_schedule = "zb-h1", parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>, parplan.room_bytes = array<i64: 9, 9>, parplan.pass_bytes = array<i64: 1, 1, 1, 1, 1>} {
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
// expected-error@+1 {{interleaved}}
func.func @refused() attributes {parplan.pipeline_schedule = "interleaved:1"} {
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
// expected-error@+1 {{needs parplan.pass_seconds of 2 stages}}
func.func @no_times() attributes {parplan.pipeline_schedule = "gpipe"} {
  return
}

// -----

parplan.mesh @mesh <["pp0"=3 pipeline]>
// expected-error@+1 {{needs parplan.boundary_seconds of 2 boundaries}}
func.func @no_boundary() attributes {parplan.pipeline_schedule = "forward-only", parplan.boundary_seconds = array<f64: 1.0>,
    parplan.pass_seconds = array<f64: 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0>} {
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
// expected-error@+1 {{has a word in parplan.pass_table that is no pass}}
func.func @no_pass() attributes {parplan.pipeline_schedule = "gpipe", parplan.pass_table = ["F0 G0", "F0 B0"],
    parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>} {
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
// expected-error@+1 {{the order of passes waits for itself}}
func.func @no_order() attributes {parplan.pipeline_schedule = "gpipe", parplan.pass_table = ["F0 B0", "B0 F0"],
    parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>} {
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @no_stage(%x: tensor<4xf32> {parplan.batch})
    attributes {parplan.pipeline_schedule = "forward-only", parplan.pass_seconds = array<f64: 1.0, 0.0, 0.0, 1.0, 0.0, 0.0>} {
  // expected-error@+1 {{is of stage 2 of 2}}
  %a = parplan.neg %x {parplan.stage = 2 : i64} : tensor<4xf32>
  return
}
