// RUN: parplan-opt %s -parplan-fuse-elementwise -parplan-to-exec | FileCheck %s

parplan.mesh @mesh <["dp0"=2 data]>

// Parts of micro-batches are made where the output has them; an input of that
// name is no input of a training step.
// CHECK: exec.program @main mesh <["dp0"=2 data]> arena 88 events 0
// CHECK-NOT: role
// CHECK: %[[X:.*]] = exec.buffer input at {{.*}} batched block <"labels" dims [2 over <> stride 6, 6 over <"dp0"> stride 1]> : <2x3xf32>
// CHECK: %[[Y:.*]] = exec.buffer output at {{.*}} batched along 1 block <"loss" dims [2 over <> stride 6, 1 over <> stride 6, 6 over <"dp0"> stride 1]> : <6xf32>
// CHECK: %[[SECOND:.*]] = exec.view %[[Y]] at 12
// CHECK: exec.launch {{.*}} into %[[SECOND]]
// CHECK-NOT: exec.copy
func.func @main(%x: tensor<2x3xf32> {parplan.batch, parplan.name = "labels", parplan.global_type = tensor<2x6xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {"dp0"}]>})
    -> (tensor<2x1x3xf32> {parplan.name = "loss", parplan.batch_dim = 1 : i64, parplan.global_type = tensor<2x1x6xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {}, {"dp0"}]>})
    attributes {parplan.forward_only, parplan.micro_batches = 2 : i64} {
  %s0 = parplan.slice %x dims [0] from [0] to [1] step [1] : tensor<2x3xf32>
  %x0 = parplan.reshape %s0 : tensor<1x3xf32> to tensor<1x3xf32>
  %y0 = parplan.exp %x0 : tensor<1x3xf32>
  %s1 = parplan.slice %x dims [0] from [1] to [2] step [1] : tensor<2x3xf32>
  %x1 = parplan.reshape %s1 : tensor<1x3xf32> to tensor<1x3xf32>
  %y1 = parplan.exp %x1 : tensor<1x3xf32>
  %all = parplan.pack %y0, %y1 at [0, 3] : tensor<1x3xf32>, tensor<1x3xf32> to tensor<6xf32>
  %y = parplan.reshape %all : tensor<6xf32> to tensor<2x1x3xf32>
  return %y : tensor<2x1x3xf32>
}
