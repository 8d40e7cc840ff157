// RUN: parplan-opt %s -parplan-raise | FileCheck %s

// As exported for opset 18: scale on both operands, keys transposed in three
// steps, a causal mask that is added, and the guard for rows of NaN.
// CHECK-LABEL: func.func @causal
func.func @causal(%q: tensor<2x6x4x8xf32>, %k: tensor<2x6x4x8xf32>, %v: tensor<2x6x4x8xf32>) -> tensor<12x32xf32> {
  %root = parplan.constant dense<0.5> : tensor<f32>
  %zero = parplan.constant dense<0.0> : tensor<f32>
  %lowest = parplan.constant dense<0xFF800000> : tensor<f32>
  %visible = parplan.affine_mask [-1, 1] + 0 : tensor<6x6xi1>
  %term = parplan.select %visible, %zero, %lowest : tensor<6x6xi1>, tensor<f32>, tensor<f32>
  %mask = parplan.broadcast %term : tensor<6x6xf32> to tensor<2x1x6x6xf32>
  %qt = parplan.transpose %q [0, 2, 1, 3] : tensor<2x6x4x8xf32>
  %kt = parplan.transpose %k [0, 2, 1, 3] : tensor<2x6x4x8xf32>
  %vt = parplan.transpose %v [0, 2, 1, 3] : tensor<2x6x4x8xf32>
  %k3 = parplan.reshape %kt : tensor<2x4x6x8xf32> to tensor<8x6x8xf32>
  %k3t = parplan.transpose %k3 [0, 2, 1] : tensor<8x6x8xf32>
  %k4 = parplan.reshape %k3t : tensor<8x8x6xf32> to tensor<2x4x8x6xf32>
  %qs = parplan.mul %qt, %root : tensor<2x4x6x8xf32>, tensor<f32>
  %ks = parplan.mul %k4, %root : tensor<2x4x8x6xf32>, tensor<f32>
  %scores = parplan.matmul "abcd,abde->abce" %qs, %ks : tensor<2x4x6x8xf32>, tensor<2x4x8x6xf32>
  %masked = parplan.add %scores, %mask : tensor<2x4x6x6xf32>, tensor<2x1x6x6xf32>
  %weights = parplan.softmax %masked dim 3 : tensor<2x4x6x6xf32>
  %nan = parplan.is_nan %weights : tensor<2x4x6x6xf32>
  %guarded = parplan.select %nan, %zero, %weights : tensor<2x4x6x6xi1>, tensor<f32>, tensor<2x4x6x6xf32>
  // CHECK-NEXT: %[[A:.*]] = parplan.attention %arg0, %arg1, %arg2 scale 2.500000e-01 causal {parplan.node = 9 : i64, parplan.onnx_op = "Attention"}
  // CHECK-NEXT: %[[Y:.*]] = parplan.reshape %[[A]] : tensor<2x6x4x8xf32> to tensor<12x32xf32>
  // CHECK-NEXT: return %[[Y]]
  %heads = parplan.matmul "abcd,abde->abce" %guarded, %vt {parplan.node = 9 : i64, parplan.onnx_op = "MatMul"} : tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>
  %back = parplan.transpose %heads [0, 2, 1, 3] : tensor<2x4x6x8xf32>
  %y = parplan.reshape %back : tensor<2x6x4x8xf32> to tensor<12x32xf32>
  return %y : tensor<12x32xf32>
}

