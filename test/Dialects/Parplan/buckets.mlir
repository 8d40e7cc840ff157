// RUN: parplan-opt %s -split-input-file -verify-diagnostics | FileCheck %s

parplan.mesh @mesh <["dp0"=2 data, "tp0"=2 tensor]>
parplan.initializer @w "w" : tensor<4x6xf32> in "" at 0 length 96

// CHECK-LABEL: func.func @bucket
func.func @bucket(%a: tensor<2x3xf32>, %b: tensor<f32>) -> (tensor<3xf32>, tensor<f32>) {
  // CHECK: parplan.pack %{{.*}}, %{{.*}} at [0, 8] : tensor<2x3xf32>, tensor<f32> to tensor<16xf32>
  %bucket = parplan.pack %a, %b at [0, 8] : tensor<2x3xf32>, tensor<f32> to tensor<16xf32>
  // CHECK: parplan.unpack %{{.*}} at [0, 8] : tensor<16xf32> to tensor<3xf32>, tensor<f32>
  %c, %d = parplan.unpack %bucket at [0, 8] : tensor<16xf32> to tensor<3xf32>, tensor<f32>
  // CHECK: parplan.bucket_parameter [#parplan.member<variable = <@w, slot = "exp_avg">, type = tensor<4x6xf32>, sharding = <@mesh, [{}, {"tp0"}]>, offset = 4>]
  // CHECK-SAME: : tensor<8xf32>
  %e = parplan.bucket_parameter [#parplan.member<variable = <@w, slot = "exp_avg">, type = tensor<4x6xf32>, sharding = <@mesh, [{}, {"tp0"}]>, offset = 4>]
    {parplan.global_type = tensor<32xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{"tp0"}], stored = {"dp0"}>]} : tensor<8xf32>
  return %c, %d : tensor<3xf32>, tensor<f32>
}

// -----

func.func @overlap(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{tensor 1 starts at 5, before 6}}
  %bucket = parplan.pack %a, %b at [0, 5] : tensor<2x3xf32>, tensor<f32> to tensor<16xf32>
  return
}

// -----

func.func @outside(%a: tensor<16xf32>) {
  // expected-error@+1 {{ends at element 17 of 16}}
  %b, %c = parplan.unpack %a at [0, 8] : tensor<16xf32> to tensor<8xf32>, tensor<9xf32>
  return
}

// -----

func.func @mixed(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error@+1 {{has 'f64' in a bucket of 'f32'}}
  %bucket = parplan.pack %a, %b at [0, 5] : tensor<2xf32>, tensor<2xf64> to tensor<16xf32>
  return
}

// -----

func.func @places(%a: tensor<2xf32>) {
  // expected-error@+1 {{has 2 offsets for 1 tensors}}
  %bucket = parplan.pack %a at [0, 5] : tensor<2xf32> to tensor<16xf32>
  return
}

// -----

func.func @unplaced() {
  // expected-error@+1 {{needs parplan.global_type and parplan.shardings}}
  %a = parplan.bucket_parameter [] : tensor<8xf32>
  return
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
func.func @stored_member() {
  // expected-error@+1 {{is pending or stored, or its axes do not fit}}
  %a = parplan.bucket_parameter [#parplan.member<variable = <@w>, type = tensor<8xf32>, sharding = <@mesh, [{}], stored = {"dp0"}>, offset = 0>]
    {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{must be members of a bucket}}
func.func @no_members(%a: tensor<8xf32>) -> (tensor<8xf32> {parplan.bucket = [1]}) {
  return %a : tensor<8xf32>
}
