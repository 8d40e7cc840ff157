//===- ParplanPanelOps.td - Products in panels -*- tablegen -*-===//
//
// Local ops that move parts of their operands and results themselves, in a
// loop over panels of one dimension. Included by ParplanOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PANEL_OPS_TD
#define PARPLAN_PANEL_OPS_TD

def Parplan_PanelMatmulOp : Parplan_Op<"panel_matmul",
    [Pure, AttrSizedOperandSegments]> {
  let summary = "Product whose operands and result meet in panels of one letter (SUMMA)";
  let description = [{
    A `parplan.matmul` whose factor assignment has panels (S21), after
    localisation: operands and result are blocks. `panel` is the letter, of `size`
    elements in all; the two tensors that have it are cut along it into blocks by
    the axes of their list. A panel is a range of the letter that lies inside of
    one block of each. For every panel, in ascending order, an operand that is
    cut is broadcast along its axes from the rank that owns the panel; the product
    is added to the result where the letter is summed over, else it is the panel
    of the result. A result that is cut is summed over its axes and kept by the
    rank that owns the panel; what its block has beyond `size` is zero.

    Forms, with m on x, n on y: X W = "mk,kn->mn" in panels of k moves X along y and
    W along x; dX = "mn,kn->mk" moves W along x and reduces dX along y; dW =
    "mk,mn->kn" moves X along y and reduces dW along x.

    Constraints:
    * `spec` and the letters' sizes are as those of `parplan.matmul`, but for the
      panel letter;
    * `panel` is one letter, which two of the three tensors have;
    * a tensor without it has no axes; axes are of the module's only mesh, and
      none is in two lists (S1, S2);
    * of each of the two tensors the letter's size is that of a block of `size`
      elements over its axes (S3);
    * all element types are equal;
    * rows of experts are as those of `parplan.matmul`, and tokens no panels.
  }];
  let arguments = (ins Parplan_Tensor:$lhs, Parplan_Tensor:$rhs,
      Optional<Parplan_IndexTensor>:$experts,
      Optional<Parplan_OffsetTensor>:$first_expert, StrAttr:$spec,
      StrAttr:$panel, I64Attr:$size, Parplan_AxisListAttr:$lhs_axes,
      Parplan_AxisListAttr:$rhs_axes, Parplan_AxisListAttr:$result_axes,
      OptionalAttr<StrAttr>:$tokens, OptionalAttr<I64Attr>:$expert_count,
      OptionalAttr<DenseI64ArrayAttr>:$groups);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = [{
    $spec $lhs `,` $rhs (`experts` $experts^ `:` type($experts) `of` $expert_count
    `tokens` $tokens)? (`first` $first_expert^ `:` type($first_expert))?
    (`groups` $groups^)? `panel` $panel `size` $size `axes` `lhs` $lhs_axes
    `rhs` $rhs_axes `result` $result_axes attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$lhs,
        "::mlir::Value":$rhs, "::llvm::StringRef":$spec,
        "::llvm::StringRef":$panel, "int64_t":$size,
        "::llvm::ArrayRef<::parplan::AxisListAttr>":$axes,
        "const std::optional<::parplan::ExpertRows> &":$rows)>,
  ];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Of the left operand (0), the right one (1) and the result (2): their
    /// letters, the axes that cut the panel letter, and their values.
    ::parplan::MatmulSpec getLetters();
    /// Which rows count; none where all do.
    std::optional<::parplan::ExpertRows> getRows();
    ::llvm::SmallVector<::parplan::AxisListAttr, 3> getPanelAxes() {
      return {getLhsAxes(), getRhsAxes(), getResultAxes()};
    }
    ::llvm::SmallVector<::mlir::Value, 3> getTensors() {
      return {getLhs(), getRhs(), getResult()};
    }
  }];
}

#endif // PARPLAN_PANEL_OPS_TD
