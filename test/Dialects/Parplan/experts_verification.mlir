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

// -----

func.func @first_of_no_experts(%x: tensor<4x7x8xf32>, %w: tensor<4x8x6xf32>, %first: tensor<i64>) {
  // expected-error@+1 {{has some of experts, tokens and the number of all experts, and not the others}}
  %0 = parplan.matmul "etk,ekn->etn" %x, %w first %first : tensor<i64> : tensor<4x7x8xf32>, tensor<4x8x6xf32>
  return
}

// -----

func.func @rows_of_integers(%x: tensor<4x7x8xi32>, %w: tensor<4x8x6xi32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{has rows of experts that are no floats}}
  %0 = parplan.matmul "etk,ekn->etn" %x, %w experts %i : tensor<7x2xi64> of 4 tokens "t" : tensor<4x7x8xi32>, tensor<4x8x6xi32>
  return
}

// -----

func.func @no_letter_of_experts(%x: tensor<7x8xf32>, %w: tensor<8x6xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{needs one letter that all tensors have, the experts}}
  %0 = parplan.matmul "tk,kn->tn" %x, %w experts %i : tensor<7x2xi64> of 4 tokens "t" : tensor<7x8xf32>, tensor<8x6xf32>
  return
}

// -----

func.func @two_letters_of_experts(%x: tensor<4x2x7x8xf32>, %w: tensor<4x2x8x6xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{needs one letter that all tensors have, the experts}}
  %0 = parplan.matmul "eftk,efkn->eftn" %x, %w experts %i : tensor<7x2xi64> of 4 tokens "t" : tensor<4x2x7x8xf32>, tensor<4x2x8x6xf32>
  return
}

// -----

func.func @other_rows(%x: tensor<4x3x7x8xf32>, %w: tensor<4x8x6xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{has tokens 't' that are not all rows, or all that is summed}}
  %0 = parplan.matmul "ertk,ekn->ertn" %x, %w experts %i : tensor<7x2xi64> of 4 tokens "t" : tensor<4x3x7x8xf32>, tensor<4x8x6xf32>
  return
}

// -----

func.func @more_that_is_summed(%x: tensor<4x7x2x8xf32>, %y: tensor<4x7x2x6xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{has tokens 't' that are not all rows, or all that is summed}}
  %0 = parplan.matmul "etrk,etrn->ekn" %x, %y experts %i : tensor<7x2xi64> of 4 tokens "t" : tensor<4x7x2x8xf32>, tensor<4x7x2x6xf32>
  return
}

// -----

func.func @tokens_in_another_order(%x: tensor<4x2x7x8xf32>, %w: tensor<4x8x6xf32>, %i: tensor<7x2x2xi64>) {
  // expected-error@+1 {{has tokens 'sb' that are not all rows, or all that is summed}}
  %0 = parplan.matmul "ebsk,ekn->ebsn" %x, %w experts %i : tensor<7x2x2xi64> of 4 tokens "sb" : tensor<4x2x7x8xf32>, tensor<4x8x6xf32>
  return
}

// -----

func.func @experts_of_other_tokens(%x: tensor<4x7x8xf32>, %w: tensor<4x8x6xf32>, %i: tensor<6x2xi64>) {
  // expected-error@+1 {{has experts of shape [6x2] for tokens of shape [7]}}
  %0 = parplan.matmul "etk,ekn->etn" %x, %w experts %i : tensor<6x2xi64> of 4 tokens "t" : tensor<4x7x8xf32>, tensor<4x8x6xf32>
  return
}

// -----

func.func @of_no_experts(%x: tensor<4x7x8xf32>, %w: tensor<4x8x6xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{has rows of 4 experts, but 0 in all}}
  %0 = parplan.matmul "etk,ekn->etn" %x, %w experts %i : tensor<7x2xi64> of 0 tokens "t" : tensor<4x7x8xf32>, tensor<4x8x6xf32>
  return
}

// -----

func.func @experts_of_no_tokens(%x: tensor<4x7x8xf32>, %w: tensor<4x8x6xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{has some of experts, tokens and the number of all experts, and not the others}}
  %0 = "parplan.matmul"(%x, %w, %i) <{expert_count = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0>, spec = "etk,ekn->etn"}> : (tensor<4x7x8xf32>, tensor<4x8x6xf32>, tensor<7x2xi64>) -> tensor<4x7x6xf32>
  return
}

// -----

func.func @no_pair_of_groups(%x: tensor<7x8xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{needs groups [experts, rows], each at least 1}}
  %0 = parplan.moe_dispatch %x, %i groups [4] : tensor<7x8xf32>, tensor<7x2xi64> to tensor<4x7x8xf32>
  return
}

// -----

func.func @too_few_rows_of_a_group(%x: tensor<7x8xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{has 1 rows in a group of 4 experts for tokens with 2}}
  %0 = parplan.moe_dispatch %x, %i groups [4, 1] : tensor<7x8xf32>, tensor<7x2xi64> to tensor<4x7x8xf32>
  return
}

// -----

func.func @no_whole_groups(%y: tensor<5x7x8xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{has 5 rows for groups of 2}}
  %0 = parplan.moe_combine %y, %i groups [4, 2] : tensor<5x7x8xf32>, tensor<7x2xi64>
  return
}

// -----

func.func @groups_of_no_rows(%x: tensor<4x7x8xf32>, %w: tensor<4x8x6xf32>) {
  // expected-error@+1 {{has some of experts, tokens and the number of all experts, and not the others}}
  %0 = parplan.matmul "etk,ekn->etn" %x, %w groups [4, 2] : tensor<4x7x8xf32>, tensor<4x8x6xf32>
  return
}

// -----

func.func @other_number_of_groups(%x: tensor<4x7x8xf32>, %w: tensor<4x8x6xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{'e' has 2 and 1 groups}}
  %0 = parplan.matmul "etk,ekn->etn" %x, %w experts %i : tensor<7x2xi64> of 8 tokens "t" groups [4, 2] : tensor<4x7x8xf32>, tensor<4x8x6xf32>
  return
}

// -----

func.func @experts_in_no_whole_groups(%x: tensor<4x7x8xf32>, %w: tensor<6x8x6xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{'e' has 6 elements in groups of 4}}
  %0 = parplan.matmul "etk,ekn->etn" %x, %w experts %i : tensor<7x2xi64> of 8 tokens "t" groups [4, 2] : tensor<4x7x8xf32>, tensor<6x8x6xf32>
  return
}

// -----

func.func @too_few_rows_of_a_product(%x: tensor<2x7x8xf32>, %w: tensor<8x8x6xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{has 1 rows in a group of 4 experts for tokens with 2}}
  %0 = parplan.matmul "etk,ekn->etn" %x, %w experts %i : tensor<7x2xi64> of 8 tokens "t" groups [4, 1] : tensor<2x7x8xf32>, tensor<8x8x6xf32>
  return
}
