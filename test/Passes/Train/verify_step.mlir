// RUN: parplan-opt %s -parplan-verify-step -verify-diagnostics -split-input-file

parplan.initializer @w "w" : tensor<3xf32> in "" at 0 length 12 {parplan.trained = "it is"}
func.func @main(%x: tensor<3xf32> {parplan.batch}, %r: tensor<f32>) -> (tensor<f32> {parplan.name = "loss"}, tensor<3xf32> {parplan.variable = #parplan.variable<@w>}) attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w : tensor<3xf32>
  %y = parplan.exp %x {parplan.per_micro_batch, parplan.group = 0 : i64} : tensor<3xf32>
  %e = parplan.neg %y {parplan.per_micro_batch, parplan.group = 0 : i64, parplan.role = "input_gradient"} : tensor<3xf32>
  %g = parplan.accumulate %e {parplan.role = "gradient_sum"} : tensor<3xf32>
  %n = parplan.optimizer_update sgd %w, %g learning_rate %r betas 0.9, 0.999 epsilon 1.0e-08 weight_decay 0.0 momentum 0.0 {parplan.group = 1 : i64, parplan.role = "optimizer"} : tensor<3xf32>, tensor<3xf32>, tensor<f32>
  return %r, %n : tensor<f32>, tensor<3xf32>
}

// -----

parplan.initializer @w "w" : tensor<3xf32> in "" at 0 length 12 {parplan.trained = "it is"}
// expected-error@+3 {{after train: a step has 'parplan.micro_batches'}}
// expected-error@+2 {{after train: a step has a loss and variables}}
// expected-error@+1 {{after train: result 0 is either a named value or a variable}}
func.func @main(%x: tensor<3xf32> {parplan.batch}) -> tensor<3xf32> {
  // expected-error@+1 {{after train: reads what is trained, but no result replaces it}}
  %w = parplan.parameter @w : tensor<3xf32>
  return %w : tensor<3xf32>
}

// -----

parplan.initializer @w "w" : tensor<3xf32> in "" at 0 length 12 {parplan.trained = "it is"}
func.func @main(%x: tensor<3xf32> {parplan.batch}, %r: tensor<f32>) -> (tensor<f32> {parplan.name = "loss"}, tensor<3xf32> {parplan.variable = #parplan.variable<@w>}) attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w : tensor<3xf32>
  // expected-error@+1 {{after train: reads the same variable as another parameter}}
  %v = parplan.parameter @w : tensor<3xf32>
  // expected-error@+2 {{after train: runs once per step, but reads a value of a micro-batch}}
  // expected-error@+1 {{after train: gives the variable of result 1 its new value, which only an update does}}
  %y = parplan.add %x, %v : tensor<3xf32>, tensor<3xf32>
  return %r, %y : tensor<f32>, tensor<3xf32>
}

// -----

parplan.initializer @w "w" : tensor<3xf32> in "" at 0 length 12 {parplan.trained = "it is"}
func.func @main(%x: tensor<3xf32> {parplan.batch}, %r: tensor<f32>) -> (tensor<f32> {parplan.name = "loss"}, tensor<3xf32> {parplan.variable = #parplan.variable<@w>}) attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w : tensor<3xf32>
  // expected-error@+1 {{after train: reads a value of a micro-batch and gives one of the step}}
  %g = parplan.accumulate %w {parplan.role = "gradient_sum"} : tensor<3xf32>
  %e = parplan.neg %g {parplan.group = 0 : i64} : tensor<3xf32>
  // expected-error@+1 {{after train: is a second leader of group 0}}
  %f = parplan.neg %e {parplan.group = 0 : i64, parplan.role = "loss"} : tensor<3xf32>
  // expected-error@+1 {{after train: is in group 2, which has no leader}}
  %h = parplan.neg %f {parplan.group = 2 : i64, parplan.role = "weight_gradient"} : tensor<3xf32>
  // expected-error@+1 {{after train: has a gradient that is neither accumulated nor zero}}
  %n = parplan.optimizer_update sgd %w, %h learning_rate %r betas 0.9, 0.999 epsilon 1.0e-08 weight_decay 0.0 momentum 0.0 {parplan.group = 1 : i64, parplan.role = "optimizer"} : tensor<3xf32>, tensor<3xf32>, tensor<f32>
  return %r, %n : tensor<f32>, tensor<3xf32>
}

// -----

parplan.initializer @v "v" : tensor<3xf32> in "" at 0 length 12 {parplan.trained = "it is"}
parplan.initializer @w "w" : tensor<3xf32> in "" at 12 length 12 {parplan.trained = "it is"}
// The gradient of a part that nothing reads is zero. A forward op stands before the other members of its group.
func.func @main(%x: tensor<3xf32> {parplan.batch}, %r: tensor<f32>) -> (tensor<f64> {parplan.name = "loss"}, tensor<3xf32> {parplan.variable = #parplan.variable<@v>}, tensor<3xf32> {parplan.variable = #parplan.variable<@w>}) attributes {parplan.micro_batches = 2 : i64} {
  %v = parplan.parameter @v : tensor<3xf32>
  %w = parplan.parameter @w : tensor<3xf32>
  %e = parplan.neg %x {parplan.per_micro_batch, parplan.group = 0 : i64, parplan.role = "input_gradient"} : tensor<3xf32>
  // expected-error@+1 {{after train: leads group 0, but stands behind another member of it}}
  %y = parplan.exp %e {parplan.per_micro_batch, parplan.group = 0 : i64} : tensor<3xf32>
  %s = parplan.accumulate %y {parplan.role = "gradient_sum"} : tensor<3xf32>
  %g = parplan.neg %s {parplan.role = "gradient_sum"} : tensor<3xf32>
  %z = parplan.constant {parplan.role = "gradient_sum"} dense<0.0> : tensor<3xf32>
  %q = parplan.square_sum %g {parplan.group = 1 : i64, parplan.role = "optimizer"} : tensor<3xf32>
  // expected-error@+1 {{after train: has a gradient that is neither accumulated nor zero}}
  %n = parplan.optimizer_update sgd %v, %g learning_rate %r betas 0.9, 0.999 epsilon 1.0e-08 weight_decay 0.0 momentum 0.0 {parplan.group = 1 : i64, parplan.role = "optimizer"} : tensor<3xf32>, tensor<3xf32>, tensor<f32>
  %m = parplan.optimizer_update sgd %w, %z learning_rate %r betas 0.9, 0.999 epsilon 1.0e-08 weight_decay 0.0 momentum 0.0 {parplan.group = 2 : i64, parplan.role = "optimizer"} : tensor<3xf32>, tensor<3xf32>, tensor<f32>
  return %q, %n, %m : tensor<f64>, tensor<3xf32>, tensor<3xf32>
}

// -----

func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{'parplan.padding_id' belongs to an embedding}}
  %y = parplan.neg %x {parplan.padding_id = 1 : i64} : tensor<3xf32>
  return %y : tensor<3xf32>
}
