// RUN: parplan-opt %s -verify-diagnostics -split-input-file

exec.program @mixed_types mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf64>
  // expected-error@+1 {{mixes 'f32' and 'f64' (E9)}}
  exec.softmax %x into %y rows 4, 4, 1 : <16xf32>, <16xf64>
}

// -----

exec.program @rows mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{input has 16 elements, not 20 (E9)}}
  exec.softmax %x into %y rows 4, 5, 1 : <16xf32>, <16xf32>
}

// -----

exec.program @reduced mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{output has 16 elements, not 4 (E9)}}
  exec.reduce sum %x into %y rows 4, 4, 1 : <16xf32>, <16xf32>
}

// -----

exec.program @scale mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %s = exec.buffer input at 64 live -1 to 1 block <"s" dims [3 over <> stride 1]> : <3xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{scale has 3 elements, not 4 (E9)}}
  exec.layer_norm %x scale %s : !exec.buffer<3xf32> into %y rows 4, 4 epsilon 1.0e-5 : <16xf32>, <16xf32>
}

// -----

exec.program @rms_scale mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %s = exec.buffer input at 64 live -1 to 1 block <"s" dims [3 over <> stride 1]> : <3xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{scale has 3 elements, not 4 (E9)}}
  exec.rms_norm %x scale %s : !exec.buffer<3xf32> into %y rows 4, 4 epsilon 1.0e-5 : <16xf32>, <16xf32>
}

// -----

exec.program @running mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{input has 16 elements, not 12 (E9)}}
  exec.cumsum %x into %y rows 4, 3, 1 : <16xf32>, <16xf32>
}

// -----

exec.program @matmul_lists mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %w = exec.buffer input at 64 live -1 to 1 block <"w" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs m, n, k and two strides per operand (E9)}}
  exec.matmul %x [4, 1], %w [4] into %y [4, 1] shape [4, 4, 4] batch [] : [], [], [] : <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @matmul_reach mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %w = exec.buffer input at 64 live -1 to 1 block <"w" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{rhs reaches elements 0 to 18 of 16 (E9)}}
  exec.matmul %x [4, 1], %w [5, 1] into %y [4, 1] shape [4, 4, 4] batch [] : [], [], [] : <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @matmul_batch_strides mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %w = exec.buffer input at 64 live -1 to 1 block <"w" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{lhs needs 3 strides (E9)}}
  exec.matmul %x [4, 1], %w [4, 1] into %y [4, 1] shape [2, 4, 4] batch [2] : [], [0], [8] : <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @matmul_batches mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %w = exec.buffer input at 64 live -1 to 1 block <"w" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has more than four batch dimensions (E9)}}
  exec.matmul %x [4, 1], %w [4, 1] into %y [4, 1] shape [4, 4, 4] batch [1, 1, 1, 1, 1] : [0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0] : <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @copy_reach mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{input reaches elements 1 to 16 of 16 (E9)}}
  exec.copy %x at 1 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

exec.program @copy_negative mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{input reaches elements -15 to 0 of 16 (E9)}}
  exec.copy %x at 0 [-1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

exec.program @copy_extent mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{input has a negative extent (E9)}}
  exec.copy %x at 0 [1] into %y at 0 [1] extents [-1] : <16xf32>, <16xf32>
}

// -----

exec.program @copy_rank mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has more than eight dimensions (E9)}}
  exec.copy %x at 0 [1, 1, 1, 1, 1, 1, 1, 1, 1] into %y at 0 [1, 1, 1, 1, 1, 1, 1, 1, 1] extents [1, 1, 1, 1, 1, 1, 1, 1, 1] : <16xf32>, <16xf32>
}

// -----

exec.program @conv_groups mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %w = exec.buffer input at 64 live -1 to 1 block <"w" dims [1 over <> stride 1]> : <1xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has 2 groups that do not divide the channels (E9)}}
  exec.convolution %x, %w into %y {batch = 1 : i64, groups = 2 : i64, in = array<i64: 4, 4>, in_channels = 1 : i64, out = array<i64: 4, 4>, out_channels = 1 : i64, window = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>} : <16xf32>, <1xf32>, <16xf32>
}

// -----

