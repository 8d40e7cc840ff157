// RUN: parplan-opt %s | parplan-opt | FileCheck %s
// RUN: parplan-opt %s -mlir-print-op-generic | parplan-opt | FileCheck %s

parplan.initializer @w0 "w" : tensor<16xf32> in "" at 0 length 64

// CHECK-LABEL: exec.program @stage0 position 0 mesh <["pp0"=2 pipeline, "tp0"=2 tensor]> arena 128 events 1
exec.program @stage0 position 0 mesh <["pp0"=2 pipeline, "tp0"=2 tensor]> arena 128 events 1 {
  exec.communicator @c0 <"pp0">
  // CHECK: %[[X:.*]] = exec.buffer input at 0
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  // CHECK-NEXT: %[[Y:.*]] = exec.buffer activation at 64
  %y = exec.buffer activation at 64 live 0 to 1 : <16xf32>
  exec.copy %x at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
  exec.record 0 on compute
  // CHECK: exec.wait 0 on point_to_point
  exec.wait 0 on point_to_point
  // CHECK-NEXT: exec.send @c0 to 1 %[[Y]] count 16 bytes 64 : <16xf32>
  exec.send @c0 to 1 %y count 16 bytes 64 : <16xf32>
}

// CHECK-LABEL: exec.program @stage1 position 1
exec.program @stage1 position 1 mesh <["pp0"=2 pipeline, "tp0"=2 tensor]> arena 64 events 0 {
  exec.communicator @c0 <"pp0">
  // CHECK: %[[OUT:.*]] = exec.buffer output
  %y = exec.buffer output at 0 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // CHECK-NEXT: exec.receive @c0 from 0 into %[[OUT]] count 16 bytes 64 : <16xf32>
  exec.receive @c0 from 0 into %y count 16 bytes 64 : <16xf32>
}

// What is known of a stream is known of what that one has waited for: the
// upload needs no event of the download.
// CHECK-LABEL: exec.program @tiers mesh <["dp0"=2 data]> arena 64 host_arena 128 nvme_arena 4160 events 5
exec.program @tiers mesh <["dp0"=2 data]> arena 64 host_arena 128 nvme_arena 4160 events 5 {
  // CHECK-NEXT: exec.buffer state on nvme at 4096 live -1 to 5 trained
  %s = exec.buffer state on nvme at 4096 live -1 to 5 trained block <"w" slot "momentum" from @w0 at 0 dims [16 over <> stride 1]> : <16xf32>
  // CHECK-NEXT: exec.buffer parameter on host at 0 live -1 to 5 trained
  %w = exec.buffer parameter on host at 0 live -1 to 5 trained block <"w" from @w0 at 0 dims [16 over <> stride 1]> : <16xf32>
  // CHECK-NEXT: exec.buffer activation on host at 64
  %t = exec.buffer activation on host at 64 live 0 to 3 : <16xf32>
  // CHECK-NEXT: exec.buffer activation at 0
  %d = exec.buffer activation at 0 live 2 to 4 : <16xf32>
  // CHECK-NEXT: exec.transfer %{{.*}} into %{{.*}} : <16xf32>, <16xf32>
  exec.transfer %s into %t : <16xf32>, <16xf32>
  exec.record 0 on storage
  exec.wait 0 on host
  exec.copy %t at 0 [1] into %w at 0 [1] extents [16] : <16xf32>, <16xf32>
  exec.record 1 on host
  exec.wait 1 on upload
  exec.transfer %t into %d : <16xf32>, <16xf32>
  exec.record 2 on host
  exec.wait 2 on storage
  exec.transfer %t into %s : <16xf32>, <16xf32>
  exec.record 3 on upload
  exec.wait 3 on compute
  exec.zero %d : <16xf32>
}
