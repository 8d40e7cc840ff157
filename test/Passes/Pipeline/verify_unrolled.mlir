// RUN: parplan-opt %s -parplan-verify-unrolled -verify-diagnostics -split-input-file

parplan.mesh @mesh <["dp0"=2 data]>
// Arguments without a batch and functions of inference have no micro-batches.
func.func @sound(%x: tensor<2x4xf32> {parplan.batch, parplan.sharding = #parplan.sharding<@mesh, [{}, {"dp0"}]>, parplan.global_type = tensor<2x8xf32>}, %r: tensor<f32>) -> tensor<2x4xf32> attributes {parplan.micro_batches = 2 : i64} {
  %y = parplan.neg %x : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
func.func @inference(%x: tensor<4xf32> {parplan.batch}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{after pipeline: argument 0 has no dimension of 2 micro-batches in front}}
func.func @missing(%x: tensor<4x3xf32> {parplan.batch}) -> tensor<4x3xf32> attributes {parplan.micro_batches = 2 : i64} {
  // expected-error@+1 {{after pipeline: has 'parplan.per_micro_batch', but every op runs once}}
  %y = parplan.neg %x {parplan.per_micro_batch} : tensor<4x3xf32>
  // expected-error@+1 {{after pipeline: sums over micro-batches are chains}}
  %s = parplan.accumulate %y : tensor<4x3xf32>
  return %s : tensor<4x3xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
// expected-error@+1 {{after pipeline: argument 0 splits its micro-batches over devices}}
func.func @split(%x: tensor<2x4xf32> {parplan.batch, parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}]>, parplan.global_type = tensor<4x4xf32>}) -> tensor<2x4xf32> attributes {parplan.micro_batches = 2 : i64} {
  return %x : tensor<2x4xf32>
}
