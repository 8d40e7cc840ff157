//===- ParplanExpertOps.td - Mixture of experts -*- tablegen -*-===//
//
// A router picks k of e experts per token. `moe_dispatch` hands every expert its
// tokens, one batched product per expert matrix works on them, `moe_combine`
// brings the answers back. Every expert has a row for every token, so sizes are
// static and nothing is ever dropped (S19); rows of tokens that an expert does
// not get are zero.
//
// Before localisation experts count from 0. Where they are split, `first` is the
// first one of the rank's block; how many it has is in the types.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_EXPERT_OPS_TD
#define PARPLAN_EXPERT_OPS_TD

include "dialects/parplan/ParplanBase.td"
include "dialects/parplan/ParplanInterfaces.td"

def Parplan_MoeDispatchOp : Parplan_TensorOp<"moe_dispatch",
    [AttrSizedOperandSegments, Parplan_Differentiable,
     DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "Gives every expert its tokens; the rows of the others are zero";
  let description = [{
    tokens [*t, d], experts [*t, k], weights [*t, k] (1 if absent), result
    [e, *t, d]: result[e, t] is the sum of weights[t, j] tokens[t] over the j with
    experts[t, j] = first + e (0 if absent). Experts outside of the result get
    nothing.
  }];
  let arguments = (ins Parplan_FloatTensor:$tokens, Parplan_IndexTensor:$experts,
      Optional<Parplan_FloatTensor>:$weights,
      Optional<Parplan_OffsetTensor>:$first_expert);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $tokens `,` $experts (`weights` $weights^ `:` type($weights))?
    (`first` $first_expert^ `:` type($first_expert))? attr-dict
    `:` type($tokens) `,` type($experts) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Parplan_MoeCombineOp : Parplan_TensorOp<"moe_combine",
    [AttrSizedOperandSegments, InferTypeOpAdaptor, Parplan_Differentiable,
     DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "The weighted sum of what the experts of a token answer";
  let description = [{
    values [e, *t, d], experts [*t, k], weights [*t, k] (1 if absent), result
    [*t, d]: result[t] is the sum of weights[t, j] values[experts[t, j] - first, t]
    over the j whose expert is one of the values. The adjoint of `moe_dispatch`.
  }];
  let arguments = (ins Parplan_FloatTensor:$values, Parplan_IndexTensor:$experts,
      Optional<Parplan_FloatTensor>:$weights,
      Optional<Parplan_OffsetTensor>:$first_expert);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $values `,` $experts (`weights` $weights^ `:` type($weights))?
    (`first` $first_expert^ `:` type($first_expert))? attr-dict
    `:` type($values) `,` type($experts)
  }];
}

def Parplan_MoeWeightGradientOp
    : Parplan_TensorOp<"moe_weight_gradient", [InferTypeOpAdaptor]> {
  let summary = "Gradient of the weights of both";
  let description = [{
    values [e, *t, d], gradient [*t, d], experts [*t, k], result [*t, k]:
    result[t, j] is the inner product of values[experts[t, j] - first, t] and
    gradient[t], 0 where the expert is none of the values.
  }];
  let arguments = (ins Parplan_FloatTensor:$values, Parplan_FloatTensor:$gradient,
      Parplan_IndexTensor:$experts,
      Optional<Parplan_OffsetTensor>:$first_expert);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $values `,` $gradient `,` $experts
    (`first` $first_expert^ `:` type($first_expert))? attr-dict
    `:` type($values) `,` type($gradient) `,` type($experts)
  }];
}

#endif // PARPLAN_EXPERT_OPS_TD
