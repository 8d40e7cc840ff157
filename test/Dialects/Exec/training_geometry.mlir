// RUN: parplan-opt %s -verify-diagnostics -split-input-file

exec.program @labels mesh <["tp0"=2 tensor]> arena 144 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %l = exec.buffer input at 64 live -1 to 1 block <"l" dims [3 over <> stride 1]> : <3xi64>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [4 over <> stride 1]> : <4xf32>
  // expected-error@+1 {{labels has 3 elements, not 4 (E9)}}
  exec.cross_entropy %x, %l into %y rows 4, 4 : !exec.buffer<16xf32>, !exec.buffer<3xi64>, !exec.buffer<4xf32>
}

// -----

exec.program @log_sum_exp mesh <["tp0"=2 tensor]> arena 224 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %l = exec.buffer input at 64 live -1 to 1 block <"l" dims [4 over <> stride 1]> : <4xi64>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [4 over <> stride 1]> : <4xf32>
  %z = exec.buffer output at 192 live 0 to 1 block <"z" dims [4 over <> stride 1]> : <4xf64>
  // expected-error@+1 {{mixes 'f32' and 'f64' (E9)}}
  exec.cross_entropy %x, %l into %y log_sum_exp %z rows 4, 4 : !exec.buffer<16xf32>, !exec.buffer<4xi64>, !exec.buffer<4xf32>, !exec.buffer<4xf64>
}

// -----

exec.program @square_sum mesh <["tp0"=2 tensor]> arena 80 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [2 over <> stride 1]> : <2xf64>
  // expected-error@+1 {{output has 2 elements, not 1 (E9)}}
  exec.square_sum %x into %y : <16xf32>, <2xf64>
}

// -----

exec.program @short_square_sum mesh <["tp0"=2 tensor]> arena 68 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims []> : <f32>
  // expected-error@+1 {{sums up in f64, not in 'f32' (E9)}}
  exec.square_sum %x into %y : <16xf32>, <f32>
}

// -----

exec.program @states mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %p = exec.buffer input at 0 live -1 to 1 block <"p" dims [16 over <> stride 1]> : <16xf32>
  %r = exec.buffer input at 64 live -1 to 1 block <"r" dims [1 over <> stride 1]> : <1xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{needs 1 states, old and new (E9)}}
  exec.update momentum %p, %p learning_rate %r into %y {beta1 = 0.9, beta2 = 0.9, epsilon = 1.0e-8, weight_decay = 0.0, momentum = 0.0} : !exec.buffer<16xf32>, !exec.buffer<16xf32>, !exec.buffer<1xf32>, !exec.buffer<16xf32>
}

// -----

exec.program @numbers mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %p = exec.buffer input at 0 live -1 to 1 block <"p" dims [16 over <> stride 1]> : <16xf32>
  %r = exec.buffer input at 64 live -1 to 1 block <"r" dims [1 over <> stride 1]> : <1xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{takes the numbers of another optimizer (E9)}}
  exec.update sgd %p, %p learning_rate %r step_size %r into %y {beta1 = 0.9, beta2 = 0.9, epsilon = 1.0e-8, weight_decay = 0.0, momentum = 0.0} : !exec.buffer<16xf32>, !exec.buffer<16xf32>, !exec.buffer<1xf32>, !exec.buffer<1xf32>, !exec.buffer<16xf32>
}

// -----

exec.program @skip mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %p = exec.buffer input at 0 live -1 to 1 block <"p" dims [16 over <> stride 1]> : <16xf32>
  %r = exec.buffer input at 64 live -1 to 1 block <"r" dims [1 over <> stride 1]> : <1xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{skips by a value that is not i1 (E9)}}
  exec.update sgd %p, %p learning_rate %r skip %r into %y {beta1 = 0.9, beta2 = 0.9, epsilon = 1.0e-8, weight_decay = 0.0, momentum = 0.0} : !exec.buffer<16xf32>, !exec.buffer<16xf32>, !exec.buffer<1xf32>, !exec.buffer<1xf32>, !exec.buffer<16xf32>
}

// -----

exec.program @gradient mesh <["tp0"=2 tensor]> arena 256 events 0 {
  %p = exec.buffer input at 0 live -1 to 1 block <"p" dims [16 over <> stride 1]> : <16xf32>
  %g = exec.buffer input at 64 live -1 to 1 block <"g" dims [8 over <> stride 1]> : <8xf32>
  %r = exec.buffer input at 128 live -1 to 1 block <"r" dims [1 over <> stride 1]> : <1xf32>
  %y = exec.buffer output at 192 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{gradient has 8 elements, not 16 (E9)}}
  exec.update sgd %p, %g learning_rate %r into %y {beta1 = 0.9, beta2 = 0.9, epsilon = 1.0e-8, weight_decay = 0.0, momentum = 0.0} : !exec.buffer<16xf32>, !exec.buffer<8xf32>, !exec.buffer<1xf32>, !exec.buffer<16xf32>
}

