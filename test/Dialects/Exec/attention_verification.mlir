// RUN: parplan-opt %s -split-input-file -verify-diagnostics

exec.program @accumulates_without_statistics mesh <["c"=2 context]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{accumulates without log_sum_exp (E9)}}
  exec.attention accumulate %x, %x, %x into %y {key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @statistics_of_another_type mesh <["c"=2 context]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  %l = exec.buffer output at 128 live 0 to 1 block <"l" dims [4 over <> stride 1]> : <4xf64>
  // expected-error@+1 {{has a log_sum_exp of 'f64', not of 'f32' (E9)}}
  exec.attention %x, %x, %x log_sum_exp %l : !exec.buffer<4xf64> into %y {key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @few_statistics mesh <["c"=2 context]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  %l = exec.buffer output at 128 live 0 to 1 block <"l" dims [3 over <> stride 1]> : <3xf32>
  // expected-error@+1 {{log_sum_exp has 3 elements, not 4 (E9)}}
  exec.attention %x, %x, %x log_sum_exp %l : !exec.buffer<3xf32> into %y {key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @half_a_position mesh <["c"=2 context]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs key_start and valid_keys, the start and the extent of one block, or neither (E9)}}
  exec.attention %x, %x, %x into %y {key_start = #exec.rank_value<start of 8 over <"c"> back 1>, key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @key_start_that_is_an_extent mesh <["c"=2 context]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs key_start and valid_keys, the start and the extent of one block, or neither (E9)}}
  exec.attention %x, %x, %x into %y {key_start = #exec.rank_value<extent of 8 over <"c">>, key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, valid_keys = #exec.rank_value<extent of 8 over <"c">>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @valid_keys_that_are_a_start mesh <["c"=2 context]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs key_start and valid_keys, the start and the extent of one block, or neither (E9)}}
  exec.attention %x, %x, %x into %y {key_start = #exec.rank_value<start of 8 over <"c">>, key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, valid_keys = #exec.rank_value<start of 8 over <"c">>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @keys_of_two_sizes mesh <["c"=2 context]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs key_start and valid_keys, the start and the extent of one block, or neither (E9)}}
  exec.attention %x, %x, %x into %y {key_start = #exec.rank_value<start of 8 over <"c">>, key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, valid_keys = #exec.rank_value<extent of 7 over <"c">>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @keys_over_two_axes mesh <["c"=2 context, "d"=2 context]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs key_start and valid_keys, the start and the extent of one block, or neither (E9)}}
  exec.attention %x, %x, %x into %y {key_start = #exec.rank_value<start of 8 over <"c">>, key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, valid_keys = #exec.rank_value<extent of 8 over <"d">>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @keys_of_two_hops mesh <["c"=2 context]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs key_start and valid_keys, the start and the extent of one block, or neither (E9)}}
  exec.attention %x, %x, %x into %y {key_start = #exec.rank_value<start of 8 over <"c"> back 1>, key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, valid_keys = #exec.rank_value<extent of 8 over <"c">>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @query_start_that_is_an_extent mesh <["c"=2 context]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs as query_start the start of a block of its own rank (E9)}}
  exec.attention %x, %x, %x into %y {key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_start = #exec.rank_value<extent of 8 over <"c">>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @queries_of_another_rank mesh <["c"=2 context]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs as query_start the start of a block of its own rank (E9)}}
  exec.attention %x, %x, %x into %y {key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_start = #exec.rank_value<start of 8 over <"c"> back 1>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @whole_mask_of_all_keys mesh <["c"=2 context]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has no mask of all keys of a block (E9)}}
  exec.attention %x, %x, %x into %y {key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, value_strides = array<i64: 16, 4, 4>, whole_mask} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

// All columns of the mask, not only those of a block.
exec.program @short_whole_mask mesh <["c"=2 context]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %m = exec.buffer input at 64 live -1 to 1 block <"m" dims [4 over <> stride 1]> : <4xi1>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{mask reaches elements 0 to 7 of 4 (E9)}}
  exec.attention %x, %x, %x mask %m : !exec.buffer<4xi1> into %y {key_start = #exec.rank_value<start of 8 over <"c">>, key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64: 0, 0, 0, 1>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, valid_keys = #exec.rank_value<extent of 8 over <"c">>, value_strides = array<i64: 16, 4, 4>, whole_mask} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}

// -----

exec.program @gradient_of_fewer_keys mesh <["c"=2 context]> arena 320 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %l = exec.buffer input at 64 live -1 to 1 block <"l" dims [4 over <> stride 1]> : <4xf32>
  %q = exec.buffer output at 128 live 0 to 1 block <"q" dims [16 over <> stride 1]> : <16xf32>
  %k = exec.buffer output at 192 live 0 to 1 block <"k" dims [12 over <> stride 1]> : <12xf32>
  %v = exec.buffer output at 256 live 0 to 1 block <"v" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{key_gradient has 12 elements, not 16 (E9)}}
  exec.attention_gradient %x, %x, %x result %x, %l gradient %x into %q, %k, %v {gradient_strides = array<i64: 16, 4, 4>, key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, query_strides = array<i64: 16, 4, 4>, result_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>, <4xf32>, <16xf32> -> <16xf32>, <12xf32>, <16xf32>
}

// -----

exec.program @gradient_of_two_types mesh <["c"=2 context]> arena 320 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %l = exec.buffer input at 64 live -1 to 1 block <"l" dims [4 over <> stride 1]> : <4xf32>
  %q = exec.buffer output at 128 live 0 to 1 block <"q" dims [16 over <> stride 1]> : <16xf32>
  %k = exec.buffer output at 192 live 0 to 1 block <"k" dims [16 over <> stride 1]> : <16xbf16>
  %v = exec.buffer output at 256 live 0 to 1 block <"v" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{mixes 'f32' and 'bf16' (E9)}}
  exec.attention_gradient %x, %x, %x result %x, %l gradient %x into %q, %k, %v {gradient_strides = array<i64: 16, 4, 4>, key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, query_strides = array<i64: 16, 4, 4>, result_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>, <4xf32>, <16xf32> -> <16xf32>, <16xbf16>, <16xf32>
}

// -----

exec.program @zigzag_without_positions mesh <["c"=2 context]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{is no causal block of as many queries as keys, two chunks of a zig-zag order (E9)}}
  exec.attention %x, %x, %x into %y causal zigzag {key_start = #exec.rank_value<start of 8 over <"c">>, key_strides = array<i64: 16, 4, 4>, mask_strides = array<i64>, output_strides = array<i64: 16, 4, 4>, query_strides = array<i64: 16, 4, 4>, scale = 1.0, shape = array<i64: 1, 4, 4, 1, 1, 4, 4>, valid_keys = #exec.rank_value<extent of 8 over <"c">>, value_strides = array<i64: 16, 4, 4>} : <16xf32>, <16xf32>, <16xf32>, <16xf32>
}
