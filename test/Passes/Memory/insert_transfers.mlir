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
