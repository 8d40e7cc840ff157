// RUN: parplan-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(parplan-select-parameters{parameters=weight,marked,unused buffers=buffer freeze=*.embed})' | FileCheck %s

// Without marks of the exporter: what the result depends on.
// CHECK-DAG: parplan.initializer @scale {{.*}} {parplan.trained = "the loss depends on it"}
// CHECK-DAG: parplan.initializer @mean {{.*}} {parplan.frozen = "statistics or a table: it carries no gradient"}
// CHECK-DAG: parplan.initializer @variance {{.*}} {parplan.frozen = "statistics or a table: it carries no gradient"}
// CHECK-DAG: parplan.initializer @ids {{.*}} {parplan.frozen = "not of floats"}
// CHECK-DAG: parplan.initializer @embed {{.*}} {parplan.frozen = "frozen by '*.embed'"}
parplan.initializer @scale "bn.weight" : tensor<3xf32> in "" at 0 length 12
parplan.initializer @mean "bn.mean" : tensor<3xf32> in "" at 12 length 12
parplan.initializer @variance "bn.variance" : tensor<3xf32> in "" at 24 length 12
parplan.initializer @ids "ids" : tensor<4xi64> in "" at 36 length 32
parplan.initializer @embed "model.embed" : tensor<5x3xf32> in "" at 68 length 60
func.func @main() -> tensor<4x3xf32> {
  %ids = parplan.parameter @ids : tensor<4xi64>
  %table = parplan.parameter @embed : tensor<5x3xf32>
  %x = parplan.embedding %ids, %table : tensor<4xi64>, tensor<5x3xf32>
  %scale = parplan.parameter @scale : tensor<3xf32>
  %mean = parplan.parameter @mean : tensor<3xf32>
  %variance = parplan.parameter @variance : tensor<3xf32>
  %y = parplan.batch_norm %x, %scale, %scale, %mean, %variance epsilon 1.000000e-05 : tensor<4x3xf32>, tensor<3xf32>
  return %y : tensor<4x3xf32>
}

// -----

// A table of rotations and a mask are data, a bias of positions that is looked
// up is learned.
// CHECK-DAG: parplan.initializer @frequencies {{.*}} {parplan.frozen = "statistics or a table: it carries no gradient"}
// CHECK-DAG: parplan.initializer @mask {{.*}} {parplan.frozen = "a mask of attention"}
// CHECK-DAG: parplan.initializer @bias {{.*}} {parplan.trained = "the loss depends on it"}
parplan.initializer @frequencies "frequencies" : tensor<2xf32> in "" at 0 length 8
parplan.initializer @mask "mask" : tensor<3x3xf32> in "" at 8 length 36
parplan.initializer @bias "bias" : tensor<7x1xf32> in "" at 44 length 28
// expected-warning@+1 {{no initializer is called '*.embed', which should stay as it is}}
func.func @main(%x: tensor<2x3x1x4xf32>, %distances: tensor<3x3xi64>) -> tensor<2x3x1x4xf32> {
  %f = parplan.parameter @frequencies : tensor<2xf32>
  %cos = parplan.cos %f : tensor<2xf32>
  %sin = parplan.sin %f : tensor<2xf32>
  %q = parplan.rope %x cos %cos sin %sin : tensor<2x3x1x4xf32>, tensor<2xf32>, tensor<2xf32>
  %mask = parplan.parameter @mask : tensor<3x3xf32>
  %table = parplan.parameter @bias : tensor<7x1xf32>
  %bias = parplan.embedding %distances, %table : tensor<3x3xi64>, tensor<7x1xf32>
  %scores = parplan.reshape %bias : tensor<3x3x1xf32> to tensor<3x3xf32>
  %sum = parplan.add %mask, %scores : tensor<3x3xf32>, tensor<3x3xf32>
  %y = parplan.attention %q, %x, %x mask %sum : tensor<3x3xf32> scale 5.000000e-01 : tensor<2x3x1x4xf32>, tensor<2x3x1x4xf32>, tensor<2x3x1x4xf32>
  return %y : tensor<2x3x1x4xf32>
}

// -----

// Where the file has marks, they decide.
// CHECK-DAG: parplan.initializer @weight {{.*}} {parplan.trained = "the exporter calls it a parameter"}
// CHECK-DAG: parplan.initializer @unmarked {{.*}} {parplan.frozen = "the exporter does not call it a parameter"}
// CHECK-DAG: parplan.initializer @buffer {{.*}} {parplan.frozen = "the exporter calls it a buffer"}
// CHECK-DAG: parplan.initializer @unused {{.*}} {parplan.frozen = "the loss does not depend on it"}
// expected-warning@+1 {{the initializer 'weight' belongs to 2 norms: the exporter has merged equal initializers, and they are trained as one}}
parplan.initializer @weight "weight" : tensor<4xf32> in "" at 0 length 16
parplan.initializer @unmarked "other" : tensor<4xf32> in "" at 16 length 16
parplan.initializer @buffer "buffer" : tensor<4xf32> in "" at 32 length 16
parplan.initializer @unused "unused" : tensor<4xf32> in "" at 48 length 16
// expected-warning@+1 {{no initializer is called}}
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = parplan.parameter @weight : tensor<4xf32>
  %u = parplan.parameter @unmarked : tensor<4xf32>
  %b = parplan.parameter @buffer : tensor<4xf32>
  %y = parplan.rms_norm %x scale %w : tensor<4xf32> dim 1 epsilon 1.000000e-05 : tensor<2x4xf32>
  %z = parplan.rms_norm %y scale %w : tensor<4xf32> dim 1 epsilon 1.000000e-05 : tensor<2x4xf32>
  %a = parplan.add %z, %u : tensor<2x4xf32>, tensor<4xf32>
  %c = parplan.add %a, %b : tensor<2x4xf32>, tensor<4xf32>
  return %c : tensor<2x4xf32>
}

// -----

parplan.initializer @embed "the.embed" : tensor<4xf32> in "" at 0 length 16
// expected-error@+1 {{there is nothing to train: no initializer of floats reaches the loss or all are frozen}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = parplan.parameter @embed : tensor<4xf32>
  %y = parplan.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// An optimised export keeps a transposed weight under a name of its own.
// CHECK-DAG: parplan.initializer @folded {{.*}} {parplan.frozen = "the exporter does not call it a parameter"}
parplan.initializer @marked "marked" : tensor<4xf32> in "" at 0 length 16
parplan.initializer @folded "val_12" : tensor<4x4xf32> in "" at 16 length 64
// expected-warning@+2 {{no initializer is called}}
// expected-warning@+1 {{1 initializers are used as weights, but are not what the exporter calls a parameter ('val_12'): it has folded them, and they stay as they are}}
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %bias = parplan.parameter @marked : tensor<4xf32>
  %weight = parplan.parameter @folded : tensor<4x4xf32>
  %product = parplan.matmul "mk,kn->mn" %x, %weight : tensor<2x4xf32>, tensor<4x4xf32>
  %y = parplan.add %product, %bias : tensor<2x4xf32>, tensor<4xf32>
  return %y : tensor<2x4xf32>
}
