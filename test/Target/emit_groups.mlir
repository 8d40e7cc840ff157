// Two messages that are issued together are a group of calls; the wait of either stands before it.
// RUN: parplan-opt %s -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit | FileCheck %s

parplan.mesh @mesh <["pp0"=2 pipeline]>

// The first position sends first, the second one receives first.
// CHECK: rank.wait(0, pointToPoint);
// CHECK-NEXT: communicator0.beginGroup(pointToPoint);
// CHECK-NEXT: communicator0.send(pointToPoint, {{.*}}, 1, {{.*}}, 32);
// CHECK-NEXT: communicator0.receive(pointToPoint, {{.*}}, 1, {{.*}}, 32);
// CHECK-NEXT: communicator0.endGroup(pointToPoint);
// CHECK-NEXT: rank.record(0, pointToPoint);
// CHECK: communicator0.beginGroup(pointToPoint);
// CHECK-NEXT: communicator0.receive(pointToPoint, {{.*}}, 0, {{.*}}, 32);
// CHECK-NEXT: communicator0.send(pointToPoint, {{.*}}, 0, {{.*}}, 32);
// CHECK-NEXT: communicator0.endGroup(pointToPoint);
func.func @stage0(%x: tensor<4x8xf32> {parplan.name = "x"}) -> (tensor<4x8xf32> {parplan.name = "z"}) attributes {parplan.position = 0 : i64} {
  %y = parplan.softmax %x dim 1 : tensor<4x8xf32>
  parplan.send %y to 1 over <"pp0"> with_next : tensor<4x8xf32>
  %d = parplan.receive from 1 over <"pp0"> : tensor<4x8xf32>
  %z = parplan.softmax %d dim 1 : tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
func.func @stage1(%x: tensor<4x8xf32> {parplan.name = "x"}) -> (tensor<4x8xf32> {parplan.name = "y"}) attributes {parplan.position = 1 : i64} {
  %d = parplan.softmax %x dim 1 : tensor<4x8xf32>
  %r = parplan.receive from 0 over <"pp0"> with_next : tensor<4x8xf32>
  parplan.send %d to 0 over <"pp0"> : tensor<4x8xf32>
  %y = parplan.softmax %r dim 1 : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
