// Attention and its gradient in a ring of two ranks, of 16-bit elements, and
// outside of one.
parplan.mesh @mesh <["cp0"=2 context]>

func.func @main(%q: tensor<1x4x2x8xbf16> {parplan.name = "q"}, %k: tensor<1x4x1x8xbf16> {parplan.name = "k"}, %d: tensor<1x4x2x8xbf16> {parplan.name = "d"}, %x: tensor<1x4x2x8xf32> {parplan.name = "x"})
    -> (tensor<1x4x2x8xbf16> {parplan.name = "dq"}, tensor<1x4x1x8xbf16> {parplan.name = "dk"}, tensor<1x4x1x8xbf16> {parplan.name = "dv"}, tensor<1x4x2x8xf32> {parplan.name = "dx"}) {
  %start = parplan.block_start 7 axes <"cp0"> : tensor<i64>
  %wide, %l = parplan.ring_attention %q, %k, %k offset %start : tensor<i64> axes <"cp0"> keys 7 scale 0.5 causal statistics : tensor<1x4x2x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>
  %y = parplan.cast %wide : tensor<1x4x2x8xf32> to tensor<1x4x2x8xbf16>
  %wide_dq, %dk, %dv = parplan.ring_attention_gradient %q, %k, %k result %y, %l gradient %d offset %start : tensor<i64> axes <"cp0"> keys 7 scale 0.5 causal : tensor<1x4x2x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>
  %dq = parplan.cast %wide_dq : tensor<1x4x2x8xf32> to tensor<1x4x2x8xbf16>
  %z, %m = parplan.attention %x, %x, %x scale 0.5 statistics : tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>
  %dx, %dxk, %dxv = parplan.attention_gradient %x, %x, %x result %z, %m gradient %x scale 0.5 : tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x2x4xf32>
  %sum = parplan.sum %dx, %dxk, %dxv : tensor<1x4x2x8xf32>
  return %dq, %dk, %dv, %sum : tensor<1x4x2x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x2x8xf32>
}
