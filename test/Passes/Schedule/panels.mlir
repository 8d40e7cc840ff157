// RUN: parplan-opt %s -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -split-input-file | FileCheck %s

parplan.mesh @mesh <["x"=2 tensor, "y"=2 tensor]>

// X W: on a square grid every panel is a block, which its owner sends, and multiplies, as it lies. The other rank of two
// receives it into the one slot, where it has no panel of its own: the second panel is on its way before the first one
// is multiplied, and waits for nothing. The second product is added to the first.
// CHECK-LABEL: exec.program @main
// CHECK-NEXT: exec.communicator @[[ROW:.*]] <"y">
// CHECK-NEXT: exec.communicator @[[COLUMN:.*]] <"x">
// CHECK: %[[X:.*]] = exec.buffer input {{.*}} : <2x4x4xf32>
// CHECK: %[[W:.*]] = exec.buffer input {{.*}} : <4x3xf32>
// CHECK: exec.buffer activation {{.*}} : <32xf32>
// CHECK-NEXT: exec.buffer activation {{.*}} : <12xf32>
// CHECK-NEXT: %[[Y:.*]] = exec.buffer output
// CHECK: %[[X0:.*]] = exec.choice <0 of @[[ROW]]> %[[X]] else %{{.*}} : <2x4x4xf32>
// CHECK-NEXT: exec.collective broadcast @[[ROW]] root 0 %[[X]] into %[[X0]] count 32 bytes 128 {exec.nodes = array<i64: 7>}
// CHECK: %[[W0:.*]] = exec.choice <0 of @[[COLUMN]]> %[[W]] else %{{.*}} : <4x3xf32>
// CHECK-NEXT: exec.collective broadcast @[[COLUMN]] root 0 %[[W]] into %[[W0]] count 12 bytes 48
// CHECK-NEXT: exec.record 0 on communication
// CHECK-NOT: exec.wait
// CHECK: %[[X1:.*]] = exec.choice <1 of @[[ROW]]> %[[X]] else
// CHECK-NEXT: exec.collective broadcast @[[ROW]] root 1 %[[X]] into %[[X1]] count 32 bytes 128
// CHECK: %[[W1:.*]] = exec.choice <1 of @[[COLUMN]]> %[[W]] else
// CHECK-NEXT: exec.collective broadcast @[[COLUMN]] root 1 %[[W]] into %[[W1]] count 12 bytes 48
// CHECK-NEXT: exec.record 1 on communication
// CHECK-NEXT: exec.wait 0 on compute
// CHECK-NEXT: exec.matmul %[[X0]] [4, 1], %[[W0]] [3, 1] into %[[Y]] [3, 1] shape [8, 3, 4]
// CHECK-SAME: cost = #exec.cost<matrix flops 192 transcendentals 0 read 176 written 96 shape [8, 3, 4, 1]>
// CHECK-NEXT: exec.wait 1 on compute
// CHECK-NEXT: exec.matmul accumulate %[[X1]] [4, 1], %[[W1]] [3, 1] into %[[Y]] [3, 1] shape [8, 3, 4]
// CHECK-SAME: cost = #exec.cost<matrix flops 192 transcendentals 0 read 272 written 96 shape [8, 3, 4, 1]>
// CHECK-NEXT: {{^  }$}}
func.func @main(
    %x: tensor<2x4x4xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {"y"}]>, parplan.global_type = tensor<2x8x8xf32>},
    %w: tensor<4x3xf32> {parplan.name = "w", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>, parplan.global_type = tensor<8x6xf32>}
  ) -> (tensor<2x4x3xf32> {parplan.name = "y", parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {"y"}]>, parplan.global_type = tensor<2x8x6xf32>}) {
  %y = parplan.panel_matmul "bsk,kn->bsn" %x, %w panel "k" size 8 axes lhs <"y"> rhs <"x"> result <> {parplan.node = 7} : tensor<2x4x4xf32>, tensor<4x3xf32> -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=2 tensor]>

