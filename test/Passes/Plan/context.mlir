// RUN: parplan-opt %s -parplan-plan="gpus=2 context=2 force=node3:ring" | FileCheck %s --check-prefixes=CHECK,RING
// RUN: parplan-opt %s -parplan-plan="gpus=2 context=2 force=node3:all-to-all" | FileCheck %s --check-prefixes=CHECK,HEADS
// RUN: parplan-opt %s -parplan-plan="gpus=2 context=2 force=node3:gather" | FileCheck %s --check-prefixes=CHECK,GATHER
// RUN: parplan-opt %s -parplan-plan="gpus=2 tensor=2 sequence=1" | FileCheck %s --check-prefix=SEQUENCE

// Attention of embedded tokens, whose dimension 1 is the sequence: context axes
// split it, and attention goes round, splits heads or gathers keys.

// CHECK: parplan.mesh @mesh <["cp0"=2 context]>
parplan.initializer @weight "weight" : tensor<64x64xf32> in "" at 0 length 16384

// CHECK-LABEL: func.func @main
// CHECK-SAME: parplan.sharding = #parplan.sharding<@mesh, [{}, {"cp0"}, {}]>
func.func @main(%x: tensor<2x16x64xf32> {parplan.name = "x", parplan.batch})
    -> (tensor<2x16x64xf32> {parplan.name = "y"}) {
  %weight = parplan.parameter @weight : tensor<64x64xf32>
  // CHECK: parplan.matmul
  // CHECK-SAME: {s = ["cp0"]}
  %query = parplan.matmul "bsk,kn->bsn" %x, %weight
      {parplan.node = 0 : i64, parplan.onnx_op = "MatMul"}
      : tensor<2x16x64xf32>, tensor<64x64xf32>
  %heads = parplan.reshape %query {parplan.node = 1 : i64}
      : tensor<2x16x64xf32> to tensor<2x16x4x16xf32>
  // RING: parplan.attention
  // RING-SAME: {s = ["cp0"]}, panels = {t = ["cp0"]}
  // HEADS: parplan.attention
  // HEADS-SAME: {g = ["cp0"]}>
  // GATHER: parplan.attention
  // GATHER-SAME: {s = ["cp0"]}>
  %mixed = parplan.attention %heads, %heads, %heads scale 0.25
      {parplan.node = 3 : i64}
      : tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>
  %rows = parplan.reshape %mixed {parplan.node = 4 : i64}
      : tensor<2x16x4x16xf32> to tensor<2x16x64xf32>
  // Between two products of 1D tensor parallelism.
  // SEQUENCE: parplan.layer_norm
  // SEQUENCE-SAME: {d{{[01]}} = ["tp0"]}
  %sum = parplan.matmul "bsk,kn->bsn" %rows, %weight
      {parplan.node = 5 : i64, parplan.onnx_op = "MatMul"}
      : tensor<2x16x64xf32>, tensor<64x64xf32>
  %y = parplan.layer_norm %sum dim 2 epsilon 1.0e-5 : tensor<2x16x64xf32>
  return %y : tensor<2x16x64xf32>
}
