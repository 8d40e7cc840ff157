// RUN: parplan-opt %s | parplan-opt | FileCheck %s

parplan.mesh @mesh <["c"=2 context, "d"=2 context]>

// CHECK-LABEL: func.func @statistics
func.func @statistics(%q: tensor<2x5x4x8xbf16>, %k: tensor<2x7x2x8xbf16>, %m: tensor<7xi1>, %o: tensor<i64>) {
  // CHECK: %[[Y:.*]], %[[L:.*]] = parplan.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} : tensor<7xi1> offset %{{.*}} : tensor<i64> scale 5.000000e-01 causal statistics : tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>
  %y, %l = parplan.attention %q, %k, %k mask %m : tensor<7xi1> offset %o : tensor<i64> scale 0.5 causal statistics : tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>
  // CHECK: parplan.attention_gradient %{{.*}}, %{{.*}}, %{{.*}} result %[[Y]], %[[L]] gradient %[[Y]] mask %{{.*}} : tensor<7xi1> offset %{{.*}} : tensor<i64> scale 5.000000e-01 causal : tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x5x4x8xbf16>, tensor<2x4x5xf32>
  %dq, %dk, %dv = parplan.attention_gradient %q, %k, %k result %y, %l gradient %y mask %m : tensor<7xi1> offset %o : tensor<i64> scale 0.5 causal : tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x5x4x8xbf16>, tensor<2x4x5xf32>
  // The types of the operands.
  %sq = parplan.sub %dq, %q : tensor<2x5x4x8xbf16>, tensor<2x5x4x8xbf16>
  return
}

// Statistics of f64 are f64.
// CHECK-LABEL: func.func @wide_statistics
func.func @wide_statistics(%x: tensor<1x3x2x4xf64>) -> tensor<1x2x3xf64> {
  // CHECK: parplan.attention %{{.*}} scale 1.000000e+00 statistics
  %y, %l = parplan.attention %x, %x, %x scale 1.0 statistics : tensor<1x3x2x4xf64>, tensor<1x3x2x4xf64>, tensor<1x3x2x4xf64>
  return %l : tensor<1x2x3xf64>
}

// Positions of a sequence in zig-zag order.
// CHECK-LABEL: func.func @zigzag
// CHECK-SAME: {parplan.zigzag = array<i64: 1, 2, 1, 1>}
func.func @zigzag(%x: tensor<1x8x2x4xf32> {parplan.zigzag = array<i64: 1, 2, 1, 1>}, %b: tensor<1x2x2x4xf32>, %o: tensor<i64>)
    -> (tensor<1x8x2x4xf32> {parplan.zigzag = array<i64: 1, 2, 1, 1>}) {
  // CHECK: parplan.attention %{{.*}} scale 1.000000e+00 causal zigzag 2 statistics :
  %y, %l = parplan.attention %x, %x, %x scale 1.0 causal zigzag 2 statistics : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  // CHECK: parplan.attention_gradient %{{.*}} scale 1.000000e+00 causal zigzag 2 :
  %dq, %dk, %dv = parplan.attention_gradient %x, %x, %x result %y, %l gradient %y scale 1.0 causal zigzag 2 : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x2x8xf32>
  // CHECK: parplan.ring_attention %{{.*}} keys 8 scale 1.000000e+00 causal zigzag statistics :
  %r, %s = parplan.ring_attention %b, %b, %b offset %o : tensor<i64> axes <"c", "d"> keys 8 scale 1.0 causal zigzag statistics : tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>
  // CHECK: parplan.ring_attention_gradient %{{.*}} keys 8 scale 1.000000e+00 causal zigzag :
  %eq, %ek, %ev = parplan.ring_attention_gradient %b, %b, %b result %b, %s gradient %b offset %o : tensor<i64> axes <"c", "d"> keys 8 scale 1.0 causal zigzag : tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2xf32>
  return %dq : tensor<1x8x2x4xf32>
}

// Sums are wide; gradients of what travels are not.
// CHECK-LABEL: func.func @ring
func.func @ring(%q: tensor<2x5x4x8xf16>, %k: tensor<2x2x2x8xf16>, %whole: tensor<5x7xi1>, %block: tensor<2xf16>, %d: tensor<2x5x4x8xf16>) {
  // CHECK: parplan.ring_attention %{{.*}} mask %{{.*}} : tensor<5x7xi1> axes <"c", "d"> keys 7 scale 1.000000e+00 causal statistics : tensor<2x5x4x8xf16>, tensor<2x2x2x8xf16>, tensor<2x2x2x8xf16>
  %y, %l = parplan.ring_attention %q, %k, %k mask %whole : tensor<5x7xi1> axes <"c", "d"> keys 7 scale 1.0 causal statistics : tensor<2x5x4x8xf16>, tensor<2x2x2x8xf16>, tensor<2x2x2x8xf16>
  %short = parplan.cast %y : tensor<2x5x4x8xf32> to tensor<2x5x4x8xf16>
  // CHECK: parplan.ring_attention_gradient %{{.*}} mask %{{.*}} : tensor<2xf16> axes <"c", "d"> keys 7 scale 1.000000e+00 : tensor<2x5x4x8xf16>, tensor<2x2x2x8xf16>, tensor<2x2x2x8xf16>, tensor<2x5x4x8xf16>, tensor<2x4x5xf32>
  %dq, %dk, %dv = parplan.ring_attention_gradient %q, %k, %k result %short, %l gradient %d mask %block : tensor<2xf16> axes <"c", "d"> keys 7 scale 1.0 : tensor<2x5x4x8xf16>, tensor<2x2x2x8xf16>, tensor<2x2x2x8xf16>, tensor<2x5x4x8xf16>, tensor<2x4x5xf32>
  %wide = parplan.neg %dq : tensor<2x5x4x8xf32>
  %sum = parplan.sum %dk, %dv : tensor<2x2x2x8xf16>
  return
}
