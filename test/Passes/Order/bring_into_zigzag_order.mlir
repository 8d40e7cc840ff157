// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-bring-into-zigzag-order=ranks=2 -parplan-verify-order | FileCheck %s

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
  // Key - query <= 2, without integers of the mask's size.
  // CHECK-DAG: %[[KEYS:.*]] = parplan.constant dense<{{\[\[}}0, 1, 6, 7, 2, 3, 4, 5]]> : tensor<1x8xi64>
  // CHECK-DAG: %[[LIMITS:.*]] = parplan.constant dense<{{\[\[}}2], [3], [8], [9], [4], [5], [6], [7]]> : tensor<8x1xi64>
  // CHECK: %[[MASK:.*]] = parplan.compare le %[[KEYS]], %[[LIMITS]] : tensor<1x8xi64>, tensor<8x1xi64>
  %window = parplan.affine_mask [-1, 1] + -2 : tensor<8x8xi1>
  // CHECK: parplan.attention {{.*}} mask %[[MASK]] : tensor<8x8xi1> scale 1.000000e+00 causal zigzag 2
  %mixed = parplan.attention %heads, %heads, %heads mask %window : tensor<8x8xi1> scale 1.0 causal : tensor<2x8x2x2xf32>, tensor<2x8x2x2xf32>, tensor<2x8x2x2xf32>
  %y = parplan.reshape %mixed : tensor<2x8x2x2xf32> to tensor<2x8x4xf32>
  // What is the same everywhere stays, and other constants are made in the order.
  // CHECK-DAG: parplan.constant dense<5.000000e-01> : tensor<8x4xf32>
  // CHECK-DAG: parplan.constant dense<{{\[\[}}1.000000e+00], [2.000000e+00], [7.000000e+00], [8.000000e+00], [3.000000e+00], [4.000000e+00], [5.000000e+00], [6.000000e+00]]> : tensor<8x1xf32>
  // CHECK-DAG: parplan.constant dense<[true, false, true, false, false, false, true, true]> : tensor<8xi1>
  %ages = parplan.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]]> : tensor<8x1xf32>
  %known = parplan.constant dense<[true, false, false, false, true, true, true, false]> : tensor<8xi1>
  %column = parplan.reshape %known : tensor<8xi1> to tensor<8x1xi1>
  %chosen = parplan.select %column, %ages, %ages : tensor<8x1xi1>, tensor<8x1xf32>, tensor<8x1xf32>
  %half = parplan.constant dense<0.5> : tensor<8x4xf32>
  // CHECK: parplan.mul %{{.*}}, %{{.*}} : tensor<2x8x4xf32>, tensor<8x4xf32>
  %w = parplan.mul %y, %half : tensor<2x8x4xf32>, tensor<8x4xf32>
  %z = parplan.mul %w, %chosen : tensor<2x8x4xf32>, tensor<8x1xf32>
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

// Two sequences, each in the order of its own length. What the second attends to besides stays.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<1x8x2x4xf32> {parplan.zigzag = array<i64: 1, 2, 1, 1>}, %arg1: tensor<1x4x2x4xf32> {parplan.zigzag = array<i64: 1, 2, 1, 1>}, %arg2: tensor<1x5x2x4xf32>)
// CHECK-SAME: -> (tensor<1x8x2x4xf32> {parplan.zigzag = array<i64: 1, 2, 1, 1>}, tensor<1x4x2x4xf32> {parplan.zigzag = array<i64: 1, 2, 1, 1>})
func.func @main(%x: tensor<1x8x2x4xf32>, %y: tensor<1x4x2x4xf32>, %memory: tensor<1x5x2x4xf32>) -> (tensor<1x8x2x4xf32>, tensor<1x4x2x4xf32>) {
  // CHECK: parplan.constant {{.*}}[0.000000e+00]{{.*}}[1.000000e+00]{{.*}}[6.000000e+00]{{.*}}[7.000000e+00]{{.*}} : tensor<1x8x1x1xf32>
  %long = parplan.iota 1 : tensor<1x8x1x1xf32>
  // CHECK: parplan.constant {{.*}}[0.000000e+00]{{.*}}[3.000000e+00]{{.*}}[1.000000e+00]{{.*}}[2.000000e+00]{{.*}} : tensor<1x4x1x1xf32>
  %short = parplan.iota 1 : tensor<1x4x1x1xf32>
  %a = parplan.add %x, %long : tensor<1x8x2x4xf32>, tensor<1x8x1x1xf32>
  %b = parplan.add %y, %short : tensor<1x4x2x4xf32>, tensor<1x4x1x1xf32>
  %first = parplan.attention %a, %a, %a scale 1.0 causal : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  %second = parplan.attention %b, %b, %b scale 1.0 causal : tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>
  %third = parplan.attention %second, %memory, %memory scale 1.0 : tensor<1x4x2x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>
  return %first, %third : tensor<1x8x2x4xf32>, tensor<1x4x2x4xf32>
}

// -----

func.func @main(%x: tensor<1x6x2x4xf32>) -> tensor<1x6x2x4xf32> {
  // expected-warning@below {{6 positions are no two equal chunks for each of 2 ranks}}
  %y = parplan.attention %x, %x, %x scale 1.0 causal : tensor<1x6x2x4xf32>, tensor<1x6x2x4xf32>, tensor<1x6x2x4xf32>
  return %y : tensor<1x6x2x4xf32>
}

// -----

func.func @main(%x: tensor<1x4x2x4xf32>, %k: tensor<1x8x2x4xf32>) -> tensor<1x4x2x4xf32> {
  // expected-warning@below {{its queries are not its keys}}
  %y = parplan.attention %x, %k, %k scale 1.0 causal : tensor<1x4x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  return %y : tensor<1x4x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NOT: zigzag
func.func @main(%x: tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32> {
  // expected-warning@below {{it depends on the order of the sequence}}
  %last = parplan.slice %x dims [1] from [4] to [8] step [1] : tensor<1x8x2x4xf32>
  %y = parplan.attention %x, %x, %x scale 1.0 causal : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  return %y : tensor<1x8x2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8x2x4xf32>) -> tensor<16x8xf32> {
  %y = parplan.attention %x, %x, %x scale 1.0 causal : tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>
  // expected-warning@below {{it joins the sequence with other dimensions}}
  %rows = parplan.reshape %y : tensor<2x8x2x4xf32> to tensor<16x8xf32>
  return %rows : tensor<16x8xf32>
}

// -----

// Ids that are positions of what is computed along the sequence.
func.func @main(%x: tensor<1x8x1x4xf32>, %ids: tensor<3xi64>) -> tensor<3x4xf32> {
  %y = parplan.attention %x, %x, %x scale 1.0 causal : tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>
  %rows = parplan.reshape %y : tensor<1x8x1x4xf32> to tensor<8x4xf32>
  // expected-warning@below {{it depends on the order of the sequence}}
  %picked = parplan.embedding %ids, %rows : tensor<3xi64>, tensor<8x4xf32>
  return %picked : tensor<3x4xf32>
}

// -----

// expected-warning@below {{there is no causal attention}}
func.func @main(%x: tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32> {
  %y = parplan.attention %x, %x, %x scale 1.0 : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  return %y : tensor<1x8x2x4xf32>
}

// -----

// expected-error@below {{a zig-zag order needs a function @main and two ranks or more}}
module {
}
