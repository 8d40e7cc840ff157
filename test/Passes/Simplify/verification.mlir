// RUN: parplan-opt %s -parplan-verify-simplified -verify-diagnostics -split-input-file

func.func @foreign_op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{after simplify: not an op of the parplan dialect}}
  %y = func.call @other(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @other(tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @shape_arithmetic() -> tensor<2xi64> {
  %a = parplan.constant dense<[1, 2]> : tensor<2xi64>
  // expected-error@+1 {{after simplify: computes what is known already}}
  %b = parplan.add %a, %a : tensor<2xi64>, tensor<2xi64>
  return %b : tensor<2xi64>
}

// -----

func.func @descending_blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = parplan.neg %x {parplan.block = 1 : i64} : tensor<4xf32>
  // expected-error@+1 {{after simplify: block 0 stands behind block 1}}
  %z = parplan.neg %y {parplan.block = 0 : i64} : tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

parplan.initializer @a "a" : tensor<4xf32> in "" at 0 length 16
parplan.initializer @b "b" : tensor<4xf32> in "" at 16 length 16
parplan.initializer @c "c" : tensor<4xf32> in "" at 32 length 16
parplan.initializer @ab "a and 1 more" : tensor<2x4xf32> of [@a, @b] in "" at 0 length 32
// expected-error@+1 {{after simplify: @b is in another stack, too}}
parplan.initializer @bc "b and 1 more" : tensor<2x4xf32> of [@b, @c] in "" at 0 length 32

// -----

parplan.initializer @a "a" : tensor<4xf32> in "" at 0 length 16
parplan.initializer @b "b" : tensor<4xf32> in "" at 16 length 16
parplan.initializer @ab "a and 1 more" : tensor<2x4xf32> of [@a, @b] in "" at 0 length 32
func.func @member_with_a_parameter_of_its_own() -> (tensor<2x4xf32>, tensor<4xf32>) {
  %stack = parplan.parameter @ab : tensor<2x4xf32>
  // expected-error@+1 {{after simplify: reads @b, which is in a stack}}
  %b = parplan.parameter @b : tensor<4xf32>
  return %stack, %b : tensor<2x4xf32>, tensor<4xf32>
}
