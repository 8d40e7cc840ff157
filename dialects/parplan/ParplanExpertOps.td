//===- ParplanExpertOps.td - Mixture of experts -*- tablegen -*-===//
//
// A router picks k of e experts per token. `moe_dispatch` hands every expert its
// tokens, one batched product per expert matrix works on them, `moe_combine`
// brings the answers back. A token has as many rows as it may have experts, so
// sizes are static and nothing is ever dropped (S19).
//
// Experts lie in groups of c, one behind the other, and a token has s rows in
// each: for those of its experts that are there, in the order of its choices,
// each expert once. `groups` is [c, s], absent [1, 1]: a row for every expert.
// Rows behind those of a token's experts are zero. There are r rows in all, s
// for each of the r / s groups; s is at least min(k, c). What the ops say of
// values [e, *t, d] is said of the row that an expert has.
//
// Choices may repeat. With weights each of them counts by its own; without, the
// experts of a token are a set, and each of them counts once. So a dispatch
// without weights hands every expert the token as it is.
//
// Before localisation experts count from 0. Where they are split, `first` is the
// first one of the rank's block; how many it has follows from the rows.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_EXPERT_OPS_TD
#define PARPLAN_EXPERT_OPS_TD

include "dialects/parplan/ParplanBase.td"
include "dialects/parplan/ParplanInterfaces.td"

defvar expertClassDeclaration = [{
  /// How rows lie.
  ::parplan::ExpertGroups getRowGroups() {
    return ::parplan::ExpertGroups::read(getGroups());
  }
}];

def Parplan_MoeDispatchOp : Parplan_TensorOp<"moe_dispatch",
    [AttrSizedOperandSegments, Parplan_Differentiable,
     DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "Gives every expert its tokens; the rows of the others are zero";
  let description = [{
    tokens [*t, d], experts [*t, k], weights [*t, k], result [e, *t, d]:
    result[e, t] is the sum of weights[t, j] tokens[t] over the j with
    experts[t, j] = first + e (0 if absent); without weights tokens[t] if there is
    such a j, else 0. Experts outside of the result get nothing.
  }];
  let arguments = (ins Parplan_FloatTensor:$tokens, Parplan_IndexTensor:$experts,
      Optional<Parplan_FloatTensor>:$weights,
      Optional<Parplan_OffsetTensor>:$first_expert,
      OptionalAttr<DenseI64ArrayAttr>:$groups);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $tokens `,` $experts (`weights` $weights^ `:` type($weights))?
    (`first` $first_expert^ `:` type($first_expert))? (`groups` $groups^)?
    attr-dict `:` type($tokens) `,` type($experts) `to` type($result)
  }];
  let extraClassDeclaration = expertClassDeclaration;
  let hasVerifier = 1;
}

def Parplan_MoeCombineOp : Parplan_TensorOp<"moe_combine",
    [AttrSizedOperandSegments, InferTypeOpAdaptor, Parplan_Differentiable,
     DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "The weighted sum of what the experts of a token answer";
  let description = [{
    values [e, *t, d], experts [*t, k], weights [*t, k], result [*t, d]: result[t]
    is the sum of weights[t, j] values[experts[t, j] - first, t] over the j whose
    expert is one of the values; without weights the sum of the values of these
    experts, once each. The adjoint of `moe_dispatch`.
  }];
  let arguments = (ins Parplan_FloatTensor:$values, Parplan_IndexTensor:$experts,
      Optional<Parplan_FloatTensor>:$weights,
      Optional<Parplan_OffsetTensor>:$first_expert,
      OptionalAttr<DenseI64ArrayAttr>:$groups);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $values `,` $experts (`weights` $weights^ `:` type($weights))?
    (`first` $first_expert^ `:` type($first_expert))? (`groups` $groups^)?
    attr-dict `:` type($values) `,` type($experts)
  }];
  let extraClassDeclaration = expertClassDeclaration;
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
      Optional<Parplan_OffsetTensor>:$first_expert,
      OptionalAttr<DenseI64ArrayAttr>:$groups);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $values `,` $gradient `,` $experts
    (`first` $first_expert^ `:` type($first_expert))? (`groups` $groups^)?
    attr-dict `:` type($values) `,` type($gradient) `,` type($experts)
  }];
  let extraClassDeclaration = expertClassDeclaration;
}

#endif // PARPLAN_EXPERT_OPS_TD
