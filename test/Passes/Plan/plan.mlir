// RUN: parplan-opt %s -parplan-plan="gpus=2 tensor=2" | FileCheck %s
// RUN: parplan-opt %s -parplan-plan="gpus=4 data=2 tensor=2" | FileCheck %s --check-prefix=BOTH
// RUN: not parplan-opt %s -parplan-plan="gpus=2 memory=1000" 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not parplan-opt %s -parplan-plan="gpus=2 cluster=nowhere" 2>&1 | FileCheck %s --check-prefix=CLUSTER

// MEMORY: error: no plan fits 2 devices of 1000 bytes
// CLUSTER: nowhere

// A multi-layer perceptron becomes column, then row parallel: its hidden values
// stay split. The result may lie split too, so its reduction is a
// reduce-scatter.

// CHECK: parplan.mesh @mesh <["tp0"=2 tensor]>
// BOTH: parplan.mesh @mesh <["dp0"=2 data, "tp0"=2 tensor]>
parplan.initializer @up "up" : tensor<64x256xf32> in "" at 0 length 65536
parplan.initializer @down "down" : tensor<256x64xf32> in "" at 65536 length 65536

// CHECK-LABEL: func.func @main
// CHECK-SAME: parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>
// BOTH-LABEL: func.func @main
// BOTH-SAME: parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>
func.func @main(%x: tensor<8x64xf32> {parplan.name = "x", parplan.batch})
    -> (tensor<8x64xf32> {parplan.name = "y"}) {
  %up = parplan.parameter @up : tensor<64x256xf32>
  %down = parplan.parameter @down : tensor<256x64xf32>
  // CHECK: parplan.matmul "bk,kn->bn"
  // CHECK-SAME: parplan.factors = #parplan.factors<@mesh, {n = ["tp0"]}>
  // CHECK-SAME: parplan.shardings = [#parplan.sharding<@mesh, [{}, {"tp0"}]>]
  // BOTH: parplan.factors = #parplan.factors<@mesh, {b = ["dp0"], n = ["tp0"]}>
  %hidden = parplan.matmul "bk,kn->bn" %x, %up
      {parplan.node = 0 : i64, parplan.onnx_op = "MatMul"}
      : tensor<8x64xf32>, tensor<64x256xf32>
  // CHECK: parplan.relu
  // CHECK-SAME: ["tp0"]
  %active = parplan.relu %hidden : tensor<8x256xf32>
  // CHECK: parplan.matmul "bk,kn->bn"
  // CHECK-SAME: parplan.factors = #parplan.factors<@mesh, {k = ["tp0"]}>
  // CHECK-SAME: parplan.shardings = [#parplan.sharding<@mesh, [{}, {"tp0"}]>]
  %y = parplan.matmul "bk,kn->bn" %active, %down
      {parplan.node = 1 : i64, parplan.onnx_op = "MatMul"}
      : tensor<8x256xf32>, tensor<256x64xf32>
  return %y : tensor<8x64xf32>
}
