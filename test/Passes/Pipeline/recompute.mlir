// RUN: parplan-opt %s -parplan-recompute | FileCheck %s

// Copies stand before the first backward reader, and read what is kept.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<4xf32> {parplan.batch}) -> tensor<4xf32> attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[KEPT:.*]] = parplan.exp
  %kept = parplan.exp %x {parplan.per_micro_batch} : tensor<4xf32>
  // CHECK-NEXT: %[[A:.*]] = parplan.tanh %[[KEPT]] {parplan.per_micro_batch}
  %a = parplan.tanh %kept {parplan.per_micro_batch, parplan.recompute} : tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = parplan.sin %[[A]]
  %b = parplan.sin %a {parplan.per_micro_batch, parplan.recompute} : tensor<4xf32>
  // CHECK-NEXT: %[[C:.*]] = parplan.neg %[[B]]
  %c = parplan.neg %b {parplan.per_micro_batch} : tensor<4xf32>
  // CHECK-NEXT: %[[D:.*]] = parplan.cos %[[C]]
  %d = parplan.cos %c {parplan.per_micro_batch, parplan.role = "input_gradient"} : tensor<4xf32>
  // CHECK-NEXT: %[[A2:.*]] = parplan.tanh %[[KEPT]] {parplan.per_micro_batch, parplan.role = "input_gradient"}
  // CHECK-NEXT: %[[B2:.*]] = parplan.sin %[[A2]] {parplan.per_micro_batch, parplan.role = "input_gradient"}
  // CHECK-NEXT: %[[E:.*]] = parplan.mul %[[D]], %[[B2]]
  %e = parplan.mul %d, %b {parplan.per_micro_batch, parplan.role = "input_gradient"} : tensor<4xf32>, tensor<4xf32>
  // CHECK-NEXT: %[[F:.*]] = parplan.mul %[[E]], %[[A2]]
  %f = parplan.mul %e, %a {parplan.per_micro_batch, parplan.role = "weight_gradient"} : tensor<4xf32>, tensor<4xf32>
  // CHECK-NEXT: parplan.mul %[[F]], %[[KEPT]]
  %g = parplan.mul %f, %kept {parplan.per_micro_batch, parplan.role = "weight_gradient"} : tensor<4xf32>, tensor<4xf32>
  %sum = parplan.accumulate %g : tensor<4xf32>
  return %sum : tensor<4xf32>
}

// What another stage makes is kept, and what runs once per step.
// CHECK-LABEL: func.func @stages
func.func @stages(%x: tensor<4xf32> {parplan.batch}, %w: tensor<4xf32>) -> tensor<4xf32> attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[W:.*]] = parplan.neg
  // CHECK-NOT: parplan.recompute
  %w2 = parplan.neg %w {parplan.recompute} : tensor<4xf32>
  // CHECK: %[[A:.*]] = parplan.tanh
  %a = parplan.tanh %x {parplan.per_micro_batch, parplan.recompute, parplan.stage = 0 : i64} : tensor<4xf32>
  %b = parplan.mul %a, %w2 {parplan.per_micro_batch, parplan.recompute, parplan.stage = 1 : i64} : tensor<4xf32>, tensor<4xf32>
  // CHECK: %[[B2:.*]] = parplan.mul %[[A]], %[[W]] {parplan.per_micro_batch, parplan.role = "input_gradient", parplan.stage = 1 : i64}
  // CHECK-NEXT: %[[C:.*]] = parplan.mul %[[B2]], %[[A]]
  %c = parplan.mul %b, %a {parplan.per_micro_batch, parplan.role = "input_gradient", parplan.stage = 1 : i64} : tensor<4xf32>, tensor<4xf32>
  // CHECK-NEXT: %[[A2:.*]] = parplan.tanh
  // CHECK-NEXT: parplan.mul %[[C]], %[[A2]]
  %d = parplan.mul %c, %a {parplan.per_micro_batch, parplan.role = "input_gradient", parplan.stage = 0 : i64} : tensor<4xf32>, tensor<4xf32>
  %sum = parplan.accumulate %d : tensor<4xf32>
  return %sum : tensor<4xf32>
}

parplan.mesh @mesh <["x"=2 data]>

// What the backward pass gathers anyway serves what it makes again, too: of what
// is stored, and of what is made again itself.
// CHECK-LABEL: func.func @gathered
func.func @gathered(%x: tensor<4xf32> {parplan.batch}, %w: tensor<2xf32>) -> tensor<4xf32> attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: parplan.all_gather %[[W:[^ ]*]] axes {{.*}} {parplan.node = 1 : i64, parplan.per_micro_batch}
  %forward = parplan.all_gather %w axes <"x"> dim 0 to <@mesh, [{}]> {parplan.node = 1 : i64, parplan.per_micro_batch, parplan.recompute} : tensor<2xf32> -> tensor<4xf32>
  // CHECK-NEXT: parplan.mul
  %a = parplan.mul %x, %forward {parplan.per_micro_batch, parplan.recompute} : tensor<4xf32>, tensor<4xf32>
  // CHECK-NEXT: %[[OWN:.*]] = parplan.all_gather %[[W]] axes {{.*}} {parplan.node = 2 : i64, parplan.per_micro_batch, parplan.role = "input_gradient"}
  // CHECK-NEXT: %[[A:.*]] = parplan.mul %{{.*}}, %[[OWN]] {parplan.per_micro_batch, parplan.role = "input_gradient"}
  // CHECK-NEXT: %[[B:.*]] = parplan.exp %[[A]]
  %b = parplan.exp %a {parplan.per_micro_batch, parplan.role = "input_gradient"} : tensor<4xf32>
  %backward = parplan.all_gather %w axes <"x"> dim 0 to <@mesh, [{}]> {parplan.node = 2 : i64, parplan.per_micro_batch, parplan.role = "input_gradient"} : tensor<2xf32> -> tensor<4xf32>
  // CHECK-NEXT: parplan.mul %[[B]], %[[OWN]]
  %c = parplan.mul %b, %backward {parplan.per_micro_batch, parplan.role = "input_gradient"} : tensor<4xf32>, tensor<4xf32>
  %sum = parplan.accumulate %c : tensor<4xf32>
  return %sum : tensor<4xf32>
}