// dY W^T in panels of three and two columns. The first one fills the block of its owner, who makes it there and to whom it
// is reduced there; the second one is reduced in a slot and then kept by its owner alone, whose block has padding behind
// it.
// CHECK-LABEL: exec.program @main
// CHECK: exec.communicator @[[COLUMN:.*]] <"x">
// CHECK-NEXT: exec.communicator @[[ROW:.*]] <"y">
// CHECK: %[[W:.*]] = exec.buffer input {{.*}} : <3x3xf32>
// CHECK: %[[DX:.*]] = exec.buffer output
// CHECK: exec.zero %[[DX]]
// CHECK: exec.collective broadcast @[[COLUMN]] root 0 %[[W]] into %{{.*}} count 9 bytes 36
// Of a panel of rows the owner sends a part of its block.
// CHECK: %[[ROWS:.*]] = exec.view %[[W]] at 0 : <3x3xf32> to <2x3xf32>
// CHECK-NEXT: exec.choice <1 of @[[COLUMN]]> %[[ROWS]] else
// CHECK-NEXT: exec.collective broadcast @[[COLUMN]] root 1 %[[ROWS]] into %{{.*}} count 6 bytes 24
// CHECK: %[[FIRST:.*]] = exec.choice <0 of @[[ROW]]> %[[DX]] else
// CHECK: exec.matmul %{{.*}} [3, 1], %{{.*}} [1, 3] into %[[FIRST]] [3, 1] shape [4, 3, 3]
// CHECK: exec.collective reduce @[[ROW]] kind sum root 0 %[[FIRST]] into %[[DX]] count 12 bytes 48
// CHECK: exec.matmul %{{.*}} [3, 1], %{{.*}} [1, 3] into %{{.*}} [2, 1] shape [4, 2, 3]
// CHECK: exec.collective reduce @[[ROW]] kind sum root 1 %[[SUM:.*]] into %[[SUM]] count 8 bytes 32
// CHECK: exec.copy %{{.*}} at 0 [2, 1] into %[[DX]] at 0 [3, 1] extents [4, 2] only <1 of @[[ROW]]>
// CHECK-NEXT: {{^  }$}}
func.func @main(
    %g: tensor<4x3xf32> {parplan.name = "g", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>, parplan.global_type = tensor<8x6xf32>},
    %w: tensor<3x3xf32> {parplan.name = "w", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>, parplan.global_type = tensor<5x6xf32>}
  ) -> (tensor<4x3xf32> {parplan.name = "dx", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>, parplan.global_type = tensor<8x5xf32>}) {
  %dx = parplan.panel_matmul "mn,kn->mk" %g, %w panel "k" size 5 axes lhs <> rhs <"x"> result <"y"> : tensor<4x3xf32>, tensor<3x3xf32> -> tensor<4x3xf32>
  return %dx : tensor<4x3xf32>
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>

// X^T dY in four panels of one column, which owners of X pack. What is reduced is rows of dW: it needs no copy. While
// panel p is multiplied, panel p - 1 is reduced and panel p + 1 travels.
// CHECK-LABEL: exec.program @main
// CHECK: exec.communicator @[[ROW:.*]] <"y">
// CHECK-NEXT: exec.communicator @[[COLUMN:.*]] <"x">
// CHECK: %[[X:.*]] = exec.buffer input {{.*}} : <2x4x2xf32>
// CHECK: %[[DW:.*]] = exec.buffer output
// CHECK-NOT: exec.zero
// CHECK: exec.collective broadcast @[[ROW]] root 0 %[[X]] into
// CHECK: exec.copy %[[X]] at 0 [2, 1] into %[[PACKED:.*]] at 0 [1, 1] extents [8, 1] only <1 of @[[ROW]]>
// CHECK: exec.collective broadcast @[[ROW]] root 1 %[[PACKED]] into %[[PACKED]] count 8 bytes 32
// CHECK: exec.matmul %{{.*}} into %{{.*}} shape [2, 3, 8]
// CHECK: exec.collective reduce @[[COLUMN]] kind sum root 0 %{{.*}} into %{{.*}} count 6 bytes 24
// CHECK: exec.copy %[[X]] at 1 [2, 1] into %{{.*}} at 0 [1, 1] extents [8, 1] only <1 of @[[ROW]]>
// CHECK: exec.collective broadcast @[[ROW]] root 1
// CHECK: exec.matmul %{{.*}} shape [1, 3, 8]
// CHECK: exec.collective reduce @[[COLUMN]] kind sum root 0 %{{.*}} into %{{.*}} count 3 bytes 12
// CHECK: exec.collective broadcast @[[ROW]] root 2 %[[X]] into
// CHECK: exec.matmul %{{.*}} shape [1, 3, 8]
// CHECK: exec.collective reduce @[[COLUMN]] kind sum root 1 %{{.*}} into %{{.*}} count 3 bytes 12
// CHECK-NOT: exec.collective broadcast
// CHECK: exec.matmul %{{.*}} shape [2, 3, 8]
// CHECK: exec.collective reduce @[[COLUMN]] kind sum root 1 %{{.*}} into %{{.*}} count 6 bytes 24
// CHECK-NOT: exec.copy
func.func @main(
    %x: tensor<2x4x2xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {"y"}]>, parplan.global_type = tensor<2x8x6xf32>},
    %g: tensor<2x4x3xf32> {parplan.name = "g", parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {"y"}]>, parplan.global_type = tensor<2x8x9xf32>}
  ) -> (tensor<3x3xf32> {parplan.name = "dw", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>, parplan.global_type = tensor<6x9xf32>}) {
  %dw = parplan.panel_matmul "bsk,bsn->kn" %x, %g panel "k" size 6 axes lhs <"y"> rhs <> result <"x"> : tensor<2x4x2xf32>, tensor<2x4x3xf32> -> tensor<3x3xf32>
  return %dw : tensor<3x3xf32>
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=2 tensor]>

