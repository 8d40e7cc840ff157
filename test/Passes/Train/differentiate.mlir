// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-differentiate | FileCheck %s

// Backward ops carry the number of their forward op and run per micro-batch; a
// gradient is accumulated once.
parplan.initializer @w "w" : tensor<3x2xf32> in "" at 0 length 24 {parplan.trained = "it is"}
// CHECK: parplan.initializer @unused {{.*}} {parplan.frozen = "the loss does not depend on it"}
parplan.initializer @unused "unused" : tensor<2xf32> in "" at 24 length 8 {parplan.trained = "it is"}
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<f32> {parplan.name = "loss"}, tensor<3x2xf32> {parplan.variable = #parplan.variable<@w>})
func.func @main(%x: tensor<4x3xf32> {parplan.batch, parplan.name = "x"}) -> (tensor<f32> {parplan.name = "loss"}) attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[W:.*]] = parplan.parameter @w : tensor<3x2xf32>
  %w = parplan.parameter @w : tensor<3x2xf32>
  %u = parplan.parameter @unused : tensor<2xf32>
  // CHECK: parplan.matmul "sk,kn->sn" %arg0, %[[W]] {parplan.group = [[MATMUL:[0-9]+]] : i64, parplan.per_micro_batch}
  %y = parplan.matmul "sk,kn->sn" %x, %w : tensor<4x3xf32>, tensor<3x2xf32>
  // CHECK: parplan.reduce sum %{{.*}} {parplan.group = [[REDUCE:[0-9]+]] : i64, parplan.per_micro_batch}
  %r = parplan.reduce sum %y dims [0, 1] : tensor<4x2xf32>
  // CHECK: parplan.accumulate %{{.*}} {parplan.group = {{[0-9]+}} : i64}
  %loss = parplan.accumulate %r : tensor<f32>
  // CHECK: %[[SEED:.*]] = parplan.constant {parplan.role = "input_gradient"} dense<1.000000e+00> : tensor<f32>
  // CHECK: parplan.broadcast %{{.*}} {parplan.group = [[REDUCE]] : i64, parplan.per_micro_batch, parplan.role = "input_gradient"}
  // CHECK: %[[G:.*]] = parplan.matmul {{.*}} {parplan.group = [[MATMUL]] : i64, parplan.per_micro_batch, parplan.role = "weight_gradient"}
  // CHECK: %[[SUM:.*]] = parplan.accumulate %[[G]] {parplan.role = "gradient_sum"}
  // CHECK: return %{{.*}}, %[[SUM]]
  return %loss : tensor<f32>
}

// -----

// The gradient of a parameter that is added to the loss comes from the end
// unchanged, once per micro-batch; the seed is the scale of the loss.
parplan.initializer @b "b" : tensor<f32> in "" at 0 length 4 {parplan.trained = "it is"}
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {parplan.schedule = "loss_scale"}
func.func @main(%x: tensor<f32> {parplan.batch}, %scale: tensor<f32> {parplan.schedule = "loss_scale"}) -> (tensor<f32> {parplan.name = "loss"}) attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[COPY:.*]] = parplan.sum %[[SCALE]] {parplan.per_micro_batch, parplan.role = "gradient_sum"}
  // CHECK: parplan.accumulate %[[COPY]] {parplan.role = "gradient_sum"}
  %b = parplan.parameter @b : tensor<f32>
  %y = parplan.add %x, %b : tensor<f32>, tensor<f32>
  %loss = parplan.accumulate %y : tensor<f32>
  return %loss : tensor<f32>
}

// -----