// CHECK-LABEL: func.func @gathered_of_remade
func.func @gathered_of_remade(%x: tensor<2xf32> {parplan.batch}) -> tensor<4xf32> attributes {parplan.micro_batches = 2 : i64} {
  %h = parplan.neg %x {parplan.per_micro_batch, parplan.recompute} : tensor<2xf32>
  // CHECK: parplan.all_gather
  %forward = parplan.all_gather %h axes <"x"> dim 0 to <@mesh, [{}]> {parplan.per_micro_batch, parplan.recompute} : tensor<2xf32> -> tensor<4xf32>
  // CHECK-NEXT: parplan.sign
  %a = parplan.sign %forward {parplan.per_micro_batch, parplan.recompute} : tensor<4xf32>
  // CHECK-NEXT: %[[H:.*]] = parplan.neg %{{.*}} {parplan.per_micro_batch, parplan.role = "input_gradient"}
  // CHECK-NEXT: %[[G:.*]] = parplan.all_gather %[[H]]
  // CHECK-NEXT: %[[A:.*]] = parplan.sign %[[G]]
  // CHECK-NEXT: %[[B:.*]] = parplan.exp %[[A]]
  %b = parplan.exp %a {parplan.per_micro_batch, parplan.role = "input_gradient"} : tensor<4xf32>
  %backward = parplan.all_gather %h axes <"x"> dim 0 to <@mesh, [{}]> {parplan.per_micro_batch, parplan.role = "input_gradient"} : tensor<2xf32> -> tensor<4xf32>
  // CHECK-NEXT: parplan.mul %[[B]], %[[G]]
  %c = parplan.mul %b, %backward {parplan.per_micro_batch, parplan.role = "input_gradient"} : tensor<4xf32>, tensor<4xf32>
  %sum = parplan.accumulate %c : tensor<4xf32>
  return %sum : tensor<4xf32>
}

// What gathers it alone may wait for the gradients of weights that read it.
// CHECK-LABEL: func.func @gathered_for_weights
func.func @gathered_for_weights(%x: tensor<2xf32> {parplan.batch}) -> tensor<4xf32> attributes {parplan.micro_batches = 2 : i64} {
  %h = parplan.neg %x {parplan.per_micro_batch, parplan.recompute} : tensor<2xf32>
  // CHECK: parplan.all_gather
  %forward = parplan.all_gather %h axes <"x"> dim 0 to <@mesh, [{}]> {parplan.per_micro_batch, parplan.recompute} : tensor<2xf32> -> tensor<4xf32>
  // CHECK-NEXT: %[[DX:.*]] = parplan.exp
  %dx = parplan.exp %x {parplan.per_micro_batch, parplan.role = "input_gradient"} : tensor<2xf32>
  // CHECK-NEXT: %[[H:.*]] = parplan.neg %{{.*}} {parplan.per_micro_batch, parplan.role = "input_gradient"}
  // CHECK-NEXT: %[[G:.*]] = parplan.all_gather %[[H]] axes {{.*}} {parplan.per_micro_batch, parplan.role = "weight_gradient"}
  // CHECK-NEXT: parplan.mul %[[G]], %[[G]] {parplan.per_micro_batch, parplan.role = "weight_gradient"}
  %dw = parplan.mul %forward, %forward {parplan.per_micro_batch, parplan.role = "weight_gradient"} : tensor<4xf32>, tensor<4xf32>
  %sum = parplan.accumulate %dw : tensor<4xf32>
  return %sum : tensor<4xf32>
}

// What brings it to rest runs with it: before, it has more bytes.
// CHECK-LABEL: func.func @scattered
func.func @scattered(%x: tensor<4xf32> {parplan.batch}) -> tensor<2xf32> attributes {parplan.micro_batches = 2 : i64} {
  %h = parplan.neg %x {parplan.per_micro_batch, parplan.recompute} : tensor<4xf32>
  // CHECK: parplan.reduce_scatter
  %rest = parplan.reduce_scatter sum %h axes <"x"> dim 0 to <@mesh, [{"x"}]> {parplan.per_micro_batch, parplan.recompute} : tensor<4xf32> -> tensor<2xf32>
  // CHECK: parplan.reduce_scatter {{.*}} {parplan.per_micro_batch, parplan.role = "input_gradient"}
  %dw = parplan.mul %rest, %rest {parplan.per_micro_batch, parplan.role = "weight_gradient"} : tensor<2xf32>, tensor<2xf32>
  %sum = parplan.accumulate %dw : tensor<2xf32>
  return %sum : tensor<2xf32>
}
