// RUN: parplan-opt %s | parplan-opt | FileCheck %s
// RUN: parplan-opt %s -mlir-print-op-generic | parplan-opt | FileCheck %s

parplan.initializer @w0 "fc.weight" : tensor<8x15xf32> in "" at 0 length 480
exec.data @table dense<[1, 2, 3, 4]> : tensor<4xi64>

// CHECK-LABEL: exec.program @tensor_parallel mesh <["dp0"=2 data, "tp0"=2 tensor]> arena 1024 events 1
exec.program @tensor_parallel mesh <["dp0"=2 data, "tp0"=2 tensor]> arena 1024 events 1 {
  // CHECK-NEXT: exec.communicator @c0 <"tp0">
  exec.communicator @c0 <"tp0">
  // CHECK-NEXT: exec.kernel @gelu space [6, 8] inputs [f32] output f32 scalars 1
  exec.kernel @gelu space [6, 8] inputs [f32] output f32 scalars 1 {
  // CHECK-NEXT: ^bb0(%[[I:.*]]: i64, %[[J:.*]]: i64, %[[VALID:.*]]: i64):
  ^bb0(%i0: i64, %i1: i64, %s0: i64):
    // CHECK-NEXT: %[[EXISTS:.*]] = exec.apply lt(%[[J]], %[[VALID]]) : (i64, i64) -> i1
    %exists = exec.apply lt(%i1, %s0) : (i64, i64) -> i1
    // CHECK-NEXT: %[[X:.*]] = exec.load 0 at 0 strides [8, 1] if %[[EXISTS]] : f32
    %x = exec.load 0 at 0 strides [8, 1] if %exists : f32
    // CHECK-NEXT: exec.load 0 at 4 strides [8, 0] plus %[[VALID]] times [2] : f32
    %z = exec.load 0 at 4 strides [8, 0] plus %s0 times [2] : f32
    // CHECK-NEXT: %[[Y:.*]] = exec.apply gelu(%[[X]]) : (f32) -> f32
    %y = exec.apply gelu(%x) : (f32) -> f32
    // CHECK-NEXT: exec.literal 0xFF800000 : f32 -> f32
    %minus = exec.literal 0xFF800000 : f32 -> f32
    // CHECK-NEXT: exec.store %[[Y]] at 0 strides [8, 1] : f32
    exec.store %y at 0 strides [8, 1] : f32
  }
  // CHECK: exec.buffer input at 0 live -1 to 3 block <"x" dims [6 over <> stride 8, 8 over <> stride 1]> : <6x8xf32>
  %x = exec.buffer input at 0 live -1 to 3 block <"x" dims [6 over <> stride 8, 8 over <> stride 1]> : <6x8xf32>
  // CHECK: exec.buffer parameter at 192 live -1 to 3
  // CHECK-SAME: block <"fc.weight" from @w0 at 0 dims [8 over <> stride 15, 15 over <"tp0"> stride 1]> : <8x8xf32>
  %w = exec.buffer parameter at 192 live -1 to 3 block <"fc.weight" from @w0 at 0 dims [8 over <> stride 15, 15 over <"tp0"> stride 1]> : <8x8xf32>
  %h = exec.buffer activation at 448 live 0 to 1 : <6x8xf32>
  %p = exec.buffer activation at 640 live 1 to 2 : <6x8xf32>
  %y = exec.buffer output at 832 live 2 to 3 block <"y" dims [48 over <> stride 1]> : <6x8xf32>
  // CHECK: exec.matmul %{{.*}} [8, 1], %{{.*}} [8, 1] into %{{.*}} [8, 1] shape [6, 8, 8] batch [] : [], [], []
  // CHECK-SAME: cost = #exec.cost<matrix flops 768 transcendentals 0 read 448 written 192 shape [6, 8, 8, 1]>
  exec.matmul %x [8, 1], %w [8, 1] into %h [8, 1] shape [6, 8, 8] batch [] : [], [], [] {cost = #exec.cost<matrix flops 768 transcendentals 0 read 448 written 192 shape [6, 8, 8, 1]>} : <6x8xf32>, <8x8xf32>, <6x8xf32>
  // CHECK: exec.launch @gelu(%{{.*}}) scalars [#exec.rank_value<extent of 15 over <"tp0">>] into
  exec.launch @gelu(%h) scalars [#exec.rank_value<extent of 15 over <"tp0">>] into %p : (!exec.buffer<6x8xf32>) -> !exec.buffer<6x8xf32>
  // CHECK: exec.record 0 on compute
  exec.record 0 on compute
  // CHECK: exec.wait 0 on communication
  exec.wait 0 on communication
  // CHECK: exec.collective all_reduce @c0 kind sum %{{.*}} into %{{.*}} count 48 bytes 192
  exec.collective all_reduce @c0 kind sum %p into %y count 48 bytes 192 : <6x8xf32>, <6x8xf32>
}

// CHECK-LABEL: exec.program @panels
exec.program @panels mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <4x4xf32>
  %y = exec.buffer output at 64 live 0 to 2 block <"y" dims [16 over <> stride 1]> : <4x4xf32>
  // CHECK: exec.copy %{{.*}} at 0 [1] into %{{.*}} at 0 [1] extents [16] : <4x4xf32>
  exec.copy %x at 0 [1] into %y at 0 [1] extents [16] : <4x4xf32>, <4x4xf32>
  // CHECK: exec.matmul accumulate %{{.*}} [4, 1], %{{.*}} [4, 1] into %{{.*}} [4, 1] shape [4, 4, 4] batch [] : [], [], [] :
  exec.matmul accumulate %x [4, 1], %x [4, 1] into %y [4, 1] shape [4, 4, 4] batch [] : [], [], [] : <4x4xf32>, <4x4xf32>, <4x4xf32>
}

// CHECK-LABEL: exec.program @member
exec.program @member mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // CHECK: exec.copy %{{.*}} at 0 [1] into %{{.*}} at 0 [1] extents [16] only <1 of @c0> : <16xf32>
  exec.copy %x at 0 [1] into %y at 0 [1] extents [16] only <1 of @c0> : <16xf32>, <16xf32>
}

// CHECK-LABEL: exec.program @first
exec.program @first mesh <["ep0"=2 expert]> arena 8 events 0 {
  exec.kernel @position space [1] inputs [] output i64 scalars 1 {
  ^bb0(%i: i64, %start: i64):
    exec.store %start at 0 strides [0] : i64
  }
  %f = exec.buffer output at 0 live 0 to 1 block <"f" dims [1 over <> stride 1]> : <1xi64>
  // CHECK: exec.launch @position() scalars [#exec.rank_value<start of 3 over <"ep0">>] into %{{.*}} : () -> !exec.buffer<1xi64>
  exec.launch @position() scalars [#exec.rank_value<start of 3 over <"ep0">>] into %f : () -> !exec.buffer<1xi64>
}
