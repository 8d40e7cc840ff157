// RUN: parplan-opt %s -verify-diagnostics -split-input-file

exec.program @sizes mesh <["ep0"=2 expert]> arena 640 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [4 over <> stride 8, 8 over <> stride 1]> : <4x8xf32>
  %i = exec.buffer input at 128 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi64>
  %y = exec.buffer output at 256 live 0 to 1 block <"y" dims [3 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <3x4x8xf32>
  // expected-error@+1 {{needs the sizes rows, tokens, width, experts per token (E9)}}
  exec.moe_dispatch %x, %i into %y shape [3, 4, 8] : <4x8xf32>, <4x2xi64>, <3x4x8xf32>
}

// -----

exec.program @values mesh <["ep0"=2 expert]> arena 640 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [4 over <> stride 8, 8 over <> stride 1]> : <4x8xf32>
  %i = exec.buffer input at 128 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi64>
  %y = exec.buffer output at 256 live 0 to 1 block <"y" dims [3 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <3x4x8xf32>
  // expected-error@+1 {{values has 96 elements, not 64 (E9)}}
  exec.moe_dispatch %x, %i into %y shape [2, 4, 8, 2] : <4x8xf32>, <4x2xi64>, <3x4x8xf32>
}

// -----

exec.program @first mesh <["ep0"=2 expert]> arena 704 events 0 {
  %x = exec.buffer output at 0 live 0 to 1 block <"x" dims [4 over <> stride 8, 8 over <> stride 1]> : <4x8xf32>
  %i = exec.buffer input at 128 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi64>
  %y = exec.buffer input at 256 live -1 to 1 block <"y" dims [3 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <3x4x8xf32>
  %f = exec.buffer input at 640 live -1 to 1 block <"f" dims []> : <f32>
  // expected-error@+1 {{counts experts from a value that is not i64 (E9)}}
  exec.moe_combine %y, %i first %f : !exec.buffer<f32> into %x shape [3, 4, 8, 2] : <3x4x8xf32>, <4x2xi64>, <4x8xf32>
}

// -----

exec.program @weights mesh <["ep0"=2 expert]> arena 704 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [4 over <> stride 8, 8 over <> stride 1]> : <4x8xf32>
  %i = exec.buffer input at 128 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi64>
  %y = exec.buffer input at 256 live -1 to 1 block <"y" dims [3 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <3x4x8xf32>
  %s = exec.buffer output at 640 live 0 to 1 block <"s" dims [4 over <> stride 1]> : <4xf32>
  // expected-error@+1 {{weights has 4 elements, not 8 (E9)}}
  exec.moe_weight_gradient %y, %x, %i into %s shape [3, 4, 8, 2] : <3x4x8xf32>, <4x8xf32>, <4x2xi64>, <4xf32>
}

// -----

exec.program @narrow_experts mesh <["ep0"=2 expert]> arena 640 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [4 over <> stride 8, 8 over <> stride 1]> : <4x8xf32>
  %i = exec.buffer input at 128 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi16>
  %y = exec.buffer output at 256 live 0 to 1 block <"y" dims [3 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <3x4x8xf32>
  // expected-error@+1 {{has experts of 'i16', not of i32 or i64 (E9)}}
  exec.moe_dispatch %x, %i into %y shape [3, 4, 8, 2] : <4x8xf32>, <4x2xi16>, <3x4x8xf32>
}

// -----

exec.program @sizes_of_a_product mesh <["ep0"=2 expert]> arena 2304 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [3 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <3x4x8xf32>
  %w = exec.buffer input at 384 live -1 to 1 block <"w" dims [3 over <> stride 16, 8 over <> stride 2, 2 over <> stride 1]> : <3x8x2xf32>
  %i = exec.buffer input at 576 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi64>
  %y = exec.buffer output at 640 live 0 to 1 block <"y" dims [3 over <> stride 8, 4 over <> stride 2, 2 over <> stride 1]> : <3x4x2xf32>
  %s = exec.buffer workspace at 768 live 0 to 1 : <1024xi8>
  // expected-error@+1 {{needs experts and experts per token, m, n, k, and three strides per operand (E9)}}
  exec.moe_matmul %x[8, 1], %w[2, 1], %i workspace %s : !exec.buffer<1024xi8> into %y[2, 1] sizes [3] shape [4, 2, 8] experts [32, 16, 8] : <3x4x8xf32>, <3x8x2xf32>, <4x2xi64>, <3x4x2xf32>
}

// -----

exec.program @reach_of_a_product mesh <["ep0"=2 expert]> arena 2304 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [3 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <3x4x8xf32>
  %w = exec.buffer input at 384 live -1 to 1 block <"w" dims [3 over <> stride 16, 8 over <> stride 2, 2 over <> stride 1]> : <3x8x2xf32>
  %i = exec.buffer input at 576 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi64>
  %y = exec.buffer output at 640 live 0 to 1 block <"y" dims [3 over <> stride 8, 4 over <> stride 2, 2 over <> stride 1]> : <3x4x2xf32>
  %s = exec.buffer workspace at 768 live 0 to 1 : <1024xi8>
  // expected-error@+1 {{lhs reaches elements 0 to 127 of 96 (E9)}}
  exec.moe_matmul %x[8, 1], %w[2, 1], %i workspace %s : !exec.buffer<1024xi8> into %y[2, 1] sizes [4, 2] shape [4, 2, 8] experts [32, 16, 8] : <3x4x8xf32>, <3x8x2xf32>, <4x2xi64>, <3x4x2xf32>
}

// -----

exec.program @choices_of_a_product mesh <["ep0"=2 expert]> arena 2304 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [3 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <3x4x8xf32>
  %w = exec.buffer input at 384 live -1 to 1 block <"w" dims [3 over <> stride 16, 8 over <> stride 2, 2 over <> stride 1]> : <3x8x2xf32>
  %i = exec.buffer input at 576 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi64>
  %y = exec.buffer output at 640 live 0 to 1 block <"y" dims [3 over <> stride 8, 4 over <> stride 2, 2 over <> stride 1]> : <3x4x2xf32>
  %s = exec.buffer workspace at 768 live 0 to 1 : <1024xi8>
  // expected-error@+1 {{experts has 8 elements, not 12 (E9)}}
  exec.moe_matmul %x[8, 1], %w[2, 1], %i workspace %s : !exec.buffer<1024xi8> into %y[2, 1] sizes [3, 3] shape [4, 2, 8] experts [32, 16, 8] : <3x4x8xf32>, <3x8x2xf32>, <4x2xi64>, <3x4x2xf32>
}

// -----

exec.program @workspace_of_a_product mesh <["ep0"=2 expert]> arena 2304 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [3 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <3x4x8xf32>
  %w = exec.buffer input at 384 live -1 to 1 block <"w" dims [3 over <> stride 16, 8 over <> stride 2, 2 over <> stride 1]> : <3x8x2xf32>
  %i = exec.buffer input at 576 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi64>
  %y = exec.buffer output at 640 live 0 to 1 block <"y" dims [3 over <> stride 8, 4 over <> stride 2, 2 over <> stride 1]> : <3x4x2xf32>
  %s = exec.buffer workspace at 768 live 0 to 1 : <512xi8>
  // expected-error@+1 {{has 512 bytes of workspace, not 1024 (E9)}}
  exec.moe_matmul %x[8, 1], %w[2, 1], %i workspace %s : !exec.buffer<512xi8> into %y[2, 1] sizes [3, 2] shape [4, 2, 8] experts [32, 16, 8] : <3x4x8xf32>, <3x8x2xf32>, <4x2xi64>, <3x4x2xf32>
}

// -----

// Vectors in place of matrices need none.
exec.program @workspace_of_vectors mesh <["ep0"=2 expert]> arena 2304 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [3 over <> stride 4, 4 over <> stride 1, 1 over <> stride 1]> : <3x4x1xf32>
  %w = exec.buffer input at 384 live -1 to 1 block <"w" dims [3 over <> stride 2, 1 over <> stride 2, 2 over <> stride 1]> : <3x1x2xf32>
  %i = exec.buffer input at 576 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi64>
  %y = exec.buffer output at 640 live 0 to 1 block <"y" dims [3 over <> stride 8, 4 over <> stride 2, 2 over <> stride 1]> : <3x4x2xf32>
  %s = exec.buffer workspace at 768 live 0 to 1 : <1024xi8>
  // expected-error@+1 {{has 1024 bytes of workspace, not 0 (E9)}}
  exec.moe_matmul %x[1, 1], %w[2, 1], %i workspace %s : !exec.buffer<1024xi8> into %y[2, 1] sizes [3, 2] shape [4, 2, 1] experts [4, 2, 8] : <3x4x1xf32>, <3x1x2xf32>, <4x2xi64>, <3x4x2xf32>
}

