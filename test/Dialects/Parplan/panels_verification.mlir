// RUN: parplan-opt %s -verify-diagnostics -split-input-file

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @spec_of_another_form(%a: tensor<4x5xf32>, %b: tensor<7x3xf32>) {
  // expected-error@+1 {{spec 'mk,kn' is not of the form}}
  parplan.panel_matmul "mk,kn" %a, %b panel "k" size 13 axes lhs <"y"> rhs <"x"> result <> : tensor<4x5xf32>, tensor<7x3xf32> -> tensor<4x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @letters_that_do_not_fit(%a: tensor<1x4x5xf32>, %b: tensor<7x3xf32>) {
  // expected-error@+1 {{'mk' does not name the 3 dimensions of 'tensor<1x4x5xf32>'}}
  parplan.panel_matmul "mk,kn->mn" %a, %b panel "k" size 13 axes lhs <"y"> rhs <"x"> result <> : tensor<1x4x5xf32>, tensor<7x3xf32> -> tensor<4x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @letters_of_two_sizes(%a: tensor<4x5xf32>, %b: tensor<7x3xf32>) {
  // expected-error@+1 {{'m' has 4 and 6 elements}}
  parplan.panel_matmul "mk,kn->mn" %a, %b panel "k" size 13 axes lhs <"y"> rhs <"x"> result <> : tensor<4x5xf32>, tensor<7x3xf32> -> tensor<6x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @letter_of_one_tensor(%a: tensor<1x4x5xf32>, %b: tensor<7x3xf32>) {
  // expected-error@+1 {{'q' is only in lhs}}
  parplan.panel_matmul "qmk,kn->mn" %a, %b panel "k" size 13 axes lhs <"y"> rhs <"x"> result <> : tensor<1x4x5xf32>, tensor<7x3xf32> -> tensor<4x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @mixed_types(%a: tensor<4x5xf32>, %b: tensor<7x3xf64>) {
  // expected-error@+1 {{mixes element types}}
  parplan.panel_matmul "mk,kn->mn" %a, %b panel "k" size 13 axes lhs <"y"> rhs <"x"> result <> : tensor<4x5xf32>, tensor<7x3xf64> -> tensor<4x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @panel_of_two_letters(%a: tensor<4x7xf32>, %b: tensor<7x3xf32>) {
  // expected-error@+1 {{panel 'kn' is no letter of two tensors (S21)}}
  parplan.panel_matmul "mk,kn->mn" %a, %b panel "kn" size 13 axes lhs <"y"> rhs <"x"> result <> : tensor<4x7xf32>, tensor<7x3xf32> -> tensor<4x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @panel_of_batch(%a: tensor<2x4x13xf32>, %b: tensor<2x13x3xf32>) {
  // expected-error@+1 {{panel 'b' is no letter of two tensors (S21)}}
  parplan.panel_matmul "bmk,bkn->bmn" %a, %b panel "b" size 2 axes lhs <> rhs <> result <> : tensor<2x4x13xf32>, tensor<2x13x3xf32> -> tensor<2x4x3xf32>
  return
}

// -----

func.func @no_mesh(%a: tensor<4x5xf32>, %b: tensor<7x3xf32>) {
  // expected-error@+1 {{needs a module with one mesh}}
  parplan.panel_matmul "mk,kn->mn" %a, %b panel "k" size 13 axes lhs <"y"> rhs <"x"> result <> : tensor<4x5xf32>, tensor<7x3xf32> -> tensor<4x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @unknown_axis(%a: tensor<4x5xf32>, %b: tensor<7x3xf32>) {
  // expected-error@+1 {{axes #parplan.axes<"z"> are not axes of the mesh (S2)}}
  parplan.panel_matmul "mk,kn->mn" %a, %b panel "k" size 13 axes lhs <"z"> rhs <"x"> result <> : tensor<4x5xf32>, tensor<7x3xf32> -> tensor<4x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @axis_twice(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) {
  // expected-error@+1 {{has the axis 'y' twice (S1)}}
  parplan.panel_matmul "mk,kn->mn" %a, %b panel "k" size 13 axes lhs <"y"> rhs <"y"> result <> : tensor<4x5xf32>, tensor<5x3xf32> -> tensor<4x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @axes_without_the_letter(%a: tensor<4x5xf32>, %b: tensor<13x3xf32>) {
  // expected-error@+1 {{result has axes but no 'k' (S21)}}
  parplan.panel_matmul "mk,kn->mn" %a, %b panel "k" size 13 axes lhs <"y"> rhs <> result <"x"> : tensor<4x5xf32>, tensor<13x3xf32> -> tensor<4x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @block_of_another_size(%a: tensor<4x5xf32>, %b: tensor<6x3xf32>) {
  // expected-error@+1 {{rhs has 6 of 'k'; blocks of 13 over #parplan.axes<"x"> have 7 (S3)}}
  parplan.panel_matmul "mk,kn->mn" %a, %b panel "k" size 13 axes lhs <"y"> rhs <"x"> result <> : tensor<4x5xf32>, tensor<6x3xf32> -> tensor<4x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @panels_of_nothing(%a: tensor<4x0xf32>, %b: tensor<0x3xf32>) {
  // expected-error@+1 {{has 0 of 'k', not one or more (S21)}}
  parplan.panel_matmul "mk,kn->mn" %a, %b panel "k" size 0 axes lhs <"y"> rhs <"x"> result <> : tensor<4x0xf32>, tensor<0x3xf32> -> tensor<4x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @panels_of_less_than_nothing(%a: tensor<4x5xf32>, %b: tensor<7x3xf32>) {
  // expected-error@+1 {{has -13 of 'k', not one or more (S21)}}
  parplan.panel_matmul "mk,kn->mn" %a, %b panel "k" size -13 axes lhs <"y"> rhs <"x"> result <> : tensor<4x5xf32>, tensor<7x3xf32> -> tensor<4x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @panels_of_tokens(%a: tensor<4x5x8xf32>, %b: tensor<4x8x3xf32>, %i: tensor<5x2xi64>) {
  // expected-error@+1 {{panel 't' of rows of experts is one of tokens, or not alone in its role (S21)}}
  parplan.panel_matmul "etk,ekn->etn" %a, %b experts %i : tensor<5x2xi64> of 8 tokens "t" panel "t" size 10 axes lhs <"x"> rhs <> result <> : tensor<4x5x8xf32>, tensor<4x8x3xf32> -> tensor<4x10x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @one_of_two_columns(%a: tensor<4x5x8xf32>, %b: tensor<4x8x3x2xf32>, %i: tensor<5x2xi64>) {
  // expected-error@+1 {{panel 'p' of rows of experts is one of tokens, or not alone in its role (S21)}}
  parplan.panel_matmul "etk,eknp->etnp" %a, %b experts %i : tensor<5x2xi64> of 8 tokens "t" panel "p" size 4 axes lhs <> rhs <"x"> result <> : tensor<4x5x8xf32>, tensor<4x8x3x2xf32> -> tensor<4x5x3x4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>
func.func @rows_of_too_many_experts(%a: tensor<4x5x5xf32>, %b: tensor<4x7x3xf32>, %i: tensor<6x2xi64>) {
  // expected-error@+1 {{has experts of shape [6x2] for tokens of shape [5]}}
  parplan.panel_matmul "etk,ekn->etn" %a, %b experts %i : tensor<6x2xi64> of 8 tokens "t" panel "k" size 13 axes lhs <"y"> rhs <"x"> result <> : tensor<4x5x5xf32>, tensor<4x7x3xf32> -> tensor<4x5x3xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor]>
func.func @no_pair_of_groups(%a: tensor<4x7x4xf32>, %b: tensor<8x8x6xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{needs groups [experts, rows], each at least 1}}
  parplan.panel_matmul "etk,ekn->etn" %a, %b experts %i : tensor<7x2xi64> of 8 tokens "t" groups [4] panel "k" size 8 axes lhs <"x"> rhs <> result <> : tensor<4x7x4xf32>, tensor<8x8x6xf32> -> tensor<4x7x6xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 tensor]>
func.func @experts_in_no_whole_groups(%a: tensor<4x7x4xf32>, %b: tensor<6x8x6xf32>, %i: tensor<7x2xi64>) {
  // expected-error@+1 {{'e' has 6 elements in groups of 4}}
  parplan.panel_matmul "etk,ekn->etn" %a, %b experts %i : tensor<7x2xi64> of 8 tokens "t" groups [4, 2] panel "k" size 8 axes lhs <"x"> rhs <> result <> : tensor<4x7x4xf32>, tensor<6x8x6xf32> -> tensor<4x7x6xf32>
  return
}
