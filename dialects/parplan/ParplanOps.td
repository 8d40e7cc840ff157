//===- ParplanOps.td - Operations of the parplan dialect -*- tablegen -*-===//

#ifndef PARPLAN_OPS_TD
#define PARPLAN_OPS_TD

include "dialects/parplan/ParplanBase.td"
include "dialects/parplan/ParplanInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Parplan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Parplan_Dialect, mnemonic, traits>;

/// A pure function of tensors: has a sharding rule and a cost.
class Parplan_TensorOp<string mnemonic, list<Trait> traits = []>
    : Parplan_Op<mnemonic, [Pure,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["keepsZeroPadding"]>,
        DeclareOpInterfaceMethods<CostOpInterface, ["getWork"]>] # traits>;

/// Answers what its gradient is: `buildBackward`.
def Parplan_Differentiable : DeclareOpInterfaceMethods<DifferentiableOpInterface>;

def Parplan_Tensor : StaticShapeTensorOf<[AnyFloat, AnySignlessInteger,
                                          AnyUnsignedInteger]>;
def Parplan_FloatTensor : StaticShapeTensorOf<[AnyFloat]>;
def Parplan_BoolTensor : StaticShapeTensorOf<[I1]>;
def Parplan_IntegerTensor : StaticShapeTensorOf<[AnySignlessInteger,
                                                 AnyUnsignedInteger]>;
def Parplan_IndexTensor : StaticShapeTensorOf<[I64, I32]>;
def Parplan_OffsetTensor : 0DTensorOf<[I64]>;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Parplan_MeshOp : Parplan_Op<"mesh", [Symbol]> {
  let summary = "Declares the mesh that shardings of the module refer to";
  let description = "Example: `parplan.mesh @mesh <[\"dp0\"=2 data, \"tp0\"=2 tensor]>`.";
  let arguments = (ins SymbolNameAttr:$sym_name, Parplan_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name $mesh attr-dict";
}

def Parplan_InitializerOp : Parplan_Op<"initializer",
    [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Where the bytes of one initializer of the model lie";
  let description = [{
    `file` is empty for the model file itself, else the external file's path as
    the model gives it. The bytes are mapped when the program is built; planning
    never opens them.

    A *stack* is made `of` several initializers of one type, which lie one behind
    the other as its dimension 0: the weights of experts that the model has each
    on their own. It has their bytes and none of its own. Example:
    `parplan.initializer @s0 "up.0 and 1 more" : tensor<2x8x6xf32> of [@w3, @w7] in
    "" at 0 length 384`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$name,
      TypeAttrOf<Parplan_Tensor>:$type, OptionalAttr<FlatSymbolRefArrayAttr>:$members,
      StrAttr:$file, I64Attr:$offset, I64Attr:$length);
  let assemblyFormat = [{
    $sym_name $name `:` $type (`of` $members^)? `in` $file `at` $offset
    `length` $length attr-dict
  }];
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$symbol, "::llvm::StringRef":$name,
                   "::mlir::Type":$type, "::llvm::StringRef":$file,
                   "int64_t":$offset, "int64_t":$length), [{
      build($_builder, $_state, symbol, name,
            ::llvm::cast<::mlir::RankedTensorType>(type),
            /*members=*/::mlir::ArrayAttr(), file, offset, length);
    }]>];
}

