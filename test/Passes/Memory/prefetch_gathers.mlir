// RUN: parplan-opt %s -split-input-file -parplan-prefetch-gathers | FileCheck %s
// RUN: not parplan-opt %s -split-input-file -parplan-prefetch-gathers=cluster=nowhere 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: nowhere

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @a "a" : tensor<8xf32> in "" at 0 length 32
parplan.initializer @b "b" : tensor<8xf32> in "" at 32 length 32
parplan.initializer @c "c" : tensor<8xf32> in "" at 64 length 32

// Where little is computed, each block's gathers stand where those of the block
// before have been, and variables before all of them.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-COUNT-3: parplan.parameter
  // CHECK: %[[A:.*]] = parplan.all_gather
  // CHECK-NEXT: %[[B:.*]] = parplan.all_gather
  // CHECK-NEXT: %[[C:.*]] = parplan.all_gather
  // CHECK-NEXT: parplan.add %{{.*}}, %[[A]]
  // CHECK-NEXT: %[[B2:.*]] = parplan.all_gather
  // CHECK-NEXT: parplan.add %{{.*}}, %[[B]]
  // CHECK-NEXT: parplan.add %{{.*}}, %[[C]]
  // CHECK-NEXT: parplan.add %{{.*}}, %[[B2]]
  %a = parplan.parameter @a {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<4xf32>
  %wa = parplan.all_gather %a axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.block = 0 : i64} : tensor<4xf32> -> tensor<8xf32>
  %ya = parplan.add %x, %wa : tensor<8xf32>, tensor<8xf32>
  %b = parplan.parameter @b {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<4xf32>
  %wb = parplan.all_gather %b axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.block = 1 : i64} : tensor<4xf32> -> tensor<8xf32>
  %yb = parplan.add %ya, %wb : tensor<8xf32>, tensor<8xf32>
  %c = parplan.parameter @c {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<4xf32>
  %wc = parplan.all_gather %c axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.block = 1 : i64} : tensor<4xf32> -> tensor<8xf32>
  %yc = parplan.add %yb, %wc : tensor<8xf32>, tensor<8xf32>
  %wb2 = parplan.all_gather %b axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.block = 1 : i64, parplan.role = "input_gradient"} : tensor<4xf32> -> tensor<8xf32>
  %z = parplan.add %yc, %wb2 : tensor<8xf32>, tensor<8xf32>
  return %z : tensor<8xf32>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
parplan.initializer @a "a" : tensor<8xf32> in "" at 0 length 32
parplan.initializer @b "b" : tensor<8xf32> in "" at 32 length 32

// A product takes longer than a gather: what is needed behind two is gathered
// beside the second one.
// CHECK-LABEL: func.func @just_in_time
func.func @just_in_time(%x: tensor<8xf32>, %p: tensor<256x256xf32>) -> (tensor<8xf32>, tensor<256x256xf32>) {
  // CHECK: parplan.all_gather
  // CHECK: %[[FIRST:.*]] = parplan.matmul
  // CHECK-NEXT: %[[B:.*]] = parplan.all_gather
  // CHECK-NEXT: parplan.matmul "mk,kn->mn" %[[FIRST]]
  // CHECK-NEXT: parplan.add %{{.*}}, %[[B]]
  %a = parplan.parameter @a {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<4xf32>
  %wa = parplan.all_gather %a axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.block = 0 : i64} : tensor<4xf32> -> tensor<8xf32>
  %ya = parplan.add %x, %wa : tensor<8xf32>, tensor<8xf32>
  %first = parplan.matmul "mk,kn->mn" %p, %p : tensor<256x256xf32>, tensor<256x256xf32>
  %second = parplan.matmul "mk,kn->mn" %first, %p : tensor<256x256xf32>, tensor<256x256xf32>
  %b = parplan.parameter @b {parplan.global_type = tensor<8xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}], stored = {"dp0"}>]} : tensor<4xf32>
  %wb = parplan.all_gather %b axes <"dp0"> dim -1 to <@mesh, [{}]> {parplan.block = 1 : i64} : tensor<4xf32> -> tensor<8xf32>
  %yb = parplan.add %ya, %wb : tensor<8xf32>, tensor<8xf32>
  return %yb, %second : tensor<8xf32>, tensor<256x256xf32>
}
