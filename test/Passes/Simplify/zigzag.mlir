// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-zigzag=ranks=2 | FileCheck %s

// Over two ranks the chunks 0, 3, 1, 2. Positions in place of indices, whatever
// lies along the sequence at these positions, and arguments and results that
// others bring into the order. What does not lie along the sequence stays.
parplan.initializer @table "table" : tensor<7x4xf32> in "" at 0 length 112
parplan.initializer @rows "rows" : tensor<8x4xf32> in "" at 0 length 128
// CHECK-LABEL: func.func @main
// CHECK-SAME: %{{.*}}: tensor<2x8xi64> {parplan.batch, parplan.name = "ids", parplan.zigzag = array<i64: 1, 2>}
// CHECK-SAME: %{{.*}}: tensor<2x4xf32> {parplan.batch, parplan.name = "style"}
// CHECK-SAME: -> (tensor<2x8x4xf32> {parplan.name = "y", parplan.zigzag = array<i64: 1, 2, 1>}, tensor<2x4xf32> {parplan.name = "sum"})
func.func @main(%ids: tensor<2x8xi64> {parplan.name = "ids", parplan.batch}, %style: tensor<2x4xf32> {parplan.name = "style", parplan.batch})
    -> (tensor<2x8x4xf32> {parplan.name = "y"}, tensor<2x4xf32> {parplan.name = "sum"}) {
  %table = parplan.parameter @table : tensor<7x4xf32>
  // CHECK: parplan.embedding %arg0
  %tokens = parplan.embedding %ids, %table : tensor<2x8xi64>, tensor<7x4xf32>
  // CHECK: %[[ROWS:.*]] = parplan.parameter @rows {parplan.node = 3 : i64}
  // CHECK-NEXT: %[[AT:.*]] = parplan.constant {{.*}}dense<[0, 1, 6, 7, 2, 3, 4, 5]> : tensor<8xi64>
  // CHECK-NEXT: %[[MOVED:.*]] = parplan.gather %[[ROWS]], %[[AT]] dim 0 {parplan.node = 3 : i64}
  // CHECK: parplan.add %{{.*}}, %[[MOVED]]
  %rows = parplan.parameter @rows {parplan.node = 3 : i64} : tensor<8x4xf32>
  %placed = parplan.add %tokens, %rows : tensor<2x8x4xf32>, tensor<8x4xf32>
  // CHECK: %[[WIDE:.*]] = parplan.constant dense<{{\[\[}}0.000000e+00, 0.000000e+00, {{.*}}], [1.000000e+00, {{.*}}], [6.000000e+00, {{.*}}], {{.*}}> : tensor<8x4xf32>
  // CHECK: parplan.mul %{{.*}}, %[[WIDE]]
  %steps = parplan.iota 0 : tensor<8x4xf32>
  %x = parplan.mul %placed, %steps : tensor<2x8x4xf32>, tensor<8x4xf32>
  %heads = parplan.reshape %x : tensor<2x8x4xf32> to tensor<2x8x2x2xf32>
  // CHECK-DAG: parplan.constant dense<{{\[\[}}0], [-1], [-6], [-7], [-2], [-3], [-4], [-5]]> : tensor<8x1xi64>
  // CHECK-DAG: parplan.constant dense<{{\[\[}}0, 1, 6, 7, 2, 3, 4, 5]]> : tensor<1x8xi64>
  // CHECK-DAG: parplan.constant dense<2> : tensor<i64>
  // CHECK: %[[MASK:.*]] = parplan.compare le
  %window = parplan.affine_mask [-1, 1] + -2 : tensor<8x8xi1>
  // CHECK: parplan.attention {{.*}} mask %[[MASK]] : tensor<8x8xi1> scale 1.000000e+00 causal zigzag 2
  %mixed = parplan.attention %heads, %heads, %heads mask %window : tensor<8x8xi1> scale 1.0 causal : tensor<2x8x2x2xf32>, tensor<2x8x2x2xf32>, tensor<2x8x2x2xf32>
  %y = parplan.reshape %mixed : tensor<2x8x2x2xf32> to tensor<2x8x4xf32>
  %half = parplan.constant dense<0.5> : tensor<8x4xf32>
  // CHECK: parplan.mul %{{.*}}, %{{.*}} : tensor<2x8x4xf32>, tensor<8x4xf32>
  %z = parplan.mul %y, %half : tensor<2x8x4xf32>, tensor<8x4xf32>
  %sums = parplan.reduce sum %z dims [1] : tensor<2x8x4xf32>
  %sum = parplan.add %sums, %style : tensor<2x4xf32>, tensor<2x4xf32>
  return %z, %sum : tensor<2x8x4xf32>, tensor<2x4xf32>
}

