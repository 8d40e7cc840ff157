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
