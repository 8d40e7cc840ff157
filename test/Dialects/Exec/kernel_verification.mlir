// RUN: parplan-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{has 1 arguments for 2 dimensions and 0 scalars}}
exec.kernel @arguments space [2, 3] inputs [] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.literal 1.0 : f32 -> f32
  exec.store %x at 0 strides [3, 1] : f32
}

// -----

// expected-error@+1 {{has an argument of type 'i32', not i64}}
exec.kernel @argument_type space [2] inputs [] output f32 scalars 0 {
^bb0(%i: i32):
  %x = exec.literal 1.0 : f32 -> f32
  exec.store %x at 0 strides [1] : f32
}

// -----

// expected-error@+1 {{has a space of 0 dimensions; 1 to 8 fit}}
exec.kernel @no_space space [] inputs [] output f32 scalars 0 {
  %x = exec.literal 1.0 : f32 -> f32
  exec.store %x at 0 strides [] : f32
}

// -----

// expected-error@+1 {{has a negative size in its space}}
exec.kernel @negative_space space [-1] inputs [] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.literal 1.0 : f32 -> f32
  exec.store %x at 0 strides [1] : f32
}

// -----

// expected-error@+1 {{stores nothing}}
exec.kernel @no_store space [2] inputs [] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.literal 1.0 : f32 -> f32
}

// -----

exec.kernel @strides space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  // expected-error@+1 {{needs 1 strides (E10)}}
  %x = exec.load 0 at 0 strides [2, 1] : f32
  exec.store %x at 0 strides [1] : f32
}

// -----

exec.kernel @store_strides space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  // expected-error@+1 {{needs 1 strides (E10)}}
  exec.store %x at 0 strides [] : f32
}

// -----

exec.kernel @scales space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  // expected-error@+1 {{needs a scale per dynamic index (E10)}}
  %x = exec.load 0 at 0 strides [1] plus %i times [1, 2] : f32
  exec.store %x at 0 strides [1] : f32
}

// -----

exec.kernel @input_number space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  // expected-error@+1 {{names input 1 of 1 (E10)}}
  %x = exec.load 1 at 0 strides [1] : f32
  exec.store %x at 0 strides [1] : f32
}

// -----

exec.kernel @load_type space [2] inputs [f64] output f32 scalars 0 {
^bb0(%i: i64):
  // expected-error@+1 {{reads 'f32' from an array of 'f64' (E10)}}
  %x = exec.load 0 at 0 strides [1] : f32
  exec.store %x at 0 strides [1] : f32
}

// -----

exec.kernel @store_type space [2] inputs [f32] output f64 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  // expected-error@+1 {{writes 'f32' to an array of 'f64' (E10)}}
  exec.store %x at 0 strides [1] : f32
}

// -----

exec.kernel @no_scalar_code space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  // expected-error@+1 {{is not scalar code of a kernel}}
  %t = exec.empty : tensor<2xf32>
  %x = exec.load 0 at 0 strides [1] : f32
  exec.store %x at 0 strides [1] : f32
}

// -----

exec.kernel @function space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  // expected-error@+1 {{'add' does not take these types (E11)}}
  %y = exec.apply add(%x, %i) : (f32, i64) -> f32
  exec.store %x at 0 strides [1] : f32
}

// -----

exec.kernel @predicate space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  // expected-error@+1 {{'lt' does not take these types (E11)}}
  %y = exec.apply lt(%x, %x) : (f32, f32) -> f32
  exec.store %x at 0 strides [1] : f32
}

// -----

exec.kernel @select space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  // expected-error@+1 {{'select' does not take these types (E11)}}
  %y = exec.apply select(%x, %x, %x) : (f32, f32, f32) -> f32
  exec.store %x at 0 strides [1] : f32
}

// -----

exec.kernel @bits_of_floats space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  // expected-error@+1 {{'and' does not take these types (E11)}}
  %y = exec.apply and(%x, %x) : (f32, f32) -> f32
  exec.store %x at 0 strides [1] : f32
}

// -----