// A condition on keys that only the input knows: a row may lose all keys, which
// the guard makes zero.
// CHECK-LABEL: func.func @masked_and_guarded
func.func @masked_and_guarded(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x7x8xf32>, %v: tensor<2x4x7x8xf32>, %visible: tensor<2x1x1x7xi1>) -> tensor<2x4x6x8xf32> {
  %scale = parplan.constant dense<8.0> : tensor<f32>
  %zero = parplan.constant dense<0.0> : tensor<f32>
  %lowest = parplan.constant dense<0xFF800000> : tensor<f32>
  %kt = parplan.transpose %k [0, 1, 3, 2] : tensor<2x4x7x8xf32>
  %scores = parplan.matmul "abcd,abde->abce" %q, %kt : tensor<2x4x6x8xf32>, tensor<2x4x8x7xf32>
  %scaled = parplan.div %scores, %scale : tensor<2x4x6x7xf32>, tensor<f32>
  %masked = parplan.select %visible, %scaled, %lowest : tensor<2x1x1x7xi1>, tensor<2x4x6x7xf32>, tensor<f32>
  %weights = parplan.softmax %masked dim 3 : tensor<2x4x6x7xf32>
  %nan = parplan.is_nan %weights : tensor<2x4x6x7xf32>
  %guarded = parplan.select %nan, %zero, %weights : tensor<2x4x6x7xi1>, tensor<f32>, tensor<2x4x6x7xf32>
  // CHECK: parplan.attention %{{.*}}, %{{.*}}, %{{.*}} mask %arg3 : tensor<2x1x1x7xi1> scale 1.250000e-01 zero_masked_rows
  // CHECK-NOT: parplan.softmax
  %heads = parplan.matmul "abcd,abde->abce" %guarded, %v : tensor<2x4x6x7xf32>, tensor<2x4x7x8xf32>
  return %heads : tensor<2x4x6x8xf32>
}

// A finite number averages rows without keys: the term stays what it is.
// CHECK-LABEL: func.func @finite_mask
func.func @finite_mask(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x7x8xf32>, %v: tensor<2x4x7x8xf32>, %visible: tensor<2x1x1x7xi1>) -> tensor<2x4x6x8xf32> {
  %zero = parplan.constant dense<0.0> : tensor<f32>
  %low = parplan.constant dense<-3.40282347E+38> : tensor<f32>
  %term = parplan.select %visible, %zero, %low : tensor<2x1x1x7xi1>, tensor<f32>, tensor<f32>
  // CHECK: %[[TERM:.*]] = parplan.select %arg3
  %scores = parplan.matmul "abcd,abed->abce" %q, %k : tensor<2x4x6x8xf32>, tensor<2x4x7x8xf32>
  %masked = parplan.add %scores, %term : tensor<2x4x6x7xf32>, tensor<2x1x1x7xf32>
  %weights = parplan.softmax %masked dim 3 : tensor<2x4x6x7xf32>
  // CHECK: parplan.attention %{{.*}}, %{{.*}}, %{{.*}} mask %[[TERM]] : tensor<2x1x1x7xf32> scale 1.000000e+00 {parplan.onnx_op = "Attention"}
  %heads = parplan.matmul "abcd,abde->abce" %weights, %v : tensor<2x4x6x7xf32>, tensor<2x4x7x8xf32>
  return %heads : tensor<2x4x6x8xf32>
}

// Keys and values of 2 heads, repeated for 6 query heads; 3 keys more than
// queries.
// CHECK-LABEL: func.func @grouped_heads
func.func @grouped_heads(%q: tensor<2x6x4x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x8xf32>) -> tensor<2x6x4x8xf32> {
  %lowest = parplan.constant dense<-1.0e+30> : tensor<f32>
  %hidden = parplan.affine_mask [1, -1] + 4 : tensor<4x7xi1>
  %k5 = parplan.reshape %k : tensor<2x2x7x8xf32> to tensor<2x2x1x7x8xf32>
  %kb = parplan.broadcast %k5 : tensor<2x2x1x7x8xf32> to tensor<2x2x3x7x8xf32>
  %kr = parplan.reshape %kb : tensor<2x2x3x7x8xf32> to tensor<2x6x7x8xf32>
  %v5 = parplan.reshape %v : tensor<2x2x7x8xf32> to tensor<2x2x1x7x8xf32>
  %vb = parplan.broadcast %v5 : tensor<2x2x1x7x8xf32> to tensor<2x2x3x7x8xf32>
  %vr = parplan.reshape %vb : tensor<2x2x3x7x8xf32> to tensor<2x6x7x8xf32>
  // CHECK-DAG: %[[Q:.*]] = parplan.transpose %arg0 [0, 2, 1, 3]
  // CHECK-DAG: %[[K:.*]] = parplan.transpose %arg1 [0, 2, 1, 3]
  // CHECK-DAG: %[[V:.*]] = parplan.transpose %arg2 [0, 2, 1, 3]
  // CHECK-DAG: %[[OFFSET:.*]] = parplan.constant dense<3> : tensor<i64>
  // CHECK: %[[A:.*]] = parplan.attention %[[Q]], %[[K]], %[[V]] offset %[[OFFSET]] : tensor<i64> scale 1.000000e+00 causal {{.*}}: tensor<2x4x6x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x8xf32>
  %scores = parplan.matmul "abcd,abed->abce" %q, %kr : tensor<2x6x4x8xf32>, tensor<2x6x7x8xf32>
  %masked = parplan.select %hidden, %lowest, %scores : tensor<4x7xi1>, tensor<f32>, tensor<2x6x4x7xf32>
  %weights = parplan.softmax %masked dim 3 : tensor<2x6x4x7xf32>
  // CHECK-NOT: parplan.broadcast
  %heads = parplan.matmul "abcd,abde->abce" %weights, %vr : tensor<2x6x4x7xf32>, tensor<2x6x7x8xf32>
  return %heads : tensor<2x6x4x8xf32>
}