// -----

exec.program @rate mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %p = exec.buffer input at 0 live -1 to 1 block <"p" dims [16 over <> stride 1]> : <16xf32>
  %r = exec.buffer input at 64 live -1 to 1 block <"r" dims [2 over <> stride 1]> : <2xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{a scalar has 2 elements, not 1 (E9)}}
  exec.update sgd %p, %p learning_rate %r into %y {beta1 = 0.9, beta2 = 0.9, epsilon = 1.0e-8, weight_decay = 0.0, momentum = 0.0} : !exec.buffer<16xf32>, !exec.buffer<16xf32>, !exec.buffer<2xf32>, !exec.buffer<16xf32>
}

// -----

exec.program @embedding_sizes mesh <["tp0"=2 tensor]> arena 256 events 0 {
  %i = exec.buffer input at 0 live -1 to 1 block <"i" dims [4 over <> stride 1]> : <4xi64>
  %g = exec.buffer input at 64 live -1 to 1 block <"g" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [32 over <> stride 1]> : <32xf32>
  // expected-error@+1 {{needs the sizes ids, rows, width (E9)}}
  exec.embedding_gradient %i, %g into %y shape [4, 8] : <4xi64>, <16xf32>, <32xf32>
}

// -----

exec.program @embedding mesh <["tp0"=2 tensor]> arena 256 events 0 {
  %i = exec.buffer input at 0 live -1 to 1 block <"i" dims [4 over <> stride 1]> : <4xi64>
  %g = exec.buffer input at 64 live -1 to 1 block <"g" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [32 over <> stride 1]> : <32xf32>
  // expected-error@+1 {{output has 32 elements, not 28 (E9)}}
  exec.embedding_gradient %i, %g into %y shape [4, 7, 4] : <4xi64>, <16xf32>, <32xf32>
}

// -----

exec.program @gather_sizes mesh <["tp0"=2 tensor]> arena 256 events 0 {
  %g = exec.buffer input at 0 live -1 to 1 block <"g" dims [16 over <> stride 1]> : <16xf32>
  %i = exec.buffer input at 64 live -1 to 1 block <"i" dims [4 over <> stride 1]> : <4xi64>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [32 over <> stride 1]> : <32xf32>
  // expected-error@+1 {{needs the sizes outer, length, count, inner (E9)}}
  exec.gather_gradient %g, %i into %y shape [1, 8, 4] : <16xf32>, <4xi64>, <32xf32>
}

// -----

exec.program @gather mesh <["tp0"=2 tensor]> arena 256 events 0 {
  %g = exec.buffer input at 0 live -1 to 1 block <"g" dims [16 over <> stride 1]> : <16xf32>
  %i = exec.buffer input at 64 live -1 to 1 block <"i" dims [4 over <> stride 1]> : <4xi64>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [32 over <> stride 1]> : <32xf32>
  // expected-error@+1 {{gradient has 16 elements, not 12 (E9)}}
  exec.gather_gradient %g, %i into %y shape [1, 8, 4, 3] : <16xf32>, <4xi64>, <32xf32>
}

// -----

exec.program @gather_elements_dim mesh <["tp0"=2 tensor]> arena 320 events 0 {
  %g = exec.buffer input at 0 live -1 to 1 block <"g" dims [16 over <> stride 1]> : <16xf32>
  %i = exec.buffer input at 64 live -1 to 1 block <"i" dims [16 over <> stride 1]> : <16xi64>
  %y = exec.buffer output at 192 live 0 to 1 block <"y" dims [32 over <> stride 1]> : <32xf32>
  // expected-error@+1 {{needs shapes of one rank with dimension 2 (E9)}}
  exec.gather_elements_gradient %g, %i [4, 4] into %y [8, 4] dim 2 : <16xf32>, <16xi64>, <32xf32>
}

// -----

exec.program @gather_elements mesh <["tp0"=2 tensor]> arena 320 events 0 {
  %g = exec.buffer input at 0 live -1 to 1 block <"g" dims [16 over <> stride 1]> : <16xf32>
  %i = exec.buffer input at 64 live -1 to 1 block <"i" dims [16 over <> stride 1]> : <16xi64>
  %y = exec.buffer output at 192 live 0 to 1 block <"y" dims [32 over <> stride 1]> : <32xf32>
  // expected-error@+1 {{output has 32 elements, not 28 (E9)}}
  exec.gather_elements_gradient %g, %i [4, 4] into %y [7, 4] dim 0 : <16xf32>, <16xi64>, <32xf32>
}

// -----

