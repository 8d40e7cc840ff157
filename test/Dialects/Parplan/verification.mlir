// RUN: parplan-opt %s -verify-diagnostics -split-input-file

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error@+1 {{operand #0 must be a statically shaped tensor, not 'tensor<?xf32>'}}
  parplan.add %x, %x : tensor<?xf32>, tensor<?xf32>
  return
}

// -----

func.func @shapes_that_do_not_broadcast(%x: tensor<2x3xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{shapes [2x3] and [4] do not broadcast}}
  parplan.add %x, %y : tensor<2x3xf32>, tensor<4xf32>
  return
}

// -----

func.func @bits_of_other_size(%x: tensor<2xf32>) {
  // expected-error@+1 {{reads the bits of 'f32' as 'i64'}}
  parplan.bitcast %x : tensor<2xf32> to tensor<2xi64>
  return
}

// -----

func.func @bits_as_bools(%x: tensor<2xui8>) {
  // expected-error@+1 {{reads the bits of 'ui8' as 'i1'}}
  parplan.bitcast %x : tensor<2xui8> to tensor<2xi1>
  return
}

// -----

func.func @select_of_two_types(%p: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf64>) {
  // expected-error@+1 {{selects between 'f32' and 'f64'}}
  parplan.select %p, %x, %y : tensor<2xi1>, tensor<2xf32>, tensor<2xf64>
  return
}

// -----

func.func @reshape_to_other_type(%x: tensor<2xf32>) {
  // expected-error@+1 {{changes the element type from 'f32' to 'f64'}}
  parplan.reshape %x : tensor<2xf32> to tensor<2xf64>
  return
}

// -----

func.func @reshape_to_more(%x: tensor<2xf32>) {
  // expected-error@+1 {{changes the number of elements from 2 to 3}}
  parplan.reshape %x : tensor<2xf32> to tensor<3xf32>
  return
}

// -----

func.func @broadcast_to_other_type(%x: tensor<2xf32>) {
  // expected-error@+1 {{changes the element type from 'f32' to 'f64'}}
  parplan.broadcast %x : tensor<2xf32> to tensor<3x2xf64>
  return
}

// -----

func.func @broadcast_that_shrinks(%x: tensor<2xf32>) {
  // expected-error@+1 {{shape [2] does not broadcast to [1]}}
  parplan.broadcast %x : tensor<2xf32> to tensor<1xf32>
  return
}

// -----

func.func @transpose_twice_the_same(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{[1, 1] is not a permutation of the 2 dimensions}}
  parplan.transpose %x [1, 1] : tensor<2x3xf32>
  return
}

// -----

func.func @slice_past_the_end(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{slice 0:4:1 of dimension 1 with 3 elements}}
  parplan.slice %x dims [1] from [0] to [4] step [1] : tensor<2x3xf32>
  return
}

// -----

func.func @slice_by_zero(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{slice 0:3:0 of dimension 1 with 3 elements}}
  parplan.slice %x dims [1] from [0] to [3] step [0] : tensor<2x3xf32>
  return
}

// -----

func.func @slice_without_step(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{needs one start, limit and step per sliced dimension}}
  parplan.slice %x dims [1] from [0] to [3] step [] : tensor<2x3xf32>
  return
}

// -----

func.func @slice_of_unordered_dims(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{dimensions are not ascending: 1 before 0}}
  parplan.slice %x dims [1, 0] from [0, 0] to [1, 1] step [1, 1] : tensor<2x3xf32>
  return
}

// -----

func.func @concat_of_nothing() {
  // expected-error@+2 {{needs at least one input}}
  // expected-error@+1 {{failed to infer returned types}}
  "parplan.concat"() <{dim = 0 : i64}> : () -> tensor<2xf32>
  return
}

// -----

func.func @concat_of_other_shapes(%x: tensor<2x3xf32>, %y: tensor<3x3xf32>) {
  // expected-error@+1 {{cannot join 'tensor<3x3xf32>' to 'tensor<2x3xf32>' along dimension 1}}
  parplan.concat %x, %y dim 1 : tensor<2x3xf32>, tensor<3x3xf32>
  return
}

// -----

func.func @pad_by_less_than_nothing(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{pads dimension 1 by -1 and 0}}
  parplan.pad %x dims [1] low [-1] high [0] value 0.0 : tensor<2x3xf32>
  return
}

// -----

func.func @pad_without_high(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{needs a low and a high count per padded dimension}}
  parplan.pad %x dims [1] low [1] high [] value 0.0 : tensor<2x3xf32>
  return
}

// -----

