// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-localize -parplan-verify-local | FileCheck %s

parplan.mesh @mesh <["c"=2 context]>

// The ring knows where its keys lie, the offset says where the queries do.
// What grows block by block is wide, cleared and then rounded.
// CHECK-LABEL: func.func @narrow
// CHECK-SAME: %[[Q:.*]]: tensor<1x3x2x4xbf16>{{.*}}, %[[K:.*]]: tensor<1x4x1x4xbf16>
// CHECK: %[[START:.*]] = parplan.block_start 5 axes <"c"> : tensor<i64>
// CHECK: %[[RESULT:.*]], %[[STATISTICS:.*]] = parplan.ring_attention %[[Q]], %[[K]], %[[K]] offset %[[START]] : tensor<i64> axes <"c"> keys 7 scale 5.000000e-01 causal statistics
// CHECK-SAME: parplan.global_type = [tensor<1x5x2x4xbf16>, tensor<1x2x5xf32>]
// CHECK: %[[CLEAR:.*]] = parplan.clear_padding %[[RESULT]] dims [1] sizes [5] axes [#parplan.axes<"c">] fill 0.000000e+00 {{.*}} : tensor<1x3x2x4xf32>
// CHECK: %[[SHORT:.*]] = parplan.cast %[[CLEAR]] {{.*}} : tensor<1x3x2x4xf32> to tensor<1x3x2x4xbf16>
// CHECK: %[[CLEARED:.*]] = parplan.clear_padding %[[STATISTICS]] dims [2]
// CHECK: %[[AGAIN:.*]] = parplan.block_start 5 axes <"c"> : tensor<i64>
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = parplan.ring_attention_gradient %[[Q]], %[[K]], %[[K]] result %[[SHORT]], %[[CLEARED]] gradient %[[SHORT]] offset %[[AGAIN]] : tensor<i64> axes <"c"> keys 7
// CHECK: %[[DQS:.*]] = parplan.cast %[[DQ]] {{.*}} : tensor<1x3x2x4xf32> to tensor<1x3x2x4xbf16>
// CHECK: return %[[DQS]], %[[DK]], %[[DV]] : tensor<1x3x2x4xbf16>, tensor<1x4x1x4xbf16>, tensor<1x4x1x4xbf16>
func.func @narrow(%q: tensor<1x5x2x4xbf16> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>},
                  %k: tensor<1x7x1x4xbf16> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>})
    -> (tensor<1x5x2x4xbf16> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>},
        tensor<1x7x1x4xbf16> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>},
        tensor<1x7x1x4xbf16> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>}) {
  %y, %l = parplan.attention %q, %k, %k scale 0.5 causal statistics {
    parplan.factors = #parplan.factors<@mesh, {s = ["c"]}, panels = {t = ["c"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>, #parplan.sharding<@mesh, [{}, {}, {"c"}]>]}
    : tensor<1x5x2x4xbf16>, tensor<1x7x1x4xbf16>, tensor<1x7x1x4xbf16>
  %dq, %dk, %dv = parplan.attention_gradient %q, %k, %k result %y, %l gradient %y scale 0.5 causal {
    parplan.factors = #parplan.factors<@mesh, {s = ["c"]}, panels = {t = ["c"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>, #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>, #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>]}
    : tensor<1x5x2x4xbf16>, tensor<1x7x1x4xbf16>, tensor<1x7x1x4xbf16>, tensor<1x5x2x4xbf16>, tensor<1x2x5xf32>
  return %dq, %dk, %dv : tensor<1x5x2x4xbf16>, tensor<1x7x1x4xbf16>, tensor<1x7x1x4xbf16>
}

// -----

parplan.mesh @mesh <["c"=2 context]>

// A mask of keys alone goes round with them; one that is the same for all keys
// is spread where a block has one key.
// CHECK-LABEL: func.func @masks
// CHECK-SAME: %{{.*}}, %{{.*}}, %[[KEYS:.*]]: tensor<1xi1>{{.*}}, %[[ROWS:.*]]: tensor<2x1xi1>
// CHECK: parplan.ring_attention %{{.*}} mask %[[KEYS]] : tensor<1xi1> axes <"c"> keys 2
// CHECK: %[[SPREAD:.*]] = parplan.broadcast %[[ROWS]] : tensor<2x1xi1> to tensor<2x2xi1>
// CHECK: parplan.ring_attention %{{.*}} mask %[[SPREAD]] : tensor<2x2xi1> axes <"c"> keys 2
func.func @masks(%q: tensor<1x4x1x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>},
                 %k: tensor<1x2x1x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>},
                 %keys: tensor<2xi1> {parplan.sharding = #parplan.sharding<@mesh, [{"c"}]>},
                 %rows: tensor<4x1xi1> {parplan.sharding = #parplan.sharding<@mesh, [{"c"}, {}]>}) {
  parplan.attention %q, %k, %k mask %keys : tensor<2xi1> scale 0.5 {
    parplan.factors = #parplan.factors<@mesh, {s = ["c"]}, panels = {t = ["c"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>]}
    : tensor<1x4x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>
  parplan.attention %q, %k, %k mask %rows : tensor<4x1xi1> scale 0.5 {
    parplan.factors = #parplan.factors<@mesh, {s = ["c"]}, panels = {t = ["c"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>]}
    : tensor<1x4x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>

// Gathered queries: keys lie elsewhere than they do.
// CHECK-LABEL: func.func @split_keys
// CHECK: %[[ZERO:.*]] = parplan.constant dense<0> : tensor<i64>
// CHECK: %[[START:.*]] = parplan.block_start 6 axes <"c"> : tensor<i64>
// CHECK: %[[OFFSET:.*]] = parplan.sub %[[ZERO]], %[[START]]
// CHECK: parplan.attention_gradient {{.*}} offset %[[OFFSET]] : tensor<i64>
func.func @split_keys(%q: tensor<1x6x1x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}, {}, {}]>},
                      %k: tensor<1x6x1x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>},
                      %l: tensor<1x1x6xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}, {}]>}) {
  %dq, %dk, %dv = parplan.attention_gradient %q, %k, %k result %q, %l gradient %q scale 0.5 causal {
    parplan.factors = #parplan.factors<@mesh, {t = ["c"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}, {}, {}], partial = sum{"c"}>, #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>, #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>]}
    : tensor<1x6x1x4xf32>, tensor<1x6x1x4xf32>, tensor<1x6x1x4xf32>, tensor<1x6x1x4xf32>, tensor<1x1x6xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context, "x"=2 tensor]>

func.func @mask_of_half_a_ring(%q: tensor<1x4x2x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {"x"}, {}]>},
                               %k: tensor<1x4x1x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c", "x"}, {}, {}]>},
                               %m: tensor<4x4xi1> {parplan.sharding = #parplan.sharding<@mesh, [{"c"}, {"x"}]>}) {
  // expected-error@+1 {{S21: the keys of its mask are split over a part of the axes that the keys go round}}
  parplan.attention %q, %k, %k mask %m : tensor<4x4xi1> scale 0.5 {
    parplan.factors = #parplan.factors<@mesh, {s = ["c"], r = ["x"]}, panels = {t = ["c", "x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"c"}, {"x"}, {}]>]}
    : tensor<1x4x2x4xf32>, tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context, "x"=2 tensor]>

func.func @values_elsewhere(%q: tensor<1x4x1x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>},
                            %k: tensor<1x4x1x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c", "x"}, {}, {}]>},
                            %v: tensor<1x4x1x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {"x"}]>}) {
  // expected-error@+1 {{S21: its keys and values are split over different axes}}
  parplan.attention %q, %k, %v scale 0.5 {
    parplan.factors = #parplan.factors<@mesh, {s = ["c"], f = ["x"]}, panels = {t = ["c", "x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"c"}, {}, {"x"}]>]}
    : tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>

func.func @no_ring(%q: tensor<2x4x1x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"c"}, {}, {}, {}]>}) {
  // expected-error@+1 {{S21: no tensor moves in panels of factor 't'}}
  parplan.attention %q, %q, %q scale 0.5 {
    parplan.factors = #parplan.factors<@mesh, {b = ["c"]}, panels = {t = ["c"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"c"}, {}, {}, {}]>]}
    : tensor<2x4x1x4xf32>, tensor<2x4x1x4xf32>, tensor<2x4x1x4xf32>
  return
}
