// RUN: parplan-opt %s -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -split-input-file | FileCheck %s

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w "w" : tensor<8x6xf32> in "" at 0 length 192
parplan.initializer @b "b" : tensor<6xf32> in "" at 192 length 24

// Gradients are made inside of their bucket, also what is added up before; what no member covers is cleared.
// CHECK-LABEL: exec.program @main
// CHECK: %[[P:.*]] = exec.buffer parameter {{.*}} trained bucket <64 [0 : <"w" from @w at 0 dims [8 over <> stride 6, 6 over <> stride 1]>, 48 : <"b" from @b at 0 dims [6 over <> stride 1]>]> : <64xf32>
// CHECK: %[[G:.*]] = exec.buffer activation at {{[0-9]+}} live 0 to {{[0-9]+}} : <64xf32>
// CHECK-DAG: %[[GW:.*]] = exec.view %[[G]] at 0 : <64xf32> to <8x6xf32>
// CHECK-DAG: %[[GB:.*]] = exec.view %[[G]] at 192 : <64xf32> to <6xf32>
// CHECK: exec.matmul %{{.*}} [1, 8], %{{.*}} [6, 1] into %[[GW]] [6, 1] shape [8, 6, 4]
// CHECK: exec.matmul %{{.*}} [1, 8], %{{.*}} [6, 1] into %[[MORE:.*]] [6, 1] shape [8, 6, 4]
// CHECK: exec.launch @{{.*}}(%[[GW]], %[[MORE]]) scalars [] into %[[GW]]
// CHECK: exec.reduce sum %{{.*}} into %[[GB]] rows 1, 4, 6
// CHECK: %[[GAP:.*]] = exec.view %[[G]] at 216 : <64xf32> to <10xf32>
// CHECK: exec.zero %[[GAP]]
// CHECK: exec.collective all_reduce @c0 kind sum %[[G]] into %[[G]] count 64 bytes 256
// CHECK: exec.update sgd %[[P]], %[[G]] learning_rate %{{.*}} into %[[P]]
// CHECK-NOT: exec.copy
func.func @main(
    %x: tensor<4x8xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>, parplan.global_type = tensor<8x8xf32>},
    %d: tensor<4x6xf32> {parplan.name = "d", parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>, parplan.global_type = tensor<8x6xf32>},
    %lr: tensor<f32> {parplan.name = "learning_rate", parplan.schedule = "learning_rate"}
  ) -> (tensor<64xf32> {parplan.bucket = [#parplan.member<variable = <@w>, type = tensor<8x6xf32>, sharding = <@mesh, [{}, {}]>, offset = 0>, #parplan.member<variable = <@b>, type = tensor<6xf32>, sharding = <@mesh, [{}]>, offset = 48>], parplan.global_type = tensor<64xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>})
    attributes {parplan.micro_batches = 1 : i64} {
  %p = parplan.bucket_parameter [#parplan.member<variable = <@w>, type = tensor<8x6xf32>, sharding = <@mesh, [{}, {}]>, offset = 0>, #parplan.member<variable = <@b>, type = tensor<6xf32>, sharding = <@mesh, [{}]>, offset = 48>] {parplan.global_type = tensor<64xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<64xf32>
  %w, %b = parplan.unpack %p at [0, 48] : tensor<64xf32> to tensor<8x6xf32>, tensor<6xf32>
  %g0 = parplan.matmul "mk,mn->kn" %x, %d : tensor<4x8xf32>, tensor<4x6xf32>
  %y = parplan.matmul "mk,kn->mn" %x, %w : tensor<4x8xf32>, tensor<8x6xf32>
  %z = parplan.add %y, %b : tensor<4x6xf32>, tensor<6xf32>
  %g1 = parplan.matmul "mk,mn->kn" %x, %z : tensor<4x8xf32>, tensor<4x6xf32>
  %gw = parplan.add %g0, %g1 {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"dp0"}>]} : tensor<8x6xf32>, tensor<8x6xf32>
  %gb = parplan.reduce sum %z dims [0] {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<4x6xf32>
  %packed = parplan.pack %gw, %gb at [0, 48] {parplan.global_type = tensor<64xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<8x6xf32>, tensor<6xf32> to tensor<64xf32>
  %g = parplan.all_reduce sum %packed axes <"dp0"> to <@mesh, [{}]> : tensor<64xf32> -> tensor<64xf32>
  %pn = parplan.optimizer_update sgd %p, %g learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<64xf32>, tensor<64xf32>, tensor<f32>
  return %pn : tensor<64xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w "w" : tensor<8x6xf32> in "" at 0 length 192

// ZeRO 3: the bucket rests in pieces, is gathered for its readers, and its pieces are updated. What has another reader is
// copied into the bucket.
// CHECK-LABEL: exec.program @main
// CHECK: %[[P:.*]] = exec.buffer parameter {{.*}} trained bucket <64 storage <"dp0"> [0 : <"w" from @w at 0 dims [8 over <> stride 6, 6 over <> stride 1]>]> : <32xf32>
// CHECK: exec.collective all_gather @c0 %[[P]] into %[[ALL:.*]] count 32 bytes 256
// CHECK: %[[W:.*]] = exec.view %[[ALL]] at 0 : <64xf32> to <8x6xf32>
// CHECK: exec.matmul %{{.*}} [8, 1], %[[W]] [6, 1] into
// CHECK: %[[PLACE:.*]] = exec.view %[[G:.*]] at 0 : <64xf32> to <8x6xf32>
// CHECK-NEXT: exec.copy %[[GW:.*]] at 0 [1] into %[[PLACE]] at 0 [1] extents [48]
// CHECK: exec.collective reduce_scatter @c0 kind sum %[[G]] into %[[PIECE:.*]] count 32 bytes 256
// CHECK: exec.update sgd %[[P]], %[[PIECE]] learning_rate %{{.*}} into %[[P]]
func.func @main(
    %x: tensor<4x8xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>, parplan.global_type = tensor<8x8xf32>},
    %lr: tensor<f32> {parplan.name = "learning_rate", parplan.schedule = "learning_rate"}
  ) -> (tensor<32xf32> {parplan.bucket = [#parplan.member<variable = <@w>, type = tensor<8x6xf32>, sharding = <@mesh, [{}, {}]>, offset = 0>], parplan.global_type = tensor<64xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"dp0"}>},
        tensor<8xf32> {parplan.name = "sums"})
    attributes {parplan.micro_batches = 1 : i64} {
  %p = parplan.bucket_parameter [#parplan.member<variable = <@w>, type = tensor<8x6xf32>, sharding = <@mesh, [{}, {}]>, offset = 0>] {parplan.global_type = tensor<64xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<32xf32>
  %all = parplan.all_gather %p axes <"dp0"> dim -1 to <@mesh, [{}]> : tensor<32xf32> -> tensor<64xf32>
  %w = parplan.unpack %all at [0] : tensor<64xf32> to tensor<8x6xf32>
  %y = parplan.matmul "mk,kn->mn" %x, %w : tensor<4x8xf32>, tensor<8x6xf32>
  %gw = parplan.matmul "mk,mn->kn" %x, %y {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"dp0"}>]} : tensor<4x8xf32>, tensor<4x6xf32>
  %sums = parplan.reduce sum %gw dims [1] : tensor<8x6xf32>
  %packed = parplan.pack %gw at [0] {parplan.global_type = tensor<64xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<8x6xf32> to tensor<64xf32>
  %g = parplan.reduce_scatter sum %packed axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> : tensor<64xf32> -> tensor<32xf32>
  %pn = parplan.optimizer_update sgd %p, %g learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<32xf32>, tensor<32xf32>, tensor<f32>
  return %pn, %sums : tensor<32xf32>, tensor<8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w "w" : tensor<8x6xf32> in "" at 0 length 192

// What an update reads beside the old bucket is a part of the old bucket: it is not written in place.
// CHECK-LABEL: exec.program @main
// CHECK: %[[P:.*]] = exec.buffer parameter {{.*}} trained bucket
// CHECK: exec.update sgd %[[P]], %{{[0-9]+}} learning_rate %{{[0-9]+}} into %[[NEW:[0-9]+]]
// CHECK: exec.copy %[[NEW]] {{.*}} into %[[P]]
func.func @main(
    %lr: tensor<f32> {parplan.name = "learning_rate", parplan.schedule = "learning_rate"}
  ) -> (tensor<48xf32> {parplan.bucket = [#parplan.member<variable = <@w>, type = tensor<8x6xf32>, sharding = <@mesh, [{}, {}]>, offset = 0>], parplan.global_type = tensor<48xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>})
    attributes {parplan.micro_batches = 1 : i64} {
  %p = parplan.bucket_parameter [#parplan.member<variable = <@w>, type = tensor<8x6xf32>, sharding = <@mesh, [{}, {}]>, offset = 0>] {parplan.global_type = tensor<48xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<48xf32>
  %w = parplan.unpack %p at [0] : tensor<48xf32> to tensor<8x6xf32>
  %g = parplan.reshape %w : tensor<8x6xf32> to tensor<48xf32>
  %pn = parplan.optimizer_update sgd %p, %g learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<48xf32>, tensor<48xf32>, tensor<f32>
  return %pn : tensor<48xf32>
}
