// RUN: parplan-opt %s -verify-diagnostics -split-input-file

func.func @gradient_of_another_result(%x: tensor<1x3x2x4xf32>, %y: tensor<1x3x2x5xf32>, %l: tensor<1x2x3xf32>) {
  // expected-error@+1 {{the result is 'tensor<1x3x2x5xf32>', not 'tensor<1x3x2x4xf32>'}}
  parplan.attention_gradient %x, %x, %x result %y, %l gradient %y scale 1.0 : tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x5xf32>, tensor<1x2x3xf32>
  return
}

// -----

func.func @gradient_of_narrow_statistics(%x: tensor<1x3x2x4xbf16>, %l: tensor<1x2x3xbf16>) {
  // expected-error@+1 {{log_sum_exp is 'tensor<1x2x3xbf16>', not 'tensor<1x2x3xf32>'}}
  parplan.attention_gradient %x, %x, %x result %x, %l gradient %x scale 1.0 : tensor<1x3x2x4xbf16>, tensor<1x3x2x4xbf16>, tensor<1x3x2x4xbf16>, tensor<1x3x2x4xbf16>, tensor<1x2x3xbf16>
  return
}

// -----

func.func @gradient_of_other_heads(%q: tensor<1x3x3x4xf32>, %k: tensor<1x3x2x4xf32>, %l: tensor<1x3x3xf32>) {
  // expected-error@+1 {{3 query heads over 2 key heads}}
  parplan.attention_gradient %q, %k, %k result %q, %l gradient %q scale 1.0 : tensor<1x3x3x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x3x4xf32>, tensor<1x3x3xf32>
  return
}

// -----

func.func @ring_without_a_mesh(%x: tensor<1x3x2x4xf32>) {
  // expected-error@+1 {{needs a module with one mesh}}
  parplan.ring_attention %x, %x, %x axes <"c"> keys 6 scale 1.0 : tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>
func.func @ring_of_unknown_axes(%x: tensor<1x3x2x4xf32>) {
  // expected-error@+1 {{axes #parplan.axes<"d"> are not axes of the mesh (S2)}}
  parplan.ring_attention %x, %x, %x axes <"d"> keys 6 scale 1.0 : tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>
func.func @ring_of_an_axis_twice(%x: tensor<1x3x2x4xf32>) {
  // expected-error@+1 {{goes round #parplan.axes<"c", "c">, which must be axes, each once (S1)}}
  parplan.ring_attention %x, %x, %x axes <"c", "c"> keys 6 scale 1.0 : tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>
func.func @ring_of_other_blocks(%x: tensor<1x3x2x4xf32>, %l: tensor<1x2x3xf32>) {
  // expected-error@+1 {{has blocks of 3 keys, not of 4: 7 over 2 ranks (S3)}}
  parplan.ring_attention_gradient %x, %x, %x result %x, %l gradient %x axes <"c"> keys 7 scale 1.0 : tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x2x3xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>
func.func @ring_of_no_keys(%x: tensor<1x3x2x4xf32>, %k: tensor<1x0x2x4xf32>) {
  // expected-error@+1 {{has 0 keys, not one or more (S21)}}
  parplan.ring_attention %x, %k, %k axes <"c"> keys 0 scale 1.0 : tensor<1x3x2x4xf32>, tensor<1x0x2x4xf32>, tensor<1x0x2x4xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>
func.func @gradient_of_no_keys(%x: tensor<1x3x2x4xf32>, %l: tensor<1x2x3xf32>, %k: tensor<1x0x2x4xf32>) {
  // expected-error@+1 {{has -1 keys, not one or more (S21)}}
  parplan.ring_attention_gradient %x, %k, %k result %x, %l gradient %x axes <"c"> keys -1 scale 1.0 : tensor<1x3x2x4xf32>, tensor<1x0x2x4xf32>, tensor<1x0x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x2x3xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>
func.func @ring_with_another_mask(%x: tensor<1x3x2x4xf32>, %m: tensor<5xi1>) {
  // expected-error@+1 {{mask of shape [5] does not broadcast to [1x2x3x3]}}
  parplan.ring_attention %x, %x, %x mask %m : tensor<5xi1> axes <"c"> keys 6 scale 1.0 : tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>
  return
}

// -----

func.func @two_global_types_of_one_result(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.global_type' must be a tensor type, or one per result}}
  parplan.neg %x {parplan.global_type = [tensor<8xf32>, tensor<8xf32>]} : tensor<4xf32>
  return
}

// -----

func.func @zigzag_of_later_queries(%x: tensor<1x8x2x4xf32>, %o: tensor<i64>) {
  // expected-error@+1 {{lies in zig-zag order over 2 ranks, but is not causal from the first query on over as many queries as keys, a multiple of two per rank}}
  parplan.attention %x, %x, %x offset %o : tensor<i64> scale 1.0 causal zigzag 2 : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  return
}

// -----

func.func @zigzag_of_odd_chunks(%x: tensor<1x6x2x4xf32>, %l: tensor<1x2x6xf32>) {
  // expected-error@+1 {{lies in zig-zag order over 2 ranks, but is not causal from the first query on over as many queries as keys, a multiple of two per rank}}
  parplan.attention_gradient %x, %x, %x result %x, %l gradient %x scale 1.0 causal zigzag 2 : tensor<1x6x2x4xf32>, tensor<1x6x2x4xf32>, tensor<1x6x2x4xf32>, tensor<1x6x2x4xf32>, tensor<1x2x6xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>
func.func @zigzag_ring_without_an_order(%x: tensor<1x4x2x4xf32>) {
  // expected-error@+1 {{lies in zig-zag order, but is not causal over as many queries as keys, a multiple of two per rank}}
  parplan.ring_attention %x, %x, %x axes <"c"> keys 8 scale 1.0 zigzag : tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>
func.func @zigzag_ring_of_odd_chunks(%x: tensor<1x3x2x4xf32>, %l: tensor<1x2x3xf32>) {
  // expected-error@+1 {{lies in zig-zag order, but is not causal over as many queries as keys, a multiple of two per rank}}
  parplan.ring_attention_gradient %x, %x, %x result %x, %l gradient %x axes <"c"> keys 6 scale 1.0 causal zigzag : tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x2x3xf32>
  return
}

// -----

// expected-error@+1 {{'parplan.zigzag' must be an array<i64> with a number of ranks per dimension, 1 or with two chunks for each}}
func.func @order_of_other_dimensions(%x: tensor<2x8xi64> {parplan.zigzag = array<i64: 2>}) {
  return
}

// -----

// expected-error@+1 {{'parplan.zigzag' must be an array<i64> with a number of ranks per dimension, 1 or with two chunks for each}}
func.func @order_of_odd_chunks(%x: tensor<2x6xi64>) -> (tensor<2x6xi64> {parplan.zigzag = array<i64: 1, 2>}) {
  return %x : tensor<2x6xi64>
}

// -----

func.func @sink_of_other_heads(%x: tensor<1x3x2x4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{has a sink of 'tensor<3xf32>' for queries of 'tensor<1x3x2x4xf32>'}}
  parplan.attention %x, %x, %x sink %s : tensor<3xf32> scale 1.0 : tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>
  return
}
