// RUN: parplan-opt %s -split-input-file -parplan-bucket-gradients=bytes=1000 | FileCheck %s

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @a "a" : tensor<4x5xf32> in "" at 0 length 80
parplan.initializer @b "b" : tensor<3xf32> in "" at 80 length 12

// One reduction, one update and one square sum. The gradients lie at multiples
// of 64 bytes; forward and backward read parts of the bucket.
// CHECK-LABEL: func.func @all_reduced
// CHECK-SAME: %[[GA:.*]]: tensor<4x5xf32>, %[[GB:.*]]: tensor<3xf32>, %[[RATE:.*]]: tensor<f32>)
// CHECK-SAME: -> (tensor<48xf32> {parplan.bucket = [#parplan.member<variable = <@a>, type = tensor<4x5xf32>, sharding = <@mesh, [{}, {}]>, offset = 0>,
// CHECK-SAME: #parplan.member<variable = <@b>, type = tensor<3xf32>, sharding = <@mesh, [{}]>, offset = 32>], parplan.global_type = tensor<48xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>},
// CHECK-SAME: tensor<f64>, tensor<4x5xf32>)
func.func @all_reduced(%ga: tensor<4x5xf32>, %gb: tensor<3xf32>, %rate: tensor<f32>)
    -> (tensor<4x5xf32> {parplan.variable = #parplan.variable<@a>, parplan.global_type = tensor<4x5xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>},
        tensor<3xf32> {parplan.variable = #parplan.variable<@b>, parplan.global_type = tensor<3xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>},
        tensor<f64>, tensor<4x5xf32>) {
  // CHECK: %[[P:.*]] = parplan.bucket_parameter
  // CHECK-SAME: tensor<48xf32>
  // CHECK-NEXT: %[[A:.*]]:2 = parplan.unpack %[[P]] at [0, 32]
  // CHECK-SAME: tensor<48xf32> to tensor<4x5xf32>, tensor<3xf32>
  // CHECK: %[[READ:.*]] = parplan.neg %[[A]]#0
  // CHECK: %[[PACK:.*]] = parplan.pack %{{.*}}, %{{.*}} at [0, 32]
  // CHECK-NEXT: %[[SUM:.*]] = parplan.all_reduce sum %[[PACK]] axes <"dp0"> to <@mesh, [{}]>
  // CHECK-SAME: tensor<48xf32> -> tensor<48xf32>
  // CHECK-NEXT: %[[SQUARE:.*]] = parplan.square_sum %[[SUM]]
  // CHECK-NEXT: %[[NORM:.*]] = parplan.sum %[[SQUARE]]
  // CHECK-NEXT: %[[NEW:.*]] = parplan.optimizer_update sgd %[[P]], %[[SUM]] learning_rate %[[RATE]]
  // CHECK-NEXT: return %[[NEW]], %[[NORM]], %[[READ]]
  %a = parplan.parameter @a {parplan.global_type = tensor<4x5xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]} : tensor<4x5xf32>
  %b = parplan.parameter @b {parplan.global_type = tensor<3xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<3xf32>
  %read = parplan.neg %a : tensor<4x5xf32>
  %pa = parplan.neg %ga {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"dp0"}>]} : tensor<4x5xf32>
  %ra = parplan.all_reduce sum %pa axes <"dp0"> to <@mesh, [{}, {}]> {parplan.global_type = tensor<4x5xf32>} : tensor<4x5xf32> -> tensor<4x5xf32>
  %pb = parplan.neg %gb {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<3xf32>
  %rb = parplan.all_reduce sum %pb axes <"dp0"> to <@mesh, [{}]> {parplan.global_type = tensor<3xf32>} : tensor<3xf32> -> tensor<3xf32>
  %sa = parplan.square_sum %ra {parplan.shardings = [#parplan.sharding<@mesh, []>]} : tensor<4x5xf32>
  %sb = parplan.square_sum %rb {parplan.shardings = [#parplan.sharding<@mesh, []>]} : tensor<3xf32>
  %norm = parplan.sum %sa, %sb : tensor<f64>
  %na = parplan.optimizer_update sgd %a, %ra learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]} : tensor<4x5xf32>, tensor<4x5xf32>, tensor<f32>
  %nb = parplan.optimizer_update sgd %b, %rb learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<3xf32>, tensor<3xf32>, tensor<f32>
  return %na, %nb, %norm, %read : tensor<4x5xf32>, tensor<3xf32>, tensor<f64>, tensor<4x5xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @a "a" : tensor<4x5xf32> in "" at 0 length 80
parplan.initializer @b "b" : tensor<3xf32> in "" at 80 length 12

// Stored variables of one block are gathered together; pieces are those of the
// bucket. Other blocks have buckets of their own.
// CHECK-LABEL: func.func @stored
// CHECK-SAME: -> (tensor<32xf32> {parplan.bucket = [
// CHECK-SAME: parplan.global_type = tensor<64xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"dp0"}>}, tensor<4x5xf32>, tensor<3xf32>)
func.func @stored(%ga: tensor<4x5xf32>, %gb: tensor<3xf32>, %rate: tensor<f32>)
    -> (tensor<10xf32> {parplan.variable = #parplan.variable<@a>, parplan.global_type = tensor<4x5xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {}], stored = {"dp0"}>},
        tensor<2xf32> {parplan.variable = #parplan.variable<@b>, parplan.global_type = tensor<3xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"dp0"}>},
        tensor<4x5xf32>, tensor<3xf32>) {
  // CHECK: %[[P:.*]] = parplan.bucket_parameter
  // CHECK-SAME: : tensor<32xf32>
  // CHECK-NEXT: %[[WHOLE:.*]] = parplan.all_gather %[[P]] axes <"dp0"> dim -1 to <@mesh, [{}]>
  // CHECK-NEXT: %[[PARTS:.*]]:2 = parplan.unpack %[[WHOLE]] at [0, 32]
  // CHECK-NEXT: parplan.neg %[[PARTS]]#0
  // CHECK-NEXT: parplan.neg %[[PARTS]]#1
  // CHECK: %[[PACK:.*]] = parplan.pack
  // CHECK-NEXT: %[[PIECE:.*]] = parplan.reduce_scatter sum %[[PACK]] axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}>
  // CHECK-SAME: tensor<64xf32> -> tensor<32xf32>
  // CHECK-NEXT: parplan.optimizer_update sgd %[[P]], %[[PIECE]]
  %a = parplan.parameter @a {parplan.global_type = tensor<4x5xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], stored = {"dp0"}>]} : tensor<10xf32>
  %b = parplan.parameter @b {parplan.global_type = tensor<3xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>
  %wa = parplan.all_gather %a axes <"dp0"> dim -1 to <@mesh, [{}, {}]> {parplan.block = 0 : i64, parplan.global_type = tensor<4x5xf32>} : tensor<10xf32> -> tensor<4x5xf32>
  %reada = parplan.neg %wa : tensor<4x5xf32>
  %wb = parplan.all_gather %b axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.block = 0 : i64, parplan.global_type = tensor<3xf32>} : tensor<2xf32> -> tensor<3xf32>
  %readb = parplan.neg %wb : tensor<3xf32>
  %pa = parplan.neg %ga {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"dp0"}>]} : tensor<4x5xf32>
  %ra = parplan.reduce_scatter sum %pa axes <"dp0"> dim -1 to <@mesh, [{}, {}], stored = {"dp0"}> {parplan.global_type = tensor<4x5xf32>} : tensor<4x5xf32> -> tensor<10xf32>
  %pb = parplan.neg %gb {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<3xf32>
  %rb = parplan.reduce_scatter sum %pb axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> {parplan.global_type = tensor<3xf32>} : tensor<3xf32> -> tensor<2xf32>
  %na = parplan.optimizer_update sgd %a, %ra learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.global_type = tensor<4x5xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], stored = {"dp0"}>]} : tensor<10xf32>, tensor<10xf32>, tensor<f32>
  %nb = parplan.optimizer_update sgd %b, %rb learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.global_type = tensor<3xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>, tensor<2xf32>, tensor<f32>
  return %na, %nb, %reada, %readb : tensor<10xf32>, tensor<2xf32>, tensor<4x5xf32>, tensor<3xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @a "a" : tensor<4xf32> in "" at 0 length 16
parplan.initializer @b "b" : tensor<4xf32> in "" at 16 length 16

// Reduced for every micro-batch: one call for what a pass makes.
// CHECK-LABEL: func.func @of_one_chunk
// CHECK-COUNT-2: parplan.reduce_scatter {{.*}} tensor<32xf32> -> tensor<16xf32>
// CHECK-NOT: parplan.reduce_scatter
// CHECK: return
func.func @of_one_chunk(%ga0: tensor<4xf32>, %ga1: tensor<4xf32>, %gb0: tensor<4xf32>, %gb1: tensor<4xf32>, %rate: tensor<f32>)
    -> (tensor<2xf32> {parplan.variable = #parplan.variable<@a>, parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"dp0"}>},
        tensor<2xf32> {parplan.variable = #parplan.variable<@b>, parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"dp0"}>},
        tensor<4xf32>, tensor<4xf32>) {
  %a = parplan.parameter @a {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>
  %b = parplan.parameter @b {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>
  %wa = parplan.all_gather %a axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.block = 0 : i64, parplan.global_type = tensor<4xf32>} : tensor<2xf32> -> tensor<4xf32>
  %reada = parplan.neg %wa : tensor<4xf32>
  %wb = parplan.all_gather %b axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.block = 0 : i64, parplan.global_type = tensor<4xf32>} : tensor<2xf32> -> tensor<4xf32>
  %readb = parplan.neg %wb : tensor<4xf32>
  %pa0 = parplan.neg %ga0 {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<4xf32>
  %ra0 = parplan.reduce_scatter sum %pa0 axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> {parplan.global_type = tensor<4xf32>} : tensor<4xf32> -> tensor<2xf32>
  %pb0 = parplan.neg %gb0 {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<4xf32>
  %rb0 = parplan.reduce_scatter sum %pb0 axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> {parplan.global_type = tensor<4xf32>} : tensor<4xf32> -> tensor<2xf32>
  %pa1 = parplan.neg %ga1 {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<4xf32>
  %ra1 = parplan.reduce_scatter sum %pa1 axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> {parplan.global_type = tensor<4xf32>} : tensor<4xf32> -> tensor<2xf32>
  %pb1 = parplan.neg %gb1 {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<4xf32>
  %rb1 = parplan.reduce_scatter sum %pb1 axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> {parplan.global_type = tensor<4xf32>} : tensor<4xf32> -> tensor<2xf32>
  %sa = parplan.add %ra0, %ra1 {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>, tensor<2xf32>
  %sb = parplan.add %rb0, %rb1 {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>, tensor<2xf32>
  %na = parplan.optimizer_update sgd %a, %sa learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>, tensor<2xf32>, tensor<f32>
  %nb = parplan.optimizer_update sgd %b, %sb learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>, tensor<2xf32>, tensor<f32>
  return %na, %nb, %reada, %readb : tensor<2xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @a "a" : tensor<4xf32> in "" at 0 length 16
parplan.initializer @b "b" : tensor<4xf32> in "" at 16 length 16

// Two chunks of a position make theirs in passes far from each other.
// CHECK-LABEL: func.func @of_two_chunks
// CHECK-COUNT-4: parplan.reduce_scatter {{.*}} tensor<4xf32> -> tensor<2xf32>
// CHECK: return
func.func @of_two_chunks(%ga0: tensor<4xf32>, %ga1: tensor<4xf32>, %gb0: tensor<4xf32>, %gb1: tensor<4xf32>, %rate: tensor<f32>)
    -> (tensor<2xf32> {parplan.variable = #parplan.variable<@a>, parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"dp0"}>},
        tensor<2xf32> {parplan.variable = #parplan.variable<@b>, parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}], stored = {"dp0"}>},
        tensor<4xf32>, tensor<4xf32>) {
  %a = parplan.parameter @a {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>
  %b = parplan.parameter @b {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>
  %wa = parplan.all_gather %a axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.block = 0 : i64, parplan.global_type = tensor<4xf32>} : tensor<2xf32> -> tensor<4xf32>
  %reada = parplan.neg %wa : tensor<4xf32>
  %wb = parplan.all_gather %b axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.block = 0 : i64, parplan.global_type = tensor<4xf32>} : tensor<2xf32> -> tensor<4xf32>
  %readb = parplan.neg %wb : tensor<4xf32>
  %pa0 = parplan.neg %ga0 {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<4xf32>
  %ra0 = parplan.reduce_scatter sum %pa0 axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> {parplan.global_type = tensor<4xf32>} : tensor<4xf32> -> tensor<2xf32>
  %pa1 = parplan.neg %ga1 {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<4xf32>
  %ra1 = parplan.reduce_scatter sum %pa1 axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> {parplan.global_type = tensor<4xf32>} : tensor<4xf32> -> tensor<2xf32>
  %pb0 = parplan.neg %gb0 {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<4xf32>
  %rb0 = parplan.reduce_scatter sum %pb0 axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> {parplan.global_type = tensor<4xf32>} : tensor<4xf32> -> tensor<2xf32>
  %pb1 = parplan.neg %gb1 {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<4xf32>
  %rb1 = parplan.reduce_scatter sum %pb1 axes <"dp0"> dim -1 to <@mesh, [{}], stored = {"dp0"}> {parplan.global_type = tensor<4xf32>} : tensor<4xf32> -> tensor<2xf32>
  %sa = parplan.add %ra0, %ra1 {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>, tensor<2xf32>
  %sb = parplan.add %rb0, %rb1 {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>, tensor<2xf32>
  %na = parplan.optimizer_update sgd %a, %sa learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>, tensor<2xf32>, tensor<f32>
  %nb = parplan.optimizer_update sgd %b, %sb learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<2xf32>, tensor<2xf32>, tensor<f32>
  return %na, %nb, %reada, %readb : tensor<2xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @a "a" : tensor<4xf32> in "" at 0 length 16
parplan.initializer @b "b" : tensor<4xf32> in "" at 16 length 16
parplan.initializer @c "c" : tensor<4xf32> in "" at 32 length 16

// What is reduced once is complete a visit earlier for one of two stages.
// CHECK-LABEL: func.func @of_two_stages
// CHECK: parplan.pack %{{.*}}, %{{.*}} at [0, 16]
// CHECK-NEXT: parplan.all_reduce sum {{.*}} tensor<32xf32> -> tensor<32xf32>
// CHECK: parplan.all_reduce sum {{.*}} tensor<4xf32> -> tensor<4xf32>
// CHECK: return
func.func @of_two_stages(%ga: tensor<4xf32>, %gb: tensor<4xf32>, %gc: tensor<4xf32>, %rate: tensor<f32>)
    -> (tensor<4xf32> {parplan.variable = #parplan.variable<@a>, parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>},
        tensor<4xf32> {parplan.variable = #parplan.variable<@b>, parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>},
        tensor<4xf32> {parplan.variable = #parplan.variable<@c>, parplan.global_type = tensor<4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  %a = parplan.parameter @a {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<4xf32>
  %b = parplan.parameter @b {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<4xf32>
  %c = parplan.parameter @c {parplan.global_type = tensor<4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<4xf32>
  %pa = parplan.neg %ga {parplan.stage = 1 : i64, parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<4xf32>
  %ra = parplan.all_reduce sum %pa axes <"dp0"> to <@mesh, [{}]> {parplan.global_type = tensor<4xf32>} : tensor<4xf32> -> tensor<4xf32>
  %pb = parplan.neg %gb {parplan.stage = 1 : i64, parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<4xf32>
  %rb = parplan.all_reduce sum %pb axes <"dp0"> to <@mesh, [{}]> {parplan.global_type = tensor<4xf32>} : tensor<4xf32> -> tensor<4xf32>
  %pc = parplan.neg %gc {parplan.stage = 0 : i64, parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<4xf32>
  %rc = parplan.all_reduce sum %pc axes <"dp0"> to <@mesh, [{}]> {parplan.global_type = tensor<4xf32>} : tensor<4xf32> -> tensor<4xf32>
  %na = parplan.optimizer_update sgd %a, %ra learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  %nb = parplan.optimizer_update sgd %b, %rb learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  %nc = parplan.optimizer_update sgd %c, %rc learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  return %na, %nb, %nc : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
