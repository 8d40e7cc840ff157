// RUN: parplan-opt %s -parplan-raise -split-input-file | FileCheck %s

parplan.initializer @up "up" : tensor<4x6x8xf32> in "" at 0 length 768
parplan.initializer @down "down" : tensor<4x8x6xf32> in "" at 768 length 768
parplan.initializer @bias "bias" : tensor<4x6xf32> in "" at 1536 length 96

// What transformers exports: whole weights picked per choice. Tokens keep their dimensions, also behind the ranking.
// CHECK-LABEL: func.func @picked_weights
// CHECK-SAME: %[[X:.*]]: tensor<2x3x8xf32>, %[[SCORES:.*]]: tensor<2x3x4xf32>
// CHECK-NOT: parplan.gather
// CHECK-DAG: %[[UP:.*]] = parplan.parameter @up : tensor<4x6x8xf32>
// CHECK-DAG: %[[DOWN:.*]] = parplan.parameter @down : tensor<4x8x6xf32>
// CHECK-DAG: %[[VALUES:.*]], %[[INDICES:.*]] = parplan.topk %[[SCORES]] k 2 dim 2
// CHECK: %[[ROWS:.*]] = parplan.moe_dispatch %[[X]], %[[INDICES]] {parplan.node = 9 : i64, parplan.onnx_op = "MoE"} : {{.*}} to tensor<4x2x3x8xf32>
// CHECK: %[[H:.*]] = parplan.matmul "ebsk,enk->ebsn" %[[ROWS]], %[[UP]] experts %[[INDICES]] : tensor<2x3x2xi64> of 4 tokens "bs" {parplan.node = 8 : i64, parplan.onnx_op = "MatMul"}
// CHECK: %[[A:.*]] = parplan.relu %[[H]] : tensor<4x2x3x6xf32>
// CHECK: %[[ANSWERS:.*]] = parplan.matmul "ebsk,enk->ebsn" %[[A]], %[[DOWN]] experts %[[INDICES]] : tensor<2x3x2xi64> of 4 tokens "bs"
// CHECK: %[[Y:.*]] = parplan.moe_combine %[[ANSWERS]], %[[INDICES]] weights %[[VALUES]]
// CHECK: return %[[Y]]
func.func @picked_weights(%x: tensor<2x3x8xf32>, %scores: tensor<2x3x4xf32>) -> tensor<2x3x8xf32> {
  %up = parplan.parameter @up : tensor<4x6x8xf32>
  %down = parplan.parameter @down : tensor<4x8x6xf32>
  %flat = parplan.reshape %scores : tensor<2x3x4xf32> to tensor<6x4xf32>
  %values, %indices = parplan.topk %flat k 2 dim 1 largest true : tensor<6x4xf32>
  %choices = parplan.reshape %indices : tensor<6x2xi64> to tensor<12xi64>
  %t = parplan.reshape %x : tensor<2x3x8xf32> to tensor<6x1x8xf32>
  %r = parplan.broadcast %t : tensor<6x1x8xf32> to tensor<6x2x8xf32>
  %c = parplan.reshape %r : tensor<6x2x8xf32> to tensor<12x8x1xf32>
  %wu = parplan.gather %up, %choices dim 0 : tensor<4x6x8xf32>, tensor<12xi64>
  %h = parplan.matmul "bij,bjk->bik" %wu, %c {parplan.node = 8 : i64, parplan.onnx_op = "MatMul"} : tensor<12x6x8xf32>, tensor<12x8x1xf32>
  %hs = parplan.reshape %h : tensor<12x6x1xf32> to tensor<12x6xf32>
  %as = parplan.relu %hs : tensor<12x6xf32>
  %a = parplan.reshape %as : tensor<12x6xf32> to tensor<12x6x1xf32>
  %wd = parplan.gather %down, %choices dim 0 {parplan.node = 9 : i64, parplan.onnx_op = "Gather"} : tensor<4x8x6xf32>, tensor<12xi64>
  %o = parplan.matmul "bij,bjk->bik" %wd, %a : tensor<12x8x6xf32>, tensor<12x6x1xf32>
  %s = parplan.reshape %o : tensor<12x8x1xf32> to tensor<12x8xf32>
  %w = parplan.reshape %values : tensor<6x2xf32> to tensor<12x1xf32>
  %m = parplan.mul %s, %w : tensor<12x8xf32>, tensor<12x1xf32>
  %k = parplan.reshape %m : tensor<12x8xf32> to tensor<6x2x8xf32>
  %y = parplan.reduce sum %k dims [1] : tensor<6x2x8xf32>
  %z = parplan.reshape %y : tensor<6x8xf32> to tensor<2x3x8xf32>
  return %z : tensor<2x3x8xf32>
}

