//===- ExecExpertOps.td - Statements of a mixture of experts -*- tablegen -*-===//
//
// Part of ExecOps.td. `shape` is [rows, tokens, width, experts per token], rows
// those of a token on this rank; `groups` says how they lie (`parplan.moe_dispatch`),
// a row for every expert if absent; `first` holds the number of the first expert.
// Without weights the choices of a token are a set, as there.
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_EXPERT_OPS_TD
#define EXEC_EXPERT_OPS_TD

class Exec_ExpertStatement<string mnemonic, string input>
    : Exec_Statement<mnemonic, ["verifyGeometry"], [AttrSizedOperandSegments]> {
  let assemblyFormat = "$" # input # [{
    `,` $experts (`weights` $weights^ `:` type($weights))?
    (`first` $first_expert^ `:` type($first_expert))? `into` $output
    `shape` $shape attr-dict
    `:` type($}] # input # [{) `,` type($experts) `,` type($output)
  }];
}
def Exec_MoeDispatchOp : Exec_ExpertStatement<"moe_dispatch", "tokens"> {
  let summary = "out[e, t] = sum of weights[t, j] tokens[t] over experts[t, j] = first + e";
  let arguments = (ins Exec_BufferType:$tokens, Exec_BufferType:$experts,
      Optional<Exec_BufferType>:$weights, Optional<Exec_BufferType>:$first_expert,
      Exec_BufferType:$output, DenseI64ArrayAttr:$shape,
      OptionalAttr<DenseI64ArrayAttr>:$groups, OptionalAttr<Exec_CostAttr>:$cost);
}
def Exec_MoeCombineOp : Exec_ExpertStatement<"moe_combine", "values"> {
  let summary = "out[t] = sum of weights[t, j] values[experts[t, j] - first, t]";
  let arguments = (ins Exec_BufferType:$values, Exec_BufferType:$experts,
      Optional<Exec_BufferType>:$weights, Optional<Exec_BufferType>:$first_expert,
      Exec_BufferType:$output, DenseI64ArrayAttr:$shape,
      OptionalAttr<DenseI64ArrayAttr>:$groups, OptionalAttr<Exec_CostAttr>:$cost);
}
def Exec_MoeWeightGradientOp : Exec_Statement<"moe_weight_gradient"> {
  let summary = "out[t, j] = inner product of values[experts[t, j] - first, t] and gradient[t]";
  let arguments = (ins Exec_BufferType:$values, Exec_BufferType:$gradient,
      Exec_BufferType:$experts, Optional<Exec_BufferType>:$first_expert,
      Exec_BufferType:$output, DenseI64ArrayAttr:$shape,
      OptionalAttr<DenseI64ArrayAttr>:$groups, OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $values `,` $gradient `,` $experts
    (`first` $first_expert^ `:` type($first_expert))? `into` $output
    `shape` $shape attr-dict
    `:` type($values) `,` type($gradient) `,` type($experts) `,` type($output)
  }];
}

def Exec_MoeMatmulOp : Exec_Statement<"moe_matmul",
    ["verifyGeometry", "getWrittenCount", "readsWritten", "holdsIssue"],
    [AttrSizedOperandSegments]> {
  let summary = "Products of the rows that experts have, one an expert";
  let description = [{
    out[x, i, j] = sum over l of lhs[x, i, l] rhs[x, l, j] for the experts x of this
    rank. `shape` is [m, n, k]; tokens are the m rows, or with `sums_tokens` the k
    summed over. Those that do not have x add nothing and get rows of zeros.
    Strides are [row, column] in elements, `expert_strides` those from expert to
    expert of lhs, rhs and output; of what has tokens from row to row. `sizes` is
    [experts, experts per token]. With
    `accumulate` the products are added to what the output holds. On a GPU the
    processor asks for the numbers of tokens before it launches products: what
    follows is issued later. Where an expert has a vector in place of a matrix, as
    of a bias (k is 1, or with `sums_tokens` m), no library is needed, no
    workspace, and nobody waits.
  }];
  let arguments = (ins Exec_BufferType:$lhs, Exec_BufferType:$rhs,
      Exec_BufferType:$experts, Optional<Exec_BufferType>:$first_expert,
      Optional<Exec_BufferType>:$workspace, Exec_BufferType:$output,
      DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$shape,
      DenseI64ArrayAttr:$lhs_strides, DenseI64ArrayAttr:$rhs_strides,
      DenseI64ArrayAttr:$output_strides, DenseI64ArrayAttr:$expert_strides,
      OptionalAttr<DenseI64ArrayAttr>:$groups, UnitAttr:$sums_tokens, UnitAttr:$accumulate,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    (`sums_tokens` $sums_tokens^)? (`accumulate` $accumulate^)?
    $lhs $lhs_strides `,` $rhs $rhs_strides `,` $experts
    (`first` $first_expert^ `:` type($first_expert))?
    (`workspace` $workspace^ `:` type($workspace))? `into` $output $output_strides
    `sizes` $sizes `shape` $shape `experts` $expert_strides attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($experts) `,` type($output)
  }];
}

#endif // EXEC_EXPERT_OPS_TD
