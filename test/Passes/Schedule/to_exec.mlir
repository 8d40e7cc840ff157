// RUN: parplan-opt %s -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -split-input-file | FileCheck %s
// RUN: not parplan-opt %s -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec=cluster=nowhere -split-input-file 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: nowhere

parplan.mesh @mesh <["tp0"=2 tensor]>
parplan.initializer @w0 "fc1.weight" : tensor<8x15xf32> in "" at 0 length 480
parplan.initializer @w1 "fc2.weight" : tensor<8x15xf32> in "" at 480 length 480

// A multilayer perceptron, hidden width 15 split over two ranks.
// CHECK-LABEL: exec.program @main mesh <["tp0"=2 tensor]>
// CHECK-NEXT: exec.communicator @c0 <"tp0">
// CHECK: %[[X:.*]] = exec.buffer input at 0 live -1 to 4 block <"x" dims [6 over <> stride 8, 8 over <> stride 1]> : <6x8xf32>
// CHECK: %[[W0:.*]] = exec.buffer parameter at 192 live -1 to 4
// CHECK-SAME: block <"fc1.weight" from @w0 at 0 dims [8 over <> stride 15, 15 over <"tp0"> stride 1]> : <8x8xf32>
// The view of the second weight is transposed.
// CHECK: %[[W1:.*]] = exec.buffer parameter
// CHECK-SAME: block <"fc2.weight" from @w1 at 0 dims [15 over <"tp0"> stride 1, 8 over <> stride 15]> : <8x8xf32>
// CHECK: %[[H:.*]] = exec.buffer activation at {{[0-9]+}} live 0 to 2 : <6x8xf32>
// CHECK: %[[Y:.*]] = exec.buffer output at {{[0-9]+}} live 2 to 4 block <"y"
func.func @main(%x: tensor<6x8xf32> {parplan.name = "x"}) -> (tensor<6x8xf32> {parplan.name = "y"}) {
  %w0 = parplan.parameter @w0 {parplan.global_type = tensor<8x15xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {"tp0"}]>]} : tensor<8x8xf32>
  %w1 = parplan.parameter @w1 view <offset = 0, strides = [1, 15]> {parplan.global_type = tensor<15x8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{"tp0"}, {}]>]} : tensor<8x8xf32>
  // CHECK: exec.matmul %[[X]] [8, 1], %[[W0]] [8, 1] into %[[H]] [8, 1] shape [6, 8, 8]
  // CHECK-SAME: cost = #exec.cost<matrix flops 768
  // CHECK-SAME: exec.nodes = array<i64: 1>
  %0 = parplan.matmul "mk,kn->mn" %x, %w0 {parplan.node = 1} : tensor<6x8xf32>, tensor<8x8xf32>
  // In place: nothing else reads the product.
  // CHECK: exec.launch @kernel0(%[[H]]) scalars [#exec.rank_value<extent of 15 over <"tp0">>] into %[[H]]
  // CHECK-SAME: exec.nodes = array<i64: 2, 3>
  %1 = parplan.sigmoid %0 {parplan.node = 2} : tensor<6x8xf32>
  %2 = parplan.clear_padding %1 dims [1] sizes [15] axes [#parplan.axes<"tp0">] fill 0.0 {parplan.node = 3} : tensor<6x8xf32>
  // CHECK: exec.matmul %[[H]] [8, 1], %[[W1]] [8, 1] into %[[Y]] [8, 1] shape [6, 8, 8]
  %3 = parplan.matmul "mk,kn->mn" %2, %w1 {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"tp0"}>]} : tensor<6x8xf32>, tensor<8x8xf32>
  // CHECK: exec.record 0 on compute
  // CHECK-NEXT: exec.wait 0 on communication
  // CHECK-NEXT: exec.collective all_reduce @c0 kind sum %[[Y]] into %[[Y]] count 48 bytes 192
  // CHECK-NEXT: }
  %4 = parplan.all_reduce sum %3 axes <"tp0"> to <@mesh, [{}, {}]> : tensor<6x8xf32> -> tensor<6x8xf32>
  return %4 : tensor<6x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Blocks of a dimension that is not the outermost one are gathered one after the other, then joined; the last block is
