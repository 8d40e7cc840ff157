// RUN: parplan-opt %s -verify-diagnostics -split-input-file

func.func @sum_of_nothing() {
  // expected-error@+1 {{expected 1 or more operands, but found 0}}
  %r = "parplan.sum"() : () -> tensor<2xf32>
  return
}

// -----

func.func @momentum_without_state(%p: tensor<2xf32>, %r: tensor<f32>) {
  // expected-error@+1 {{momentum has 1 states, not 0}}
  parplan.optimizer_update momentum %p, %p learning_rate %r betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.9 : tensor<2xf32>, tensor<2xf32>, tensor<f32>
  return
}

// -----

func.func @gradient_of_another_type(%p: tensor<2xf32>, %g: tensor<2xf16>, %r: tensor<f32>) {
  // expected-error@+1 {{needs 'tensor<2xf32>' for a parameter of 'tensor<2xf32>', not 'tensor<2xf16>'}}
  parplan.optimizer_update sgd %p, %g learning_rate %r betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<2xf32>, tensor<2xf16>, tensor<f32>
  return
}

// -----

func.func @state_of_another_shape(%p: tensor<2xf32>, %s: tensor<3xf32>, %r: tensor<f32>) {
  // expected-error@+1 {{needs 'tensor<2xf32>' for a parameter of 'tensor<2xf32>', not 'tensor<3xf32>'}}
  parplan.optimizer_update momentum %p, %p states %s learning_rate %r betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<f32>
  return
}

// -----

func.func @rate_of_another_type(%p: tensor<2xf32>, %r: tensor<f64>) {
  // expected-error@+1 {{needs 'tensor<f32>' for a parameter of 'tensor<2xf32>', not 'tensor<f64>'}}
  parplan.optimizer_update sgd %p, %p learning_rate %r betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<2xf32>, tensor<2xf32>, tensor<f64>
  return
}

// -----

func.func @sgd_with_step_size(%p: tensor<2xf32>, %r: tensor<f32>) {
  // expected-error@+1 {{adam and adamw, and only they, take step_size and bias_correction2_sqrt}}
  parplan.optimizer_update sgd %p, %p learning_rate %r step_size %r betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>
  return
}

// -----

func.func @adam_without_epsilon(%p: tensor<2xf32>, %r: tensor<f32>) {
  // expected-error@+1 {{epsilon must be positive}}
  parplan.optimizer_update adam %p, %p states %p, %p learning_rate %r step_size %r bias_correction2_sqrt %r betas 0.9, 0.9 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>
  return
}

// -----

func.func @labels_of_another_shape(%x: tensor<2x3xf32>, %l: tensor<3xi64>) {
  // expected-error@+1 {{labels of shape [3] do not fit logits of shape [2x3]}}
  parplan.cross_entropy %x, %l : tensor<2x3xf32>, tensor<3xi64>
  return
}

// -----

func.func @table_of_three_dimensions(%i: tensor<2xi64>, %g: tensor<2x3xf32>) {
  // expected-error@+1 {{table has rank 3, not 2}}
  parplan.embedding_gradient %i, %g : tensor<2xi64>, tensor<2x3xf32> to tensor<4x3x1xf32>
  return
}

// -----

func.func @gradient_of_another_table(%i: tensor<2xi64>, %g: tensor<2x3xf32>) {
  // expected-error@+1 {{needs a gradient of 'tensor<2x4xf32>', not 'tensor<2x3xf32>'}}
  parplan.embedding_gradient %i, %g : tensor<2xi64>, tensor<2x3xf32> to tensor<5x4xf32>
  return
}

// -----

func.func @gradient_of_another_gather(%i: tensor<2xi64>, %g: tensor<2x3xf32>) {
  // expected-error@+1 {{needs a gradient of 'tensor<5x2xf32>', not 'tensor<2x3xf32>'}}
  parplan.gather_gradient %g, %i dim 1 : tensor<2x3xf32>, tensor<2xi64> to tensor<5x3xf32>
  return
}

