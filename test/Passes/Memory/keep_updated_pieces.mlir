// RUN: parplan-opt %s -parplan-keep-updated-pieces -split-input-file | FileCheck %s
// RUN: parplan-opt %s -parplan-keep-updated-pieces -parplan-insert-transfers -split-input-file | FileCheck %s --check-prefix=MOVED

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<8xf32> in "" at 0 length 32

// Of a piece that is updated on the host only gradients go down, and it goes up before it is gathered.
// CHECK-LABEL: func.func @piece_on_the_host
// CHECK-SAME: parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"dp0"}>
// CHECK: %[[W:.*]] = parplan.parameter @w0 {{.*}}stored = {"dp0"}>]} : tensor<4xf32>
// CHECK: parplan.neg
// CHECK-NEXT: %[[ALL:.*]] = parplan.all_gather %[[W]] {{.*}}{parplan.block = 3 : i64}
// CHECK-NEXT: %[[FLAT:.*]] = parplan.cast %[[ALL]]
// CHECK-NEXT: parplan.add %{{.*}}, %[[FLAT]]
// CHECK: %[[NEW:.*]] = parplan.optimizer_update sgd %[[W]]
// CHECK-NEXT: return %[[NEW]]
// MOVED-LABEL: func.func @piece_on_the_host
// MOVED: %[[W:.*]] = parplan.parameter @w0 {{.*}}parplan.tier = "host"
// MOVED: %[[UP:.*]] = parplan.transfer %[[W]] to "device"
// MOVED-NEXT: parplan.all_gather %[[UP]]
// MOVED-NOT: to "device"
// MOVED: %[[G:.*]] = parplan.reduce_scatter
// MOVED-NEXT: %[[DOWN:.*]] = parplan.transfer %[[G]] to "host"
// MOVED-NOT: parplan.transfer
// MOVED: parplan.optimizer_update sgd %[[W]], %[[DOWN]]
func.func @piece_on_the_host(%x: tensor<8xf32>, %lr: tensor<f32>
  ) -> (tensor<8xf32> {parplan.variable = #parplan.variable<@w0>, parplan.sharding = #parplan.sharding<@mesh, [{}]>})
    attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w0 {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<8xf32>
  %c = parplan.cast %w : tensor<8xf32> to tensor<8xf32>
  %n = parplan.neg %x : tensor<8xf32>
  %y = parplan.add %n, %c {parplan.block = 3 : i64} : tensor<8xf32>, tensor<8xf32>
  %g = parplan.reduce_scatter sum %y axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> : tensor<8xf32> -> tensor<4xf32>
  %p = parplan.shard_slice %w axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> : tensor<8xf32> -> tensor<4xf32>
  %wn = parplan.optimizer_update sgd %p, %g learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 {parplan.role = "optimizer", parplan.tier = "host", parplan.in_pieces} : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  %all = parplan.all_gather %wn axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.role = "optimizer"} : tensor<4xf32> -> tensor<8xf32>
  return %all : tensor<8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<8xf32> in "" at 0 length 32

// On the device the whole parameter stays.
// CHECK-LABEL: func.func @update_on_the_device
// CHECK: parplan.shard_slice
// CHECK: %[[ALL:.*]] = parplan.all_gather
// CHECK-NEXT: return %[[ALL]]
func.func @update_on_the_device(%x: tensor<8xf32>, %lr: tensor<f32>
  ) -> (tensor<8xf32> {parplan.variable = #parplan.variable<@w0>, parplan.sharding = #parplan.sharding<@mesh, [{}]>})
    attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w0 {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<8xf32>
  %y = parplan.add %x, %w : tensor<8xf32>, tensor<8xf32>
  %g = parplan.reduce_scatter sum %y axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> : tensor<8xf32> -> tensor<4xf32>
  %p = parplan.shard_slice %w axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> : tensor<8xf32> -> tensor<4xf32>
  %wn = parplan.optimizer_update sgd %p, %g learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 {parplan.role = "optimizer"} : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  %all = parplan.all_gather %wn axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.role = "optimizer"} : tensor<4xf32> -> tensor<8xf32>
  return %all : tensor<8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<8xf32> in "" at 0 length 32

// The plan does not say so: the whole parameter stays.
// CHECK-LABEL: func.func @whole_by_plan
// CHECK: parplan.shard_slice
// CHECK: %[[ALL:.*]] = parplan.all_gather
// CHECK-NEXT: return %[[ALL]]
func.func @whole_by_plan(%x: tensor<8xf32>, %lr: tensor<f32>
  ) -> (tensor<8xf32> {parplan.variable = #parplan.variable<@w0>, parplan.sharding = #parplan.sharding<@mesh, [{}]>})
    attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w0 {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<8xf32>
  %y = parplan.add %x, %w : tensor<8xf32>, tensor<8xf32>
  %g = parplan.reduce_scatter sum %y axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> : tensor<8xf32> -> tensor<4xf32>
  %p = parplan.shard_slice %w axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> : tensor<8xf32> -> tensor<4xf32>
  %wn = parplan.optimizer_update sgd %p, %g learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 {parplan.role = "optimizer", parplan.tier = "host"} : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  %all = parplan.all_gather %wn axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.role = "optimizer"} : tensor<4xf32> -> tensor<8xf32>
  return %all : tensor<8xf32>
}