// An attention of the model itself, on repeated heads, with a causal mask.
// CHECK-LABEL: func.func @imported_attention
func.func @imported_attention(%q: tensor<2x6x4x8xf32>, %k: tensor<2x2x6x8xf32>) -> tensor<2x6x4x8xf32> {
  %visible = parplan.affine_mask [-1, 1] + 0 : tensor<6x6xi1>
  %k5 = parplan.reshape %k : tensor<2x2x6x8xf32> to tensor<2x2x1x6x8xf32>
  %kb = parplan.broadcast %k5 : tensor<2x2x1x6x8xf32> to tensor<2x2x2x6x8xf32>
  %kr = parplan.reshape %kb : tensor<2x2x2x6x8xf32> to tensor<2x4x6x8xf32>
  %kt = parplan.transpose %kr [0, 2, 1, 3] : tensor<2x4x6x8xf32>
  // CHECK: %[[K:.*]] = parplan.transpose %arg1 [0, 2, 1, 3]
  // CHECK: parplan.attention %arg0, %[[K]], %{{.*}} scale 2.500000e-01 causal {{.*}}: tensor<2x6x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>
  %y = parplan.attention %q, %kt, %kt mask %visible : tensor<6x6xi1> scale 0.25 : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>
  return %y : tensor<2x6x4x8xf32>
}

// What replaces scores must be beyond all scores.
// CHECK-LABEL: func.func @replacement_near_scores
func.func @replacement_near_scores(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x7x8xf32>, %visible: tensor<2x1x1x7xi1>) -> tensor<2x4x6x8xf32> {
  %low = parplan.constant dense<-100.0> : tensor<f32>
  %scores = parplan.matmul "abcd,abed->abce" %q, %k : tensor<2x4x6x8xf32>, tensor<2x4x7x8xf32>
  %masked = parplan.select %visible, %scores, %low : tensor<2x1x1x7xi1>, tensor<2x4x6x7xf32>, tensor<f32>
  // CHECK: parplan.softmax
  %weights = parplan.softmax %masked dim 3 : tensor<2x4x6x7xf32>
  // CHECK-NOT: parplan.attention
  %heads = parplan.matmul "abcd,abde->abce" %weights, %k : tensor<2x4x6x7xf32>, tensor<2x4x7x8xf32>
  return %heads : tensor<2x4x6x8xf32>
}

