// RUN: parplan-opt %s -split-input-file -verify-diagnostics

parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @no_position(%x: tensor<4xf32>) {
  // expected-error@+1 {{stands in a function without 'parplan.position' (P9)}}
  parplan.send %x to 1 over <"pp0"> : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline, "dp0"=2 data]>
func.func @other_axis(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64} {
  // expected-error@+1 {{is not the pipeline axis of the module's only mesh (P9)}}
  parplan.send %x to 1 over <"dp0"> : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
func.func @no_axis() -> tensor<4xf32> attributes {parplan.position = 0 : i64} {
  // expected-error@+1 {{is not the pipeline axis of the module's only mesh (P9)}}
  %x = parplan.receive from 1 over <"dp0"> : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @beyond(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64} {
  // expected-error@+1 {{names the position 2 of 2 from position 0 (P9)}}
  parplan.send %x to 2 over <"pp0"> : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @itself() -> tensor<4xf32> attributes {parplan.position = 1 : i64} {
  // expected-error@+1 {{names the position 1 of 2 from position 1 (P9)}}
  %x = parplan.receive from 1 over <"pp0"> : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

func.func @tape(%x: tensor<4xf32>) {
  // expected-error@+1 {{there is no tier "tape"}}
  %y = parplan.transfer %x to "tape" : tensor<4xf32>
  return
}

// -----

func.func @tier(%x: tensor<4xf32>) {
  // expected-error@+1 {{must be one of device, host, nvme, not "tape"}}
  %y = parplan.neg %x {parplan.tier = "tape"} : tensor<4xf32>
  return
}

// -----

func.func @stage(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.stage' must be an i64 that is not negative}}
  %y = parplan.neg %x {parplan.stage = -1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @recompute(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.recompute' must be a unit attribute}}
  %y = parplan.neg %x {parplan.recompute = true} : tensor<4xf32>
  return
}

// -----

// expected-error@+1 {{'parplan.position' must be an i64 of at least 0 of a function}}
func.func @position() attributes {parplan.position = -1 : i64} {
  return
}

// -----

// expected-error@+1 {{'parplan.pass_seconds' must be an array<f64> of a function, three times per stage}}
func.func @seconds() attributes {parplan.pass_seconds = array<f64: 1.0, 2.0>} {
  return
}

// -----

// expected-error@+1 {{'parplan.pipeline_schedule' must be a string attribute}}
func.func @schedule() attributes {parplan.pipeline_schedule = 1 : i64} {
  return
}

// -----

// expected-error@+1 {{'parplan.room_bytes' must be an array<i64> of a function, none of them negative, one per position}}
func.func @room() attributes {parplan.room_bytes = array<i64: 4, -1>} {
  return
}

// -----

// expected-error@+1 {{'parplan.pass_bytes' must be an array<i64> of a function, none of them negative, five per stage}}
func.func @bytes() attributes {parplan.pass_bytes = array<i64: 1, 2, 3, 4, 5, 6>} {
  return
}

// -----

// expected-error@+1 {{'parplan.boundary_seconds' must be an array<f64> of a function, one time per boundary of stages}}
func.func @boundary() attributes {parplan.boundary_seconds = array<f64: -1.0>} {
  return
}

// -----

// expected-error@+1 {{'parplan.pass_table' must be an array of strings of a function, the passes of each position}}
func.func @table() attributes {parplan.pass_table = "F0 B0"} {
  return
}

// -----

func.func @per_visit(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.per_visit' must be a unit attribute}}
  %y = parplan.accumulate %x {parplan.per_visit = 1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @in_pieces(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.in_pieces' must be a unit attribute}}
  %y = parplan.neg %x {parplan.in_pieces = 1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @relay(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.relay' must be a unit attribute}}
  %y = parplan.neg %x {parplan.relay = 1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @activation_on_nvme(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.neg' op results that are not kept beyond the step cannot rest in the tier "nvme" (P8)}}
  %y = parplan.neg %x {parplan.tier = "nvme"} : tensor<4xf32>
  return
}

// -----

func.func @gradient_on_host(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.neg' op results with the role "input_gradient" cannot wait for the backward pass (P8)}}
  %y = parplan.neg %x {parplan.role = "input_gradient", parplan.tier = "host"} : tensor<4xf32>
  return
}

// -----

// Between workers and servers: all of them, and the other kind.
parplan.mesh @mesh <["dp0"=2 data, "ps0"=1 server]>
func.func @among_workers(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64} {
  // expected-error@+1 {{is not the workers and the servers (P9)}}
  parplan.send %x to 1 over <"dp0"> : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["dp0"=2 data, "ps0"=1 server]>
func.func @to_a_worker(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64} {
  parplan.send %x to 2 over <"dp0", "ps0"> : tensor<4xf32>
  // expected-error@+1 {{names the rank 1 of 2 workers and 1 servers from a worker (P9)}}
  parplan.send %x to 1 over <"dp0", "ps0"> : tensor<4xf32>
  return
}

// -----

// Whoever has pushed is for servers without a common step.
parplan.mesh @mesh <["dp0"=2 data, "ps0"=1 server]>
func.func @to_whoever(%x: tensor<4xf32>) attributes {parplan.position = 1 : i64, parplan.staleness = 1 : i64} {
  parplan.send %x to -1 over <"dp0", "ps0"> : tensor<4xf32>
  return
}
func.func @to_nobody(%x: tensor<4xf32>) attributes {parplan.position = 1 : i64} {
  // expected-error@+1 {{names the rank -1 of 2 workers and 1 servers from a server (P9)}}
  parplan.send %x to -1 over <"dp0", "ps0"> : tensor<4xf32>
  return
}