func.func @embedding_of_rank_three(%i: tensor<2xi64>, %t: tensor<2x3x4xf32>) {
  // expected-error@+1 {{table has rank 3, not 2}}
  parplan.embedding %i, %t : tensor<2xi64>, tensor<2x3x4xf32>
  return
}

// -----

func.func @gather_elsewhere(%x: tensor<2x3xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{dimension 2 does not exist in a tensor of rank 2}}
  parplan.gather %x, %i dim 2 : tensor<2x3xf32>, tensor<2xi64>
  return
}

// -----

func.func @gather_elements_of_too_many(%x: tensor<2x3xf32>, %i: tensor<3x3xi64>) {
  // expected-error@+1 {{indices of shape [3x3] do not fit into data of shape [2x3]}}
  parplan.gather_elements %x, %i dim 1 : tensor<2x3xf32>, tensor<3x3xi64>
  return
}

// -----

func.func @gather_nd_of_long_tuples(%x: tensor<2x3xf32>, %i: tensor<4x3xi64>) {
  // expected-error@+1 {{indices of shape [4x3] with 0 batch dimensions do not fit data of shape [2x3]}}
  parplan.gather_nd %x, %i batch_dims 0 : tensor<2x3xf32>, tensor<4x3xi64>
  return
}

// -----

func.func @topk_of_too_many(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{takes 4 of 3 elements}}
  %v, %i = parplan.topk %x k 4 dim 1 largest true : tensor<2x3xf32>
  return
}

// -----

func.func @cumsum_elsewhere(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{dimension 2 does not exist in a tensor of rank 2}}
  parplan.cumsum %x dim 2 : tensor<2x3xf32>
  return
}

// -----

func.func @spec_without_arrow(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{spec 'mk,kn' is not of the form "bsk,kn->bsn" with distinct letters per tensor}}
  parplan.matmul "mk,kn" %x, %x : tensor<2x3xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @spec_of_another_rank(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'bmk' does not name the 2 dimensions of 'tensor<2x3xf32>'}}
  parplan.matmul "bmk,kn->bmn" %x, %x : tensor<2x3xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @letter_of_two_sizes(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'k' has 3 and 2 elements}}
  parplan.matmul "mk,kn->mn" %x, %x : tensor<2x3xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @letter_from_nowhere(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{'z' of the result is in no operand}}
  parplan.matmul "mk,kn->mz" %x, %x : tensor<2x2xf32>, tensor<2x2xf32>
  return
}

// -----

func.func @sum_over_one_operand(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{'n' is summed over but only in one operand}}
  parplan.matmul "mk,kn->m" %x, %x : tensor<2x2xf32>, tensor<2x2xf32>
  return
}

// -----

func.func @product_of_two_types(%x: tensor<2x2xf32>, %y: tensor<2x2xf64>) {
  // expected-error@+1 {{multiplies 'f32' and 'f64'}}
  parplan.matmul "mk,kn->mn" %x, %y : tensor<2x2xf32>, tensor<2x2xf64>
  return
}

// -----

func.func @convolution_of_a_matrix(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{cannot convolve 'tensor<2x2xf32>' by 'tensor<2x2xf32>'}}
  parplan.conv %x, %x strides [] pads [] dilations [] groups 1 : tensor<2x2xf32>, tensor<2x2xf32>
  return
}

// -----

func.func @groups_that_do_not_fit(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error@+1 {{2 groups do not fit 4 input channels and weight 'tensor<6x4x3xf32>'}}
  parplan.conv %x, %w strides [1] pads [0, 0] dilations [1] groups 2 : tensor<1x4x8xf32>, tensor<6x4x3xf32>
  return
}

// -----

func.func @bias_of_another_size(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{bias needs the shape [6]}}
  parplan.conv %x, %w, %b strides [1] pads [0, 0] dilations [1] groups 1 : tensor<1x4x8xf32>, tensor<6x4x3xf32>, tensor<4xf32>
  return
}

// -----

func.func @too_many_strides(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error@+1 {{window, strides and dilations need 1 values each and pads 2}}
  parplan.conv %x, %w strides [1, 1] pads [0, 0] dilations [1] groups 1 : tensor<1x4x8xf32>, tensor<6x4x3xf32>
  return
}

// -----

func.func @stride_of_zero(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error@+1 {{window, strides and dilations must be positive, pads not negative}}
  parplan.conv %x, %w strides [0] pads [0, 0] dilations [1] groups 1 : tensor<1x4x8xf32>, tensor<6x4x3xf32>
  return
}

// -----

func.func @window_larger_than_input(%x: tensor<1x4x8xf32>) {
  // expected-error@+1 {{a window of 9 elements does not fit into 8}}
  parplan.max_pool %x window [9] strides [1] pads [0, 0] dilations [1] : tensor<1x4x8xf32>
  return
}

