// RUN: parplan-opt %s -parplan-insert-transfers -split-input-file | FileCheck %s

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<8x6xf32> in "" at 0 length 192

// The update runs on the host: what it reads directly rests there. The weight is uploaded once; the gradient goes down
// where it is made; new values stay.
// CHECK-LABEL: func.func @optimizer_on_the_host
func.func @optimizer_on_the_host(%x: tensor<4x8xf32>, %lr: tensor<f32>
  ) -> (tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0>}, tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0, slot = "momentum_buffer">})
    attributes {parplan.micro_batches = 1 : i64} {
  // CHECK: %[[W:.*]] = parplan.parameter @w0 {parplan.tier = "host"}
  // CHECK: %[[M:.*]] = parplan.parameter @w0 slot "momentum_buffer" {parplan.tier = "host"}
  // CHECK: %[[UP:.*]] = parplan.transfer %[[W]] to "device"
  // CHECK-NEXT: %[[Y:.*]] = parplan.matmul "bk,kn->bn" %{{.*}}, %[[UP]]
  // CHECK: parplan.matmul "bn,kn->bk" %[[Y]], %[[UP]]
  // CHECK: %[[G:.*]] = parplan.matmul "bk,bn->kn"
  // CHECK-NEXT: %[[DOWN:.*]] = parplan.transfer %[[G]] to "host"
  // CHECK: %[[NEW:.*]], %[[STATES:.*]] = parplan.optimizer_update momentum %[[W]], %[[DOWN]] states %[[M]]
  // CHECK: return %[[NEW]], %[[STATES]]
  %w = parplan.parameter @w0 : tensor<8x6xf32>
  %m = parplan.parameter @w0 slot "momentum_buffer" {parplan.tier = "host"} : tensor<8x6xf32>
  %y = parplan.matmul "bk,kn->bn" %x, %w : tensor<4x8xf32>, tensor<8x6xf32>
  %dx = parplan.matmul "bn,kn->bk" %y, %w {parplan.role = "input_gradient"} : tensor<4x6xf32>, tensor<8x6xf32>
  %g = parplan.matmul "bk,bn->kn" %dx, %y {parplan.role = "weight_gradient"} : tensor<4x8xf32>, tensor<4x6xf32>
  %wn, %mn = parplan.optimizer_update momentum %w, %g states %m learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.9 {parplan.role = "optimizer", parplan.tier = "host"} : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<f32>
  return %wn, %mn : tensor<8x6xf32>, tensor<8x6xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<8x6xf32> in "" at 0 length 192

// On NVMe everything comes to the host for the update and goes back.
// CHECK-LABEL: func.func @optimizer_on_nvme
func.func @optimizer_on_nvme(%g: tensor<8x6xf32>, %lr: tensor<f32>
  ) -> (tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0>}, tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0, slot = "momentum_buffer">})
    attributes {parplan.micro_batches = 1 : i64} {
  // CHECK: %[[W:.*]] = parplan.parameter @w0 {parplan.tier = "nvme"}
  // CHECK: %[[M:.*]] = parplan.parameter @w0 slot
  // CHECK: %[[WH:.*]] = parplan.transfer %[[W]] to "host"
  // CHECK: %[[GH:.*]] = parplan.transfer %{{.*}} to "host"
  // CHECK: %[[MH:.*]] = parplan.transfer %[[M]] to "host"
  // CHECK: %[[NEW:.*]], %[[STATES:.*]] = parplan.optimizer_update momentum %[[WH]], %[[GH]] states %[[MH]]
  // CHECK: %[[WN:.*]] = parplan.transfer %[[NEW]] to "nvme"
  // CHECK: %[[MN:.*]] = parplan.transfer %[[STATES]] to "nvme"
  // CHECK: return %[[WN]], %[[MN]]
  %w = parplan.parameter @w0 : tensor<8x6xf32>
  %m = parplan.parameter @w0 slot "momentum_buffer" {parplan.tier = "nvme"} : tensor<8x6xf32>
  %wn, %mn = parplan.optimizer_update momentum %w, %g states %m learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.9 {parplan.role = "optimizer", parplan.tier = "nvme"} : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<f32>
  return %wn, %mn : tensor<8x6xf32>, tensor<8x6xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @a "a" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @b "b" : tensor<8x8xf32> in "" at 256 length 256

// A weight that rests on the host by itself is uploaded for each pass, one ahead, and its new value goes back.
// CHECK-LABEL: func.func @parameters_on_the_host
func.func @parameters_on_the_host(%x: tensor<8x8xf32>, %lr: tensor<f32>
  ) -> (tensor<8x8xf32> {parplan.variable = #parplan.variable<@a>}, tensor<8x8xf32> {parplan.variable = #parplan.variable<@b>})
    attributes {parplan.micro_batches = 1 : i64} {
  // CHECK: %[[A:.*]] = parplan.parameter @a
  // CHECK: %[[B:.*]] = parplan.parameter @b
  // CHECK-NEXT: %[[A1:.*]] = parplan.transfer %[[A]] to "device"
  // CHECK-NEXT: %[[B1:.*]] = parplan.transfer %[[B]] to "device"
  // CHECK-NEXT: %[[Y:.*]] = parplan.matmul "mk,kn->mn" %{{.*}}, %[[A1]]
  // CHECK-NEXT: %[[B2:.*]] = parplan.transfer %[[B]] to "device"
  // CHECK-NEXT: %[[Z:.*]] = parplan.matmul "mk,kn->mn" %[[Y]], %[[B1]]
  // CHECK-NEXT: %[[B3:.*]] = parplan.transfer %[[B]] to "device"
  // CHECK-NEXT: %{{.*}} = parplan.matmul "mn,kn->mk" %[[Z]], %[[B2]]
  // CHECK: %[[A2:.*]] = parplan.transfer %[[A]] to "device"
  // CHECK-NEXT: %[[BN:.*]] = parplan.optimizer_update sgd %[[B3]]
  // CHECK-NEXT: %[[BR:.*]] = parplan.transfer %[[BN]] to "host"
  // CHECK-NEXT: %[[AN:.*]] = parplan.optimizer_update sgd %[[A2]]
  // CHECK-NEXT: %[[AR:.*]] = parplan.transfer %[[AN]] to "host"
  // CHECK: return %[[AR]], %[[BR]]
  %a = parplan.parameter @a {parplan.tier = "host"} : tensor<8x8xf32>
  %b = parplan.parameter @b {parplan.tier = "host"} : tensor<8x8xf32>
  %y = parplan.matmul "mk,kn->mn" %x, %a : tensor<8x8xf32>, tensor<8x8xf32>
  %z = parplan.matmul "mk,kn->mn" %y, %b : tensor<8x8xf32>, tensor<8x8xf32>
  %dy = parplan.matmul "mn,kn->mk" %z, %b {parplan.role = "input_gradient"} : tensor<8x8xf32>, tensor<8x8xf32>
  %gb = parplan.matmul "mk,mn->kn" %y, %z {parplan.role = "weight_gradient"} : tensor<8x8xf32>, tensor<8x8xf32>
  %bn = parplan.optimizer_update sgd %b, %gb learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 {parplan.role = "optimizer"} : tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>
  %an = parplan.optimizer_update sgd %a, %dy learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 {parplan.role = "optimizer"} : tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>
  return %an, %bn : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @b "b" : tensor<8xf32> in "" at 0 length 32

// A parameter that only the forward pass reads is uploaded for each micro-batch; casts are made behind the upload.
// CHECK-LABEL: func.func @micro_batches
func.func @micro_batches(%x: tensor<8xbf16>) -> tensor<8xbf16> attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[B:.*]] = parplan.parameter @b
  // CHECK-NEXT: %[[B0:.*]] = parplan.transfer %[[B]] to "device"
  // CHECK-NEXT: %[[C0:.*]] = parplan.cast %[[B0]]
  // CHECK-NEXT: %[[B1:.*]] = parplan.transfer %[[B]] to "device"
  // CHECK-NEXT: %[[C1:.*]] = parplan.cast %[[B1]]
  // CHECK-NEXT: parplan.add %{{.*}}, %[[C0]]
  // CHECK-NEXT: parplan.add %{{.*}}, %[[C1]]
  %b = parplan.parameter @b {parplan.tier = "host"} : tensor<8xf32>
  %c = parplan.cast %b : tensor<8xf32> to tensor<8xbf16>
  %y = parplan.add %x, %c {parplan.micro_batch = 0 : i64} : tensor<8xbf16>, tensor<8xbf16>
  %z = parplan.add %y, %c {parplan.micro_batch = 1 : i64} : tensor<8xbf16>, tensor<8xbf16>
  return %z : tensor<8xbf16>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>

// A result that waits goes down where it is made and comes up one reader ahead; its reshapes are read there.
// CHECK-LABEL: func.func @activations_on_the_host
func.func @activations_on_the_host(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {parplan.micro_batches = 1 : i64} {
  // CHECK: %[[Y:.*]] = parplan.tanh
  // CHECK-NEXT: %[[YH:.*]] = parplan.transfer %[[Y]] to "host"
  // CHECK: %[[Z:.*]] = parplan.exp %[[Y]]
  // CHECK-NEXT: %[[ZH:.*]] = parplan.transfer %[[Z]] to "host"
  // CHECK: %[[LOSS:.*]] = parplan.neg %[[Z]]
  // CHECK-NEXT: parplan.neg %[[LOSS]]
  // CHECK-NEXT: %[[ZD:.*]] = parplan.transfer %[[ZH]] to "device"
  // CHECK-NEXT: %[[YD:.*]] = parplan.transfer %[[YH]] to "device"
  // CHECK-NEXT: %[[FLAT:.*]] = parplan.reshape %[[YD]]
  // CHECK-NEXT: parplan.mul %{{.*}}, %[[ZD]]
  // CHECK-NEXT: parplan.neg %[[FLAT]]
  %y = parplan.tanh %x {parplan.tier = "host"} : tensor<4x8xf32>
  %flat = parplan.reshape %y {parplan.tier = "host"} : tensor<4x8xf32> to tensor<32xf32>
  %z = parplan.exp %y {parplan.tier = "host"} : tensor<4x8xf32>
  %loss = parplan.neg %z : tensor<4x8xf32>
  %start = parplan.neg %loss : tensor<4x8xf32>
  %dz = parplan.mul %start, %z {parplan.role = "input_gradient"} : tensor<4x8xf32>, tensor<4x8xf32>
  %dflat = parplan.neg %flat {parplan.role = "input_gradient"} : tensor<32xf32>
  %dy = parplan.reshape %dflat {parplan.role = "input_gradient"} : tensor<32xf32> to tensor<4x8xf32>
  %dx = parplan.mul %dz, %dy {parplan.role = "input_gradient"} : tensor<4x8xf32>, tensor<4x8xf32>
  return %dx : tensor<4x8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @a "a" : tensor<8xf32> in "" at 0 length 32
parplan.initializer @b "b" : tensor<8xf32> in "" at 32 length 32

// A bucket comes up once for all members that a pass reads; they are unpacked and cast again behind it.
// CHECK-LABEL: func.func @bucket_on_the_host
func.func @bucket_on_the_host(%x: tensor<8xbf16>) -> tensor<8xbf16> attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[BUCKET:.*]] = parplan.bucket_parameter
  // CHECK-NEXT: %[[UP0:.*]] = parplan.transfer %[[BUCKET]] to "device"
  // CHECK-NEXT: %[[MEMBERS0:.*]]:2 = parplan.unpack %[[UP0]]
  // CHECK-DAG: %[[A0:.*]] = parplan.cast %[[MEMBERS0]]#0
  // CHECK-DAG: %[[B0:.*]] = parplan.cast %[[MEMBERS0]]#1
  // CHECK: %[[UP1:.*]] = parplan.transfer %[[BUCKET]] to "device"
  // CHECK-NEXT: %[[MEMBERS1:.*]]:2 = parplan.unpack %[[UP1]]
  // CHECK: parplan.add %{{.*}}, %[[A0]]
  // CHECK: parplan.add %{{.*}}, %[[B0]]
  // CHECK-NOT: parplan.transfer
  // CHECK: return
  %bucket = parplan.bucket_parameter [#parplan.member<variable = <@a>, type = tensor<8xf32>, sharding = <@mesh, [{}]>, offset = 0>, #parplan.member<variable = <@b>, type = tensor<8xf32>, sharding = <@mesh, [{}]>, offset = 8>] {parplan.global_type = tensor<16xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>], parplan.tier = "host"} : tensor<16xf32>
  %members:2 = parplan.unpack %bucket at [0, 8] : tensor<16xf32> to tensor<8xf32>, tensor<8xf32>
  %a = parplan.cast %members#0 : tensor<8xf32> to tensor<8xbf16>
  %b = parplan.cast %members#1 : tensor<8xf32> to tensor<8xbf16>
  %y0 = parplan.add %x, %a {parplan.micro_batch = 0 : i64} : tensor<8xbf16>, tensor<8xbf16>
  %z0 = parplan.add %y0, %b {parplan.micro_batch = 0 : i64} : tensor<8xbf16>, tensor<8xbf16>
  %y1 = parplan.add %z0, %a {parplan.micro_batch = 1 : i64} : tensor<8xbf16>, tensor<8xbf16>
  %z1 = parplan.add %y1, %b {parplan.micro_batch = 1 : i64} : tensor<8xbf16>, tensor<8xbf16>
  return %z1 : tensor<8xbf16>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w "w" : tensor<8xf32> in "" at 0 length 32

// A piece (ZeRO-3) comes up and is gathered on the device. A parameter that is not trained comes up for each pass, and
// nothing goes back.
// CHECK-LABEL: func.func @frozen_piece
func.func @frozen_piece(%x: tensor<8xf32>) -> tensor<8xf32> attributes {parplan.micro_batches = 1 : i64} {
  // CHECK: %[[W:.*]] = parplan.parameter @w
  // CHECK-NEXT: %[[UP:.*]] = parplan.transfer %[[W]] to "device"
  // CHECK-NEXT: %[[WHOLE:.*]] = parplan.all_gather %[[UP]]
  // CHECK: parplan.mul %{{.*}}, %[[WHOLE]]
  // CHECK-NOT: to "host"
  // CHECK: return
  %w = parplan.parameter @w {parplan.global_type = tensor<8xf32>, parplan.tier = "host"} : tensor<4xf32>
  %whole = parplan.all_gather %w axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.global_type = tensor<8xf32>} : tensor<4xf32> -> tensor<8xf32>
  %y = parplan.mul %x, %whole : tensor<8xf32>, tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>

// What is made again for the backward pass is on the device; what it is made of waits on the host.
// CHECK-LABEL: func.func @recomputed_reader
func.func @recomputed_reader(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {parplan.micro_batches = 1 : i64} {
  // CHECK: %[[Y:.*]] = parplan.tanh
  // CHECK-NEXT: %[[YH:.*]] = parplan.transfer %[[Y]] to "host"
  // CHECK: %[[YD:.*]] = parplan.transfer %[[YH]] to "device"
  // CHECK: %[[AGAIN:.*]] = parplan.exp %[[YD]]
  // CHECK-NEXT: parplan.mul %{{.*}}, %[[AGAIN]]
  %y = parplan.tanh %x {parplan.tier = "host"} : tensor<4x8xf32>
  %z = parplan.exp %y : tensor<4x8xf32>
  %loss = parplan.neg %z : tensor<4x8xf32>
  %start = parplan.neg %loss : tensor<4x8xf32>
  %again = parplan.exp %y {parplan.role = "input_gradient"} : tensor<4x8xf32>
  %dz = parplan.mul %start, %again {parplan.role = "input_gradient"} : tensor<4x8xf32>, tensor<4x8xf32>
  return %dz : tensor<4x8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w "w" : tensor<8x8xf32> in "" at 0 length 256

// A weight that rests on NVMe comes up for each pass over it; its new value, made on the device, goes back there.
// CHECK-LABEL: func.func @parameters_on_nvme
func.func @parameters_on_nvme(%x: tensor<8x8xf32>, %lr: tensor<f32>
  ) -> (tensor<8x8xf32> {parplan.variable = #parplan.variable<@w>}) attributes {parplan.micro_batches = 1 : i64} {
  // CHECK: %[[W:.*]] = parplan.parameter @w
  // CHECK-NEXT: %[[FIRST:.*]] = parplan.transfer %[[W]] to "device"
  // CHECK-NEXT: %[[SECOND:.*]] = parplan.transfer %[[W]] to "device"
  // CHECK-NEXT: parplan.matmul "mk,kn->mn" %{{.*}}, %[[FIRST]]
  // CHECK: %[[NEW:.*]] = parplan.optimizer_update sgd %[[SECOND]]
  // CHECK-NEXT: %[[BACK:.*]] = parplan.transfer %[[NEW]] to "nvme"
  // CHECK-NEXT: return %[[BACK]]
  %w = parplan.parameter @w {parplan.tier = "nvme"} : tensor<8x8xf32>
  %y = parplan.matmul "mk,kn->mn" %x, %w : tensor<8x8xf32>, tensor<8x8xf32>
  %g = parplan.matmul "mk,mn->kn" %x, %y {parplan.role = "weight_gradient"} : tensor<8x8xf32>, tensor<8x8xf32>
  %new = parplan.optimizer_update sgd %w, %g learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 {parplan.role = "optimizer"} : tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>
  return %new : tensor<8x8xf32>
}
