// RUN: parplan-opt %s -pass-pipeline='builtin.module(parplan-add-loss{loss=mse scale})' | FileCheck %s

// The mean is over 2 micro-batches of 4 x 5 elements.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<4x5xf32>{{.*}}, %[[LABELS:[a-z0-9]+]]: tensor<4x5xf32> {parplan.batch, parplan.name = "labels"}, %{{.*}}: tensor<f32> {parplan.schedule = "loss_scale"})
func.func @main(%x: tensor<4x5xf32> {parplan.batch}) -> tensor<4x5xf32> attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[D:.*]] = parplan.sub %[[X]], %[[LABELS]]
  // CHECK: %[[S:.*]] = parplan.mul %[[D]], %[[D]]
  // CHECK: %[[R:.*]] = parplan.reduce sum %[[S]] dims [0, 1]
  // CHECK: %[[T:.*]] = parplan.accumulate %[[R]]
  // CHECK: %[[C:.*]] = parplan.constant {{.*}}dense<2.500000e-02> : tensor<f32>
  // CHECK: parplan.mul %[[T]], %[[C]]
  return %x : tensor<4x5xf32>
}