// -----

parplan.initializer @up "up" : tensor<4x8x6xf32> in "" at 0 length 768
parplan.initializer @down "down" : tensor<4x6x8xf32> in "" at 768 length 768
parplan.initializer @bias "bias" : tensor<4x6xf32> in "" at 1536 length 96

// Indices that are counted from the end, a bias per expert, a gate that is sliced off, tokens that broadcast over their
// choices, and weights that come before the last product. A bias is added to the rows of tokens that an expert has.
// CHECK-LABEL: func.func @other_forms
// CHECK-SAME: %[[X:.*]]: tensor<5x8xf32>
// CHECK-NOT: parplan.gather
// CHECK: %[[VALUES:.*]], %[[INDICES:.*]] = parplan.topk
// CHECK: %[[ROWS:.*]] = parplan.moe_dispatch %[[X]], %[[INDICES]] {{.*}} to tensor<4x5x8xf32>
// CHECK: %[[H:.*]] = parplan.matmul "etk,ekn->etn" %[[ROWS]], %{{.*}} experts %[[INDICES]] : tensor<5x2xi64> of 4 tokens "t" : tensor<4x5x8xf32>, tensor<4x8x3xf32>
// CHECK: %[[ONES:.*]] = parplan.constant dense<1.000000e+00> : tensor<5x1xf32>
// CHECK: %[[ONE_ROWS:.*]] = parplan.moe_dispatch %[[ONES]], %[[INDICES]] {{.*}} to tensor<4x5x1xf32>
// CHECK: %[[BIAS:.*]] = parplan.matmul "etk,ekn->etn" %[[ONE_ROWS]], %{{.*}} experts %[[INDICES]] : tensor<5x2xi64> of 4 tokens "t" : tensor<4x5x1xf32>, tensor<4x1x3xf32>
// CHECK: %[[GATE:.*]] = parplan.add %[[H]], %[[BIAS]] : tensor<4x5x3xf32>, tensor<4x5x3xf32>
// CHECK: parplan.sigmoid %[[GATE]] : tensor<4x5x3xf32>
// CHECK: parplan.matmul "etk,ekn->etn" %[[ROWS]], %{{.*}} experts %[[INDICES]] : tensor<5x2xi64> of 4 tokens "t" : tensor<4x5x8xf32>, tensor<4x8x3xf32>
// CHECK: parplan.matmul "etk,ekn->etn" %[[ONE_ROWS]], %{{.*}} experts %[[INDICES]] : tensor<5x2xi64> of 4 tokens "t" : tensor<4x5x1xf32>, tensor<4x1x3xf32>
// CHECK: %[[W:.*]] = parplan.moe_dispatch %[[ONES]], %[[INDICES]] weights %[[VALUES]]
// CHECK: parplan.mul %{{.*}}, %[[W]] : tensor<4x5x3xf32>, tensor<4x5x1xf32>
// CHECK: %[[ANSWERS:.*]] = parplan.matmul "etk,ekn->etn"
// CHECK: parplan.moe_combine %[[ANSWERS]], %[[INDICES]] {{.*}} : tensor<4x5x8xf32>
func.func @other_forms(%x: tensor<5x8xf32>, %scores: tensor<5x4xf32>) -> tensor<5x8xf32> {
  %up = parplan.parameter @up : tensor<4x8x6xf32>
  %wide = parplan.parameter @down : tensor<4x6x8xf32>
  %down = parplan.slice %wide dims [1] from [0] to [3] step [1] : tensor<4x6x8xf32>
  %bias = parplan.parameter @bias : tensor<4x6xf32>
  %values, %indices = parplan.topk %scores k 2 dim 1 largest true : tensor<5x4xf32>
  %zero = parplan.constant dense<0> : tensor<i64>
  %four = parplan.constant dense<4> : tensor<i64>
  %negative = parplan.compare lt %indices, %zero : tensor<5x2xi64>, tensor<i64>
  %shifted = parplan.add %indices, %four : tensor<5x2xi64>, tensor<i64>
  %choices = parplan.select %negative, %shifted, %indices : tensor<5x2xi1>, tensor<5x2xi64>, tensor<5x2xi64>
  %wu = parplan.gather %up, %choices dim 0 : tensor<4x8x6xf32>, tensor<5x2xi64>
  %h = parplan.matmul "tk,tjkn->tjn" %x, %wu : tensor<5x8xf32>, tensor<5x2x8x6xf32>
  %wb = parplan.embedding %choices, %bias : tensor<5x2xi64>, tensor<4x6xf32>
  %b = parplan.add %h, %wb : tensor<5x2x6xf32>, tensor<5x2x6xf32>
  %gate = parplan.slice %b dims [2] from [0] to [3] step [1] : tensor<5x2x6xf32>
  %value = parplan.slice %b dims [2] from [3] to [6] step [1] : tensor<5x2x6xf32>
  %g = parplan.sigmoid %gate : tensor<5x2x3xf32>
  %a = parplan.mul %g, %value : tensor<5x2x3xf32>, tensor<5x2x3xf32>
  %w = parplan.reshape %values : tensor<5x2xf32> to tensor<5x2x1xf32>
  %m = parplan.mul %a, %w : tensor<5x2x3xf32>, tensor<5x2x1xf32>
  %wd = parplan.gather %down, %choices dim 0 : tensor<4x3x8xf32>, tensor<5x2xi64>
  %o = parplan.matmul "tjk,tjkn->tjn" %m, %wd : tensor<5x2x3xf32>, tensor<5x2x3x8xf32>
  %y = parplan.reduce sum %o dims [1] : tensor<5x2x8xf32>
  return %y : tensor<5x8xf32>
}

