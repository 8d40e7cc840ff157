// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-bucket-gradients=bytes=1000 -parplan-split-servers | FileCheck %s

#whole = #parplan.sharding<@mesh, [{}]>
#number = #parplan.sharding<@mesh, []>
parplan.mesh @mesh <["dp0"=2 data, "ps0"=2 server]>
parplan.initializer @a "a" : tensor<20xf32> in "" at 0 length 80
parplan.initializer @b "b" : tensor<3xf32> in "" at 80 length 12

// Workers send each server its half of the bucket, and get the new values where
// the old ones were. What reads the gradients is gone.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[GA:.*]]: tensor<20xf32>, %[[GB:.*]]: tensor<3xf32>)
// CHECK-SAME: -> (tensor<64xf32> {parplan.bucket = [#parplan.member<variable = <@a>, {{.*}}, #parplan.member<variable = <@b>, {{.*}}], {{.*}} parplan.sharding = #parplan.sharding<@mesh, [{}]>},
// CHECK-SAME: tensor<20xf32> {parplan.name = "read"})
// CHECK-SAME: attributes {parplan.micro_batches = 1 : i64, parplan.position = 0 : i64}
// CHECK: %[[PACK:.*]] = parplan.pack
// CHECK-NEXT: %[[HALF:.*]]:2 = parplan.unpack %[[PACK]] at [0, 32]
// CHECK-NEXT: parplan.send %[[HALF]]#0 to 2 over <"dp0", "ps0">
// CHECK-NEXT: parplan.send %[[HALF]]#1 to 3 over <"dp0", "ps0">
// CHECK-NEXT: %[[FIRST:.*]] = parplan.receive from 2 over <"dp0", "ps0">
// CHECK-NEXT: %[[SECOND:.*]] = parplan.receive from 3 over <"dp0", "ps0">
// CHECK-NEXT: %[[NEW:.*]] = parplan.pack %[[FIRST]], %[[SECOND]] at [0, 32]
// CHECK-NEXT: return %[[NEW]], %{{.*}}

