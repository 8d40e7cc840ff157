//===- ExecExpertOps.td - Statements of a mixture of experts -*- tablegen -*-===//
//
// Part of ExecOps.td. `shape` is [experts, tokens, width, experts per token], the
// first those of this rank; `first` holds the number of its first expert.
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
      OptionalAttr<Exec_CostAttr>:$cost);
}
def Exec_MoeCombineOp : Exec_ExpertStatement<"moe_combine", "values"> {
  let summary = "out[t] = sum of weights[t, j] values[experts[t, j] - first, t]";
  let arguments = (ins Exec_BufferType:$values, Exec_BufferType:$experts,
      Optional<Exec_BufferType>:$weights, Optional<Exec_BufferType>:$first_expert,
      Exec_BufferType:$output, DenseI64ArrayAttr:$shape,
      OptionalAttr<Exec_CostAttr>:$cost);
}
def Exec_MoeWeightGradientOp : Exec_Statement<"moe_weight_gradient"> {
  let summary = "out[t, j] = inner product of values[experts[t, j] - first, t] and gradient[t]";
  let arguments = (ins Exec_BufferType:$values, Exec_BufferType:$gradient,
      Exec_BufferType:$experts, Optional<Exec_BufferType>:$first_expert,
      Exec_BufferType:$output, DenseI64ArrayAttr:$shape,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $values `,` $gradient `,` $experts
    (`first` $first_expert^ `:` type($first_expert))? `into` $output
    `shape` $shape attr-dict
    `:` type($values) `,` type($gradient) `,` type($experts) `,` type($output)
  }];
}

#endif // EXEC_EXPERT_OPS_TD
