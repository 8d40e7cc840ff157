// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-verify-pipeline

// Two positions that fit.
parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @stage0(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64} {
  parplan.send %x to 1 over <"pp0"> : tensor<4xf32>
  return
}
func.func @stage1() attributes {parplan.position = 1 : i64} {
  %x = parplan.receive from 0 over <"pp0"> : tensor<4xf32>
  return
}

// -----

// Two that meet on the link.
parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @stage0(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64} {
  parplan.send %x to 1 over <"pp0"> with_next : tensor<4xf32>
  %y = parplan.receive from 1 over <"pp0"> : tensor<4xf32>
  // expected-error@+1 {{after pipeline: P13: stands with an op that is not its way back}}
  parplan.send %x to 1 over <"pp0"> with_next : tensor<4xf32>
  return
}
func.func @stage1(%x: tensor<4xf32>) attributes {parplan.position = 1 : i64} {
  %y = parplan.receive from 0 over <"pp0"> with_next : tensor<4xf32>
  parplan.send %x to 0 over <"pp0"> : tensor<4xf32>
  %z = parplan.receive from 0 over <"pp0"> : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
// expected-error@+1 {{after pipeline: the mesh has no pipeline axis}}
func.func @stage0() attributes {parplan.position = 0 : i64} {
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @stage0() attributes {parplan.position = 0 : i64} {
  return
}
// expected-error@+1 {{after pipeline: position 0 of 2 is no other's}}
func.func @stage1() attributes {parplan.position = 0 : i64} {
  return
}

// -----

// expected-error@+1 {{after pipeline: position 1 has no program}}
module {
  parplan.mesh @mesh <["pp0"=2 pipeline]>
  func.func @stage0() attributes {parplan.position = 0 : i64} {
    return
  }
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @stage0(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64} {
  parplan.send %x to 1 over <"pp0"> : tensor<4xf32>
  // expected-error@+1 {{after pipeline: P11: position 1 receives 1 messages from 0, not this one}}
  parplan.send %x to 1 over <"pp0"> : tensor<4xf32>
  return
}
func.func @stage1() attributes {parplan.position = 1 : i64} {
  %x = parplan.receive from 0 over <"pp0"> : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @stage0(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64} {
  return
}
func.func @stage1() attributes {parplan.position = 1 : i64} {
  // expected-error@+1 {{after pipeline: P11: position 0 sends 0 messages to 1, not this one}}
  %x = parplan.receive from 0 over <"pp0"> : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @stage0(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64} {
  // expected-note@+1 {{it is sent here}}
  parplan.send %x to 1 over <"pp0"> : tensor<4xf32>
  return
}
func.func @stage1() attributes {parplan.position = 1 : i64} {
  // expected-error@+1 {{after pipeline: P11: message 0 is received as another type or layout than it is sent in}}
  %x = parplan.receive from 0 over <"pp0"> : tensor<2xf32>
  return
}

// -----

// Both send first.
parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @stage0(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64} {
  // expected-error@+1 {{after pipeline: P12: position 0 waits here for ever}}
  parplan.send %x to 1 over <"pp0"> : tensor<4xf32>
  %y = parplan.receive from 1 over <"pp0"> : tensor<4xf32>
  return
}
func.func @stage1(%x: tensor<4xf32>) attributes {parplan.position = 1 : i64} {
  parplan.send %x to 0 over <"pp0"> : tensor<4xf32>
  %y = parplan.receive from 0 over <"pp0"> : tensor<4xf32>
  return
}

// -----

// The passes are F0 F1 B0 B1.
parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @stage0(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64, parplan.pipeline_schedule = "gpipe", parplan.micro_batches = 2 : i64, parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>} {
  %a = parplan.neg %x {parplan.micro_batch = 0 : i64, parplan.stage = 0 : i64} : tensor<4xf32>
  %b = parplan.neg %x {parplan.micro_batch = 1 : i64, parplan.stage = 0 : i64, parplan.role = "input_gradient"} : tensor<4xf32>
  // expected-error@+1 {{after pipeline: P10: stands behind pass B1 and belongs to another one}}
  %d = parplan.neg %x {parplan.micro_batch = 0 : i64, parplan.stage = 0 : i64} : tensor<4xf32>
  return
}
func.func @stage1() attributes {parplan.position = 1 : i64} {
  return
}

// -----

// All positions are looked at, whatever is wrong with one.
parplan.mesh @mesh <["pp0"=2 pipeline]>
func.func @stage0(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64, parplan.pipeline_schedule = "gpipe", parplan.micro_batches = 2 : i64, parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>} {
  %b = parplan.neg %x {parplan.micro_batch = 1 : i64, parplan.stage = 0 : i64, parplan.role = "input_gradient"} : tensor<4xf32>
  // expected-error@+1 {{after pipeline: P10: stands behind pass B1 and belongs to another one}}
  %d = parplan.neg %x {parplan.micro_batch = 0 : i64, parplan.stage = 0 : i64} : tensor<4xf32>
  return
}
func.func @stage1(%x: tensor<4xf32>) attributes {parplan.position = 1 : i64, parplan.pipeline_schedule = "gpipe", parplan.micro_batches = 2 : i64, parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>} {
  %b = parplan.neg %x {parplan.micro_batch = 1 : i64, parplan.stage = 1 : i64, parplan.role = "input_gradient"} : tensor<4xf32>
  // expected-error@+1 {{after pipeline: P10: stands behind pass B1 and belongs to another one}}
  %d = parplan.neg %x {parplan.micro_batch = 0 : i64, parplan.stage = 1 : i64} : tensor<4xf32>
  return
}
