// RUN: parplan-opt %s -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -parplan-verify-programs -split-input-file | FileCheck %s

parplan.mesh @mesh <["pp0"=2 pipeline]>
parplan.initializer @w0 "w" : tensor<8x8xf32> in "" at 0 length 256

// Two micro-batches forward and back. Messages have a stream and a communicator of their own; each has a buffer from
// its receive to its last use.
// CHECK-LABEL: exec.program @stage0 position 0 mesh <["pp0"=2 pipeline]>
// CHECK-NEXT: exec.communicator @c0 <"pp0">
// CHECK-NEXT: exec.communicator @c1 <"pp0">
// CHECK: exec.softmax %{{.*}} into %[[Y0:[^ ]*]] rows
// CHECK-NEXT: exec.record 0 on compute
// CHECK-NEXT: exec.wait 0 on point_to_point
// CHECK-NEXT: exec.send @c0 to 1 %[[Y0]] count 32 bytes 128
// CHECK-NEXT: exec.softmax %{{.*}} into %[[Y1:[^ ]*]] rows
// CHECK-NEXT: exec.record 0 on compute
// CHECK-NEXT: exec.wait 0 on point_to_point
// CHECK-NEXT: exec.send @c0 to 1 %[[Y1]] count 32 bytes 128
// The receives need no event: their buffers were free.
// CHECK-NEXT: exec.receive @c0 from 1 into %[[D0:[^ ]*]] count
// CHECK-NEXT: exec.record [[FIRST:[0-9]+]] on point_to_point
// CHECK-NEXT: exec.receive @c0 from 1 into %[[D1:[^ ]*]] count
// CHECK-NEXT: exec.record [[SECOND:[0-9]+]] on point_to_point
// CHECK-NEXT: exec.wait [[FIRST]] on compute
// CHECK-NEXT: exec.square_sum %[[D0]]
// CHECK-NEXT: exec.wait [[SECOND]] on compute
// CHECK-NEXT: exec.square_sum %[[D1]]
// Over the same axes, and on another stream.
// CHECK: exec.collective all_reduce @c1 kind sum
// CHECK-LABEL: exec.program @stage1 position 1
// CHECK: exec.communicator @[[P2P:c[0-9]]] <"pp0">
// CHECK: exec.receive @[[P2P]] from 0
// CHECK: exec.receive @[[P2P]] from 0
func.func @stage0(%x0: tensor<4x8xf32> {parplan.name = "x0"}, %x1: tensor<4x8xf32> {parplan.name = "x1"}) -> (tensor<f64> {parplan.name = "norm"}) attributes {parplan.position = 0 : i64} {
  %y0 = parplan.softmax %x0 dim 1 : tensor<4x8xf32>
  parplan.send %y0 to 1 over <"pp0"> : tensor<4x8xf32>
  %y1 = parplan.softmax %x1 dim 1 : tensor<4x8xf32>
  parplan.send %y1 to 1 over <"pp0"> : tensor<4x8xf32>
  %d0 = parplan.receive from 1 over <"pp0"> : tensor<4x8xf32>
  %d1 = parplan.receive from 1 over <"pp0"> : tensor<4x8xf32>
  %s0 = parplan.square_sum %d0 : tensor<4x8xf32>
  %s1 = parplan.square_sum %d1 : tensor<4x8xf32>
  %s = parplan.sum %s0, %s1 : tensor<f64>
  %n = parplan.all_reduce sum %s axes <"pp0"> to <@mesh, []> : tensor<f64> -> tensor<f64>
  return %n : tensor<f64>
}
func.func @stage1() -> (tensor<f64> {parplan.name = "norm"}) attributes {parplan.position = 1 : i64} {
  %y0 = parplan.receive from 0 over <"pp0"> : tensor<4x8xf32>
  %y1 = parplan.receive from 0 over <"pp0"> : tensor<4x8xf32>
  %w = parplan.parameter @w0 : tensor<8x8xf32>
  %d0 = parplan.matmul "mk,kn->mn" %y0, %w : tensor<4x8xf32>, tensor<8x8xf32>
  parplan.send %d0 to 0 over <"pp0"> : tensor<4x8xf32>
  %d1 = parplan.matmul "mk,kn->mn" %y1, %w : tensor<4x8xf32>, tensor<8x8xf32>
  parplan.send %d1 to 0 over <"pp0"> : tensor<4x8xf32>
  %s = parplan.square_sum %w : tensor<8x8xf32>
  %n = parplan.all_reduce sum %s axes <"pp0"> to <@mesh, []> {parplan.shardings = [#parplan.sharding<@mesh, []>]} : tensor<f64> -> tensor<f64>
  return %n : tensor<f64>
}

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>

// Two messages that are issued together: what either waits for comes before
// both, what waits for either comes behind both, and what is sent lives as long
// as the other one arrives.
// CHECK-LABEL: exec.program @stage0
// CHECK: %[[Y:.*]] = exec.buffer activation at {{[0-9]+}} live 0 to 2
// CHECK: exec.softmax %{{.*}} into %[[Y]] rows
// CHECK-NEXT: exec.record 0 on compute
// CHECK-NEXT: exec.wait 0 on point_to_point
// CHECK-NEXT: exec.send @c0 to 1 %[[Y]] count 32 bytes 128 with_next
// CHECK-NEXT: exec.receive @c0 from 1 into %[[D:[^ ]*]] count 32 bytes 128
// CHECK-NEXT: exec.record 0 on point_to_point
// CHECK-NEXT: exec.wait 0 on compute
// CHECK-NEXT: exec.softmax %[[D]]
// CHECK-LABEL: exec.program @stage1
// CHECK: exec.wait 0 on point_to_point
// CHECK-NEXT: exec.receive @c0 from 0 into %[[X:[^ ]*]] count 32 bytes 128 with_next
// CHECK-NEXT: exec.send @c0 to 0 %{{[^ ]*}} count 32 bytes 128
// CHECK-NEXT: exec.record 1 on point_to_point
// CHECK-NEXT: exec.wait 1 on compute
// CHECK-NEXT: exec.softmax %[[X]]
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

// -----

parplan.mesh @mesh <["pp0"=2 pipeline]>

// Constants of all positions are numbered together; equal ones are there once.
// CHECK: exec.data @data0 dense<[1, 2]>
// CHECK-LABEL: exec.program @stage0
// CHECK: from @data0
// CHECK: exec.data @data1 dense<[1, 3]>
// CHECK-LABEL: exec.program @stage1
// CHECK-DAG: from @data0
// CHECK-DAG: from @data1
func.func @stage0(%x: tensor<4x8xf32> {parplan.name = "x"}) -> (tensor<2x8xf32> {parplan.name = "y"}) attributes {parplan.position = 0 : i64} {
  %i = parplan.constant dense<[1, 2]> : tensor<2xi64>
  %y = parplan.gather %x, %i dim 0 : tensor<4x8xf32>, tensor<2xi64>
  return %y : tensor<2x8xf32>
}
func.func @stage1(%x: tensor<4x8xf32> {parplan.name = "x"}) -> (tensor<2x8xf32> {parplan.name = "y2"}, tensor<2x8xf32> {parplan.name = "z"}) attributes {parplan.position = 1 : i64} {
  %i = parplan.constant dense<[1, 2]> : tensor<2xi64>
  %j = parplan.constant dense<[1, 3]> : tensor<2xi64>
  %y = parplan.gather %x, %i dim 0 : tensor<4x8xf32>, tensor<2xi64>
  %z = parplan.gather %x, %j dim 0 : tensor<4x8xf32>, tensor<2xi64>
  return %y, %z : tensor<2x8xf32>, tensor<2x8xf32>
}