// shorter.
// CHECK-LABEL: exec.program @main
// CHECK: exec.collective all_gather @c0 %[[X:.*]] into %[[BLOCKS:.*]] count 8 bytes 64
// CHECK: exec.record 0 on communication
// CHECK-NEXT: exec.wait 0 on compute
// CHECK-NEXT: exec.copy %[[BLOCKS]] at 0 [8, 4, 1] into %[[Y:.*]] at 0 [0, 7, 1] extents [1, 2, 4]
// CHECK-NEXT: exec.copy %[[BLOCKS]] at 8 [8, 4, 1] into %[[Y]] at 4 [0, 7, 1] extents [1, 2, 3]
func.func @main(%x: tensor<2x4xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{}, {"tp0"}]>, parplan.global_type = tensor<2x7xf32>}) -> (tensor<2x7xf32> {parplan.name = "y"}) {
  %0 = parplan.all_gather %x axes <"tp0"> dim 1 to <@mesh, [{}, {}]> : tensor<2x4xf32> -> tensor<2x7xf32>
  return %0 : tensor<2x7xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Blocks of the outermost dimension are whole: no copies. A gathered value is not computed in place of its blocks.
// CHECK-LABEL: exec.program @main
// CHECK: exec.collective all_gather @c0 %{{.*}} into %[[Y:.*]] count 8 bytes 64
// CHECK-NOT: exec.copy
func.func @main(%x: tensor<2x4xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{"tp0"}, {}]>, parplan.global_type = tensor<4x4xf32>}) -> (tensor<4x4xf32> {parplan.name = "y"}) {
  %0 = parplan.all_gather %x axes <"tp0"> dim 0 to <@mesh, [{}, {}]> : tensor<2x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// What is scattered is packed, and padded with zeros.
// CHECK-LABEL: exec.program @main
// CHECK: exec.zero %[[BLOCKS:.*]] {
// CHECK-NEXT: exec.copy %[[X:.*]] at 0 [0, 7, 1] into %[[BLOCKS]] at 0 [8, 4, 1] extents [1, 2, 4]
// CHECK-NEXT: exec.copy %[[X]] at 4 [0, 7, 1] into %[[BLOCKS]] at 8 [8, 4, 1] extents [1, 2, 3]
// CHECK: exec.collective reduce_scatter @c0 kind max %[[BLOCKS]] into %{{.*}} count 8 bytes 64
func.func @main(%x: tensor<2x7xf32> {parplan.name = "x"}) -> (tensor<2x4xf32> {parplan.name = "y", parplan.sharding = #parplan.sharding<@mesh, [{}, {"tp0"}]>, parplan.global_type = tensor<2x7xf32>}) {
  %0 = parplan.reduce max %x dims [] {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = max{"tp0"}>]} : tensor<2x7xf32>
  %1 = parplan.reduce_scatter max %0 axes <"tp0"> dim 1 to <@mesh, [{}, {"tp0"}]> : tensor<2x7xf32> -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// CHECK-LABEL: exec.program @main
// CHECK: exec.copy %{{.*}} into %[[OUT:.*]] at
// CHECK: exec.collective all_to_all @c0 %[[OUT]] into %[[IN:.*]] count 8 bytes 64
// CHECK-NOT: exec.copy
func.func @main(%x: tensor<2x8xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{"tp0"}, {}]>, parplan.global_type = tensor<4x8xf32>}) -> (tensor<4x4xf32> {parplan.name = "y", parplan.sharding = #parplan.sharding<@mesh, [{}, {"tp0"}]>, parplan.global_type = tensor<4x8xf32>}) {
  %0 = parplan.all_to_all %x axes <"tp0"> from 0 to_dim 1 to <@mesh, [{}, {"tp0"}]> : tensor<2x8xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=2 tensor]>

// CHECK-LABEL: exec.program @main
// CHECK: exec.exchange @c0 %{{.*}} into %{{.*}} send [0, 2, 1, 3] receive [0, 2, 1, 3] count 2 bytes 8
func.func @main(%x: tensor<2xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{"x", "y"}]>, parplan.global_type = tensor<8xf32>}) -> (tensor<2xf32> {parplan.name = "y", parplan.sharding = #parplan.sharding<@mesh, [{"y", "x"}]>, parplan.global_type = tensor<8xf32>}) {
  %0 = parplan.send_receive %x axes <"x", "y"> from <@mesh, [{"x", "y"}]> to <@mesh, [{"y", "x"}]> : tensor<2xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// CHECK-LABEL: exec.program @main
// CHECK: exec.collective broadcast @c0 root 1 %[[X:.*]] into %[[B:.*]] count 4 bytes 16
// CHECK: exec.zero %[[R:.*]] :
// CHECK: exec.collective reduce @c0 kind sum root 0 %[[B]] into %[[R]] count 4 bytes 16
func.func @main(%x: tensor<4xf32> {parplan.name = "x"}) -> (tensor<4xf32> {parplan.name = "y"}) {
  %0 = parplan.broadcast_from %x axes <"tp0"> root 1 to <@mesh, [{}]> : tensor<4xf32> -> tensor<4xf32>
  %1 = parplan.neg %0 {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"tp0"}>]} : tensor<4xf32>
  %2 = parplan.reduce_to sum %1 axes <"tp0"> root 0 to <@mesh, [{}], partial = sum{"tp0"}> : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// An input that is also a result is copied; so is a value that is a result twice.
// CHECK-LABEL: exec.program @main
// CHECK: exec.buffer output {{.*}} block <"a"
// CHECK-NEXT: exec.buffer output {{.*}} block <"b"
// CHECK-NEXT: exec.buffer output {{.*}} block <"c"
// CHECK-NEXT: exec.launch
// CHECK-NEXT: exec.copy
// CHECK-NEXT: exec.copy
func.func @main(%x: tensor<4xf32> {parplan.name = "x"}) -> (tensor<4xf32> {parplan.name = "a"}, tensor<4xf32> {parplan.name = "b"}, tensor<2x2xf32> {parplan.name = "c"}) {
  %0 = parplan.neg %x : tensor<4xf32>
  %1 = parplan.reshape %0 : tensor<4xf32> to tensor<2x2xf32>
  return %x, %0, %1 : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Constants that are no splat lie with the weights, each once.
// CHECK: exec.data @data0 dense<[1.000000e+00, 2.000000e+00]>
// CHECK-NOT: exec.data
// CHECK-LABEL: exec.program @main
// CHECK: exec.buffer parameter {{.*}} block <"data0" from @data0 at 0 dims [2 over <> stride 1]> : <2xf32>
func.func @main(%x: tensor<2xf32> {parplan.name = "x"}) -> (tensor<2xf32> {parplan.name = "y"}) {
  %c = parplan.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = parplan.add %x, %c : tensor<2xf32>, tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// The workspace of attention is a buffer that lives for one statement.
// CHECK-LABEL: exec.program @main
// CHECK: %[[W:.*]] = exec.buffer workspace at {{[0-9]+}} live 0 to 0 : <{{[0-9]+}}xi8>
// CHECK: exec.attention %[[Q:.*]], %[[K:.*]], %[[K]] workspace %[[W]]
// CHECK-SAME: causal
// CHECK-SAME: key_strides = array<i64: 40, 8, 4>
// CHECK-SAME: query_strides = array<i64: 40, 4, 20>
// CHECK-SAME: shape = array<i64: 1, 5, 5, 2, 2, 4, 4>
func.func @main(%q: tensor<1x2x5x4xf32> {parplan.name = "q"}, %k: tensor<1x5x2x4xf32> {parplan.name = "k"}) -> (tensor<1x5x2x4xf32> {parplan.name = "y"}) {
  %0 = parplan.transpose %q [0, 2, 1, 3] : tensor<1x2x5x4xf32>
  %1 = parplan.attention %0, %k, %k scale 0.5 causal : tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>
  return %1 : tensor<1x5x2x4xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>
parplan.initializer @w0 "tied" : tensor<2x2xf32> in "" at 0 length 16

// Tied weights in one layout are one buffer; in another layout they are two.
// CHECK-LABEL: exec.program @main
// CHECK: exec.buffer parameter {{.*}} block <"tied" from @w0 at 0 dims [2 over <> stride 2, 2 over <> stride 1]>
// CHECK-NEXT: exec.buffer parameter {{.*}} block <"tied" from @w0 at 0 dims [2 over <> stride 1, 2 over <> stride 2]>
// CHECK-NEXT: exec.buffer output
func.func @main(%x: tensor<2x2xf32> {parplan.name = "x"}) -> (tensor<2x2xf32> {parplan.name = "y"}) {
  %a = parplan.parameter @w0 : tensor<2x2xf32>
  %b = parplan.parameter @w0 : tensor<2x2xf32>
  %c = parplan.parameter @w0 view <offset = 0, strides = [1, 2]> : tensor<2x2xf32>
  %0 = parplan.add %x, %a : tensor<2x2xf32>, tensor<2x2xf32>
  %1 = parplan.add %0, %b : tensor<2x2xf32>, tensor<2x2xf32>
  %2 = parplan.add %1, %c : tensor<2x2xf32>, tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// The last reader of a value writes in its place; who reads a value twice, at other elements, does not.
// CHECK-LABEL: exec.program @main
// CHECK: %[[T:.*]] = exec.buffer activation
// CHECK: exec.launch @kernel0(%{{.*}}) scalars [] into %[[T]]
// CHECK: exec.reduce sum %[[T]] into %[[S:.*]] rows
// CHECK: exec.launch @kernel1(%[[T]], %[[S]]) scalars [] into %[[T]]
// CHECK: exec.launch @kernel2(%[[T]]) scalars [] into %[[Y:[^ ]*]]
// CHECK-NOT: into %[[T]]
func.func @main(%x: tensor<4x4xf32> {parplan.name = "x"}) -> (tensor<4x4xf32> {parplan.name = "y"}) {
  %0 = parplan.exp %x : tensor<4x4xf32>
  %1 = parplan.reduce sum %0 dims [1] keep_dims : tensor<4x4xf32>
  %2 = parplan.div %0, %1 : tensor<4x4xf32>, tensor<4x1xf32>
  %3 = parplan.transpose %2 [1, 0] : tensor<4x4xf32>
  %4 = parplan.add %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>

// A product takes longer than the reduction beside it: the product after that takes the bytes that are reduced, and waits
// for them.
// CHECK-LABEL: exec.program @main
// CHECK: %[[G:.*]] = exec.buffer activation at [[AT:[0-9]+]] live 0 to 1 : <256x256xf32>
// CHECK: %[[P2:.*]] = exec.buffer activation at [[AT]] live 3 to 4 : <256x256xf32>
// CHECK: exec.collective reduce_scatter @c0 kind sum %[[G]]
// CHECK-NEXT: exec.record 0 on communication
// CHECK-NEXT: exec.matmul
// CHECK-NEXT: exec.wait 0 on compute
// CHECK-NEXT: exec.matmul {{.*}} into %[[P2]]
func.func @main(%x: tensor<256x256xf32> {parplan.name = "x"}) -> (tensor<128x256xf32> {parplan.name = "s"}, tensor<256x256xf32> {parplan.name = "y"}) {
  %g = parplan.matmul "mk,kn->mn" %x, %x : tensor<256x256xf32>, tensor<256x256xf32>
  %s = parplan.reduce_scatter sum %g axes <"dp0"> dim 0 to <@mesh, [{"dp0"}, {}]> : tensor<256x256xf32> -> tensor<128x256xf32>
  %p1 = parplan.matmul "mk,kn->mn" %x, %x : tensor<256x256xf32>, tensor<256x256xf32>
  %p2 = parplan.matmul "mk,kn->mn" %p1, %x : tensor<256x256xf32>, tensor<256x256xf32>
  %p3 = parplan.matmul "mk,kn->mn" %p2, %x : tensor<256x256xf32>, tensor<256x256xf32>
  return %s, %p3 : tensor<128x256xf32>, tensor<256x256xf32>
}

// -----

parplan.mesh @mesh <["tp0"=1 tensor]>

// A part of an input is a view of it, one that is turned round is not.
// CHECK-LABEL: exec.program @main
// CHECK: %[[X:.*]] = exec.buffer input
// CHECK: exec.launch @{{.*}}(%[[X]])
func.func @main(%x: tensor<3x4xf32> {parplan.name = "x"}) -> (tensor<3x4xf32> {parplan.name = "y"}) {
  %0 = parplan.slice %x dims [0] from [2] to [-1] step [-1] : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