// A server sums its half in the order of the workers, and the squares over all
// servers.
// CHECK-LABEL: func.func @server
// CHECK-SAME: (%[[RATE:.*]]: tensor<f32> {{.*}}) -> (
// CHECK-SAME: tensor<32xf32> {parplan.bucket = {{.*}} stored = {"ps0"}>},
// CHECK-SAME: tensor<f64> {{.*}}parplan.name = "gradient_norm"
// CHECK-SAME: attributes {parplan.micro_batches = 1 : i64, parplan.position = 1 : i64}
// CHECK: %[[G0:.*]] = parplan.receive from 0 over <"dp0", "ps0"> {{.*}} : tensor<32xf32>
// CHECK-NEXT: %[[G1:.*]] = parplan.receive from 1 over <"dp0", "ps0">
// CHECK-NEXT: %[[SUM:.*]] = parplan.add %[[G0]], %[[G1]]
// CHECK-NEXT: %[[SQUARE:.*]] = parplan.square_sum %[[SUM]]
// CHECK-SAME: partial = sum{"ps0"}
// CHECK-NEXT: %[[PART:.*]] = parplan.sum %[[SQUARE]]
// CHECK-NEXT: %[[ALL:.*]] = parplan.all_reduce sum %[[PART]] axes <"ps0"> to <@mesh, []>
// CHECK-NEXT: %[[NORM:.*]] = parplan.sqrt %[[ALL]]
// CHECK: %[[OLD:.*]] = parplan.bucket_parameter
// CHECK-SAME: stored = {"ps0"}
// CHECK-SAME: tensor<32xf32>
// CHECK-NEXT: %[[NEW:.*]] = parplan.optimizer_update sgd %[[OLD]], %[[SUM]] learning_rate %[[RATE]]
// CHECK-NEXT: parplan.send %[[NEW]] to 0 over <"dp0", "ps0">
// CHECK-NEXT: parplan.send %[[NEW]] to 1 over <"dp0", "ps0">
// CHECK-NEXT: return %[[NEW]], %[[NORM]]
func.func @main(%ga: tensor<20xf32>, %gb: tensor<3xf32>, %rate: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<20xf32> {parplan.variable = #parplan.variable<@a>, parplan.global_type = tensor<20xf32>, parplan.sharding = #whole},
        tensor<3xf32> {parplan.variable = #parplan.variable<@b>, parplan.global_type = tensor<3xf32>, parplan.sharding = #whole},
        tensor<f64> {parplan.name = "gradient_norm", parplan.global_type = tensor<f64>, parplan.sharding = #number},
        tensor<20xf32> {parplan.name = "read"}) attributes {parplan.micro_batches = 1 : i64} {
  %a = parplan.parameter @a {parplan.global_type = tensor<20xf32>, parplan.shardings = [#whole]} : tensor<20xf32>
  %b = parplan.parameter @b {parplan.global_type = tensor<3xf32>, parplan.shardings = [#whole]} : tensor<3xf32>
  %read = parplan.neg %a : tensor<20xf32>
  %pa = parplan.neg %ga {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<20xf32>
  %ra = parplan.all_reduce sum %pa axes <"dp0"> to <@mesh, [{}]> {parplan.global_type = tensor<20xf32>} : tensor<20xf32> -> tensor<20xf32>
  %pb = parplan.neg %gb {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<3xf32>
  %rb = parplan.all_reduce sum %pb axes <"dp0"> to <@mesh, [{}]> {parplan.global_type = tensor<3xf32>} : tensor<3xf32> -> tensor<3xf32>
  %sa = parplan.square_sum %ra {parplan.shardings = [#number]} : tensor<20xf32>
  %sb = parplan.square_sum %rb {parplan.shardings = [#number]} : tensor<3xf32>
  %total = parplan.sum %sa, %sb {parplan.shardings = [#number]} : tensor<f64>
  %norm = parplan.sqrt %total {parplan.shardings = [#number]} : tensor<f64>
  %na = parplan.optimizer_update sgd %a, %ra learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.shardings = [#whole]} : tensor<20xf32>, tensor<20xf32>, tensor<f32>
  %nb = parplan.optimizer_update sgd %b, %rb learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.shardings = [#whole]} : tensor<3xf32>, tensor<3xf32>, tensor<f32>
  return %na, %nb, %norm, %read : tensor<20xf32>, tensor<3xf32>, tensor<f64>, tensor<20xf32>
}

// -----

#whole = #parplan.sharding<@mesh, [{}]>
#parts = #parplan.sharding<@mesh, [{}, {}]>
#number = #parplan.sharding<@mesh, []>
parplan.mesh @mesh <["dp0"=3 data, "ps0"=1 server]>
parplan.initializer @a "a" : tensor<16xf32> in "" at 0 length 64

// Without a common step a worker has samples, a norm and a scale of its own, and
// a server serves whoever comes.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32> {parplan.batch, parplan.global_type = tensor<2x12xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {"dp0"}]>}, %{{.*}}: tensor<16xf32>)
// CHECK-SAME: parplan.name = "gradient_norm"
// CHECK: %[[PACK:.*]] = parplan.pack
// CHECK-NEXT: parplan.send %[[PACK]] to 3 over <"dp0", "ps0">
// CHECK: %[[SCALE:.*]] = parplan.reciprocal
// CHECK-NEXT: parplan.send %[[SCALE]] to 3 over <"dp0", "ps0">
// CHECK-NEXT: %[[NEW:.*]] = parplan.receive from 3 over <"dp0", "ps0">
// CHECK-NEXT: return %[[NEW]]
// CHECK-LABEL: func.func @server
// CHECK: %[[G:.*]] = parplan.receive from -1 over <"dp0", "ps0"> {{.*}} : tensor<16xf32>
// CHECK-NEXT: %[[SCALE:.*]] = parplan.receive from -1 over <"dp0", "ps0"> {{.*}} : tensor<f32>
// CHECK: %[[NEW:.*]] = parplan.optimizer_update sgd %{{.*}}, %[[G]] learning_rate %{{.*}} scale %[[SCALE]]
// CHECK-NEXT: parplan.send %[[NEW]] to -1 over <"dp0", "ps0">
func.func @main(%x: tensor<2x4xf32> {parplan.batch, parplan.global_type = tensor<2x4xf32>, parplan.sharding = #parts},
                %ga: tensor<16xf32>, %rate: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<16xf32> {parplan.variable = #parplan.variable<@a>, parplan.global_type = tensor<16xf32>, parplan.sharding = #whole},
        tensor<f32> {parplan.name = "gradient_norm", parplan.global_type = tensor<f32>, parplan.sharding = #number})
    attributes {parplan.micro_batches = 2 : i64, parplan.staleness = 2 : i64} {
  %a = parplan.parameter @a {parplan.global_type = tensor<16xf32>, parplan.shardings = [#whole]} : tensor<16xf32>
  %ra = parplan.neg %ga {parplan.shardings = [#whole]} : tensor<16xf32>
  %sa = parplan.square_sum %ra {parplan.shardings = [#number]} : tensor<16xf32>
  %total = parplan.sum %sa {parplan.shardings = [#number]} : tensor<f64>
  %norm = parplan.cast %total {parplan.shardings = [#number]} : tensor<f64> to tensor<f32>
  %scale = parplan.reciprocal %norm {parplan.shardings = [#number]} : tensor<f32>
  %na = parplan.optimizer_update sgd %a, %ra learning_rate %rate scale %scale betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.shardings = [#whole]} : tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<f32>
  return %na, %norm : tensor<16xf32>, tensor<f32>
}

// -----

#whole = #parplan.sharding<@mesh, [{}]>
parplan.mesh @mesh <["dp0"=2 data, "ps0"=1 server]>
parplan.initializer @a "a" : tensor<16xf32> in "" at 0 length 64
// Servers keep buckets only.
// expected-error@+1 {{result 0 is in no bucket}}
func.func @main(%ga: tensor<16xf32>, %rate: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<16xf32> {parplan.variable = #parplan.variable<@a>, parplan.global_type = tensor<16xf32>, parplan.sharding = #whole})
    attributes {parplan.micro_batches = 1 : i64} {
  %a = parplan.parameter @a {parplan.global_type = tensor<16xf32>, parplan.shardings = [#whole]} : tensor<16xf32>
  %twice = parplan.pack %ga at [0] : tensor<16xf32> to tensor<16xf32>
  %na = parplan.optimizer_update sgd %a, %twice learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    : tensor<16xf32>, tensor<16xf32>, tensor<f32>
  return %na : tensor<16xf32>
}

// -----

#parts = #parplan.sharding<@mesh, [{"dp0"}]>
parplan.mesh @mesh <["dp0"=2 data, "ps0"=1 server]>
parplan.initializer @a "a" : tensor<32xf32> in "" at 0 length 128
// Every worker has all of them.
// expected-error@+1 {{result 0 is split among workers, which have it whole}}
func.func @main(%ga: tensor<16xf32>, %rate: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<16xf32> {parplan.variable = #parplan.variable<@a>, parplan.global_type = tensor<32xf32>, parplan.sharding = #parts})
    attributes {parplan.micro_batches = 1 : i64} {
  %a = parplan.parameter @a {parplan.global_type = tensor<32xf32>, parplan.shardings = [#parts]} : tensor<16xf32>
  %ra = parplan.neg %ga {parplan.shardings = [#parts]} : tensor<16xf32>
  %na = parplan.optimizer_update sgd %a, %ra learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.shardings = [#parts]} : tensor<16xf32>, tensor<16xf32>, tensor<f32>
  return %na : tensor<16xf32>
}

// -----

#whole = #parplan.sharding<@mesh, [{}]>
parplan.mesh @mesh <["dp0"=2 data, "ps0"=1 server]>
parplan.initializer @a "a" : tensor<16xf32> in "" at 0 length 64
// Nothing is updated by workers in silence.
func.func @main(%ga: tensor<16xf32>, %rate: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<16xf32> {parplan.variable = #parplan.variable<@a>, parplan.global_type = tensor<16xf32>, parplan.sharding = #whole})
    attributes {parplan.micro_batches = 1 : i64} {
  // expected-note@+1 {{of the parameter #parplan.variable<@a>}}
  %a = parplan.parameter @a {parplan.global_type = tensor<16xf32>, parplan.shardings = [#whole]} : tensor<16xf32>
  %half = parplan.neg %a {parplan.shardings = [#whole]} : tensor<16xf32>
  %twice = parplan.neg %half {parplan.shardings = [#whole]} : tensor<16xf32>
  // expected-error@+1 {{would stay with the workers: its gradient is in no bucket that servers take}}
  %na = parplan.optimizer_update sgd %a, %twice learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    : tensor<16xf32>, tensor<16xf32>, tensor<f32>
  %read = parplan.neg %na : tensor<16xf32>
  return %read : tensor<16xf32>
}

// -----

#whole = #parplan.sharding<@mesh, [{}]>
#number = #parplan.sharding<@mesh, []>
parplan.mesh @mesh <["dp0"=2 data, "ps0"=1 server]>
parplan.initializer @a "a" : tensor<16xf32> in "" at 0 length 64
func.func @main(%ga: tensor<16xf32>, %rate: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<16xf32> {parplan.variable = #parplan.variable<@a>, parplan.global_type = tensor<16xf32>, parplan.sharding = #whole},
        tensor<f64> {parplan.name = "squares", parplan.global_type = tensor<f64>, parplan.sharding = #number})
    attributes {parplan.micro_batches = 1 : i64} {
  %a = parplan.parameter @a {parplan.global_type = tensor<16xf32>, parplan.shardings = [#whole]} : tensor<16xf32>
  %pa = parplan.neg %ga {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"dp0"}>]} : tensor<16xf32>
  %ra = parplan.all_reduce sum %pa axes <"dp0"> to <@mesh, [{}]> {parplan.global_type = tensor<16xf32>} : tensor<16xf32> -> tensor<16xf32>
  %sa = parplan.square_sum %ra {parplan.shardings = [#parplan.sharding<@mesh, [], partial = sum{"dp0"}>]} : tensor<16xf32>
  %total = parplan.sum %sa {parplan.shardings = [#parplan.sharding<@mesh, [], partial = sum{"dp0"}>]} : tensor<f64>
  // expected-error@+1 {{goes over workers, behind what servers take}}
  %all = parplan.all_reduce sum %total axes <"dp0"> to <@mesh, []> {parplan.global_type = tensor<f64>} : tensor<f64> -> tensor<f64>
  %na = parplan.optimizer_update sgd %a, %ra learning_rate %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.shardings = [#whole]} : tensor<16xf32>, tensor<16xf32>, tensor<f32>
  return %na, %all : tensor<16xf32>, tensor<f64>
}

// -----

#whole = #parplan.sharding<@mesh, [{}]>
#number = #parplan.sharding<@mesh, []>
parplan.mesh @mesh <["dp0"=2 data, "ps0"=1 server]>
parplan.initializer @a "a" : tensor<16xf32> in "" at 0 length 64
// What updates read of a batch is sent, too.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[G:.*]]: tensor<16xf32>, %[[S:.*]]: tensor<f32>)
// CHECK-NEXT: parplan.send %[[S]] to 2
// CHECK: %[[PACK:.*]] = parplan.pack
// CHECK-NEXT: parplan.send %[[PACK]] to 2
// CHECK-LABEL: func.func @server
// CHECK-SAME: (%{{[^,]*}}: tensor<f32> {{[^,]*}}) ->
// CHECK: %[[SCALE:.*]] = parplan.receive from -1 {{.*}} : tensor<f32>
// CHECK-NEXT: %[[SUM:.*]] = parplan.receive from -1 {{.*}} : tensor<16xf32>
// CHECK: parplan.optimizer_update sgd %{{.*}}, %[[SUM]] learning_rate %{{.*}} scale %[[SCALE]]
func.func @main(%ga: tensor<16xf32>, %scale: tensor<f32>, %rate: tensor<f32> {parplan.schedule = "learning_rate"})
    -> (tensor<16xf32> {parplan.variable = #parplan.variable<@a>, parplan.global_type = tensor<16xf32>, parplan.sharding = #whole})
    attributes {parplan.micro_batches = 1 : i64, parplan.staleness = 0 : i64} {
  %a = parplan.parameter @a {parplan.global_type = tensor<16xf32>, parplan.shardings = [#whole]} : tensor<16xf32>
  %ra = parplan.neg %ga {parplan.shardings = [#whole]} : tensor<16xf32>
  %na = parplan.optimizer_update sgd %a, %ra learning_rate %rate scale %scale betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.0 momentum 0.0
    {parplan.shardings = [#whole]} : tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<f32>
  return %na : tensor<16xf32>
}