// -----

// Two experts of a token may be in the group, and have one row.
exec.program @rows_of_a_group mesh <["ep0"=2 expert]> arena 640 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [4 over <> stride 8, 8 over <> stride 1]> : <4x8xf32>
  %i = exec.buffer input at 128 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi64>
  %y = exec.buffer output at 256 live 0 to 1 block <"y" dims [3 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <3x4x8xf32>
  // expected-error@+1 {{has 3 rows of tokens with 2 experts, which are no groups of rows for them (E9)}}
  exec.moe_dispatch %x, %i into %y shape [3, 4, 8, 2] {groups = array<i64: 4, 1>} : <4x8xf32>, <4x2xi64>, <3x4x8xf32>
}

// -----

exec.program @groups_of_a_product mesh <["ep0"=2 expert]> arena 2304 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [3 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <3x4x8xf32>
  %w = exec.buffer input at 384 live -1 to 1 block <"w" dims [3 over <> stride 16, 8 over <> stride 2, 2 over <> stride 1]> : <3x8x2xf32>
  %i = exec.buffer input at 576 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi64>
  %y = exec.buffer output at 640 live 0 to 1 block <"y" dims [3 over <> stride 8, 4 over <> stride 2, 2 over <> stride 1]> : <3x4x2xf32>
  %s = exec.buffer workspace at 768 live 0 to 1 : <1024xi8>
  // expected-error@+1 {{has experts that are no groups (E9)}}
  exec.moe_matmul %x[8, 1], %w[2, 1], %i workspace %s : !exec.buffer<1024xi8> into %y[2, 1] sizes [3, 2] shape [4, 2, 8] experts [32, 16, 8] {groups = array<i64: 2, 2>} : <3x4x8xf32>, <3x8x2xf32>, <4x2xi64>, <3x4x2xf32>
}

// -----

exec.program @numbers_of_rows mesh <["ep0"=2 expert]> arena 2304 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [3 over <> stride 32, 4 over <> stride 8, 8 over <> stride 1]> : <3x4x8xf32>
  %w = exec.buffer input at 384 live -1 to 1 block <"w" dims [3 over <> stride 16, 8 over <> stride 2, 2 over <> stride 1]> : <3x8x2xf32>
  %i = exec.buffer input at 576 live -1 to 1 block <"i" dims [4 over <> stride 2, 2 over <> stride 1]> : <4x2xi64>
  %y = exec.buffer output at 640 live 0 to 1 block <"y" dims [3 over <> stride 8, 4 over <> stride 2, 2 over <> stride 1]> : <3x4x2xf32>
  %s = exec.buffer workspace at 768 live 0 to 1 : <1024xi8>
  // expected-error@+1 {{has 2^31 rows or more (E9)}}
  exec.moe_matmul %x[8, 1], %w[2, 1], %i workspace %s : !exec.buffer<1024xi8> into %y[2, 1] sizes [3, 2] shape [1000000000, 2, 8] experts [32, 16, 8] : <3x4x8xf32>, <3x8x2xf32>, <4x2xi64>, <3x4x2xf32>
}