// -----

func.func @gather_gradient_of_no_dimension(%i: tensor<2xi64>, %g: tensor<2x3xf32>) {
  // expected-error@+1 {{dimension 2 does not exist in a tensor of rank 2}}
  parplan.gather_gradient %g, %i dim 2 : tensor<2x3xf32>, tensor<2xi64> to tensor<5x3xf32>
  return
}

// -----

func.func @indices_beyond_the_data(%i: tensor<2x3xi64>, %g: tensor<2x3xf32>) {
  // expected-error@+1 {{indices of shape [2x3] do not fit into data of shape [5x2]}}
  parplan.gather_elements_gradient %g, %i dim 0 : tensor<2x3xf32>, tensor<2x3xi64> to tensor<5x2xf32>
  return
}

// -----

func.func @tuples_that_are_too_long(%i: tensor<2x3xi64>, %g: tensor<2xf32>) {
  // expected-error@+1 {{indices of shape [2x3] with 0 batch dimensions do not fit data of shape [5x2]}}
  parplan.gather_nd_gradient %g, %i batch_dims 0 : tensor<2xf32>, tensor<2x3xi64> to tensor<5x2xf32>
  return
}

// -----

func.func @input_of_other_groups(%w: tensor<6x4x3xf32>, %y: tensor<2x6x4xf32>) {
  // expected-error@+1 {{3 groups do not fit 8 input channels}}
  parplan.conv_input_gradient %y, %w strides [2] pads [1, 0] dilations [1] groups 3 : tensor<2x6x4xf32>, tensor<6x4x3xf32> to tensor<2x8x9xf32>
  return
}

// -----

func.func @input_of_another_size(%w: tensor<6x4x3xf32>, %y: tensor<2x6x4xf32>) {
  // expected-error@+1 {{needs a gradient of 'tensor<2x6x5xf32>', not 'tensor<2x6x4xf32>'}}
  parplan.conv_input_gradient %y, %w strides [2] pads [1, 0] dilations [1] groups 2 : tensor<2x6x4xf32>, tensor<6x4x3xf32> to tensor<2x8x11xf32>
  return
}

// -----

func.func @weight_of_another_size(%x: tensor<2x8x9xf32>, %y: tensor<2x6x4xf32>) {
  // expected-error@+1 {{needs a gradient of 'tensor<2x6x5xf32>', not 'tensor<2x6x4xf32>'}}
  parplan.conv_weight_gradient %x, %y strides [2] pads [1, 0] dilations [1] groups 2 : tensor<2x8x9xf32>, tensor<2x6x4xf32> to tensor<6x4x2xf32>
  return
}

// -----

func.func @gradient_of_another_maximum(%x: tensor<2x8x9xf32>, %y: tensor<2x8x5xf32>) {
  // expected-error@+1 {{needs a gradient of 'tensor<2x8x4xf32>', not 'tensor<2x8x5xf32>'}}
  parplan.max_pool_gradient %x, %y window [2] strides [2] pads [0, 0] dilations [1] : tensor<2x8x9xf32>, tensor<2x8x5xf32>
  return
}

// -----

func.func @gradient_of_another_average(%y: tensor<2x8x5xf32>) {
  // expected-error@+1 {{needs a gradient of 'tensor<2x8x4xf32>', not 'tensor<2x8x5xf32>'}}
  parplan.average_pool_gradient %y window [2] strides [2] pads [0, 0] dilations [1] : tensor<2x8x5xf32> to tensor<2x8x9xf32>
  return
}

// -----

parplan.initializer @w "w" : tensor<4xf32> in "" at 0 length 16
func.func @slot_of_integers() {
  // expected-error@+1 {{a slot has a name and holds floats, not 'i64'}}
  parplan.parameter @w slot "steps" : tensor<4xi64>
  return
}

