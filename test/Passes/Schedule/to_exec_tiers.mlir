// RUN: parplan-opt %s -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -split-input-file | FileCheck %s

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<8x6xf32> in "" at 0 length 192

// optimizer:cpu. The parameter rests on the host, comes up for the product, its gradient goes down, and the update
// runs there; the learning rate, which the device reads too, is there twice.
// CHECK-LABEL: exec.program @main
// CHECK-SAME: host_arena
// CHECK: exec.buffer input at {{.*}} role learning_rate
// CHECK: %[[W:.*]] = exec.buffer parameter on host at 0 {{.*}} trained
// CHECK: %[[M:.*]] = exec.buffer state on host {{.*}} trained
// CHECK: %[[LR:.*]] = exec.buffer input on host {{.*}} role learning_rate
// CHECK: exec.transfer %[[W]] into %[[UP:.*]] :
// CHECK-NEXT: exec.record 0 on upload
// CHECK-NEXT: exec.wait 0 on compute
// CHECK-NEXT: exec.matmul %{{.*}}, %[[UP]]
// CHECK: exec.matmul %{{.*}} into %[[G:.*]] [6, 1] shape
// CHECK: exec.record [[READY:[0-9]+]] on compute
// CHECK: exec.wait [[READY]] on download
// CHECK-NEXT: exec.transfer %[[G]] into %[[DOWN:.*]] :
// CHECK-NEXT: exec.record [[DOWNLOADED:[0-9]+]] on download
// CHECK-NEXT: exec.wait [[DOWNLOADED]] on host
// CHECK-NEXT: exec.square_sum %[[DOWN]]
// The upload read the old value: the download waited for what waited for it.
// CHECK-NEXT: exec.update {{ *}}momentum %[[W]], %[[DOWN]] states %[[M]] learning_rate %[[LR]] into %[[W]], %[[M]]
func.func @main(%x: tensor<4x8xf32> {parplan.name = "x"}, %lr: tensor<f32> {parplan.name = "learning_rate", parplan.schedule = "learning_rate"}
  ) -> (tensor<f64> {parplan.name = "gradient_norm"}, tensor<f32> {parplan.name = "loss"}, tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0>},
        tensor<8x6xf32> {parplan.variable = #parplan.variable<@w0, slot = "momentum_buffer">})
    attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w0 {parplan.tier = "host"} : tensor<8x6xf32>
  %m = parplan.parameter @w0 slot "momentum_buffer" {parplan.tier = "host"} : tensor<8x6xf32>
  %up = parplan.transfer %w to "device" : tensor<8x6xf32>
  %y = parplan.matmul "bk,kn->bn" %x, %up : tensor<4x8xf32>, tensor<8x6xf32>
  %sum = parplan.square_sum %y : tensor<4x6xf32>
  %s = parplan.cast %sum : tensor<f64> to tensor<f32>
  %loss = parplan.mul %s, %lr : tensor<f32>, tensor<f32>
  %g = parplan.matmul "bk,bn->kn" %x, %y : tensor<4x8xf32>, tensor<4x6xf32>
  %gh = parplan.transfer %g to "host" : tensor<8x6xf32>
  %norm = parplan.square_sum %gh : tensor<8x6xf32>
  %wn, %mn = parplan.optimizer_update momentum %w, %gh states %m learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.9 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<f32>
  return %norm, %loss, %wn, %mn : tensor<f64>, tensor<f32>, tensor<8x6xf32>, tensor<8x6xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>

// activations:cpu. The bytes are free while the value waits.
// CHECK-LABEL: exec.program @main
// CHECK-SAME: arena 448 host_arena 128
// CHECK: exec.transfer %[[Y:.*]] into %[[KEPT:.*]] :
// CHECK: exec.transfer %[[KEPT]] into %{{.*}} :
func.func @main(%x: tensor<4x8xf32> {parplan.name = "x"}) -> (tensor<4x8xf32> {parplan.name = "z"}) {
  %y = parplan.softmax %x dim 1 : tensor<4x8xf32>
  %kept = parplan.transfer %y to "host" : tensor<4x8xf32>
  %a = parplan.softmax %x dim 0 : tensor<4x8xf32>
  %b = parplan.matmul "mk,nk->mn" %a, %a : tensor<4x8xf32>, tensor<4x8xf32>
  %c = parplan.softmax %b dim 1 : tensor<4x4xf32>
  %back = parplan.transfer %kept to "device" : tensor<4x8xf32>
  %z = parplan.matmul "mk,kn->mn" %c, %back : tensor<4x4xf32>, tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<400000xf32> in "" at 0 length 1600000

// optimizer:nvme. Two tiles; the second is read before the first is written back; the gradient comes down in tiles.
// CHECK-LABEL: exec.program @main
// CHECK-SAME: host_arena {{[0-9]+}} nvme_arena
// CHECK: %[[G:.*]] = exec.buffer input at 0
// CHECK: %[[W:.*]] = exec.buffer parameter on nvme {{.*}} trained
// CHECK: %[[M:.*]] = exec.buffer state on nvme {{.*}} trained
// CHECK: %[[LR:.*]] = exec.buffer input on host
// CHECK: %[[W0:.*]] = exec.view %[[W]] at 0 : <400000xf32> to <262144xf32>
// CHECK: exec.transfer %[[W0]] into %[[SW0:.*]] :
// CHECK: exec.transfer %{{.*}} into %[[SG0:.*]] :
// CHECK: %[[M0:.*]] = exec.view %[[M]] at 0
// CHECK: exec.transfer %[[M0]] into %[[SM0:.*]] :
// CHECK: %[[W1:.*]] = exec.view %[[W]] at 1048576 : <400000xf32> to <137856xf32>
// CHECK: exec.transfer %[[W1]] into %[[SW1:.*]] :
// CHECK: exec.update {{ *}}momentum %[[SW0]], %[[SG0]] states %[[SM0]] learning_rate %[[LR]] into %[[SW0]], %[[SM0]]
// CHECK: exec.transfer %[[SW0]] into
// CHECK: exec.transfer %[[SM0]] into
// CHECK: exec.update {{ *}}momentum %[[SW1]],
// CHECK: exec.transfer %[[SW1]] into
func.func @main(%g: tensor<400000xf32> {parplan.name = "g"}, %lr: tensor<f32> {parplan.name = "learning_rate", parplan.schedule = "learning_rate"}
  ) -> (tensor<400000xf32> {parplan.variable = #parplan.variable<@w0>}, tensor<400000xf32> {parplan.variable = #parplan.variable<@w0, slot = "momentum_buffer">})
    attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w0 {parplan.tier = "nvme"} : tensor<400000xf32>
  %m = parplan.parameter @w0 slot "momentum_buffer" {parplan.tier = "nvme"} : tensor<400000xf32>
  %wh = parplan.transfer %w to "host" : tensor<400000xf32>
  %mh = parplan.transfer %m to "host" : tensor<400000xf32>
  %gh = parplan.transfer %g to "host" : tensor<400000xf32>
  %wn, %mn = parplan.optimizer_update momentum %wh, %gh states %mh learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.9 : tensor<400000xf32>, tensor<400000xf32>, tensor<400000xf32>, tensor<f32>
  %wb = parplan.transfer %wn to "nvme" : tensor<400000xf32>
  %mb = parplan.transfer %mn to "nvme" : tensor<400000xf32>
  return %wb, %mb : tensor<400000xf32>, tensor<400000xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @w0 "w" : tensor<16xf32> in "" at 0 length 64

// The new parameter goes to the device and to NVMe; its state rests on the host. What is made on the device goes to NVMe through a slot, too.
// CHECK-LABEL: exec.program @main
// CHECK: %[[W:.*]] = exec.buffer parameter on nvme {{.*}} trained
// CHECK: %[[M:.*]] = exec.buffer state on host {{.*}} trained
// CHECK: %[[V:.*]] = exec.buffer parameter on nvme {{.*}} trained
// CHECK: exec.update {{ *}}momentum %[[SLOT:.*]], %{{.*}} states %[[MV:.*]] learning_rate %{{.*}} into %[[SLOT]], %[[MV]]
// CHECK-NEXT: exec.record
// CHECK: exec.transfer %[[SLOT]] into %[[W]]
// CHECK: exec.transfer %[[SLOT]] into %[[NEW:.*]] :
// CHECK: exec.square_sum %[[NEW]]
// CHECK: exec.transfer %{{.*}} into %[[SECOND:.*]] :
// CHECK: exec.transfer %[[SECOND]] into %[[V]]
parplan.initializer @w1 "v" : tensor<16xf32> in "" at 64 length 64
func.func @main(%g: tensor<16xf32> {parplan.name = "g"}, %lr: tensor<f32> {parplan.name = "learning_rate", parplan.schedule = "learning_rate"}
  ) -> (tensor<16xf32> {parplan.variable = #parplan.variable<@w0>}, tensor<16xf32> {parplan.variable = #parplan.variable<@w0, slot = "momentum_buffer">},
        tensor<16xf32> {parplan.variable = #parplan.variable<@w1>}, tensor<f64> {parplan.name = "loss"})
    attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w0 {parplan.tier = "nvme"} : tensor<16xf32>
  %m = parplan.parameter @w0 slot "momentum_buffer" {parplan.tier = "host"} : tensor<16xf32>
  %v = parplan.parameter @w1 {parplan.tier = "nvme"} : tensor<16xf32>
  %wh = parplan.transfer %w to "host" : tensor<16xf32>
  %gh = parplan.transfer %g to "host" : tensor<16xf32>
  %wn, %mn = parplan.optimizer_update momentum %wh, %gh states %m learning_rate %lr betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.9 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>
  %wd = parplan.transfer %wn to "device" : tensor<16xf32>
  %wb = parplan.transfer %wn to "nvme" : tensor<16xf32>
  %loss = parplan.square_sum %wd : tensor<16xf32>
  %s = parplan.softmax %wd dim 0 : tensor<16xf32>
  %vb = parplan.transfer %s to "nvme" : tensor<16xf32>
  return %wb, %mn, %vb, %loss : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f64>
}
