// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-reshards-to-collectives | FileCheck %s

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>

// CHECK-LABEL: func.func @one_move_each
func.func @one_move_each(%a: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[B:.*]] = parplan.shard_slice %{{.*}} axes <"x"> dim 0 to <@mesh, [{"x"}, {}]> {parplan.block = 2 : i64, parplan.node = 7 : i64}
  %b = parplan.reshard %a to <@mesh, [{"x"}, {}]> {parplan.block = 2 : i64, parplan.node = 7 : i64} : tensor<4x8xf32>
  // CHECK-NEXT: %[[C:.*]] = parplan.all_to_all %[[B]] axes <"x"> from 0 to_dim 1 to <@mesh, [{}, {"x"}]>
  %c = parplan.reshard %b to <@mesh, [{}, {"x"}]> : tensor<4x8xf32>
  // CHECK-NEXT: %[[D:.*]] = parplan.send_receive %[[C]] axes <"x", "y"> from <@mesh, [{}, {"x"}]> to <@mesh, [{}, {"y"}]>
  %d = parplan.reshard %c to <@mesh, [{}, {"y"}]> : tensor<4x8xf32>
  // CHECK-NEXT: %[[E:.*]] = parplan.pend %[[D]] axes <"x"> to <@mesh, [{}, {"y"}], partial = sum{"x"}>
  %e = parplan.reshard %d to <@mesh, [{}, {"y"}], partial = sum{"x"}> : tensor<4x8xf32>
  // CHECK-NEXT: %[[F:.*]] = parplan.reduce_scatter sum %[[E]] axes <"x"> dim 0 to <@mesh, [{"x"}, {"y"}]>
  %f = parplan.reshard %e to <@mesh, [{"x"}, {"y"}]> : tensor<4x8xf32>
  // CHECK-NEXT: %[[G:.*]] = parplan.storage_view %[[F]] axes <"x"> to <@mesh, [{}, {"y"}], stored = {"x"}>
  %g = parplan.reshard %f to <@mesh, [{}, {"y"}], stored = {"x"}> : tensor<4x8xf32>
  // CHECK-NEXT: %[[H:.*]] = parplan.all_gather %[[G]] axes <"x"> dim -1 to <@mesh, [{}, {"y"}]>
  %h = parplan.reshard %g to <@mesh, [{}, {"y"}]> : tensor<4x8xf32>
  // CHECK-NEXT: parplan.all_gather %[[H]] axes <"y"> dim 1 to <@mesh, [{}, {}]>
  %i = parplan.reshard %h to <@mesh, [{}, {}]> : tensor<4x8xf32>
  // CHECK-NEXT: return
  return
}

// Axes of one reduction share a communicator.
// CHECK-LABEL: func.func @reduce_over_two_axes
func.func @reduce_over_two_axes(%a: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>})
    -> tensor<f32> {
  %b = parplan.reduce sum %a dims [0, 1] {parplan.shardings = [#parplan.sharding<@mesh, [], partial = sum{"x", "y"}>]} : tensor<4x8xf32>
  // CHECK: %[[C:.*]] = parplan.all_reduce sum %{{.*}} axes <"x", "y"> to <@mesh, []>
  %c = parplan.reshard %b to <@mesh, []> : tensor<f32>
  // CHECK-NEXT: return %[[C]]
  return %c : tensor<f32>
}

// A reshard to where the value lies is nothing.
// CHECK-LABEL: func.func @nothing_to_do
// CHECK-SAME: %[[A:.*]]: tensor<4xf32>
func.func @nothing_to_do(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  // CHECK-NEXT: return %[[A]]
  %b = parplan.reshard %a to <@mesh, [{"x"}]> : tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @complete_to_pending_maximum(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{S11: nothing leads from [{}] to [{}] partial=max{x}}}
  %b = parplan.reshard %a to <@mesh, [{}], partial = max{"x"}> : tensor<4xf32>
  return
}
