// RUN: parplan-opt %s -parplan-fuse-elementwise -split-input-file | FileCheck %s
// What is fused stays as it is.
// RUN: parplan-opt %s -parplan-fuse-elementwise -parplan-fuse-elementwise -split-input-file | FileCheck %s

parplan.mesh @mesh <["tp0"=2 tensor]>

// A chain is one kernel; the bias is read with stride 0 along the rows.
// CHECK: exec.kernel @kernel0 space [6, 8] inputs [f32, f32] output f32 scalars 0
// CHECK: %[[X:.*]] = exec.load 0 at 0 strides [8, 1] : f32
// CHECK: %[[B:.*]] = exec.load 1 at 0 strides [0, 1] : f32
// CHECK: %[[SUM:.*]] = exec.apply add(%[[X]], %[[B]])
// CHECK: %[[Y:.*]] = exec.apply gelu(%[[SUM]])
// CHECK: exec.store %[[Y]] at 0 strides [8, 1] : f32
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<6x8xf32>, %b: tensor<8xf32>) -> tensor<6x8xf32> {
  %0 = parplan.add %x, %b : tensor<6x8xf32>, tensor<8xf32>
  %1 = parplan.gelu %0 : tensor<6x8xf32>
  // CHECK-NEXT: exec.map @kernel0(%{{.*}}, %{{.*}}) scalars [] : (tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
  // CHECK-NEXT: return
  return %1 : tensor<6x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Without broadcasts, all dimensions are one loop; equal kernels exist once.
// CHECK: exec.kernel @kernel0 space [48] inputs [f32, f32]
// CHECK-NOT: exec.kernel
// CHECK-LABEL: func.func @shared_kernel
func.func @shared_kernel(%x: tensor<2x3x8xf32>, %y: tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  // CHECK-NEXT: %[[S:.*]] = exec.map @kernel0(%{{.*}}, %{{.*}})
  %0 = parplan.add %x, %y : tensor<2x3x8xf32>, tensor<2x3x8xf32>
  // CHECK-NEXT: exec.map @kernel0(%[[S]], %{{.*}})
  %1 = parplan.add %0, %y : tensor<2x3x8xf32>, tensor<2x3x8xf32>
  return %0, %1 : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// What is costly and would be computed again for every row has a kernel of its own.
// CHECK: exec.kernel @kernel0 space [8]
// CHECK: exec.apply exp
// CHECK: exec.kernel @kernel1 space [6, 8]
// CHECK-LABEL: func.func @costly_broadcast
func.func @costly_broadcast(%x: tensor<6x8xf32>, %b: tensor<8xf32>) -> tensor<6x8xf32> {
  %0 = parplan.exp %b : tensor<8xf32>
  %1 = parplan.mul %x, %0 : tensor<6x8xf32>, tensor<8xf32>
  return %1 : tensor<6x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Transposes and slices are strides and offsets of loads; steps may be negative.
// CHECK: exec.kernel @kernel0 space [3, 4]
// CHECK: exec.load 0 at 10 strides [-2, 12] : f32
// CHECK: exec.load 1 at 0 strides [4, 1] : f32
// CHECK-LABEL: func.func @index_maps
func.func @index_maps(%x: tensor<4x12xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = parplan.slice %x dims [1] from [10] to [5] step [-2] : tensor<4x12xf32>
  %1 = parplan.transpose %0 [1, 0] : tensor<4x3xf32>
  %2 = parplan.add %1, %y : tensor<3x4xf32>, tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Padding reads its operand under a condition only.
// CHECK: exec.kernel @kernel0 space [7]
// CHECK: %[[IN:.*]] = exec.apply and(%{{.*}}, %{{.*}})
// CHECK: %[[X:.*]] = exec.load 0 at -1 strides [1] if %[[IN]] : f32
// CHECK: exec.apply select(%[[IN]], %{{.*}}, %{{.*}})
// CHECK-LABEL: func.func @pad
func.func @pad(%x: tensor<4xf32>) -> tensor<7xf32> {
  %0 = parplan.neg %x : tensor<4xf32>
  %1 = parplan.pad %0 dims [0] low [1] high [2] value 1.5 : tensor<4xf32>
  return %1 : tensor<7xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Each part of a concatenation writes its region of one tensor.
// CHECK: exec.kernel @kernel0 space [2, 3]
// CHECK: exec.apply neg
// CHECK: exec.store %{{.*}} at 0 strides [8, 1]
// CHECK: exec.kernel @kernel1 space [2, 5]
// CHECK: exec.store %{{.*}} at 3 strides [8, 1]
// CHECK-LABEL: func.func @concat
func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x5xf32>) -> tensor<2x8xf32> {
  // CHECK-NEXT: %[[EMPTY:.*]] = exec.empty : tensor<2x8xf32>
  // CHECK-NEXT: %[[FIRST:.*]] = exec.map @kernel0(%{{.*}}) scalars [] into %[[EMPTY]] : tensor<2x8xf32>
  // CHECK-NEXT: exec.map @kernel1(%{{.*}}) scalars [] into %[[FIRST]] : tensor<2x8xf32>
  %0 = parplan.neg %x : tensor<2x3xf32>
  %1 = parplan.concat %0, %y dim 1 : tensor<2x3xf32>, tensor<2x5xf32>
  return %1 : tensor<2x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// One pass over the pairs writes both halves.
// CHECK: exec.kernel @kernel0 space [2, 3, 4] inputs [f32, f32, f32]
// CHECK: exec.load 0 at 0 strides [24, 8, 1]
// CHECK: exec.load 0 at 4 strides [24, 8, 1]
// CHECK: exec.load 1 at 0 strides [4, 0, 1]
// CHECK: exec.store %{{.*}} at 0 strides [24, 8, 1]
// CHECK: exec.store %{{.*}} at 4 strides [24, 8, 1]
// CHECK-LABEL: func.func @rope
func.func @rope(%x: tensor<1x2x3x8xf32>, %c: tensor<2x1x4xf32>, %s: tensor<2x1x4xf32>) -> tensor<1x2x3x8xf32> {
  %0 = parplan.rope %x cos %c sin %s : tensor<1x2x3x8xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>
  return %0 : tensor<1x2x3x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Padding is cleared by the number of existing elements, which differs between ranks.
// CHECK: exec.kernel @kernel0 space [6, 8] inputs [f32] output f32 scalars 1
// CHECK-NEXT: ^bb0(%{{.*}}: i64, %[[J:.*]]: i64, %[[VALID:.*]]: i64):
// CHECK: %[[EXISTS:.*]] = exec.apply lt(%[[J]], %[[VALID]])
// CHECK: exec.apply select(%[[EXISTS]], %{{.*}}, %{{.*}})
// CHECK-LABEL: func.func @clear_padding
func.func @clear_padding(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %0 = parplan.exp %x : tensor<6x8xf32>
  // CHECK-NEXT: exec.map @kernel0(%{{.*}}) scalars [#exec.rank_value<extent of 15 over <"tp0">>]
  %1 = parplan.clear_padding %0 dims [1] sizes [15] axes [#parplan.axes<"tp0">] fill 0.0 : tensor<6x8xf32>
  return %1 : tensor<6x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// A rank's block starts at an offset that it computes; blocks that 2 divides are full.
// CHECK: exec.kernel @kernel0 space [4] inputs [f32] output f32 scalars 1
// CHECK: exec.load 0 at 0 strides [1] plus %{{.*}} times [1] : f32
// CHECK: exec.kernel @kernel1 space [4] inputs [f32] output f32 scalars 2
// CHECK: %[[EXISTS:.*]] = exec.apply lt
// CHECK: exec.load 0 at 0 strides [1] plus %{{.*}} times [1] if %[[EXISTS]] : f32
// CHECK-LABEL: func.func @shard_slice
func.func @shard_slice(%x: tensor<8xf32>, %y: tensor<7xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = parplan.shard_slice %x axes <"tp0"> dim 0 to <@mesh, [{"tp0"}]> : tensor<8xf32> -> tensor<4xf32>
  // CHECK: scalars [#exec.rank_value<start of 7 over <"tp0">>, #exec.rank_value<extent of 7 over <"tp0">>]
  %1 = parplan.shard_slice %y axes <"tp0"> dim 0 to <@mesh, [{"tp0"}]> : tensor<7xf32> -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

parplan.mesh @mesh <["a"=2 tensor, "b"=2 tensor]>

// All pieces of a flat block but the last ones are full: they start as if the block had 8 elements.
// CHECK: exec.kernel @kernel0 space [2] inputs [f32] output f32 scalars 1
// CHECK: %[[SIZE:.*]] = exec.literal 5 : i64
// CHECK: %[[EXISTS:.*]] = exec.apply lt(%{{.*}}, %[[SIZE]])
// CHECK: exec.load 0 at 0 strides [1] plus %{{.*}} times [1] if %[[EXISTS]] : f32
// CHECK-LABEL: func.func @uneven_storage
func.func @uneven_storage(%x: tensor<5xf32>) -> tensor<2xf32> {
  // CHECK: scalars [#exec.rank_value<start of 8 over <"a", "b">>]
  %0 = parplan.shard_slice %x axes <"a", "b"> dim -1 to <@mesh, [{}], stored = {"a", "b"}> : tensor<5xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// CHECK: exec.kernel @kernel0 space [4]
// CHECK: %[[OWNS:.*]] = exec.apply lt
// CHECK: exec.apply select(%[[OWNS]]
// CHECK-LABEL: func.func @pend
func.func @pend(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: scalars [#exec.rank_value<extent of 1 over <"tp0">>]
  %0 = parplan.pend %x axes <"tp0"> to <@mesh, [{}], partial = sum{"tp0"}> : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Masks, indices and splat constants read no tensor: each user computes them.
// CHECK: exec.kernel @kernel{{[0-9]}} space [3, 3] inputs [f32]
// CHECK: exec.apply le
// CHECK: exec.literal -1.000000e+00 : f32 -> f32
// CHECK-LABEL: func.func @free
func.func @free(%x: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xi1>) {
  %mask = parplan.affine_mask [-1, 1] + 0 : tensor<3x3xi1>
  %low = parplan.constant dense<-1.0> : tensor<f32>
  %0 = parplan.select %mask, %x, %low : tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>
  // CHECK: exec.map @kernel{{.*}}(%{{.*}}) scalars [] : (tensor<3x3xf32>)
  // CHECK-NOT: parplan.constant
  return %0, %mask : tensor<3x3xf32>, tensor<3x3xi1>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// A reshape is an alias of its operand's bytes; one that only adds dimensions of size 1 joins the chain.
// CHECK-LABEL: func.func @reshapes
func.func @reshapes(%x: tensor<2x6xf32>, %y: tensor<3x4xf32>, %m: tensor<4xf32>) -> tensor<3x4xf32> {
  // CHECK-NEXT: %[[NEG:.*]] = exec.map @kernel{{.*}}(%{{.*}}) scalars [] : (tensor<2x6xf32>)
  %0 = parplan.neg %x : tensor<2x6xf32>
  // CHECK-NEXT: %[[ALIAS:.*]] = parplan.reshape %[[NEG]]
  %1 = parplan.reshape %0 : tensor<2x6xf32> to tensor<3x4xf32>
  %2 = parplan.abs %m : tensor<4xf32>
  %3 = parplan.reshape %2 : tensor<4xf32> to tensor<1x4xf32>
  // CHECK-NEXT: exec.map @kernel{{.*}}(%[[ALIAS]], %{{.*}}) scalars [] : (tensor<3x4xf32>, tensor<4xf32>)
  // CHECK-NEXT: return
  %4 = parplan.mul %1, %3 : tensor<3x4xf32>, tensor<1x4xf32>
  return %4 : tensor<3x4xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Attention reads its operands through strides.
// CHECK-LABEL: func.func @attention_view
func.func @attention_view(%q: tensor<1x2x5x4xf32>, %k: tensor<1x5x2x4xf32>) -> tensor<1x5x2x4xf32> {
  // CHECK-NEXT: parplan.transpose
  // CHECK-NEXT: parplan.attention
  %0 = parplan.transpose %q [0, 2, 1, 3] : tensor<1x2x5x4xf32>
  %1 = parplan.attention %0, %k, %k scale 0.5 causal : tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>
  return %1 : tensor<1x5x2x4xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Sums over micro-batches are added one by one, so that no gradient waits for the last one.
// CHECK-LABEL: func.func @micro_batches
func.func @micro_batches(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[FIRST:.*]] = exec.map @kernel{{.*}}(%{{.*}}, %{{.*}}) scalars [] : (tensor<8xf32>, tensor<8xf32>)
  %0 = parplan.add %a, %b {parplan.role = "gradient_sum"} : tensor<8xf32>, tensor<8xf32>
  // CHECK-NEXT: exec.map @kernel{{.*}}(%[[FIRST]], %{{.*}}) scalars [] : (tensor<8xf32>, tensor<8xf32>)
  // CHECK-NEXT: return
  %1 = parplan.add %0, %c {parplan.role = "gradient_sum"} : tensor<8xf32>, tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// Functions share kernels, which are numbered in the order of the functions.
// CHECK: exec.kernel @kernel0 space [8] inputs [f32, f32]
// CHECK-LABEL: func.func @first
func.func @first(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: exec.map @kernel0(
  %0 = parplan.add %x, %y : tensor<8xf32>, tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK: exec.kernel @kernel1 space [8] inputs [f32]
// CHECK-NOT: exec.kernel
// CHECK-LABEL: func.func @second
func.func @second(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: exec.map @kernel1(
  %0 = parplan.gelu %x : tensor<8xf32>
  // CHECK-NEXT: exec.map @kernel0(
  %1 = parplan.add %x, %y : tensor<8xf32>, tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