// -----

parplan.initializer @up "up" : tensor<4x6x8xf32> in "" at 0 length 768

// Indices that are no ranking may be anything.
// CHECK-LABEL: func.func @no_ranking
// CHECK: parplan.gather
// CHECK-NOT: parplan.moe
func.func @no_ranking(%x: tensor<5x8xf32>, %choices: tensor<5x2xi64>, %w: tensor<5x2x1xf32>) -> tensor<5x6xf32> {
  %up = parplan.parameter @up : tensor<4x6x8xf32>
  %wu = parplan.gather %up, %choices dim 0 : tensor<4x6x8xf32>, tensor<5x2xi64>
  %h = parplan.matmul "tk,tjnk->tjn" %x, %wu : tensor<5x8xf32>, tensor<5x2x6x8xf32>
  %m = parplan.mul %h, %w : tensor<5x2x6xf32>, tensor<5x2x1xf32>
  %y = parplan.reduce sum %m dims [1] : tensor<5x2x6xf32>
  return %y : tensor<5x6xf32>
}

// -----

parplan.initializer @up "up" : tensor<4x6x8xf32> in "" at 0 length 768

// The derivative of a root is not finite at zero, where rows of other experts are.
// CHECK-LABEL: func.func @not_finite_at_zero
// CHECK: parplan.gather
// CHECK-NOT: parplan.moe
func.func @not_finite_at_zero(%x: tensor<5x8xf32>, %scores: tensor<5x4xf32>) -> tensor<5x6xf32> {
  %up = parplan.parameter @up : tensor<4x6x8xf32>
  %values, %indices = parplan.topk %scores k 2 dim 1 largest true : tensor<5x4xf32>
  %wu = parplan.gather %up, %indices dim 0 : tensor<4x6x8xf32>, tensor<5x2xi64>
  %h = parplan.matmul "tk,tjnk->tjn" %x, %wu : tensor<5x8xf32>, tensor<5x2x6x8xf32>
  %s = parplan.sqrt %h : tensor<5x2x6xf32>
  %y = parplan.reduce sum %s dims [1] : tensor<5x2x6xf32>
  return %y : tensor<5x6xf32>
}

