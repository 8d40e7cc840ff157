// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-unroll-micro-batches | FileCheck %s

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w "w" : tensor<3x5xf32> in "" at 0 length 60

// The number of labels is a stage of its own; forward and backward follow each
// other in every micro-batch. The first contribution is no copy. The gradient
// is reduced directly after the last one, before the loss is complete.
// CHECK-LABEL: func.func @two_micro_batches
// CHECK-SAME: %[[X:.*]]: tensor<2x2x3xf32> {parplan.batch, parplan.global_type = tensor<2x4x3xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {"dp0"}, {}]>}
// CHECK-SAME: %[[WEIGHT:.*]]: tensor<2x2xf32> {parplan.batch
func.func @two_micro_batches(
    %x: tensor<2x3xf32> {parplan.batch, parplan.global_type = tensor<4x3xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>},
    %weight: tensor<2xf32> {parplan.batch, parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}]>})
    -> (tensor<3x5xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>}) attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[W0S:.*]] = parplan.slice %[[WEIGHT]] dims [0] from [0] to [1] step [1]
  // CHECK-NEXT: %[[W0:.*]] = parplan.reshape %[[W0S]] {parplan.global_type = tensor<4xf32>
  // CHECK-NEXT: %[[N0:.*]] = parplan.reduce sum %[[W0]]
  // CHECK-NEXT: %[[P:.*]] = parplan.parameter @w
  // CHECK-NEXT: %[[W1S:.*]] = parplan.slice %[[WEIGHT]] dims [0] from [1] to [2] step [1]
  // CHECK-NEXT: %[[W1:.*]] = parplan.reshape %[[W1S]]
  // CHECK-NEXT: %[[N1:.*]] = parplan.reduce sum %[[W1]]
  // CHECK-NEXT: %[[N:.*]] = parplan.add %[[N0]], %[[N1]] {parplan.role = "loss"
  // CHECK-NEXT: %[[COUNT:.*]] = parplan.all_reduce sum %[[N]]
  // CHECK-NEXT: parplan.slice %[[X]] dims [0] from [0] to [1] step [1] {parplan.global_type = tensor<1x4x3xf32>
  // CHECK-NEXT: %[[X0:.*]] = parplan.reshape
  // CHECK-NEXT: %[[Y0:.*]] = parplan.matmul "mk,kn->mn" %[[X0]], %[[P]]
  // CHECK-NEXT: %[[D0:.*]] = parplan.div %[[Y0]], %[[COUNT]]
  // CHECK-NEXT: %[[G0:.*]] = parplan.matmul "mk,mn->kn" %[[X0]], %[[D0]]
  // CHECK-NEXT: parplan.slice %[[X]] dims [0] from [1] to [2]
  // CHECK-NEXT: %[[X1:.*]] = parplan.reshape
  // CHECK-NEXT: %[[Y1:.*]] = parplan.matmul "mk,kn->mn" %[[X1]], %[[P]]
  // CHECK-NEXT: %[[D1:.*]] = parplan.div %[[Y1]], %[[COUNT]]
  // CHECK-NEXT: %[[G1:.*]] = parplan.matmul "mk,mn->kn" %[[X1]], %[[D1]]
  // CHECK-NEXT: %[[G:.*]] = parplan.add %[[G0]], %[[G1]]
  // CHECK-NEXT: %[[REDUCED:.*]] = parplan.all_reduce sum %[[G]]
  // CHECK-NEXT: %[[NEW:.*]] = parplan.sub %[[P]], %[[REDUCED]]
  // CHECK-NEXT: return %[[NEW]]
  %p = parplan.parameter @w {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]} : tensor<3x5xf32>
  %y = parplan.matmul "mk,kn->mn" %x, %p {parplan.per_micro_batch} : tensor<2x3xf32>, tensor<3x5xf32>
  %own = parplan.reduce sum %weight dims [0] {parplan.per_micro_batch, parplan.role = "loss",
    parplan.global_type = tensor<f32>, parplan.shardings = [#parplan.sharding<@mesh, [], partial = sum{"dp0"}>]} : tensor<2xf32>
  %all = parplan.accumulate %own {parplan.role = "loss",
    parplan.shardings = [#parplan.sharding<@mesh, [], partial = sum{"dp0"}>]} : tensor<f32>
  %count = parplan.all_reduce sum %all axes <"dp0"> to <@mesh, []> : tensor<f32> -> tensor<f32>
  %d = parplan.div %y, %count {parplan.per_micro_batch} : tensor<2x5xf32>, tensor<f32>
  %g = parplan.matmul "mk,mn->kn" %x, %d {parplan.per_micro_batch,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"dp0"}>]} : tensor<2x3xf32>, tensor<2x5xf32>
  %sum = parplan.accumulate %g {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"dp0"}>]} : tensor<3x5xf32>
  %reduced = parplan.all_reduce sum %sum axes <"dp0"> to <@mesh, [{}, {}]> : tensor<3x5xf32> -> tensor<3x5xf32>
  %new = parplan.sub %p, %reduced : tensor<3x5xf32>, tensor<3x5xf32>
  return %new : tensor<3x5xf32>
}

// One micro-batch has a leading dimension too; sums vanish.
// CHECK-LABEL: func.func @one_micro_batch
// CHECK-SAME: %[[X:.*]]: tensor<1x2xf32> {parplan.batch}
func.func @one_micro_batch(%x: tensor<2xf32> {parplan.batch}) -> tensor<2xf32> attributes {parplan.micro_batches = 1 : i64} {
  // CHECK-NEXT: %[[READ:.*]] = parplan.reshape %[[X]] : tensor<1x2xf32> to tensor<2xf32>
  // CHECK-NEXT: %[[NEG:.*]] = parplan.neg %[[READ]] : tensor<2xf32>
  // CHECK-NEXT: return %[[NEG]]
  %y = parplan.neg %x {parplan.per_micro_batch} : tensor<2xf32>
  %z = parplan.accumulate %y : tensor<2xf32>
  return %z : tensor<2xf32>
}

// CHECK-LABEL: func.func @inference
// CHECK-SAME: tensor<2xf32>
func.func @inference(%x: tensor<2xf32> {parplan.batch}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// -----

func.func @forgotten_sum(%x: tensor<2xf32> {parplan.batch}) -> tensor<2xf32> attributes {parplan.micro_batches = 2 : i64} {
  %y = parplan.neg %x {parplan.per_micro_batch} : tensor<2xf32>
  // expected-error@+1 {{operand 0 is a value of one micro-batch and is read once per step}}
  %z = parplan.abs %y : tensor<2xf32>
  return %z : tensor<2xf32>
}

// -----

func.func @sum_of_a_sum(%x: tensor<2xf32> {parplan.batch}) -> tensor<2xf32> attributes {parplan.micro_batches = 2 : i64} {
  %y = parplan.accumulate %x : tensor<2xf32>
  // expected-error@+1 {{operand 0 is accumulated and is no value of a micro-batch}}
  %z = parplan.accumulate %y : tensor<2xf32>
  return %z : tensor<2xf32>
}

// -----

func.func @inference(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{stands in a function without parplan.micro_batches}}
  %y = parplan.accumulate %x : tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
// expected-error@+1 {{argument 0 is a batch and stored}}
func.func @stored_batch(%x: tensor<2xf32> {parplan.batch, parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"dp0"}>}) attributes {parplan.micro_batches = 2 : i64} {
  return
}
