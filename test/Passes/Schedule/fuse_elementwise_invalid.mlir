// RUN: parplan-opt %s -parplan-fuse-elementwise -verify-diagnostics

parplan.mesh @mesh <["a"=2 tensor, "b"=2 tensor]>

func.func @uneven_storage(%x: tensor<7xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{cuts a flat block over several axes that do not divide it}}
  %0 = parplan.shard_slice %x axes <"a", "b"> dim -1 to <@mesh, [{}], stored = {"a", "b"}> : tensor<7xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
