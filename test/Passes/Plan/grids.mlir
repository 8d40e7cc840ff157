// RUN: parplan-opt %s -parplan-plan="gpus=4 grid=2,2 force=node*:gather2d" | FileCheck %s --check-prefix=GATHER
// RUN: parplan-opt %s -parplan-plan="gpus=4 grid=2,2" | FileCheck %s --check-prefix=SUMMA
// RUN: parplan-opt %s -parplan-plan="gpus=8 grid=2,2,2 depth" | FileCheck %s --check-prefix=DEPTH
// RUN: parplan-opt %s -parplan-plan="gpus=8 grid=2,2,2" | FileCheck %s --check-prefix=CUBE
// RUN: not parplan-opt %s -parplan-plan="gpus=4 tensor=2 context=2" 2>&1 | FileCheck %s --check-prefix=CONTEXT
// RUN: not parplan-opt %s -parplan-plan="gpus=4 grid=4" 2>&1 | FileCheck %s --check-prefix=SIZES
// RUN: not parplan-opt %s -parplan-plan="gpus=4 force=node0:warp" 2>&1 | FileCheck %s --check-prefix=NAME

// SIZES: error: a grid has two or three sizes
// NAME: error: 'node0:warp' is not GLOB:ALGORITHM
// CONTEXT: error: no plan fits 4 devices
// CONTEXT: note: cp=2: the model has no attention over a sequence

// Two products with an activation between them, on every kind of grid.

// GATHER: parplan.mesh @mesh <["tp0"=2 tensor, "tp1"=2 tensor]>
// DEPTH: parplan.mesh @mesh <["tp0"=2 tensor, "tp1"=2 tensor, "tp2"=2 tensor]>
parplan.initializer @up "up" : tensor<64x256xf32> in "" at 0 length 65536
parplan.initializer @down "down" : tensor<256x64xf32> in "" at 65536 length 65536

func.func @main(%x: tensor<8x16x64xf32> {parplan.name = "x", parplan.batch})
    -> (tensor<8x16x64xf32> {parplan.name = "y"}) {
  %up = parplan.parameter @up : tensor<64x256xf32>
  %down = parplan.parameter @down : tensor<256x64xf32>
  // GATHER: parplan.matmul
  // GATHER-SAME: parplan.factors = #parplan.factors<@mesh, {b = ["tp0"], {{[nk]}} = ["tp1"]}>
  // SUMMA: parplan.matmul
  // SUMMA-SAME: panels = {{[{][nk]}} = ["tp0", "tp1"]}
  // DEPTH: parplan.matmul
  // DEPTH-SAME: {b = ["tp0", "tp1"], {{[nk]}} = ["tp2"]}, panels = {{[{][nk]}} = ["tp1", "tp2"]}
  // CUBE: parplan.matmul
  // CUBE-SAME: {b = ["tp0"], {{[nk]}} = ["tp{{[12]}}"], {{[nk]}} = ["tp{{[12]}}"]}>
  %hidden = parplan.matmul "bsk,kn->bsn" %x, %up
      {parplan.node = 0 : i64, parplan.onnx_op = "MatMul"}
      : tensor<8x16x64xf32>, tensor<64x256xf32>
  %active = parplan.relu %hidden : tensor<8x16x256xf32>
  // SUMMA: parplan.matmul
  // SUMMA-SAME: panels =
  // CUBE: parplan.matmul
  // CUBE-SAME: {b = ["tp0"], {{[nk]}} = ["tp{{[12]}}"], {{[nk]}} = ["tp{{[12]}}"]}>
  %y = parplan.matmul "bsk,kn->bsn" %active, %down
      {parplan.node = 1 : i64, parplan.onnx_op = "MatMul"}
      : tensor<8x16x256xf32>, tensor<256x64xf32>
  return %y : tensor<8x16x64xf32>
}