exec.program @gather_nd mesh <["tp0"=2 tensor]> arena 320 events 0 {
  %g = exec.buffer input at 0 live -1 to 1 block <"g" dims [16 over <> stride 1]> : <16xf32>
  %i = exec.buffer input at 64 live -1 to 1 block <"i" dims [16 over <> stride 1]> : <16xi64>
  %y = exec.buffer output at 192 live 0 to 1 block <"y" dims [32 over <> stride 1]> : <32xf32>
  // expected-error@+1 {{indices has 16 elements, not 8 (E9)}}
  exec.gather_nd_gradient %g, %i into %y batch 2 count 4 indexed [8] inner 2 : <16xf32>, <16xi64>, <32xf32>
}

// -----

exec.program @groups mesh <["tp0"=2 tensor]> arena 160 events 0 {
  %g = exec.buffer input at 0 live -1 to 1 block <"g" dims [8 over <> stride 1]> : <8xf32>
  %w = exec.buffer input at 64 live -1 to 1 block <"w" dims [12 over <> stride 1]> : <12xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [8 over <> stride 1]> : <8xf32>
  // expected-error@+1 {{has 3 groups that do not divide the channels (E9)}}
  exec.convolution_input_gradient %g, %w into %y {batch = 1 : i64, in_channels = 2 : i64, out_channels = 2 : i64, groups = 3 : i64, in = array<i64: 4>, out = array<i64: 4>, window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 1>} : !exec.buffer<8xf32>, !exec.buffer<12xf32>, !exec.buffer<8xf32>
}

// -----

exec.program @convolution_input mesh <["tp0"=2 tensor]> arena 160 events 0 {
  %g = exec.buffer input at 0 live -1 to 1 block <"g" dims [8 over <> stride 1]> : <8xf32>
  %w = exec.buffer input at 64 live -1 to 1 block <"w" dims [12 over <> stride 1]> : <12xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [8 over <> stride 1]> : <8xf32>
  // expected-error@+1 {{output has 8 elements, not 6 (E9)}}
  exec.convolution_input_gradient %g, %w into %y {batch = 1 : i64, in_channels = 2 : i64, out_channels = 2 : i64, groups = 1 : i64, in = array<i64: 4>, out = array<i64: 3>, window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 1>} : !exec.buffer<8xf32>, !exec.buffer<12xf32>, !exec.buffer<8xf32>
}

// -----

exec.program @convolution_workspace mesh <["tp0"=2 tensor]> arena 160 events 0 {
  %g = exec.buffer input at 0 live -1 to 1 block <"g" dims [8 over <> stride 1]> : <8xf32>
  %w = exec.buffer input at 64 live -1 to 1 block <"w" dims [12 over <> stride 1]> : <12xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [8 over <> stride 1]> : <8xf32>
  // expected-error-re@+1 {{has 0 bytes of workspace, not {{[0-9]+}} (E9)}}
  exec.convolution_input_gradient %g, %w into %y {batch = 1 : i64, in_channels = 2 : i64, out_channels = 2 : i64, groups = 1 : i64, in = array<i64: 4>, out = array<i64: 4>, window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 1>} : !exec.buffer<8xf32>, !exec.buffer<12xf32>, !exec.buffer<8xf32>
}

// -----

exec.program @convolution_weight mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [8 over <> stride 1]> : <8xf32>
  %g = exec.buffer input at 64 live -1 to 1 block <"g" dims [8 over <> stride 1]> : <8xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{weight has 16 elements, not 12 (E9)}}
  exec.convolution_weight_gradient %x, %g into %y {batch = 1 : i64, in_channels = 2 : i64, out_channels = 2 : i64, groups = 1 : i64, in = array<i64: 4>, out = array<i64: 4>, window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 1>} : !exec.buffer<8xf32>, !exec.buffer<8xf32>, !exec.buffer<16xf32>
}

// -----

exec.program @max_pool mesh <["tp0"=2 tensor]> arena 156 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [8 over <> stride 1]> : <8xf32>
  %g = exec.buffer input at 64 live -1 to 1 block <"g" dims [4 over <> stride 1]> : <4xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [7 over <> stride 1]> : <7xf32>
  // expected-error@+1 {{input has 7 elements, not 8 (E9)}}
  exec.max_pool_gradient %x, %g into %y {batch = 1 : i64, channels = 2 : i64, in = array<i64: 4>, out = array<i64: 2>, window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : <8xf32>, <4xf32>, <7xf32>
}

// -----

exec.program @average_pool mesh <["tp0"=2 tensor]> arena 96 events 0 {
  %g = exec.buffer input at 0 live -1 to 1 block <"g" dims [5 over <> stride 1]> : <5xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [8 over <> stride 1]> : <8xf32>
  // expected-error@+1 {{output has 5 elements, not 4 (E9)}}
  exec.average_pool_gradient %g into %y {batch = 1 : i64, channels = 2 : i64, in = array<i64: 4>, out = array<i64: 2>, window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : <5xf32>, <8xf32>
}