// -----

parplan.initializer @w "w" : tensor<4xf32> in "" at 0 length 16
func.func @slot_of_another_shape() {
  // expected-error@+1 {{without a view has the type of its initializer, 'tensor<4xf16>', not 'tensor<2xf16>'}}
  parplan.parameter @w slot "exp_avg" : tensor<2xf16>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @stored_product(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{S6: the op reads whole blocks, not stored pieces}}
  parplan.matmul "mk,kn->mn" %x, %x {parplan.factors = #parplan.factors<@mesh, {}, stored = {"x"}>} : tensor<4x4xf32>, tensor<4x4xf32>
  return
}

// -----

func.func @unknown_role(%x: tensor<4xf32>) {
  // expected-error@+1 {{"parplan.role" must be one of forward, loss, input_gradient, weight_gradient, gradient_sum, optimizer, not "backward"}}
  parplan.neg %x {parplan.role = "backward"} : tensor<4xf32>
  return
}

// -----

func.func @group_without_number(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.group' must be an i64 attribute}}
  parplan.neg %x {parplan.group = "first"} : tensor<4xf32>
  return
}

// -----

func.func @gathered_again_number(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.gather_again' must be a unit attribute}}
  parplan.neg %x {parplan.gather_again = 2 : i64} : tensor<4xf32>
  return
}

// -----

func.func @micro_batch_number(%x: tensor<4xf32>) {
  // expected-error@+1 {{'parplan.per_micro_batch' must be a unit attribute}}
  parplan.neg %x {parplan.per_micro_batch = 2 : i64} : tensor<4xf32>
  return
}

// -----

// expected-error@+1 {{'parplan.micro_batches' must be an i64 of at least 1 of a function}}
func.func @no_micro_batches() attributes {parplan.micro_batches = 0 : i64} {
  return
}

// -----

// expected-error@+1 {{"parplan.schedule" must be one of learning_rate, step_size, bias_correction2_sqrt, loss_scale, inverse_loss_scale, not "rate"}}
func.func @unknown_schedule(%x: tensor<f32> {parplan.schedule = "rate"}) {
  return
}

// -----

// expected-error@+1 {{argument 0 with "parplan.schedule" must be a float scalar}}
func.func @schedule_of_a_tensor(%x: tensor<1xf32> {parplan.schedule = "learning_rate"}) {
  return
}

// -----

// expected-error@+1 {{'parplan.variable' must be a #parplan.variable}}
func.func @variable_by_name(%x: tensor<f32>) -> (tensor<f32> {parplan.variable = "w"}) {
  return %x : tensor<f32>
}

// -----

// expected-error@+1 {{'parplan.variable' needs a name of its slot}}
func.func @slot_without_name(%x: tensor<f32>) -> (tensor<f32> {parplan.variable = #parplan.variable<@w, slot = "">}) {
  return %x : tensor<f32>
}

// -----

// expected-error@+1 {{results 0 and 1 replace the same variable}}
func.func @variable_twice(%x: tensor<f32>) -> (tensor<f32> {parplan.variable = #parplan.variable<@w>}, tensor<f32> {parplan.variable = #parplan.variable<@w>}) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error@+1 {{a variable has no field kind}}
func.func @variable_of_another_form(%x: tensor<f32>) -> (tensor<f32> {parplan.variable = #parplan.variable<@w, kind = "a">}) {
  return %x : tensor<f32>
}

// -----

parplan.mesh @mesh <["x"=2 data]>
// expected-error@+1 {{result 0 is pending or stored; values leave a function complete (S8)}}
func.func @pending_variable(%x: tensor<4xf32>) -> (tensor<4xf32> {parplan.variable = #parplan.variable<@w>, parplan.sharding = #parplan.sharding<@mesh, [{}], partial = sum{"x"}>}) {
  return %x : tensor<4xf32>
}
