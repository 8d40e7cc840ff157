// RUN: parplan-opt %s -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -split-input-file | FileCheck %s

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<8x6xf32> in "" at 0 length 192

// Two micro-batches; momentum. Micro-batches are views of the input, new values lie where the old ones do.
// CHECK-LABEL: exec.program @main
// CHECK-SAME: micro_batches 2
// CHECK: %[[X:.*]] = exec.buffer input at 0 {{.*}} batched block <"x" dims [2 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <2x4x8xf32>
// CHECK: %[[D:.*]] = exec.buffer input {{.*}} role labels batched block <"labels"
// CHECK: %[[LR:.*]] = exec.buffer input {{.*}} role learning_rate block <"learning_rate" dims []> : <f32>
// CHECK: %[[W:.*]] = exec.buffer parameter {{.*}} trained block <"w" from @w0 at 0
// CHECK: %[[M:.*]] = exec.buffer state {{.*}} trained block <"w" slot "momentum_buffer" from @w0 at 0
// CHECK: %[[NORM:.*]] = exec.buffer output {{.*}} role gradient_norm block <"gradient_norm" dims []>
// CHECK-NOT: exec.launch
// CHECK: %[[X0:.*]] = exec.view %[[X]] at 0 : <2x4x8xf32> to <1x4x8xf32>
// CHECK: %[[D0:.*]] = exec.view %[[D]] at 0
// Rows and samples are summed by one product, transposed by strides.
// CHECK: exec.matmul %[[X0]] [1, 8], %[[D0]] [6, 1] into %[[G:.*]] [6, 1] shape [8, 6, 4]
// CHECK: %[[X1:.*]] = exec.view %[[X]] at 128 : <2x4x8xf32> to <1x4x8xf32>
// CHECK: exec.matmul %[[X1]] [1, 8], %{{.*}} [6, 1] into %[[G1:.*]] [6, 1] shape [8, 6, 4]
// The sum grows in place.
// CHECK: exec.launch @kernel{{[0-9]+}}(%[[G]], %[[G1]]) scalars [] into %[[G]]
// CHECK: exec.square_sum %[[G]] into %[[SQUARES:.*]] {
// CHECK-NEXT: exec.launch @kernel{{[0-9]+}}(%[[SQUARES]]) scalars [] into %[[NORM]]
// CHECK: exec.update momentum %[[W]], %[[G]] states %[[M]] learning_rate %[[LR]] into %[[W]], %[[M]]
// CHECK-SAME: cost = #exec.cost<elementwise
// CHECK-NOT: exec.copy
func.func @main(
    %x: tensor<2x4x8xf32> {parplan.name = "x", parplan.batch}, %d: tensor<2x4x6xf32> {parplan.name = "labels", parplan.batch},
    %lr: tensor<f32> {parplan.name = "learning_rate", parplan.schedule = "learning_rate"}
  ) -> (tensor<f32> {parplan.name = "gradient_norm"}, tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0>},
        tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0, slot = "momentum_buffer">})
    attributes {parplan.micro_batches = 2 : i64} {
  %w = parplan.parameter @w0 : tensor<8x6xf32>
  %m = parplan.parameter @w0 slot "momentum_buffer" : tensor<8x6xf32>
  %x0 = parplan.slice %x dims [0] from [0] to [1] step [1] : tensor<2x4x8xf32>
  %x0r = parplan.reshape %x0 : tensor<1x4x8xf32> to tensor<2x2x8xf32>
  %d0 = parplan.slice %d dims [0] from [0] to [1] step [1] : tensor<2x4x6xf32>
  %d0r = parplan.reshape %d0 : tensor<1x4x6xf32> to tensor<2x2x6xf32>
  %g0 = parplan.matmul "bsk,bsn->kn" %x0r, %d0r : tensor<2x2x8xf32>, tensor<2x2x6xf32>
  %x1 = parplan.slice %x dims [0] from [1] to [2] step [1] : tensor<2x4x8xf32>
  %x1r = parplan.reshape %x1 : tensor<1x4x8xf32> to tensor<2x2x8xf32>
  %d1 = parplan.slice %d dims [0] from [1] to [2] step [1] : tensor<2x4x6xf32>
  %d1r = parplan.reshape %d1 : tensor<1x4x6xf32> to tensor<2x2x6xf32>
  %g1 = parplan.matmul "bsk,bsn->kn" %x1r, %d1r : tensor<2x2x8xf32>, tensor<2x2x6xf32>
  %g = parplan.sum %g0, %g1 : tensor<8x6xf32>
  %squares = parplan.square_sum %g : tensor<8x6xf32>
  %norm = parplan.cast %squares : tensor<f64> to tensor<f32>
  %wn, %mn = parplan.optimizer_update momentum %w, %g states %m learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.9 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<f32>
  return %norm, %wn, %mn : tensor<f32>, tensor<8x6xf32>, tensor<8x6xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<8xf32> in "" at 0 length 32

// What still reads the old value comes first.
// CHECK-LABEL: exec.program @main
// CHECK: %[[W:.*]] = exec.buffer parameter
// CHECK: exec.softmax %[[W]] into
// CHECK-NEXT: exec.update sgd %[[W]], %{{.*}} learning_rate %{{.*}} into %[[W]]
// CHECK-NEXT: {{^  }$}}
func.func @main(%g: tensor<8xf32> {parplan.name = "g"}, %lr: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<8xf32> {parplan.variable = #parplan.variable<@w0>}, tensor<8xf32> {parplan.name = "y"}) attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w0 : tensor<8xf32>
  %wn = parplan.optimizer_update sgd %w, %g learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<8xf32>, tensor<8xf32>, tensor<f32>
  %y = parplan.softmax %w dim 0 : tensor<8xf32>
  return %wn, %y : tensor<8xf32>, tensor<8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<8xf32> in "" at 0 length 32

// Both values leave, and the new one is read before the old one: it is copied at the end.
// CHECK-LABEL: exec.program @main
// CHECK: %[[W:.*]] = exec.buffer parameter {{.*}} trained
// CHECK: %[[OLD:.*]] = exec.buffer output {{.*}} block <"old"
// CHECK: %[[Y:.*]] = exec.buffer output {{.*}} block <"y"
// CHECK: exec.update sgd %[[W]], %{{.*}} into %[[WN:[^ ]*]]
// CHECK: exec.softmax %[[WN]] into %[[Y]]
// CHECK: exec.copy %[[W]] at 0 [1] into %[[OLD]]
// CHECK: exec.copy %[[WN]] at 0 [1] into %[[W]]
// CHECK-NEXT: {{^  }$}}
func.func @main(%g: tensor<8xf32> {parplan.name = "g"}, %lr: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<8xf32> {parplan.variable = #parplan.variable<@w0>}, tensor<8xf32> {parplan.name = "old"}, tensor<8xf32> {parplan.name = "y"}) attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w0 : tensor<8xf32>
  %wn = parplan.optimizer_update sgd %w, %g learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<8xf32>, tensor<8xf32>, tensor<f32>
  %y = parplan.softmax %wn dim 0 : tensor<8xf32>
  return %wn, %w, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @a "a" : tensor<8xf32> in "" at 0 length 32
parplan.initializer @b "b" : tensor<8xf32> in "" at 32 length 32

// Variables that change places: neither is lost.
// CHECK-LABEL: exec.program @main
// CHECK: %[[A:.*]] = exec.buffer parameter {{.*}} <"a"
// CHECK: %[[B:.*]] = exec.buffer parameter {{.*}} <"b"
// CHECK: exec.copy %[[B]] at 0 [1] into %[[OLDB:[^ ]*]]
// CHECK: exec.copy %[[A]] at 0 [1] into %[[OLDA:[^ ]*]]
// CHECK: exec.copy %[[OLDB]] at 0 [1] into %[[A]]
// CHECK: exec.copy %[[OLDA]] at 0 [1] into %[[B]]
func.func @main() -> (tensor<8xf32> {parplan.variable = #parplan.variable<@a>}, tensor<8xf32> {parplan.variable = #parplan.variable<@b>}) attributes {parplan.micro_batches = 1 : i64} {
  %a = parplan.parameter @a : tensor<8xf32>
  %b = parplan.parameter @b : tensor<8xf32>
  return %b, %a : tensor<8xf32>, tensor<8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<8xf32> in "" at 0 length 32

// ZeRO 1: a piece is updated, and the new value gathered where the old one was.
// CHECK-LABEL: exec.program @main
// CHECK: %[[W:.*]] = exec.buffer parameter {{.*}} trained block <"w" from @w0 at 0 dims [8 over <> stride 1]> : <8xf32>
// CHECK: %[[V:.*]] = exec.buffer state {{.*}} trained block <"w" slot "momentum_buffer" from @w0 at 0 dims [8 over <> stride 1] storage <"dp0">> : <4xf32>
// CHECK: exec.collective reduce_scatter @c0 kind sum %{{.*}} into %[[G:[^ ]*]]
// CHECK: exec.launch @kernel{{[0-9]+}}(%[[W]]) scalars [#exec.rank_value<start of 8 over <"dp0">>] into %[[OLD:[^ ]*]]
// CHECK: exec.update momentum %[[OLD]], %[[G]] states %[[V]] learning_rate %{{.*}} into %[[OLD]], %[[V]]
// CHECK: exec.collective all_gather @c0 %[[OLD]] into %[[W]] count 4 bytes 32
func.func @main(%g: tensor<8xf32> {parplan.name = "g"}, %lr: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<8xf32> {parplan.variable = #parplan.variable<@w0>}, tensor<4xf32> {parplan.variable = #parplan.variable<@w0, slot = "momentum_buffer">, parplan.global_type = tensor<8xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"dp0"}>}) attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w0 {parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<8xf32>
  %v = parplan.parameter @w0 slot "momentum_buffer" {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<4xf32>
  %pending = parplan.neg %g {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<8xf32>
  %gs = parplan.reduce_scatter sum %pending axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> : tensor<8xf32> -> tensor<4xf32>
  %ws = parplan.shard_slice %w axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> : tensor<8xf32> -> tensor<4xf32>
  %wn, %vn = parplan.optimizer_update momentum %ws, %gs states %v learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.9 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>
  %whole = parplan.all_gather %wn axes <"dp0"> dim -1 to <@mesh, [{}]> : tensor<4xf32> -> tensor<8xf32>
  return %whole, %vn : tensor<8xf32>, tensor<4xf32>
}