// A batch of matrices as torch.bmm writes it: batch and heads in one dimension.
// CHECK-LABEL: func.func @flattened_heads
func.func @flattened_heads(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %visible = parplan.affine_mask [0, -1, 1] + 0 : tensor<1x6x6xi1>
  %lowest = parplan.constant dense<0xFF800000> : tensor<f32>
  %q3 = parplan.reshape %q : tensor<2x4x6x8xf32> to tensor<8x6x8xf32>
  %k3 = parplan.reshape %k : tensor<2x4x6x8xf32> to tensor<8x6x8xf32>
  %v3 = parplan.reshape %v : tensor<2x4x6x8xf32> to tensor<8x6x8xf32>
  %scores = parplan.matmul "abc,adc->abd" %q3, %k3 : tensor<8x6x8xf32>, tensor<8x6x8xf32>
  %masked = parplan.select %visible, %scores, %lowest : tensor<1x6x6xi1>, tensor<8x6x6xf32>, tensor<f32>
  %weights = parplan.softmax %masked dim 2 : tensor<8x6x6xf32>
  // CHECK: %[[A:.*]] = parplan.attention %{{.*}}, %{{.*}}, %{{.*}} scale 1.000000e+00 causal {{.*}}: tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>
  // CHECK-NEXT: %[[Y:.*]] = parplan.transpose %[[A]] [0, 2, 1, 3]
  // CHECK-NEXT: return %[[Y]]
  %heads = parplan.matmul "abc,acd->abd" %weights, %v3 : tensor<8x6x6xf32>, tensor<8x6x8xf32>
  %y = parplan.reshape %heads : tensor<8x6x8xf32> to tensor<2x4x6x8xf32>
  return %y : tensor<2x4x6x8xf32>
}

// One head has no dimension of its own; a mask per sample needs one.
// CHECK-LABEL: func.func @single_head
func.func @single_head(%q: tensor<2x6x8xf32>, %mask: tensor<2x6x6xf32>) -> (tensor<2x6x8xf32>, tensor<2x6x8xf32>) {
  %scores = parplan.matmul "abc,adc->abd" %q, %q : tensor<2x6x8xf32>, tensor<2x6x8xf32>
  %weights = parplan.softmax %scores dim 2 : tensor<2x6x6xf32>
  // CHECK: %[[A:.*]] = parplan.attention {{.*}}: tensor<2x6x1x8xf32>
  %plain = parplan.matmul "abc,acd->abd" %weights, %q : tensor<2x6x6xf32>, tensor<2x6x8xf32>
  %added = parplan.add %scores, %mask : tensor<2x6x6xf32>, tensor<2x6x6xf32>
  %others = parplan.softmax %added dim 2 : tensor<2x6x6xf32>
  // CHECK: %[[M:.*]] = parplan.reshape %arg1 {{.*}}tensor<2x6x6xf32> to tensor<2x1x6x6xf32>
  // CHECK: parplan.attention {{.*}} mask %[[M]] : tensor<2x1x6x6xf32>
  %masked = parplan.matmul "abc,acd->abd" %others, %q : tensor<2x6x6xf32>, tensor<2x6x8xf32>
  return %plain, %masked : tensor<2x6x8xf32>, tensor<2x6x8xf32>
}

// Scores of a sink stand behind those of the keys, and its weight is cut off. The maximum is taken away by the model, too.
// CHECK-LABEL: func.func @sink
// CHECK: %[[S:.*]] = parplan.reshape %{{.*}} : tensor<1x4x1x1xf32> to tensor<4xf32>
// CHECK: parplan.attention %{{.*}}, %{{.*}}, %{{.*}} sink %[[S]] : tensor<4xf32> scale 5.000000e-01 causal {{.*}}: tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>
// CHECK-NOT: parplan.softmax
func.func @sink(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>, %s: tensor<1x4x1x1xf32>) -> tensor<2x4x6x8xf32> {
  %half = parplan.constant dense<0.5> : tensor<f32>
  %zero = parplan.constant dense<0.0> : tensor<f32>
  %lowest = parplan.constant dense<0xFF800000> : tensor<f32>
  %visible = parplan.affine_mask [-1, 1] + 0 : tensor<6x6xi1>
  %mask = parplan.select %visible, %zero, %lowest : tensor<6x6xi1>, tensor<f32>, tensor<f32>
  %product = parplan.matmul "abcd,abed->abce" %q, %k : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>
  %scaled = parplan.mul %product, %half : tensor<2x4x6x6xf32>, tensor<f32>
  %scores = parplan.add %scaled, %mask : tensor<2x4x6x6xf32>, tensor<6x6xf32>
  %sinks = parplan.broadcast %s : tensor<1x4x1x1xf32> to tensor<2x4x6x1xf32>
  %all = parplan.concat %scores, %sinks dim 3 : tensor<2x4x6x6xf32>, tensor<2x4x6x1xf32>
  %highest = parplan.reduce max %all dims [3] keep_dims : tensor<2x4x6x7xf32>
  %shifted = parplan.sub %all, %highest : tensor<2x4x6x7xf32>, tensor<2x4x6x1xf32>
  %weights = parplan.softmax %shifted dim 3 : tensor<2x4x6x7xf32>
  %kept = parplan.slice %weights dims [3] from [0] to [6] step [1] : tensor<2x4x6x7xf32>
  %y = parplan.matmul "abcd,abde->abce" %kept, %v : tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>
  return %y : tensor<2x4x6x8xf32>
}

