// RUN: parplan-opt %s | parplan-opt | FileCheck %s
// RUN: parplan-opt %s -mlir-print-op-generic | parplan-opt | FileCheck %s

parplan.mesh @mesh <["x"=2 tensor, "y"=3 tensor]>

// CHECK-LABEL: func.func @forms
func.func @forms(%a: tensor<2x5x5xf32>, %b: tensor<7x3xf32>, %c: tensor<2x5x3xf32>) {
  // CHECK: parplan.panel_matmul "bsk,kn->bsn" %{{.*}}, %{{.*}} panel "k" size 13 axes lhs <"y"> rhs <"x"> result <> : tensor<2x5x5xf32>, tensor<7x3xf32> -> tensor<2x5x3xf32>
  %0 = parplan.panel_matmul "bsk,kn->bsn" %a, %b panel "k" size 13 axes lhs <"y"> rhs <"x"> result <> : tensor<2x5x5xf32>, tensor<7x3xf32> -> tensor<2x5x3xf32>
  // CHECK: parplan.panel_matmul "bsn,kn->bsk" %{{.*}}, %{{.*}} panel "k" size 13 axes lhs <> rhs <"x"> result <"y">
  %1 = parplan.panel_matmul "bsn,kn->bsk" %c, %b panel "k" size 13 axes lhs <> rhs <"x"> result <"y"> : tensor<2x5x3xf32>, tensor<7x3xf32> -> tensor<2x5x5xf32>
  // CHECK: parplan.panel_matmul "bsk,bsn->kn" %{{.*}}, %{{.*}} panel "k" size 13 axes lhs <"y"> rhs <> result <"x">
  %2 = parplan.panel_matmul "bsk,bsn->kn" %a, %c panel "k" size 13 axes lhs <"y"> rhs <> result <"x"> : tensor<2x5x5xf32>, tensor<2x5x3xf32> -> tensor<7x3xf32>
  return
}

// CHECK-LABEL: func.func @rows_of_experts
func.func @rows_of_experts(%a: tensor<4x5x5xf32>, %b: tensor<4x7x3xf32>, %i: tensor<5x2xi64>, %first: tensor<i64>) {
  // CHECK: parplan.panel_matmul "etk,ekn->etn" %{{.*}}, %{{.*}} experts %{{.*}} : tensor<5x2xi64> of 8 tokens "t" first %{{.*}} : tensor<i64> panel "k" size 13 axes lhs <"y"> rhs <"x"> result <>
  %0 = parplan.panel_matmul "etk,ekn->etn" %a, %b experts %i : tensor<5x2xi64> of 8 tokens "t" first %first : tensor<i64> panel "k" size 13 axes lhs <"y"> rhs <"x"> result <> : tensor<4x5x5xf32>, tensor<4x7x3xf32> -> tensor<4x5x3xf32>
  return
}
