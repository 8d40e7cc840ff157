// RUN: parplan-opt %s -parplan-keep-statistics | FileCheck %s

parplan.initializer @w "w" : tensor<1x3x1x4xf32> in "" at 0 length 48 {parplan.trained = "it is"}
parplan.initializer @frozen "frozen" : tensor<1x3x1x4xf32> in "" at 48 length 48 {parplan.frozen = "it is"}
parplan.initializer @bias "bias" : tensor<3x3xf32> in "" at 96 length 36 {parplan.trained = "it is"}

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<1x3x1x4xf32>, %m: tensor<3xi1>) -> tensor<1x3x1x4xf32> {
  %w = parplan.parameter @w : tensor<1x3x1x4xf32>
  %frozen = parplan.parameter @frozen : tensor<1x3x1x4xf32>
  %bias = parplan.parameter @bias : tensor<3x3xf32>
  // Nothing of it is trained.
  // CHECK: parplan.attention %{{.*}}, %{{.*}}, %{{.*}} scale 1.000000e+00 :
  %a = parplan.attention %x, %frozen, %x scale 1.0 : tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>
  // CHECK: %[[B:.*]], %{{.*}} = parplan.attention %{{.*}} mask %{{.*}} : tensor<3xi1> scale 2.000000e+00 causal statistics {parplan.node = 7 : i64}
  %b = parplan.attention %a, %w, %a mask %m : tensor<3xi1> scale 2.0 causal {parplan.node = 7 : i64} : tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>
  // The gradient of a learned mask needs the probabilities.
  // CHECK: parplan.attention %[[B]], %[[B]], %[[B]] mask %{{.*}} : tensor<3x3xf32> scale 1.000000e+00 :
  %c = parplan.attention %b, %b, %b mask %bias : tensor<3x3xf32> scale 1.0 : tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>
  return %c : tensor<1x3x1x4xf32>
}