// The weight of a sink is read, and a sink of every query is none of a head.
// CHECK-LABEL: func.func @other_sinks
// CHECK-NOT: parplan.attention
func.func @other_sinks(%q: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>, %w: tensor<2x4x7x8xf32>, %s: tensor<1x4x6x1xf32>) -> (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) {
  %scores = parplan.matmul "abcd,abed->abce" %q, %q : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>
  %sinks = parplan.broadcast %s : tensor<1x4x6x1xf32> to tensor<2x4x6x1xf32>
  %all = parplan.concat %scores, %sinks dim 3 : tensor<2x4x6x6xf32>, tensor<2x4x6x1xf32>
  %weights = parplan.softmax %all dim 3 : tensor<2x4x6x7xf32>
  %x = parplan.matmul "abcd,abde->abce" %weights, %w : tensor<2x4x6x7xf32>, tensor<2x4x7x8xf32>
  %kept = parplan.slice %weights dims [3] from [0] to [6] step [1] : tensor<2x4x6x7xf32>
  %y = parplan.matmul "abcd,abde->abce" %kept, %v : tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>
  return %x, %y : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>
}

// A window of the keys before a query, with a finite number: each query sees the key at its own position.
// CHECK-LABEL: func.func @window
// CHECK: %[[WINDOW:.*]] = parplan.affine_mask [1, -1] + -2 : tensor<6x6xi1>
// CHECK: parplan.attention %{{.*}}, %{{.*}}, %{{.*}} mask %[[WINDOW]] : tensor<6x6xi1> scale 1.000000e+00 causal {
func.func @window(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %zero = parplan.constant dense<0.0> : tensor<f32>
  %low = parplan.constant dense<-3.40282347E+38> : tensor<f32>
  %past = parplan.affine_mask [-1, 1] + 0 : tensor<6x6xi1>
  %near = parplan.affine_mask [1, -1] + -2 : tensor<6x6xi1>
  %both = parplan.and %near, %past : tensor<6x6xi1>, tensor<6x6xi1>
  %visible = parplan.broadcast %both : tensor<6x6xi1> to tensor<2x1x6x6xi1>
  %term = parplan.select %visible, %zero, %low : tensor<2x1x6x6xi1>, tensor<f32>, tensor<f32>
  %scores = parplan.matmul "abcd,abed->abce" %q, %k : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>
  %masked = parplan.add %scores, %term : tensor<2x4x6x6xf32>, tensor<2x1x6x6xf32>
  %weights = parplan.softmax %masked dim 3 : tensor<2x4x6x6xf32>
  %heads = parplan.matmul "abcd,abde->abce" %weights, %v : tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>
  return %heads : tensor<2x4x6x8xf32>
}