parplan.initializer @b "b" : tensor<f32> in "" at 0 length 4 {parplan.trained = "it is"}
// expected-error@+1 {{there is nothing to train: the loss depends on no parameter}}
func.func @main(%x: tensor<f32> {parplan.batch}) -> (tensor<f32> {parplan.name = "loss"}) attributes {parplan.micro_batches = 2 : i64} {
  %b = parplan.parameter @b : tensor<f32>
  %loss = parplan.accumulate %x : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// PyTorch does not train the row of the padding id through the lookup.
parplan.initializer @table "table" : tensor<5x2xf32> in "" at 0 length 40 {parplan.trained = "it is"}
// CHECK-LABEL: func.func @main
func.func @main(%ids: tensor<4xi64> {parplan.batch}) -> (tensor<f32> {parplan.name = "loss"}) attributes {parplan.micro_batches = 1 : i64} {
  // CHECK: %[[IS_PADDING:.*]] = parplan.compare eq %arg0, %{{.*}} {
  // CHECK: %[[OUTSIDE:.*]] = parplan.constant {{.*}}dense<-1> : tensor<i64>
  // CHECK: %[[IDS:.*]] = parplan.select %[[IS_PADDING]], %[[OUTSIDE]], %arg0
  // CHECK: parplan.embedding_gradient %[[IDS]],
  %table = parplan.parameter @table : tensor<5x2xf32>
  %rows = parplan.embedding %ids, %table {parplan.padding_id = 3 : i64} : tensor<4xi64>, tensor<5x2xf32>
  %r = parplan.reduce sum %rows dims [0, 1] : tensor<4x2xf32>
  %loss = parplan.accumulate %r : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A gradient is added up before the next one is made.
parplan.initializer @first "first" : tensor<3x3xf32> in "" at 0 length 36 {parplan.trained = "it is"}
parplan.initializer @second "second" : tensor<3x2xf32> in "" at 36 length 24 {parplan.trained = "it is"}
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x3xf32> {parplan.batch}) -> (tensor<f32> {parplan.name = "loss"}) attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[SECOND:.*]] = parplan.matmul {{.*}} parplan.role = "weight_gradient"} : tensor<4x3xf32>, tensor<4x2xf32>
  // CHECK-NEXT: parplan.accumulate %[[SECOND]]
  // CHECK: %[[FIRST:.*]] = parplan.matmul {{.*}} parplan.role = "weight_gradient"} : tensor<4x3xf32>, tensor<4x3xf32>
  // CHECK-NEXT: parplan.accumulate %[[FIRST]]
  %first = parplan.parameter @first : tensor<3x3xf32>
  %second = parplan.parameter @second : tensor<3x2xf32>
  %h = parplan.matmul "sk,kn->sn" %x, %first : tensor<4x3xf32>, tensor<3x3xf32>
  %y = parplan.matmul "sk,kn->sn" %h, %second : tensor<4x3xf32>, tensor<3x2xf32>
  %r = parplan.reduce sum %y dims [0, 1] : tensor<4x2xf32>
  %loss = parplan.accumulate %r : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// One that is read twice is added up behind its second part.
parplan.initializer @shared "shared" : tensor<3x3xf32> in "" at 0 length 36 {parplan.trained = "it is"}
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x3xf32> {parplan.batch}) -> (tensor<f32> {parplan.name = "loss"}) attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[LATER:.*]] = parplan.matmul {{.*}} parplan.role = "weight_gradient"}
  // CHECK: %[[EARLIER:.*]] = parplan.matmul {{.*}} parplan.role = "weight_gradient"}
  // CHECK: %[[BOTH:.*]] = parplan.sum %[[LATER]], %[[EARLIER]] {parplan.per_micro_batch, parplan.role = "gradient_sum"}
  // CHECK-NEXT: parplan.accumulate %[[BOTH]]
  %shared = parplan.parameter @shared : tensor<3x3xf32>
  %h = parplan.matmul "sk,kn->sn" %x, %shared : tensor<4x3xf32>, tensor<3x3xf32>
  %y = parplan.matmul "sk,kn->sn" %h, %shared : tensor<4x3xf32>, tensor<3x3xf32>
  %r = parplan.reduce sum %y dims [0, 1] : tensor<4x3xf32>
  %loss = parplan.accumulate %r : tensor<f32>
  return %loss : tensor<f32>
}
