// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-verify-memory

// What rests on the host is brought to the device, updated on the host, and
// returned from there.
#variable = #parplan.variable<@a>
parplan.initializer @a "a" : tensor<16xf32> in "" at 0 length 64
func.func @updates_on_the_host(%g: tensor<16xf32>, %rate: tensor<f32>)
    -> (tensor<16xf32> {parplan.variable = #variable}, tensor<16xf32> {parplan.name = "read"}) {
  %a = parplan.parameter @a {parplan.tier = "host"} : tensor<16xf32>
  %up = parplan.transfer %a to "device" : tensor<16xf32>
  %read = parplan.neg %up : tensor<16xf32>
  %down = parplan.transfer %g to "host" : tensor<16xf32>
  %na = parplan.optimizer_update sgd %a, %down learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.tier = "host"} : tensor<16xf32>, tensor<16xf32>, tensor<f32>
  return %na, %read : tensor<16xf32>, tensor<16xf32>
}

// -----

parplan.initializer @a "a" : tensor<16xf32> in "" at 0 length 64
func.func @read_where_it_is_not() -> (tensor<16xf32> {parplan.name = "read"}) {
  %a = parplan.parameter @a {parplan.tier = "host"} : tensor<16xf32>
  // expected-error@+1 {{after memory: P19: operand 0 is on the host and is read on the device}}
  %read = parplan.neg %a : tensor<16xf32>
  return %read : tensor<16xf32>
}

// -----

#variable = #parplan.variable<@a>
parplan.initializer @a "a" : tensor<16xf32> in "" at 0 length 64
func.func @updated_where_the_gradient_is_not(%g: tensor<16xf32>, %rate: tensor<f32>)
    -> (tensor<16xf32> {parplan.variable = #variable}) {
  %a = parplan.parameter @a {parplan.tier = "host"} : tensor<16xf32>
  // expected-error@+1 {{after memory: P19: operand 1 is on the device and is read on the host}}
  %na = parplan.optimizer_update sgd %a, %g learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.tier = "host"} : tensor<16xf32>, tensor<16xf32>, tensor<f32>
  return %na : tensor<16xf32>
}

// -----

#variable = #parplan.variable<@a>
parplan.initializer @a "a" : tensor<16xf32> in "" at 0 length 64
func.func @returned_where_it_does_not_rest()
    -> (tensor<16xf32> {parplan.variable = #variable}, tensor<16xf32> {parplan.name = "read"}) {
  %a = parplan.parameter @a {parplan.tier = "nvme"} : tensor<16xf32>
  %onHost = parplan.transfer %a to "host" : tensor<16xf32>
  // expected-error@+2 {{after memory: P19: result 0 is returned from the host and rests on the nvme}}
  // expected-error@+1 {{after memory: P19: result 1 is returned from the host and rests on the device}}
  return %onHost, %onHost : tensor<16xf32>, tensor<16xf32>
}

// -----

func.func @moved_to_where_it_is(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{after memory: P19: brings a value to where it is}}
  %same = parplan.transfer %x to "device" : tensor<4xf32>
  return %same : tensor<4xf32>
}

// -----

