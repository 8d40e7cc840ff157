// RUN: parplan-opt %s -parplan-plan="gpus=2 context=2" | FileCheck %s
// RUN: not parplan-opt %s -parplan-plan="gpus=4 context=4" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not parplan-opt %s -parplan-plan="gpus=2 context=2 force=node3:all-to-all" 2>&1 | FileCheck %s --check-prefix=HEADS

// A sequence in zig-zag order over two ranks is a ring over two ranks (S22).

// CHECK: parplan.mesh @mesh <["cp0"=2 context]>
// CHECK: parplan.attention
// CHECK-SAME: {s = ["cp0"]}, panels = {t = ["cp0"]}
// OTHER: cannot be completed to 4 devices
// HEADS: node 'node3' ({{.*}}) cannot be 'all-to-all' here (cp0=2); it can be 'ring'
func.func @main(%x: tensor<2x16x4x16xf32> {parplan.name = "x", parplan.batch, parplan.zigzag = array<i64: 1, 2, 1, 1>},
                %ids: tensor<2x16xi64> {parplan.name = "ids", parplan.batch, parplan.zigzag = array<i64: 1, 2>})
    -> (tensor<2x16x4x16xf32> {parplan.name = "y", parplan.zigzag = array<i64: 1, 2, 1, 1>}) {
  %shape = parplan.reshape %ids : tensor<2x16xi64> to tensor<2x16x1x1xi64>
  %number = parplan.cast %shape : tensor<2x16x1x1xi64> to tensor<2x16x1x1xf32>
  %q = parplan.mul %number, %x : tensor<2x16x1x1xf32>, tensor<2x16x4x16xf32>
  %y = parplan.attention %q, %q, %q scale 0.25 causal zigzag 2
      {parplan.node = 3 : i64}
      : tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>
  return %y : tensor<2x16x4x16xf32>
}