// What was made first travels first: the left operand has yet to be computed.
// CHECK-LABEL: exec.program @main
// CHECK: exec.communicator @[[COLUMN:.*]] <"x">
// CHECK: %[[W:.*]] = exec.buffer input {{.*}} block <"w"
// CHECK: exec.collective broadcast @[[COLUMN]] root 0 %[[W]] into
// CHECK: exec.collective broadcast @{{.*}} root 0
func.func @main(
    %x: tensor<4x4xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>, parplan.global_type = tensor<8x8xf32>},
    %w: tensor<4x3xf32> {parplan.name = "w", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>, parplan.global_type = tensor<8x6xf32>}
  ) -> (tensor<4x3xf32> {parplan.name = "y", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>, parplan.global_type = tensor<8x6xf32>}) {
  %a = parplan.tanh %x : tensor<4x4xf32>
  %y = parplan.panel_matmul "mk,kn->mn" %a, %w panel "k" size 8 axes lhs <"y"> rhs <"x"> result <> : tensor<4x4xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

parplan.mesh @mesh <["x"=2 tensor]>

// The panels of a summed letter inside of another one lie in one stride with it only when they are outside: both
// operands are turned.
// CHECK-LABEL: exec.program @main
// CHECK: exec.launch @
// CHECK: exec.launch @
// CHECK: exec.collective broadcast
// CHECK: exec.matmul accumulate %{{.*}} shape [3, 2, 9]
func.func @main(
    %x: tensor<3x3x6xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}, {}]>, parplan.global_type = tensor<6x3x6xf32>},
    %w: tensor<3x3x2xf32> {parplan.name = "w", parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {}]>, parplan.global_type = tensor<3x6x2xf32>}
  ) -> (tensor<3x2xf32> {parplan.name = "y", parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>, parplan.global_type = tensor<6x2xf32>}) {
  %y = parplan.panel_matmul "mhe,hen->mn" %x, %w panel "e" size 6 axes lhs <> rhs <"x"> result <> : tensor<3x3x6xf32>, tensor<3x3x2xf32> -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}