// A window that ends before the query leaves the first ones no key: the number averages there. A sink is always seen.
// CHECK-LABEL: func.func @window_without_the_query
// CHECK: %[[TERM:.*]] = parplan.select
// CHECK: parplan.attention %{{.*}}, %{{.*}}, %{{.*}} mask %[[TERM]] : tensor<6x6xf32> scale 1.000000e+00 {
// CHECK: parplan.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} : tensor<6x6xi1> offset %{{.*}} : tensor<i64> sink %{{.*}} : tensor<4xf32> scale 1.000000e+00 causal {
func.func @window_without_the_query(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>, %s: tensor<1x4x1x1xf32>) -> (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) {
  %zero = parplan.constant dense<0.0> : tensor<f32>
  %low = parplan.constant dense<-3.40282347E+38> : tensor<f32>
  %past = parplan.affine_mask [-1, 1] + 1 : tensor<6x6xi1>
  %near = parplan.affine_mask [1, -1] + -3 : tensor<6x6xi1>
  %both = parplan.and %near, %past : tensor<6x6xi1>, tensor<6x6xi1>
  %term = parplan.select %both, %zero, %low : tensor<6x6xi1>, tensor<f32>, tensor<f32>
  %scores = parplan.matmul "abcd,abed->abce" %q, %k : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>
  %masked = parplan.add %scores, %term : tensor<2x4x6x6xf32>, tensor<6x6xf32>
  %weights = parplan.softmax %masked dim 3 : tensor<2x4x6x6xf32>
  %x = parplan.matmul "abcd,abde->abce" %weights, %v : tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>
  %sinks = parplan.broadcast %s : tensor<1x4x1x1xf32> to tensor<2x4x6x1xf32>
  %all = parplan.concat %masked, %sinks dim 3 : tensor<2x4x6x6xf32>, tensor<2x4x6x1xf32>
  %shares = parplan.softmax %all dim 3 : tensor<2x4x6x7xf32>
  %kept = parplan.slice %shares dims [3] from [0] to [6] step [1] : tensor<2x4x6x7xf32>
  %y = parplan.matmul "abcd,abde->abce" %kept, %v : tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>
  return %x, %y : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>
}

// Masks of an attention that is one op already: a finite number is not lost. One that every query sees its own key beside is
// a condition; that of a runtime condition stays, also beside a sink.
// CHECK-LABEL: func.func @masks_of_imported_attention
// CHECK: %[[NEAR:.*]] = parplan.affine_mask [1, -1] + -2 : tensor<6x6xi1>
// CHECK: %[[TERM:.*]] = parplan.select %arg1
// CHECK: parplan.attention %arg0, %arg0, %arg0 scale 5.000000e-01 causal {{.*}}: tensor<2x6x4x8xf32>
// CHECK: parplan.attention %arg0, %arg0, %arg0 mask %[[NEAR]] : tensor<6x6xi1> scale 5.000000e-01 causal {{.*}}: tensor<2x6x4x8xf32>
// CHECK: parplan.attention %arg0, %arg0, %arg0 mask %[[TERM]] : tensor<6x6xf32> sink %arg2 : tensor<4xf32> scale 5.000000e-01 : tensor<2x6x4x8xf32>
func.func @masks_of_imported_attention(%x: tensor<2x6x4x8xf32>, %visible: tensor<6x6xi1>, %s: tensor<4xf32>) -> (tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>) {
  %zero = parplan.constant dense<0.0> : tensor<f32>
  %low = parplan.constant dense<-3.40282347E+38> : tensor<f32>
  %past = parplan.affine_mask [-1, 1] + 0 : tensor<6x6xi1>
  %near = parplan.affine_mask [1, -1] + -2 : tensor<6x6xi1>
  %both = parplan.and %near, %past : tensor<6x6xi1>, tensor<6x6xi1>
  %first = parplan.select %past, %zero, %low : tensor<6x6xi1>, tensor<f32>, tensor<f32>
  %second = parplan.select %both, %zero, %low : tensor<6x6xi1>, tensor<f32>, tensor<f32>
  %third = parplan.select %visible, %zero, %low : tensor<6x6xi1>, tensor<f32>, tensor<f32>
  %a = parplan.attention %x, %x, %x mask %first : tensor<6x6xf32> scale 0.5 : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>
  %b = parplan.attention %x, %x, %x mask %second : tensor<6x6xf32> scale 0.5 : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>
  %c = parplan.attention %x, %x, %x mask %third : tensor<6x6xf32> sink %s : tensor<4xf32> scale 0.5 : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>
  return %a, %b, %c : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>
}