#variable = #parplan.variable<@a>
parplan.mesh @mesh <["dp0"=2 data, "ps0"=1 server]>
parplan.initializer @a "a" : tensor<16xf32> in "" at 0 length 64
func.func @main(%g: tensor<16xf32>) -> (tensor<16xf32> {parplan.variable = #variable}) attributes {parplan.position = 0 : i64} {
  parplan.send %g to 2 over <"dp0", "ps0"> : tensor<16xf32>
  %new = parplan.receive from 2 over <"dp0", "ps0"> : tensor<16xf32>
  return %new : tensor<16xf32>
}
func.func @server(%rate: tensor<f32>) -> (tensor<16xf32> {parplan.variable = #variable}) attributes {parplan.position = 1 : i64} {
  %first = parplan.receive from 0 over <"dp0", "ps0"> : tensor<16xf32>
  %second = parplan.receive from 1 over <"dp0", "ps0"> : tensor<16xf32>
  %sum = parplan.add %first, %second : tensor<16xf32>, tensor<16xf32>
  %a = parplan.parameter @a : tensor<16xf32>
  %na = parplan.optimizer_update sgd %a, %sum learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    : tensor<16xf32>, tensor<16xf32>, tensor<f32>
  parplan.send %na to 0 over <"dp0", "ps0"> : tensor<16xf32>
  parplan.send %na to 1 over <"dp0", "ps0"> : tensor<16xf32>
  return %na : tensor<16xf32>
}

// -----

// expected-error@+1 {{after memory: P20: workers and servers have a program each}}
parplan.mesh @mesh <["dp0"=2 data, "ps0"=1 server]>
func.func @main() attributes {parplan.position = 0 : i64} {
  return
}

// -----

#variable = #parplan.variable<@a>
#state = #parplan.variable<@a, slot = "momentum">
parplan.mesh @mesh <["dp0"=1 data, "ps0"=1 server]>
parplan.initializer @a "a" : tensor<16xf32> in "" at 0 length 64
func.func @main(%g: tensor<16xf32>, %rate: tensor<f32>)
    -> (tensor<16xf32> {parplan.variable = #variable}) attributes {parplan.position = 0 : i64} {
  %a = parplan.parameter @a : tensor<16xf32>
  // expected-error@+1 {{after memory: P20: a worker has a state of the optimizer}}
  %m = parplan.parameter @a slot "momentum" : tensor<16xf32>
  // expected-error@+1 {{after memory: P20: a worker updates what servers keep}}
  %na:2 = parplan.optimizer_update momentum %a, %g states %m learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.9
    : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>
  // expected-error@+1 {{after memory: P20: result 0 replaces a variable and comes from no server}}
  return %na#0 : tensor<16xf32>
}
func.func @server() attributes {parplan.position = 1 : i64} {
  return
}

// -----

parplan.mesh @mesh <["dp0"=2 data, "ps0"=2 server]>
func.func @main(%x: tensor<f32>) attributes {parplan.position = 0 : i64} {
  // expected-error@+1 {{after memory: P20: a worker is not on the axis "ps0"}}
  %sum = parplan.all_reduce sum %x axes <"ps0"> to <@mesh, []> : tensor<f32> -> tensor<f32>
  return
}
func.func @server(%x: tensor<f32>) attributes {parplan.position = 1 : i64} {
  // expected-error@+1 {{after memory: P20: a server is not on the axis "dp0"}}
  %sum = parplan.all_reduce sum %x axes <"dp0"> to <@mesh, []> : tensor<f32> -> tensor<f32>
  return
}

// -----

parplan.mesh @mesh <["dp0"=2 data, "ps0"=1 server]>
func.func @main(%x: tensor<4xf32>) attributes {parplan.position = 0 : i64} {
  parplan.send %x to 2 over <"dp0", "ps0"> : tensor<4xf32>
  return
}
// expected-error@+1 {{after memory: P20: 0 messages from the worker 1, which has 1}}
func.func @server() attributes {parplan.position = 1 : i64} {
  %x = parplan.receive from 0 over <"dp0", "ps0"> : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["dp0"=2 data, "ps0"=1 server]>
func.func @main() attributes {parplan.position = 0 : i64} {
  // expected-note@+1 {{the other side}}
  %x = parplan.receive from 2 over <"dp0", "ps0"> : tensor<4xf32>
  return
}
func.func @server(%x: tensor<8xf32>) attributes {parplan.position = 1 : i64, parplan.staleness = 1 : i64} {
  // expected-error@+1 {{after memory: P20: message of another type than on the other side}}
  parplan.send %x to -1 over <"dp0", "ps0"> : tensor<8xf32>
  return
}