// -----

parplan.initializer @up "up" : tensor<4x6x8xf32> in "" at 0 length 768

// The sum mixes what belongs to different tokens.
// CHECK-LABEL: func.func @other_order
// CHECK: parplan.gather
// CHECK-NOT: parplan.moe
func.func @other_order(%x: tensor<5x8xf32>, %scores: tensor<5x4xf32>) -> tensor<2x6xf32> {
  %up = parplan.parameter @up : tensor<4x6x8xf32>
  %values, %indices = parplan.topk %scores k 2 dim 1 largest true : tensor<5x4xf32>
  %wu = parplan.gather %up, %indices dim 0 : tensor<4x6x8xf32>, tensor<5x2xi64>
  %h = parplan.matmul "tk,tjnk->tjn" %x, %wu : tensor<5x8xf32>, tensor<5x2x6x8xf32>
  %r = parplan.reshape %h : tensor<5x2x6xf32> to tensor<2x5x6xf32>
  %y = parplan.reduce sum %r dims [1] : tensor<2x5x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

parplan.initializer @up "up" : tensor<4x6x8xf32> in "" at 0 length 768

// One expert per token: what it is computed from is not computed once per expert.
// CHECK-LABEL: func.func @one_expert
// CHECK: %[[SUM:.*]] = parplan.add %{{.*}} : tensor<2x3x8xf32>, tensor<2x3x8xf32>
// CHECK: %[[ROWS:.*]] = parplan.moe_dispatch %[[SUM]], %[[INDICES:.*]] {
// CHECK: parplan.matmul "ebsk,enk->ebsn" %[[ROWS]]
// CHECK: parplan.moe_combine %{{.*}}, %[[INDICES]] weights
// CHECK-NOT: parplan.reshape
func.func @one_expert(%x: tensor<2x3x8xf32>, %r: tensor<2x3x8xf32>, %scores: tensor<2x3x4xf32>) -> tensor<2x3x6xf32> {
  %up = parplan.parameter @up : tensor<4x6x8xf32>
  %x2 = parplan.add %x, %r : tensor<2x3x8xf32>, tensor<2x3x8xf32>
  %flat = parplan.reshape %scores : tensor<2x3x4xf32> to tensor<6x4xf32>
  %values, %indices = parplan.topk %flat k 1 dim 1 largest true : tensor<6x4xf32>
  %choices = parplan.reshape %indices : tensor<6x1xi64> to tensor<6xi64>
  %c = parplan.reshape %x2 : tensor<2x3x8xf32> to tensor<6x8x1xf32>
  %wu = parplan.gather %up, %choices dim 0 : tensor<4x6x8xf32>, tensor<6xi64>
  %h = parplan.matmul "bij,bjk->bik" %wu, %c : tensor<6x6x8xf32>, tensor<6x8x1xf32>
  %s = parplan.reshape %h : tensor<6x6x1xf32> to tensor<6x1x6xf32>
  %w = parplan.reshape %values : tensor<6x1xf32> to tensor<6x1x1xf32>
  %m = parplan.mul %s, %w : tensor<6x1x6xf32>, tensor<6x1x1xf32>
  %y = parplan.reduce sum %m dims [1] : tensor<6x1x6xf32>
  %z = parplan.reshape %y : tensor<6x6xf32> to tensor<2x3x6xf32>
  return %z : tensor<2x3x6xf32>
}

// -----

parplan.initializer @up "up" : tensor<4x6x8xf32> in "" at 0 length 768

// Choices of several rankings, which may name an expert twice: without weights each of them counts for one.
// CHECK-LABEL: func.func @one_by_one
// CHECK: %[[CHOICES:.*]] = parplan.concat %{{.*}}, %{{.*}} dim 1 : tensor<5x1xi64>, tensor<5x1xi64>
// CHECK: %[[ROWS:.*]] = parplan.moe_dispatch %{{.*}}, %[[CHOICES]]
// CHECK: %[[H:.*]] = parplan.matmul "etk,enk->etn" %[[ROWS]], %{{.*}} experts %[[CHOICES]] : tensor<5x2xi64> of 4 tokens "t"
// CHECK: %[[ONES:.*]] = parplan.constant dense<1.000000e+00> : tensor<5x2xf32>
// CHECK: parplan.moe_combine %[[H]], %[[CHOICES]] weights %[[ONES]]
func.func @one_by_one(%x: tensor<5x8xf32>, %scores: tensor<5x4xf32>, %others: tensor<5x4xf32>) -> tensor<5x6xf32> {
  %up = parplan.parameter @up : tensor<4x6x8xf32>
  %value0, %index0 = parplan.topk %scores k 1 dim 1 largest true : tensor<5x4xf32>
  %value1, %index1 = parplan.topk %others k 1 dim 1 largest true : tensor<5x4xf32>
  %choices = parplan.concat %index0, %index1 dim 1 : tensor<5x1xi64>, tensor<5x1xi64>
  %wu = parplan.gather %up, %choices dim 0 : tensor<4x6x8xf32>, tensor<5x2xi64>
  %h = parplan.matmul "tk,tjnk->tjn" %x, %wu : tensor<5x8xf32>, tensor<5x2x6x8xf32>
  %y = parplan.reduce sum %h dims [1] : tensor<5x2x6xf32>
  return %y : tensor<5x6xf32>
}

// -----

parplan.initializer @up "up" : tensor<4x6x8xf32> in "" at 0 length 768

// Numbers of fewer experts than there are, beside those of all.
// CHECK-LABEL: func.func @some_of_them
// CHECK-NOT: moe_dispatch
func.func @some_of_them(%x: tensor<5x8xf32>, %scores: tensor<5x4xf32>, %others: tensor<5x2xf32>) -> tensor<5x6xf32> {
  %up = parplan.parameter @up : tensor<4x6x8xf32>
  %value0, %index0 = parplan.topk %scores k 1 dim 1 largest true : tensor<5x4xf32>
  %value1, %index1 = parplan.topk %others k 1 dim 1 largest true : tensor<5x2xf32>
  %choices = parplan.concat %index0, %index1 dim 1 : tensor<5x1xi64>, tensor<5x1xi64>
  %wu = parplan.gather %up, %choices dim 0 : tensor<4x6x8xf32>, tensor<5x2xi64>
  %h = parplan.matmul "tk,tjnk->tjn" %x, %wu : tensor<5x8xf32>, tensor<5x2x6x8xf32>
  %y = parplan.reduce sum %h dims [1] : tensor<5x2x6xf32>
  return %y : tensor<5x6xf32>
}

// -----

parplan.initializer @codes "codes" : tensor<4x6xf32> in "" at 0 length 96

// Rows of a table, chosen by rank and weighted, are no experts: no token is multiplied by anything of theirs.
// CHECK-LABEL: func.func @rows_of_codes
// CHECK: parplan.embedding
// CHECK-NOT: parplan.moe
func.func @rows_of_codes(%x: tensor<5x6xf32>, %scores: tensor<5x4xf32>) -> tensor<5x6xf32> {
  %codes = parplan.parameter @codes : tensor<4x6xf32>
  %values, %indices = parplan.topk %scores k 2 dim 1 largest true : tensor<5x4xf32>
  %rows = parplan.embedding %indices, %codes : tensor<5x2xi64>, tensor<4x6xf32>
  %tokens = parplan.reshape %x : tensor<5x6xf32> to tensor<5x1x6xf32>
  %m = parplan.mul %rows, %tokens : tensor<5x2x6xf32>, tensor<5x1x6xf32>
  %w = parplan.reshape %values : tensor<5x2xf32> to tensor<5x2x1xf32>
  %o = parplan.mul %m, %w : tensor<5x2x6xf32>, tensor<5x2x1xf32>
  %y = parplan.reduce sum %o dims [1] : tensor<5x2x6xf32>
  return %y : tensor<5x6xf32>
}

// -----

parplan.initializer @up "up" : tensor<4x6x8xf32> in "" at 0 length 768
parplan.initializer @bias "bias" : tensor<4x6xf32> in "" at 0 length 96

// A row that gets no gradient is the bias of no expert.
// CHECK-LABEL: func.func @padding
// CHECK: parplan.embedding
// CHECK-NOT: parplan.moe
func.func @padding(%x: tensor<5x8xf32>, %scores: tensor<5x4xf32>) -> tensor<5x6xf32> {
  %up = parplan.parameter @up : tensor<4x6x8xf32>
  %bias = parplan.parameter @bias : tensor<4x6xf32>
  %values, %indices = parplan.topk %scores k 2 dim 1 largest true : tensor<5x4xf32>
  %wu = parplan.gather %up, %indices dim 0 : tensor<4x6x8xf32>, tensor<5x2xi64>
  %h = parplan.matmul "tk,tjnk->tjn" %x, %wu : tensor<5x8xf32>, tensor<5x2x6x8xf32>
  %b = parplan.embedding %indices, %bias {parplan.padding_id = 0 : i64} : tensor<5x2xi64>, tensor<4x6xf32>
  %s = parplan.add %h, %b : tensor<5x2x6xf32>, tensor<5x2x6xf32>
  %y = parplan.reduce sum %s dims [1] : tensor<5x2x6xf32>
  return %y : tensor<5x6xf32>
}

// -----

parplan.initializer @up "up" : tensor<4x6x8xf32> in "" at 0 length 768

// Numbers that were bytes on the way may be those of other experts.
// CHECK-LABEL: func.func @bytes
// CHECK: parplan.gather
// CHECK-NOT: parplan.moe
func.func @bytes(%x: tensor<5x8xf32>, %scores: tensor<5x4xf32>, %others: tensor<5x4xf32>) -> tensor<5x6xf32> {
  %up = parplan.parameter @up : tensor<4x6x8xf32>
  %value0, %index0 = parplan.topk %scores k 1 dim 1 largest true : tensor<5x4xf32>
  %value1, %index1 = parplan.topk %others k 1 dim 1 largest true : tensor<5x4xf32>
  %byte0 = parplan.cast %index0 : tensor<5x1xi64> to tensor<5x1xi8>
  %byte1 = parplan.cast %index1 : tensor<5x1xi64> to tensor<5x1xi8>
  %bytes = parplan.concat %byte0, %byte1 dim 1 : tensor<5x1xi8>, tensor<5x1xi8>
  %choices = parplan.cast %bytes : tensor<5x2xi8> to tensor<5x2xi64>
  %wu = parplan.gather %up, %choices dim 0 : tensor<4x6x8xf32>, tensor<5x2xi64>
  %h = parplan.matmul "tk,tjnk->tjn" %x, %wu : tensor<5x8xf32>, tensor<5x2x6x8xf32>
  %y = parplan.reduce sum %h dims [1] : tensor<5x2x6xf32>
  return %y : tensor<5x6xf32>
}
