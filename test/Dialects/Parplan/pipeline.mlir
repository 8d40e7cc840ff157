// RUN: parplan-opt %s | parplan-opt | FileCheck %s

parplan.mesh @mesh <["pp0"=2 pipeline, "dp0"=2 data]>

// CHECK-LABEL: func.func @stage0
func.func @stage0(%x: tensor<4xf32>) attributes {
    parplan.position = 0 : i64, parplan.pipeline_schedule = "1f1b",
    parplan.pass_seconds = array<f64: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>,
    parplan.boundary_seconds = array<f64: 0.5>, parplan.pass_table = ["F0 F1 B0 B1", "F0 B0 F1 B1"]} {
  // CHECK: parplan.send %{{.*}} to 1 over <"pp0"> {parplan.micro_batch = 0 : i64} : tensor<4xf32>
  parplan.send %x to 1 over <"pp0"> {parplan.micro_batch = 0 : i64} : tensor<4xf32>
  // CHECK: parplan.send %{{.*}} to 1 over <"pp0"> with_next : tensor<4xf32>
  parplan.send %x to 1 over <"pp0"> with_next : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @stage1
func.func @stage1() -> tensor<4xf32> attributes {parplan.position = 1 : i64} {
  // CHECK: parplan.receive from 0 over <"pp0"> : tensor<4xf32>
  %x = parplan.receive from 0 over <"pp0"> : tensor<4xf32>
  // CHECK: parplan.receive from 0 over <"pp0"> with_next : tensor<4xf32>
  parplan.receive from 0 over <"pp0"> with_next : tensor<4xf32>
  // CHECK: parplan.transfer %{{.*}} to "host" : tensor<4xf32>
  %y = parplan.transfer %x to "host" : tensor<4xf32>
  // CHECK: parplan.neg %{{.*}} {parplan.recompute, parplan.relay, parplan.stage = 1 : i64, parplan.tier = "host"}
  %z = parplan.neg %y {parplan.recompute, parplan.relay, parplan.stage = 1 : i64, parplan.tier = "host"} : tensor<4xf32>
  return %z : tensor<4xf32>
}
