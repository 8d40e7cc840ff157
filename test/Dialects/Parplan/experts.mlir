// RUN: parplan-opt %s | parplan-opt | FileCheck %s

// CHECK-LABEL: func.func @one_token_dimension
func.func @one_token_dimension(%x: tensor<7x8xf32>, %i: tensor<7x2xi64>, %s: tensor<7x2xf32>, %first: tensor<i64>) -> tensor<7x8xf32> {
  // CHECK: parplan.moe_dispatch %{{.*}}, %{{.*}} : tensor<7x8xf32>, tensor<7x2xi64> to tensor<4x7x8xf32>
  %0 = parplan.moe_dispatch %x, %i : tensor<7x8xf32>, tensor<7x2xi64> to tensor<4x7x8xf32>
  // CHECK: parplan.moe_dispatch %{{.*}}, %{{.*}} weights %{{.*}} : tensor<7x2xf32> first %{{.*}} : tensor<i64> : tensor<7x8xf32>, tensor<7x2xi64> to tensor<2x7x8xf32>
  %1 = parplan.moe_dispatch %x, %i weights %s : tensor<7x2xf32> first %first : tensor<i64> : tensor<7x8xf32>, tensor<7x2xi64> to tensor<2x7x8xf32>
  // CHECK: parplan.moe_combine %{{.*}}, %{{.*}} weights %{{.*}} : tensor<7x2xf32> first %{{.*}} : tensor<i64> : tensor<4x7x8xf32>, tensor<7x2xi64>
  %2 = parplan.moe_combine %0, %i weights %s : tensor<7x2xf32> first %first : tensor<i64> : tensor<4x7x8xf32>, tensor<7x2xi64>
  // CHECK: parplan.moe_weight_gradient %{{.*}}, %{{.*}}, %{{.*}} first %{{.*}} : tensor<i64> : tensor<4x7x8xf32>, tensor<7x8xf32>, tensor<7x2xi64>
  %3 = parplan.moe_weight_gradient %0, %x, %i first %first : tensor<i64> : tensor<4x7x8xf32>, tensor<7x8xf32>, tensor<7x2xi64>
  return %2 : tensor<7x8xf32>
}

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<4x2x7x8xf32>, %w: tensor<4x8x6xf32>, %i: tensor<2x7x2xi64>, %first: tensor<i64>) -> tensor<4x8x6xf32> {
  // CHECK: parplan.matmul "ebsk,ekn->ebsn" %{{.*}}, %{{.*}} experts %{{.*}} : tensor<2x7x2xi64> of 16 tokens "bs" first %{{.*}} : tensor<i64> : tensor<4x2x7x8xf32>, tensor<4x8x6xf32>
  %0 = parplan.matmul "ebsk,ekn->ebsn" %x, %w experts %i : tensor<2x7x2xi64> of 16 tokens "bs" first %first : tensor<i64> : tensor<4x2x7x8xf32>, tensor<4x8x6xf32>
  // CHECK: parplan.matmul "ebsk,ebsn->ekn" %{{.*}}, %{{.*}} experts %{{.*}} : tensor<2x7x2xi64> of 4 tokens "bs" : tensor<4x2x7x8xf32>, tensor<4x2x7x6xf32>
  %1 = parplan.matmul "ebsk,ebsn->ekn" %x, %0 experts %i : tensor<2x7x2xi64> of 4 tokens "bs" : tensor<4x2x7x8xf32>, tensor<4x2x7x6xf32>
  return %1 : tensor<4x8x6xf32>
}

// CHECK-LABEL: func.func @several_token_dimensions
func.func @several_token_dimensions(%x: tensor<2x3x8xf64>, %i: tensor<2x3x1xi32>) -> tensor<2x3x8xf64> {
  %0 = parplan.moe_dispatch %x, %i : tensor<2x3x8xf64>, tensor<2x3x1xi32> to tensor<5x2x3x8xf64>
  // CHECK: parplan.moe_combine %{{.*}}, %{{.*}} : tensor<5x2x3x8xf64>, tensor<2x3x1xi32>
  %1 = parplan.moe_combine %0, %i : tensor<5x2x3x8xf64>, tensor<2x3x1xi32>
  return %1 : tensor<2x3x8xf64>
}

// Two groups of four experts, with a row for each of a token's two.
// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<7x8xf32>, %i: tensor<7x2xi64>, %w: tensor<8x8x6xf32>) -> tensor<8x8x6xf32> {
  // CHECK: parplan.moe_dispatch %{{.*}}, %{{.*}} groups [4, 2] : tensor<7x8xf32>, tensor<7x2xi64> to tensor<4x7x8xf32>
  %0 = parplan.moe_dispatch %x, %i groups [4, 2] : tensor<7x8xf32>, tensor<7x2xi64> to tensor<4x7x8xf32>
  // CHECK: parplan.matmul "etk,ekn->etn" %{{.*}} groups [4, 2] : tensor<4x7x8xf32>, tensor<8x8x6xf32>
  %1 = parplan.matmul "etk,ekn->etn" %0, %w experts %i : tensor<7x2xi64> of 8 tokens "t" groups [4, 2] : tensor<4x7x8xf32>, tensor<8x8x6xf32>
  // CHECK: parplan.matmul "etk,etn->ekn" %{{.*}} groups [4, 2] : tensor<4x7x8xf32>, tensor<4x7x6xf32>
  %2 = parplan.matmul "etk,etn->ekn" %0, %1 experts %i : tensor<7x2xi64> of 8 tokens "t" groups [4, 2] : tensor<4x7x8xf32>, tensor<4x7x6xf32>
  return %2 : tensor<8x8x6xf32>
}