exec.program @conv_lists mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %w = exec.buffer input at 64 live -1 to 1 block <"w" dims [1 over <> stride 1]> : <1xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs 2 entries per list (E9)}}
  exec.convolution %x, %w into %y {batch = 1 : i64, groups = 1 : i64, in = array<i64: 4, 4>, in_channels = 1 : i64, out = array<i64: 4, 4>, out_channels = 1 : i64, window = array<i64: 1, 1>, strides = array<i64: 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>} : <16xf32>, <1xf32>, <16xf32>
}

// -----

exec.program @conv_weight mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %w = exec.buffer input at 64 live -1 to 1 block <"w" dims [2 over <> stride 1]> : <2xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{weight has 2 elements, not 1 (E9)}}
  exec.convolution %x, %w into %y {batch = 1 : i64, groups = 1 : i64, in = array<i64: 4, 4>, in_channels = 1 : i64, out = array<i64: 4, 4>, out_channels = 1 : i64, window = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>} : <16xf32>, <2xf32>, <16xf32>
}

// -----

exec.program @conv_workspace mesh <["tp0"=2 tensor]> arena 256 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %w = exec.buffer input at 64 live -1 to 1 block <"w" dims [1 over <> stride 1]> : <1xf32>
  %t = exec.buffer workspace at 128 live 0 to 0 : <64xi8>
  %y = exec.buffer output at 192 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has 64 bytes of workspace, not 0 (E9)}}
  exec.convolution %x, %w workspace %t : !exec.buffer<64xi8> into %y {batch = 1 : i64, groups = 1 : i64, in = array<i64: 4, 4>, in_channels = 1 : i64, out = array<i64: 4, 4>, out_channels = 1 : i64, window = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>} : <16xf32>, <1xf32>, <16xf32>
}

// -----

exec.program @pool_rank mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs one to three spatial dimensions (E9)}}
  exec.pool max %x into %y {batch = 1 : i64, channels = 16 : i64, in = array<i64>, out = array<i64>, window = array<i64>, strides = array<i64>, dilations = array<i64>, pads_low = array<i64>, pads_high = array<i64>} : <16xf32>, <16xf32>
}

// -----

exec.program @pool_output mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{output has 16 elements, not 8 (E9)}}
  exec.pool max %x into %y {batch = 1 : i64, channels = 4 : i64, in = array<i64: 4>, out = array<i64: 2>, window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : <16xf32>, <16xf32>
}

// -----

exec.program @attention_lists mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs seven sizes, three strides per operand and four of the mask (E9)}}
  exec.attention %x, %x, %x into %y {key_strides = array<i64: 8, 4, 4>, mask_strides = array<i64: 1>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @attention_heads mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has 3 heads over 2 key heads (E9)}}
  exec.attention %x, %x, %x into %y {key_strides = array<i64: 8, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 3, 2, 4, 4>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @attention_reach mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{query reaches elements 0 to 19 of 16 (E9)}}
  exec.attention %x, %x, %x into %y {key_strides = array<i64: 8, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 2, 2, 4, 4>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @attention_workspace mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has 0 bytes of workspace, not}}
  exec.attention %x, %x, %x into %y {key_strides = array<i64: 8, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @topk_nothing mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{writes nothing (E9)}}
  exec.topk %x rows 4, 4, 1 count 2 largest true : <16xf32>
}

// -----

exec.program @topk_count mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{takes 5 of 4 elements (E9)}}
  exec.topk %x values %y : !exec.buffer<16xf32> rows 4, 4, 1 count 5 largest true : <16xf32>
}

// -----

exec.program @topk_indices mesh <["tp0"=2 tensor]> arena 96 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %i = exec.buffer output at 64 live 0 to 1 block <"i" dims [8 over <> stride 1]> : <8xi32>
  // expected-error@+1 {{writes indices that are not i64 (E9)}}
  exec.topk %x indices %i : !exec.buffer<8xi32> rows 4, 4, 1 count 2 largest true : <16xf32>
}

// -----

exec.program @embedding_lists mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %i = exec.buffer input at 64 live -1 to 1 block <"i" dims [2 over <> stride 1]> : <2xi64>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs the sizes ids, rows, width (E9)}}
  exec.embedding %i, %x into %y shape [2, 4] : <2xi64>, <16xf32>, <16xf32>
}

// -----

