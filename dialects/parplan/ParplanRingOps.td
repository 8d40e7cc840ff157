//===- ParplanRingOps.td - Attention over keys in a ring -*- tablegen -*-===//
//
// What localisation makes of an attention that runs in a loop over panels of
// its keys (S21): every rank has its queries and one block of the keys; the
// blocks go round the ring of the ranks along `axes`. Types are local.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RING_OPS_TD
#define PARPLAN_RING_OPS_TD

include "dialects/parplan/ParplanBase.td"
include "dialects/parplan/ParplanInterfaces.td"

class Parplan_RingOp<string mnemonic, list<Trait> traits = []>
    : Parplan_TensorOp<mnemonic,
        [AttrSizedOperandSegments, InferTypeOpAdaptor] # traits> {
  let hasVerifier = 1;
}

def Parplan_RingAttentionOp : Parplan_RingOp<"ring_attention"> {
  let summary = "attention over the keys of all ranks along `axes`";
  let description = [{
    Operands and results are those of `attention`, but that key and value are this
    rank's block of `keys` keys, split by `axes` of the module's only mesh (S3),
    and that the result is f32 for elements of 16 bits: it grows block by block.
    `query_offset` is the position of the first query. With `zigzag` queries and
    keys are a block of the zig-zag order of `attention` over as many ranks, and
    query_offset is the number of the first query in that order.

    Constraints:
    * `axes` are axes of the mesh, each once;
    * key and value have as many keys as a block of `keys` over `axes`;
    * the last dimension of the mask has `keys` elements, or those of a block,
      which then goes round too, or one;
    * with `zigzag`, `causal`, as many queries as keys, and 2n divides `keys` for n
      ranks.
  }];
  let arguments = (ins Parplan_FloatTensor:$query, Parplan_FloatTensor:$key,
      Parplan_FloatTensor:$value, Optional<Parplan_Tensor>:$mask,
      Optional<Parplan_OffsetTensor>:$query_offset,
      Parplan_AxisListAttr:$axes, I64Attr:$keys, F64Attr:$scale,
      UnitAttr:$causal, UnitAttr:$zigzag, UnitAttr:$statistics);
  let results = (outs Parplan_FloatTensor:$result,
      Optional<Parplan_FloatTensor>:$log_sum_exp);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^ `:` type($mask))?
    (`offset` $query_offset^ `:` type($query_offset))? `axes` $axes
    `keys` $keys `scale` $scale (`causal` $causal^)? (`zigzag` $zigzag^)?
    (`statistics` $statistics^)? attr-dict
    `:` type($query) `,` type($key) `,` type($value)
  }];
}

def Parplan_RingAttentionGradientOp
    : Parplan_RingOp<"ring_attention_gradient",
        [AllTypesMatch<["result", "result_gradient"]>]> {
  let summary = "attention_gradient over the keys of all ranks along `axes`";
  let description = [{
    As `ring_attention`: key, value and their gradients are blocks, which go
    round; a gradient is home after as many hops as there are ranks. The gradient
    of the query is f32 for elements of 16 bits.

    Constraints: those of `ring_attention`.
  }];
  let arguments = (ins Parplan_FloatTensor:$query, Parplan_FloatTensor:$key,
      Parplan_FloatTensor:$value, Parplan_FloatTensor:$result,
      Parplan_FloatTensor:$log_sum_exp, Parplan_FloatTensor:$result_gradient,
      Optional<Parplan_Tensor>:$mask,
      Optional<Parplan_OffsetTensor>:$query_offset,
      Parplan_AxisListAttr:$axes, I64Attr:$keys, F64Attr:$scale,
      UnitAttr:$causal, UnitAttr:$zigzag);
  let results = (outs Parplan_FloatTensor:$query_gradient,
      Parplan_FloatTensor:$key_gradient, Parplan_FloatTensor:$value_gradient);
  let assemblyFormat = [{
    $query `,` $key `,` $value `result` $result `,` $log_sum_exp
    `gradient` $result_gradient (`mask` $mask^ `:` type($mask))?
    (`offset` $query_offset^ `:` type($query_offset))? `axes` $axes
    `keys` $keys `scale` $scale (`causal` $causal^)? (`zigzag` $zigzag^)?
    attr-dict `:` type($query) `,` type($key) `,` type($value) `,` type($result)
    `,` type($log_sum_exp)
  }];
}

#endif // PARPLAN_RING_OPS_TD