exec.kernel @bits_of_other_size space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  // expected-error@+1 {{'bit_cast' does not take these types (E11)}}
  %y = exec.apply bit_cast(%x) : (f32) -> i64
  exec.store %x at 0 strides [1] : f32
}

// -----

exec.kernel @literal space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  // expected-error@+1 {{of type 'i64' as 'f32' (E11)}}
  %x = exec.literal 1 : i64 -> f32
  exec.store %x at 0 strides [1] : f32
}

// -----

func.func @unknown_kernel(%x: tensor<2xf32>) {
  // expected-error@+1 {{names no kernel: @k (E12)}}
  exec.map @k(%x) scalars [] : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

exec.kernel @copy space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  exec.store %x at 0 strides [1] : f32
}
func.func @input_count() {
  // expected-error@+1 {{passes 0 arrays to a kernel of 1 (E12)}}
  exec.map @copy() scalars [] : () -> tensor<2xf32>
  return
}

// -----

exec.kernel @copy space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  exec.store %x at 0 strides [1] : f32
}
func.func @input_type(%x: tensor<2xf64>) {
  // expected-error@+1 {{passes 'f64' as input 0 of type 'f32' (E12)}}
  exec.map @copy(%x) scalars [] : (tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

exec.kernel @copy space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  exec.store %x at 0 strides [1] : f32
}
func.func @output_type(%x: tensor<2xf32>) {
  // expected-error@+1 {{writes 'f32' to 'f64' (E12)}}
  exec.map @copy(%x) scalars [] : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

exec.kernel @copy space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  exec.store %x at 0 strides [1] : f32
}
func.func @scalar_count(%x: tensor<2xf32>) {
  // expected-error@+1 {{passes 1 scalars to a kernel of 0 (E12)}}
  exec.map @copy(%x) scalars [1] : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

exec.kernel @copy space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  exec.store %x at 0 strides [1] : f32
}
func.func @leaves_the_input(%x: tensor<1xf32>) {
  // expected-error@+1 {{load of input 0 reaches elements 0 to 1 of 1 (E10)}}
  exec.map @copy(%x) scalars [] : (tensor<1xf32>) -> tensor<2xf32>
  return
}

// -----

exec.kernel @copy space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  exec.store %x at 0 strides [1] : f32
}
func.func @leaves_the_output(%x: tensor<2xf32>) {
  // expected-error@+1 {{store reaches elements 0 to 1 of 1 (E10)}}
  exec.map @copy(%x) scalars [] : (tensor<2xf32>) -> tensor<1xf32>
  return
}

// -----

exec.kernel @copy space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  exec.store %x at 0 strides [1] : f32
}
func.func @into_shared(%x: tensor<2xf32>, %t: tensor<2xf32>) {
  // expected-error@+1 {{writes into a tensor that has another use (E12)}}
  %a = exec.map @copy(%x) scalars [] into %t : tensor<2xf32> : (tensor<2xf32>) -> tensor<2xf32>
  %b = exec.map @copy(%t) scalars [] : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

exec.kernel @copy space [2] inputs [f32] output f32 scalars 0 {
^bb0(%i: i64):
  %x = exec.load 0 at 0 strides [1] : f32
  exec.store %x at 0 strides [1] : f32
}
func.func @into_other_type(%x: tensor<2xf32>, %t: tensor<4xf32>) {
  // expected-error@+1 {{result and 'into' have different types (E12)}}
  %a = exec.map @copy(%x) scalars [] into %t : tensor<4xf32> : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

exec.kernel @shifted space [2] inputs [f32] output f32 scalars 1 {
^bb0(%i: i64, %start: i64):
  %x = exec.load 0 at 0 strides [1] plus %start times [1] : f32
  exec.store %x at 0 strides [1] : f32
}
func.func @scalar(%x: tensor<2xf32>) {
  // expected-error@+1 {{passes 1 : i64 as a scalar (E12)}}
  exec.map @shifted(%x) scalars [1] : (tensor<2xf32>) -> tensor<2xf32>
  return
}
