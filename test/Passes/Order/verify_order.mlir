// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-verify-order

func.func @main(%x: tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32> {
  %y = parplan.attention %x, %x, %x scale 1.0 causal zigzag 2 : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  // expected-error@below {{after order: lies in the order of 1 ranks, another one in that of 2}}
  %z = parplan.attention %y, %y, %y scale 1.0 causal : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  return %z : tensor<1x8x2x4xf32>
}

// -----

// expected-error@below {{after order: argument 0 lies in the order array<i64: 1, 2, 1, 1>, not of the model}}
func.func @main(%x: tensor<1x8x2x4xf32>) -> (tensor<1x8x2x4xf32> {parplan.zigzag = array<i64: 1, 2, 1, 1>}) {
  %y = parplan.attention %x, %x, %x scale 1.0 causal zigzag 2 : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  return %y : tensor<1x8x2x4xf32>
}

// -----

// expected-error@below {{after order: result 0 lies in the order of the model, not array<i64: 1, 2, 1, 1>}}
func.func @main(%x: tensor<1x8x2x4xf32>) -> (tensor<1x8x2x4xf32> {parplan.zigzag = array<i64: 1, 2, 1, 1>}) {
  %y = parplan.neg %x : tensor<1x8x2x4xf32>
  return %y : tensor<1x8x2x4xf32>
}

// -----

func.func @main(%x: tensor<1x8x2x4xf32> {parplan.zigzag = array<i64: 1, 2, 1, 1>}) -> (tensor<1x8x2x4xf32> {parplan.zigzag = array<i64: 1, 2, 1, 1>}) {
  %index = parplan.iota 1 : tensor<1x8x1x1xf32>
  // expected-error@below {{after order: operand 1 lies along the sequence in the model's order}}
  %q = parplan.add %x, %index : tensor<1x8x2x4xf32>, tensor<1x8x1x1xf32>
  %y = parplan.attention %q, %q, %q scale 1.0 causal zigzag 2 : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  return %y : tensor<1x8x2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8x2x4xf32>) -> tensor<16x8xf32> {
  %y = parplan.attention %x, %x, %x scale 1.0 causal zigzag 2 : tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>
  // expected-error@below {{after order: it joins the sequence with other dimensions}}
  %rows = parplan.reshape %y : tensor<2x8x2x4xf32> to tensor<16x8xf32>
  return %rows : tensor<16x8xf32>
}