def Parplan_ParameterOp : Parplan_TensorOp<"parameter",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Reads an initializer, whole or through an affine view";
  let description = [{
    Without `view` the result has the shape of the initializer. With it, element
    i of the result is element `offset + sum strides[d] * i_d` of the initializer,
    so slices, transposes and splits of a weight are parameters of their own.
    With `slot` it reads the optimizer state of that name, which has the shape of
    the parameter and is zero at the start of a run.

    Constraints:
    * the symbol names a `parplan.initializer`;
    * element types agree, or, with a slot, the element type is a float;
    * without a view the shapes agree;
    * a view has one stride per dimension and stays inside the initializer.
  }];
  let arguments = (ins FlatSymbolRefAttr:$initializer,
      OptionalAttr<Parplan_ViewAttr>:$view, OptionalAttr<StrAttr>:$slot);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat =
      "$initializer (`slot` $slot^)? (`view` $view^)? attr-dict `:` type($result)";
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type,
                   "::mlir::FlatSymbolRefAttr":$initializer,
                   "::parplan::ViewAttr":$view), [{
      build($_builder, $_state, type, initializer, view, /*slot=*/nullptr);
    }]>,
    OpBuilder<(ins "::mlir::Type":$type, "::llvm::StringRef":$initializer,
                   "::parplan::ViewAttr":$view), [{
      build($_builder, $_state, type, initializer, view, /*slot=*/nullptr);
    }]>];
  let extraClassDeclaration = [{
    /// What results of a training step name to replace this value.
    ::parplan::VariableAttr getVariable() {
      return ::parplan::VariableAttr::get(getContext(), getInitializerAttr(),
                                          getSlotAttr(), getViewAttr());
    }
  }];
}

def Parplan_ConstantOp : Parplan_TensorOp<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A constant tensor";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Parplan_IotaOp : Parplan_TensorOp<"iota"> {
  let summary = "The index along one dimension";
  let arguments = (ins I64Attr:$dim);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Parplan_AffineMaskOp : Parplan_TensorOp<"affine_mask",
    [DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "True where an affine function of the indices is at most zero";
  let description = [{
    Element i is `constant + sum coefficients[d] * i_d <= 0`. A causal mask
    [s, t] has coefficients [-1, 1] and constant 0.
  }];
  let arguments = (ins DenseI64ArrayAttr:$coefficients, I64Attr:$constant);
  let results = (outs Parplan_BoolTensor:$result);
  let assemblyFormat = "$coefficients `+` $constant attr-dict `:` type($result)";
  let hasVerifier = 1;
}

include "dialects/parplan/ParplanElementwiseOps.td"

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

