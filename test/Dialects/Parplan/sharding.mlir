// RUN: parplan-opt %s | parplan-opt | FileCheck %s

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor, "z"=2 tensor]>

// CHECK-LABEL: func.func @moves
func.func @moves(%a: tensor<8x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: parplan.reshard %{{.*}} to <@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  %b = parplan.reshard %a to <@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  // CHECK: parplan.shard_slice %{{.*}} axes <"z"> dim 1 to <@mesh, [{"x"}, {"y", "z"}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  %c = parplan.shard_slice %b axes <"z"> dim 1 to <@mesh, [{"x"}, {"y", "z"}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: parplan.all_gather %{{.*}} axes <"y", "z"> dim 1 to <@mesh, [{"x"}, {}]>
  %d = parplan.all_gather %c axes <"y", "z"> dim 1 to <@mesh, [{"x"}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: parplan.pend %{{.*}} axes <"y"> to <@mesh, [{"x"}, {}], partial = sum{"y"}>
  %e = parplan.pend %d axes <"y"> to <@mesh, [{"x"}, {}], partial = sum{"y"}> : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: parplan.reduce_scatter sum %{{.*}} axes <"y"> dim -1 to <@mesh, [{"x"}, {}], stored = {"y"}>
  %f = parplan.reduce_scatter sum %e axes <"y"> dim -1 to <@mesh, [{"x"}, {}], stored = {"y"}> : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: parplan.storage_view %{{.*}} axes <"y"> to <@mesh, [{"x", "y"}, {}]>
  %g = parplan.storage_view %f axes <"y"> to <@mesh, [{"x", "y"}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: parplan.all_to_all %{{.*}} axes <"y"> from 0 to_dim 1 to <@mesh, [{"x"}, {"y"}]>
  %h = parplan.all_to_all %g axes <"y"> from 0 to_dim 1 to <@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: parplan.send_receive %{{.*}} axes <"y", "z"> from <@mesh, [{"x"}, {"y"}]> to <@mesh, [{"x"}, {"z"}]>
  %i = parplan.send_receive %h axes <"y", "z"> from <@mesh, [{"x"}, {"y"}]> to <@mesh, [{"x"}, {"z"}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: parplan.broadcast_from %{{.*}} axes <"y"> root 1 to <@mesh, [{"x"}, {"z"}]>
  %j = parplan.broadcast_from %i axes <"y"> root 1 to <@mesh, [{"x"}, {"z"}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  %k = parplan.pend %j axes <"y"> to <@mesh, [{"x"}, {"z"}], partial = sum{"y"}> : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: parplan.reduce_to sum %{{.*}} axes <"y"> root 0 to <@mesh, [{"x"}, {"z"}], partial = sum{"y"}>
  %l = parplan.reduce_to sum %k axes <"y"> root 0 to <@mesh, [{"x"}, {"z"}], partial = sum{"y"}> : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: parplan.all_reduce sum %{{.*}} axes <"y"> to <@mesh, [{"x"}, {"z"}]>
  %m = parplan.all_reduce sum %l axes <"y"> to <@mesh, [{"x"}, {"z"}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @of_one_rank
func.func @of_one_rank(%a: tensor<3x8xf32>) {
  // CHECK: parplan.block_start 5 axes <"x"> : tensor<i64>
  parplan.block_start 5 axes <"x"> : tensor<i64>
  // CHECK: parplan.clear_padding %{{.*}} dims [0] sizes [5] axes [#parplan.axes<"x">] fill 0xFFF0000000000000 : tensor<3x8xf32>
  parplan.clear_padding %a dims [0] sizes [5] axes [#parplan.axes<"x">] fill 0xFFF0000000000000 : tensor<3x8xf32>
  return
}