exec.program @embedding_output mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %i = exec.buffer input at 64 live -1 to 1 block <"i" dims [2 over <> stride 1]> : <2xi64>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{output has 16 elements, not 8 (E9)}}
  exec.embedding %i, %x into %y shape [2, 4, 4] : <2xi64>, <16xf32>, <16xf32>
}

// -----

exec.program @gather_lists mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %i = exec.buffer input at 64 live -1 to 1 block <"i" dims [2 over <> stride 1]> : <2xi64>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs the sizes outer, length, count, inner (E9)}}
  exec.gather %x, %i into %y shape [2, 4] : <16xf32>, <2xi64>, <16xf32>
}

// -----

exec.program @gather_data mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %i = exec.buffer input at 64 live -1 to 1 block <"i" dims [2 over <> stride 1]> : <2xi64>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{data has 16 elements, not 32 (E9)}}
  exec.gather %x, %i into %y shape [2, 4, 2, 4] : <16xf32>, <2xi64>, <16xf32>
}

// -----

exec.program @gather_elements_dim mesh <["tp0"=2 tensor]> arena 256 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %i = exec.buffer input at 64 live -1 to 1 block <"i" dims [16 over <> stride 1]> : <16xi64>
  %y = exec.buffer output at 192 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs shapes of one rank with dimension 1 (E9)}}
  exec.gather_elements %x [16], %i [16] into %y dim 1 : <16xf32>, <16xi64>, <16xf32>
}

// -----

exec.program @gather_nd_indices mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %i = exec.buffer input at 64 live -1 to 1 block <"i" dims [2 over <> stride 1]> : <2xi64>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{indices has 2 elements, not 4 (E9)}}
  exec.gather_nd %x, %i into %y batch 1 count 4 indexed [4] inner 4 : <16xf32>, <2xi64>, <16xf32>
}

// -----

exec.program @collective_communicator mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{names no communicator: @c0 (E13)}}
  exec.collective all_reduce @c0 kind sum %x into %y count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

exec.program @collective_types mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xi32>
  // expected-error@+1 {{mixes 'f32' and 'i32' (E13)}}
  exec.collective all_reduce @c0 kind sum %x into %y count 16 bytes 64 : <16xf32>, <16xi32>
}

// -----

exec.program @collective_counts mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{of 16 elements over 2 ranks moves 16 into 16 (E13)}}
  exec.collective all_gather @c0 %x into %y count 16 bytes 128 : <16xf32>, <16xf32>
}

// -----

exec.program @collective_bytes mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{counts 60 bytes, not 64 (E13)}}
  exec.collective all_reduce @c0 kind sum %x into %y count 16 bytes 60 : <16xf32>, <16xf32>
}

// -----

exec.program @collective_without_kind mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs a kind (E13)}}
  exec.collective all_reduce @c0 %x into %y count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

exec.program @collective_with_kind mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has a kind (E13)}}
  exec.collective broadcast @c0 kind sum root 0 %x into %y count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

exec.program @collective_without_root mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs a root (E13)}}
  exec.collective broadcast @c0 %x into %y count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

exec.program @collective_with_root mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has a root (E13)}}
  exec.collective all_reduce @c0 kind sum root 0 %x into %y count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

exec.program @collective_root mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has the root 2 of 2 ranks (E13)}}
  exec.collective broadcast @c0 root 2 %x into %y count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

exec.program @exchange_communicator mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{names no communicator: @c0 (E14)}}
  exec.exchange @c0 %x into %y send [1, 0] receive [1, 0] count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

exec.program @exchange_permutation mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs inverse permutations of 2 positions (E14)}}
  exec.exchange @c0 %x into %y send [1, 1] receive [1, 0] count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

exec.program @exchange_count mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{count, bytes and buffers disagree (E14)}}
  exec.exchange @c0 %x into %y send [1, 0] receive [1, 0] count 15 bytes 64 : <16xf32>, <16xf32>
}

// -----

exec.program @member_of_nothing mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{names no communicator: @c0 (E16)}}
  exec.copy %x at 0 [1] into %y at 0 [1] extents [16] only <0 of @c0> : <16xf32>, <16xf32>
}

// -----

exec.program @member_beyond_the_group mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{is for member 2 of 2 (E16)}}
  exec.copy %x at 0 [1] into %y at 0 [1] extents [16] only <2 of @c0> : <16xf32>, <16xf32>
}