class Parplan_ReshapingOp<string mnemonic>
    : Parplan_TensorOp<mnemonic, [Parplan_Differentiable]> {
  let arguments = (ins Parplan_Tensor:$input);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Parplan_ReshapeOp : Parplan_ReshapingOp<"reshape">;
def Parplan_BroadcastOp : Parplan_ReshapingOp<"broadcast"> {
  let summary = "Numpy broadcasting to the result shape";
}

def Parplan_TransposeOp
    : Parplan_TensorOp<"transpose", [InferTypeOpAdaptor, Parplan_Differentiable]> {
  let summary = "Dimension d of the result is dimension permutation[d] of the input";
  let arguments = (ins Parplan_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input)";
  let hasFolder = 1;
}

def Parplan_SliceOp
    : Parplan_TensorOp<"slice", [InferTypeOpAdaptor, Parplan_Differentiable]> {
  let summary = "Takes [start, limit) with a step in the listed dimensions";
  let description = [{
    `dims` is ascending and lists only the dimensions that are cut. Steps may be
    negative: then elements start, start+step, .. > limit are taken, and limit may
    be -1.
  }];
  let arguments = (ins Parplan_Tensor:$input, DenseI64ArrayAttr:$dims,
      DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits,
      DenseI64ArrayAttr:$steps);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = [{
    $input `dims` $dims `from` $starts `to` $limits `step` $steps attr-dict
    `:` type($input)
  }];
}

def Parplan_ConcatOp
    : Parplan_TensorOp<"concat", [InferTypeOpAdaptor, Parplan_Differentiable]> {
  let arguments = (ins Variadic<Parplan_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = "$inputs `dim` $dim attr-dict `:` type($inputs)";
}

def Parplan_PadOp
    : Parplan_TensorOp<"pad", [InferTypeOpAdaptor, Parplan_Differentiable]> {
  let summary = "Adds `low` and `high` elements of `value` in the listed dimensions";
  let arguments = (ins Parplan_Tensor:$input, DenseI64ArrayAttr:$dims,
      DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, F64Attr:$value);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = [{
    $input `dims` $dims `low` $low `high` $high `value` $value attr-dict
    `:` type($input)
  }];
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

def Parplan_EmbeddingOp
    : Parplan_TensorOp<"embedding", [InferTypeOpAdaptor, Parplan_Differentiable]> {
  let summary = "Rows of a table; an id outside the table gives a row of zeros";
  let description = [{
    result[i.., d] = table[ids[i..], d]. That ids outside [0, v) give zeros makes
    a table whose rows are split summable: ids are shifted by the start of the
    block and the result is pending over the axes of v.
  }];
  let arguments = (ins Parplan_IndexTensor:$ids, Parplan_FloatTensor:$table);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = "$ids `,` $table attr-dict `:` type($ids) `,` type($table)";
}

def Parplan_GatherOp
    : Parplan_TensorOp<"gather", [InferTypeOpAdaptor, Parplan_Differentiable]> {
  let summary = "ONNX Gather: blocks of `dim` at `indices` (negative from the end)";
  let arguments = (ins Parplan_Tensor:$data, Parplan_IndexTensor:$indices,
      I64Attr:$dim);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat =
      "$data `,` $indices `dim` $dim attr-dict `:` type($data) `,` type($indices)";
}

def Parplan_GatherElementsOp
    : Parplan_TensorOp<"gather_elements", [InferTypeOpAdaptor, Parplan_Differentiable]> {
  let summary = "ONNX GatherElements: result[i] = data[i with i_dim = indices[i]]";
  let arguments = (ins Parplan_Tensor:$data, Parplan_IndexTensor:$indices,
      I64Attr:$dim);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat =
      "$data `,` $indices `dim` $dim attr-dict `:` type($data) `,` type($indices)";
}

def Parplan_GatherNDOp
    : Parplan_TensorOp<"gather_nd", [InferTypeOpAdaptor, Parplan_Differentiable]> {
  let summary = "ONNX GatherND: slices of data at index tuples";
  let arguments = (ins Parplan_Tensor:$data, Parplan_IndexTensor:$indices,
      I64Attr:$batch_dims);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = [{
    $data `,` $indices `batch_dims` $batch_dims attr-dict
    `:` type($data) `,` type($indices)
  }];
}

def Parplan_TopKOp
    : Parplan_TensorOp<"topk", [InferTypeOpAdaptor, Parplan_Differentiable]> {
  let summary = "The k largest (or smallest) elements along a dimension, sorted";
  let description = "Of equal elements the one with the lower index comes first.";
  let arguments = (ins Parplan_Tensor:$input, I64Attr:$k, I64Attr:$dim,
      BoolAttr:$largest);
  let results = (outs Parplan_Tensor:$values, Parplan_Tensor:$indices);
  let assemblyFormat =
      "$input `k` $k `dim` $dim `largest` $largest attr-dict `:` type($input)";
}

def Parplan_CumSumOp
    : Parplan_TensorOp<"cumsum", [SameOperandsAndResultType, Parplan_Differentiable]> {
  let arguments = (ins Parplan_Tensor:$input, I64Attr:$dim, UnitAttr:$exclusive,
      UnitAttr:$reverse);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = "$input `dim` $dim attr-dict `:` type($input)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and products
//===----------------------------------------------------------------------===//

def Parplan_ReduceOp
    : Parplan_TensorOp<"reduce", [InferTypeOpAdaptor, Parplan_Differentiable]> {
  let summary = "Sum, maximum or product over dimensions";
  let description = [{
    Means and minima do not exist here: a mean is a sum times 1/n with the global
    n (S4), a minimum the negated maximum of the negated input.
  }];
  let arguments = (ins Parplan_ReduceKindAttr:$kind, Parplan_Tensor:$input,
      DenseI64ArrayAttr:$dims, UnitAttr:$keep_dims);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat =
      "$kind $input `dims` $dims (`keep_dims` $keep_dims^)? attr-dict `:` type($input)";
}

def Parplan_MatmulOp : Parplan_TensorOp<"matmul",
    [AttrSizedOperandSegments, InferTypeOpAdaptor, Parplan_Differentiable]> {
  let summary = "Product of two tensors over named dimensions";
  let description = [{
    `spec` names every dimension by a letter, as einsum does:
    `"bsk,kn->bsn"`, `"bsk,nk->bsn"` (a transposed weight), `"bhse,bhte->bhst"`.

    Constraints:
    * no letter occurs twice in one tensor; sizes of equal letters agree;
    * every letter of the result occurs in an operand; a letter that is not in the
      result occurs in both operands (it is summed over).

    With `experts` [*t, k], the choices of tokens among `expert_count` experts,
    only rows of experts that a token has count: the product is that of operands
    whose other rows [e, *t] are zero. `tokens` names *t; e is the one letter that
    all three tensors have, its first element the expert `first` (0 if absent).
    Tensors of tokens have rows of experts in its place, as `groups` says
    (ParplanExpertOps.td). Then:
    * operands and result are floats, and only one letter is e;
    * `tokens` are letters of the lhs, side by side and in the order of `experts`,
      and the same in the result, being all its rows, or else in the rhs, being
      all that is summed over.
  }];
  let arguments = (ins Parplan_Tensor:$lhs, Parplan_Tensor:$rhs,
      Optional<Parplan_IndexTensor>:$experts,
      Optional<Parplan_OffsetTensor>:$first_expert, StrAttr:$spec,
      OptionalAttr<StrAttr>:$tokens, OptionalAttr<I64Attr>:$expert_count,
      OptionalAttr<DenseI64ArrayAttr>:$groups);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = [{
    $spec $lhs `,` $rhs (`experts` $experts^ `:` type($experts) `of` $expert_count
    `tokens` $tokens)? (`first` $first_expert^ `:` type($first_expert))?
    (`groups` $groups^)? attr-dict `:` type($lhs) `,` type($rhs)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
        "::llvm::StringRef":$spec,
        CArg<"const std::optional<::parplan::ExpertRows> &", "std::nullopt">:$rows)>,
  ];
  let extraClassDeclaration = [{
    /// Which rows count; none where all do.
    std::optional<::parplan::ExpertRows> getRows();
  }];
  let hasVerifier = 1;
}

def Parplan_ConvOp : Parplan_TensorOp<"conv",
    [InferTypeOpAdaptor, Parplan_Differentiable,
     DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "Convolution, N C spatial.. by O I/groups spatial..";
  let description = "`pads` lists low and high per spatial dimension: [low0, high0, low1, ..].";
  let arguments = (ins Parplan_FloatTensor:$input, Parplan_FloatTensor:$weight,
      Optional<Parplan_FloatTensor>:$bias, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations, I64Attr:$groups);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weight (`,` $bias^)? `strides` $strides `pads` $pads
    `dilations` $dilations `groups` $groups attr-dict
    `:` type($input) `,` type($weight) (`,` type($bias)^)?
  }];
}

class Parplan_PoolOp<string mnemonic>
    : Parplan_TensorOp<mnemonic, [InferTypeOpAdaptor, Parplan_Differentiable]> {
  let results = (outs Parplan_FloatTensor:$result);
}
def Parplan_MaxPoolOp : Parplan_PoolOp<"max_pool"> {
  let arguments = (ins Parplan_FloatTensor:$input, DenseI64ArrayAttr:$window,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
      DenseI64ArrayAttr:$dilations);
  let assemblyFormat = [{
    $input `window` $window `strides` $strides `pads` $pads
    `dilations` $dilations attr-dict `:` type($input)
  }];
}
def Parplan_AveragePoolOp : Parplan_PoolOp<"average_pool"> {
  let arguments = (ins Parplan_FloatTensor:$input, DenseI64ArrayAttr:$window,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
      DenseI64ArrayAttr:$dilations, UnitAttr:$count_include_pad);
  let assemblyFormat = [{
    $input `window` $window `strides` $strides `pads` $pads
    `dilations` $dilations attr-dict `:` type($input)
  }];
}

include "dialects/parplan/ParplanCompositeOps.td"
include "dialects/parplan/ParplanTrainingOps.td"
include "dialects/parplan/ParplanShardingOps.td"
include "dialects/parplan/ParplanBucketOps.td"
include "dialects/parplan/ParplanPanelOps.td"
include "dialects/parplan/ParplanRingOps.td"
include "dialects/parplan/ParplanPipelineOps.td"
include "dialects/parplan/ParplanExpertOps.td"

#endif // PARPLAN_OPS_TD
