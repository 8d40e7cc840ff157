// RUN: parplan-opt %s | parplan-opt | FileCheck %s

// CHECK: parplan.mesh @mesh <["dp0"=2 data, "tp0"=3 tensor]>
parplan.mesh @mesh <["dp0"=2 data, "tp0"=3 tensor]>
// CHECK: parplan.initializer @w0 "h.0.attn.weight" : tensor<8x24xf32> in "model.data" at 128 length 768
parplan.initializer @w0 "h.0.attn.weight" : tensor<8x24xf32> in "model.data" at 128 length 768
parplan.initializer @e0 "e.0" : tensor<4xf32> in "" at 0 length 16
parplan.initializer @e1 "e.1" : tensor<4xf32> in "" at 16 length 16
// CHECK: parplan.initializer @stack "e.0 and 1 more" : tensor<2x4xf32> of [@e0, @e1] in "" at 0 length 32
parplan.initializer @stack "e.0 and 1 more" : tensor<2x4xf32> of [@e0, @e1] in "" at 0 length 32

// CHECK-LABEL: func.func @sources
func.func @sources() {
  // CHECK: parplan.parameter @w0 : tensor<8x24xf32>
  %whole = parplan.parameter @w0 : tensor<8x24xf32>
  // CHECK: parplan.parameter @w0 view <offset = 8, strides = [24, 1]> : tensor<8x8xf32>
  %part = parplan.parameter @w0 view <offset = 8, strides = [24, 1]> : tensor<8x8xf32>
  // CHECK: parplan.parameter @stack view <offset = 1, strides = [4, 1]> : tensor<2x3xf32>
  %parts = parplan.parameter @stack view <offset = 1, strides = [4, 1]> : tensor<2x3xf32>
  // CHECK: parplan.parameter @w0 view <offset = 5, strides = []> : tensor<f32>
  %element = parplan.parameter @w0 view <offset = 5, strides = []> : tensor<f32>
  // CHECK: parplan.constant dense<[1, 2]> : tensor<2xi64>
  %constant = parplan.constant dense<[1, 2]> : tensor<2xi64>
  // CHECK: parplan.iota 1 : tensor<2x3xi64>
  %iota = parplan.iota 1 : tensor<2x3xi64>
  // CHECK: parplan.affine_mask [-1, 1] + -2 : tensor<4x4xi1>
  %mask = parplan.affine_mask [-1, 1] + -2 : tensor<4x4xi1>
  return
}

// CHECK-LABEL: func.func @attributes
// CHECK-SAME: parplan.batch, parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}], stored = {"tp0"}>
func.func @attributes(%x: tensor<4x8xf32> {parplan.name = "x", parplan.batch,
    parplan.sharding = #parplan.sharding<@mesh, [{"dp0"}, {}], stored = {"tp0"}>}) -> (tensor<4x24xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>}) {
  %w = parplan.parameter @w0 : tensor<8x24xf32>
  // CHECK: parplan.factors = #parplan.factors<@mesh, {m = ["dp0"], k = ["tp0"]}>
  // CHECK-SAME: parplan.node = 7 : i64
  // CHECK-SAME: parplan.onnx_op = "Gemm"
  // CHECK-SAME: parplan.shardings = [#parplan.sharding<@mesh, [{"dp0"}, {}], partial = sum{"tp0"}>]
  %y = parplan.matmul "mk,kn->mn" %x, %w {parplan.node = 7 : i64, parplan.onnx_op = "Gemm",
    parplan.factors = #parplan.factors<@mesh, {m = ["dp0"], k = ["tp0"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"dp0"}, {}], partial = sum{"tp0"}>]} : tensor<4x8xf32>, tensor<8x24xf32>
  // CHECK: parplan.factors = #parplan.factors<@mesh, {d0 = ["dp0"]}, pending = {"tp0"}, operand = 1>
  %z = parplan.mul %y, %y {parplan.factors = #parplan.factors<@mesh, {d0 = ["dp0"]}, pending = {"tp0"}, operand = 1>} : tensor<4x24xf32>, tensor<4x24xf32>
  return %z : tensor<4x24xf32>
}