// -----

func.func @four_spatial_dimensions(%x: tensor<1x1x2x2x2x2xf32>) {
  // expected-error@+1 {{has 4 spatial dimensions; 1 to 3 are possible}}
  parplan.max_pool %x window [1, 1, 1, 1] strides [1, 1, 1, 1] pads [0, 0, 0, 0, 0, 0, 0, 0] dilations [1, 1, 1, 1] : tensor<1x1x2x2x2x2xf32>
  return
}

// -----

func.func @pool_of_a_matrix(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{cannot pool 'tensor<4x8xf32>'}}
  parplan.average_pool %x window [] strides [] pads [] dilations [] : tensor<4x8xf32>
  return
}

// -----

func.func @softmax_elsewhere(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{dimension 2 does not exist in a tensor of rank 2}}
  parplan.softmax %x dim 2 : tensor<4x8xf32>
  return
}

// -----

func.func @scale_of_another_shape(%x: tensor<4x8xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{scale or bias of shape [4] for normalised dimensions of shape [8]}}
  parplan.layer_norm %x scale %s : tensor<4xf32> dim 1 epsilon 0.0 : tensor<4x8xf32>
  return
}

// -----

func.func @statistics_of_another_shape(%x: tensor<4x8xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{statistics of shape [4] for 8 channels}}
  parplan.batch_norm %x, %s, %s, %s, %s epsilon 0.0 : tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @batch_norm_without_channels(%x: tensor<4xf32>) {
  // expected-error@+1 {{input of rank 1 has no channels}}
  parplan.batch_norm %x, %x, %x, %x, %x epsilon 0.0 : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @odd_rotation(%x: tensor<4x3xf32>, %c: tensor<4x1xf32>) {
  // expected-error@+1 {{rotates pairs of the last dimension of 'tensor<4x3xf32>'}}
  parplan.rope %x cos %c sin %c : tensor<4x3xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  return
}

// -----

func.func @rotation_by_full_table(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{cos or sin of shape [4x4] does not broadcast to [4x2]}}
  parplan.rope %x cos %x sin %x : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  return
}

// -----

func.func @attention_of_rank_three(%x: tensor<4x4x4xf32>) {
  // expected-error@+1 {{query, key and value need rank 4, not 3, 3 and 3}}
  parplan.attention %x, %x, %x scale 1.0 : tensor<4x4x4xf32>, tensor<4x4x4xf32>, tensor<4x4x4xf32>
  return
}

// -----

func.func @attention_of_two_types(%x: tensor<1x4x4x4xf32>, %y: tensor<1x4x4x4xf64>) {
  // expected-error@+1 {{query, key and value have the element types 'f32', 'f32' and 'f64'}}
  parplan.attention %x, %x, %y scale 1.0 : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf64>
  return
}

// -----

func.func @keys_of_another_size(%q: tensor<1x4x4x8xf32>, %k: tensor<1x4x4x4xf32>) {
  // expected-error@+1 {{query 'tensor<1x4x4x8xf32>', key 'tensor<1x4x4x4xf32>' and value 'tensor<1x4x4x4xf32>' do not fit}}
  parplan.attention %q, %k, %k scale 1.0 : tensor<1x4x4x8xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
  return
}

// -----

func.func @heads_that_do_not_group(%q: tensor<1x4x4x8xf32>, %k: tensor<1x4x3x8xf32>) {
  // expected-error@+1 {{4 query heads over 3 key heads}}
  parplan.attention %q, %k, %k scale 1.0 : tensor<1x4x4x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>
  return
}

// -----

func.func @mask_of_another_shape(%q: tensor<1x4x4x8xf32>, %m: tensor<5xi1>) {
  // expected-error@+1 {{mask of shape [5] does not broadcast to [1x4x4x4]}}
  parplan.attention %q, %q, %q mask %m : tensor<5xi1> scale 1.0 : tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>
  return
}

// -----

func.func @mask_of_another_type(%q: tensor<1x4x4x8xf32>, %m: tensor<4xi64>) {
  // expected-error@+1 {{mask has element type 'i64', neither i1 nor 'f32'}}
  parplan.attention %q, %q, %q mask %m : tensor<4xi64> scale 1.0 : tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>
  return
}

// -----

func.func @iota_elsewhere() {
  // expected-error@+1 {{dimension 1 does not exist in a tensor of rank 1}}
  parplan.iota 1 : tensor<4xi64>
  return
}

// -----

func.func @mask_with_too_few_coefficients() {
  // expected-error@+1 {{has 1 coefficients for 2 dimensions}}
  parplan.affine_mask [1] + 0 : tensor<4x4xi1>
  return
}
