// RUN: parplan-opt %s -split-input-file -parplan-place-stages -parplan-unroll-micro-batches -parplan-verify-pipeline | FileCheck %s

parplan.mesh @mesh <["pp0"=4 pipeline]>

// All later stages read %a, and the plan says that each hands it on, which
// relieves the link of the first one.
func.func @main(%x: tensor<3xf32> {parplan.batch, parplan.name = "x"}) -> (tensor<3xf32> {parplan.name = "y"})
    attributes {parplan.pipeline_schedule = "forward-only",
                parplan.pass_seconds = array<f64: 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0>} {
  %a = parplan.neg %x {parplan.stage = 0 : i64, parplan.relay} : tensor<3xf32>
  %b = parplan.neg %a {parplan.stage = 1 : i64} : tensor<3xf32>
  %c = parplan.mul %a, %b {parplan.stage = 2 : i64} : tensor<3xf32>, tensor<3xf32>
  %d = parplan.mul %a, %c {parplan.stage = 3 : i64} : tensor<3xf32>, tensor<3xf32>
  return %d : tensor<3xf32>
}

// CHECK-LABEL: func.func @stage0(
// CHECK: %[[A:.*]] = parplan.neg
// CHECK-NEXT: parplan.send %[[A]] to 1
// CHECK-NEXT: return
// CHECK-LABEL: func.func @stage1(
// CHECK: %[[A:.*]] = parplan.receive from 0
// CHECK-NEXT: %[[B:.*]] = parplan.neg %[[A]]
// CHECK-NEXT: parplan.send %[[A]] to 2
// CHECK-NEXT: parplan.send %[[B]] to 2
// CHECK-NEXT: return
// CHECK-LABEL: func.func @stage2(
// CHECK: %[[A:.*]] = parplan.receive from 1
// CHECK-NEXT: %[[B:.*]] = parplan.receive from 1
// CHECK-NEXT: %[[C:.*]] = parplan.mul %[[A]], %[[B]]
// CHECK-NEXT: parplan.send %[[A]] to 3
// CHECK-NEXT: parplan.send %[[C]] to 3

// -----

parplan.mesh @mesh <["pp0"=3 pipeline]>

// Of %a the plan does not say so: it goes to each of its readers, though the
// link of the first stage has more to do.
func.func @main(%x: tensor<3xf32> {parplan.batch, parplan.name = "x"}) -> (tensor<3xf32> {parplan.name = "y"})
    attributes {parplan.pipeline_schedule = "forward-only",
                parplan.pass_seconds = array<f64: 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0>} {
  %a = parplan.neg %x {parplan.stage = 0 : i64} : tensor<3xf32>
  %b = parplan.neg %a {parplan.stage = 1 : i64} : tensor<3xf32>
  %c = parplan.mul %a, %b {parplan.stage = 2 : i64} : tensor<3xf32>, tensor<3xf32>
  return %c : tensor<3xf32>
}

// CHECK-LABEL: func.func @stage0(
// CHECK: %[[A:.*]] = parplan.neg
// CHECK-DAG: parplan.send %[[A]] to 1
// CHECK-DAG: parplan.send %[[A]] to 2
// CHECK: return
// CHECK-LABEL: func.func @stage1(
// CHECK: %[[A:.*]] = parplan.receive from 0
// CHECK-NEXT: %[[B:.*]] = parplan.neg %[[A]]
// CHECK-NEXT: parplan.send %[[B]] to 2
// CHECK-NEXT: return
// CHECK-LABEL: func.func @stage2(
// CHECK-DAG: parplan.receive from 0
// CHECK-DAG: parplan.receive from 1

// -----

parplan.mesh @mesh <["pp0"=3 pipeline]>

// One later stage reads %a: directly, which moves less. Of %b the plan says
// that it is handed on, though stage 1 does not read it.
func.func @main(%x: tensor<3xf32> {parplan.batch, parplan.name = "x"}) -> (tensor<3xf32> {parplan.name = "y"})
    attributes {parplan.pipeline_schedule = "forward-only",
                parplan.pass_seconds = array<f64: 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0>} {
  %a = parplan.neg %x {parplan.stage = 0 : i64} : tensor<3xf32>
  %b = parplan.abs %x {parplan.stage = 0 : i64, parplan.relay} : tensor<3xf32>
  %e = parplan.exp %x {parplan.stage = 0 : i64} : tensor<3xf32>
  %c = parplan.neg %e {parplan.stage = 1 : i64} : tensor<3xf32>
  %d = parplan.mul %a, %b {parplan.stage = 2 : i64} : tensor<3xf32>, tensor<3xf32>
  %f = parplan.mul %d, %c {parplan.stage = 2 : i64} : tensor<3xf32>, tensor<3xf32>
  return %f : tensor<3xf32>
}

// CHECK-LABEL: func.func @stage0(
// CHECK-DAG: %[[A:.*]] = parplan.neg
// CHECK-DAG: %[[B:.*]] = parplan.abs
// CHECK-DAG: %[[E:.*]] = parplan.exp
// CHECK-DAG: parplan.send %[[B]] to 1
// CHECK-DAG: parplan.send %[[E]] to 1
// CHECK-DAG: parplan.send %[[A]] to 2
// CHECK-LABEL: func.func @stage1(
// CHECK: %[[B:.*]] = parplan.receive from 0
// CHECK: parplan.send %[[B]] to 2
// CHECK-LABEL: func.func @stage2(
// CHECK: parplan.receive from 0
// CHECK: parplan.receive from 1