// -----

// A source that others read along no sequence stays for them.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<1x8x2x4xf32>) -> (tensor<1x8x2x4xf32>, tensor<8xi64>) {
  // CHECK: %[[INDEX:.*]] = parplan.iota 0 : tensor<8xi64>
  %index = parplan.iota 0 : tensor<8xi64>
  %shape = parplan.reshape %index : tensor<8xi64> to tensor<1x8x1x1xi64>
  %number = parplan.cast %shape : tensor<1x8x1x1xi64> to tensor<1x8x1x1xf32>
  %q = parplan.add %x, %number : tensor<1x8x2x4xf32>, tensor<1x8x1x1xf32>
  %y = parplan.attention %q, %q, %q scale 1.0 causal : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  // CHECK: %[[LEVELS:.*]] = parplan.add %[[INDEX]], %[[INDEX]]
  // CHECK: return %{{.*}}, %[[LEVELS]]
  %levels = parplan.add %index, %index : tensor<8xi64>, tensor<8xi64>
  return %y, %levels : tensor<1x8x2x4xf32>, tensor<8xi64>
}

// -----

func.func @main(%x: tensor<1x6x2x4xf32>) -> tensor<1x6x2x4xf32> {
  // expected-warning@below {{the sequence stays in the model's order: 6 positions are no two equal chunks for each of 2 ranks}}
  %y = parplan.attention %x, %x, %x scale 1.0 causal : tensor<1x6x2x4xf32>, tensor<1x6x2x4xf32>, tensor<1x6x2x4xf32>
  return %y : tensor<1x6x2x4xf32>
}

// -----

func.func @main(%x: tensor<1x4x2x4xf32>, %k: tensor<1x8x2x4xf32>) -> tensor<1x4x2x4xf32> {
  // expected-warning@below {{the sequence stays in the model's order: its queries are not its keys}}
  %y = parplan.attention %x, %k, %k scale 1.0 causal : tensor<1x4x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  return %y : tensor<1x4x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NOT: zigzag
func.func @main(%x: tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32> {
  // expected-warning@below {{the sequence stays in the model's order: it depends on the order of the sequence}}
  %last = parplan.slice %x dims [1] from [4] to [8] step [1] : tensor<1x8x2x4xf32>
  %y = parplan.attention %x, %x, %x scale 1.0 causal : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  return %y : tensor<1x8x2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8x2x4xf32>) -> tensor<16x8xf32> {
  %y = parplan.attention %x, %x, %x scale 1.0 causal : tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>
  // expected-warning@below {{the sequence stays in the model's order: it joins the sequence with other dimensions}}
  %rows = parplan.reshape %y : tensor<2x8x2x4xf32> to tensor<16x8xf32>
  return %rows : tensor<16x8xf32>
}

// -----

// Ids that are positions of what is computed along the sequence.
func.func @main(%x: tensor<1x8x1x4xf32>, %ids: tensor<3xi64>) -> tensor<3x4xf32> {
  %y = parplan.attention %x, %x, %x scale 1.0 causal : tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>
  %rows = parplan.reshape %y : tensor<1x8x1x4xf32> to tensor<8x4xf32>
  // expected-warning@below {{the sequence stays in the model's order: it depends on the order of the sequence}}
  %picked = parplan.embedding %ids, %rows : tensor<3xi64>, tensor<8x4xf32>
  return %picked : tensor<3x4xf32>
}

// -----

// expected-warning@below {{the sequence stays in the model's order: there is no causal attention}}
func.func @main(%x: tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32> {
  %y = parplan.attention %x, %x, %x scale 1.0 : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  return %y : tensor<1x8x2x4xf32>
}

// -----

// expected-error@below {{a zig-zag order needs a function @main and two ranks or more}}
module {
}
