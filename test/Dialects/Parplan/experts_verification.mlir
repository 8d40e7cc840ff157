// RUN: parplan-opt %s -verify-diagnostics -split-input-file

func.func @no_tokens(%x: tensor<8xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{values of rank 2 are not [experts, tokens.., width]}}
  %0 = parplan.moe_dispatch %x, %i : tensor<8xf32>, tensor<2xi64> to tensor<4x8xf32>
  return
}

// -----

func.func @other_width(%x: tensor<7x8xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{cannot make 'tensor<4x7x6xf32>' of tokens of 'tensor<7x8xf32>'}}
  %0 = parplan.moe_dispatch %x, %i : tensor<7x8xf32>, tensor<7x2xi64> to tensor<4x7x6xf32>
  return
}

// -----

func.func @other_tokens(%x: tensor<7x8xf32>, %i: tensor<6x2xi64>) {
  // expected-error@+1 {{experts of shape [6x2] do not fit tokens of shape [7]}}
  %0 = parplan.moe_dispatch %x, %i : tensor<7x8xf32>, tensor<6x2xi64> to tensor<4x7x8xf32>
  return
}

// -----

func.func @other_weights(%y: tensor<4x7x8xf32>, %i: tensor<7x2xi64>, %s: tensor<7x3xf32>) {
  // expected-error@+1 {{needs weights of 'tensor<7x2xf32>', not 'tensor<7x3xf32>'}}
  %0 = parplan.moe_combine %y, %i weights %s : tensor<7x3xf32> : tensor<4x7x8xf32>, tensor<7x2xi64>
  return
}

// -----

func.func @other_gradient(%y: tensor<4x7x8xf32>, %g: tensor<7x6xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{needs a gradient of 'tensor<7x8xf32>', not 'tensor<7x6xf32>'}}
  %0 = parplan.moe_weight_gradient %y, %g, %i : tensor<4x7x8xf32>, tensor<7x6xf32>, tensor<7x2xi64>
  return
}

// -----

parplan.mesh @mesh <["p"=2 expert]>

func.func @pending_choices(%y: tensor<4x7x8xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{S8: the op is not linear in operand 1}}
  %0 = parplan.moe_combine %y, %i {parplan.factors = #parplan.factors<@mesh, {}, pending = {"p"}, operand = 1>} : tensor<4x7x8xf32>, tensor<7x2xi64>
  return
}
