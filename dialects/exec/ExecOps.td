//===- ExecOps.td - Operations of the exec dialect -*- tablegen -*-===//

#ifndef EXEC_OPS_TD
#define EXEC_OPS_TD

include "dialects/exec/ExecBase.td"
include "dialects/exec/ExecInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

def Exec_Scalar : AnyTypeOf<[F64, F32, F16, BF16, I64, I32, I16, I8, UI64, UI32, UI16, UI8, I1]>;
def Exec_Tensor : StaticShapeTensorOf<[Exec_Scalar]>;

include "dialects/exec/ExecStructureOps.td"

//===----------------------------------------------------------------------===//
// Kernels: fused loops over elements
//===----------------------------------------------------------------------===//

def Exec_KernelOp : Exec_Op<"kernel", [Symbol, SingleBlock, NoTerminator,
    IsolatedFromAbove, DeclareOpInterfaceMethods<OpAsmOpInterface,
                                                 ["getAsmBlockArgumentNames"]>]> {
  let summary = "A loop nest whose body computes scalars";
  let description = [{
    The body runs once per index of `space`, in any order. Its arguments are the
    indices, then `scalars` numbers that the launch passes, all i64. `inputs` are
    the element types of the arrays that the loads name by position.

    Constraints:
    * E10: loads and stores have one stride per dimension of the space and, with
      constant offsets, stay inside the array that the launch passes;
    * E11: operand and result types are those of the scalar function.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$space,
      TypeArrayAttr:$inputs, TypeAttr:$output, I64Attr:$scalars);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `space` $space `inputs` $inputs `output` $output `scalars` $scalars
    attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Constant accesses that leave an array of so many elements are reported
    /// to `emitError`. Used by everything that launches the kernel.
    ::llvm::LogicalResult verifyAccesses(
        ::llvm::ArrayRef<int64_t> inputElements, int64_t outputElements,
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError);
  }];
}

class Exec_ScalarOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, [HasParent<"KernelOp">] # traits>;

def Exec_LoadOp : Exec_ScalarOp<"load", [AttrSizedOperandSegments]> {
  let summary = "Element `offset + sum strides[d] * i_d + sum scales[j] * dynamic[j]` of an input";
  let description = [{
    With `if`, the element is read only where the condition holds; elsewhere the
    result is zero.
  }];
  let arguments = (ins I64Attr:$input, I64Attr:$offset, DenseI64ArrayAttr:$strides,
      Variadic<I64>:$dynamic, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$scales,
      Optional<I1>:$condition);
  let results = (outs Exec_Scalar:$result);
  let assemblyFormat = [{
    $input `at` $offset `strides` $strides (`plus` $dynamic^ `times` $scales)?
    (`if` $condition^)? attr-dict `:` type($result)
  }];
}
def Exec_StoreOp : Exec_ScalarOp<"store"> {
  let summary = "Writes element `offset + sum strides[d] * i_d` of the output";
  let arguments = (ins Exec_Scalar:$value, I64Attr:$offset,
      DenseI64ArrayAttr:$strides);
  let assemblyFormat =
      "$value `at` $offset `strides` $strides attr-dict `:` type($value)";
}
def Exec_LiteralOp : Exec_ScalarOp<"literal", [Pure]> {
  let summary = "A number; infinities and NaN included";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Exec_Scalar:$result);
  let assemblyFormat = "$value attr-dict `->` type($result)";
  let hasVerifier = 1;
}
def Exec_ApplyOp : Exec_ScalarOp<"apply", [Pure]> {
  let summary = "A function of the runtime's scalar mathematics";
  let arguments = (ins Exec_FunctionEnum:$function, Variadic<Exec_Scalar>:$operands_);
  let results = (outs Exec_Scalar:$result);
  let assemblyFormat =
      "$function `(` $operands_ `)` attr-dict `:` functional-type($operands_, $result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernels on tensors: between fusion and placement
//===----------------------------------------------------------------------===//

def Exec_EmptyOp : Exec_Op<"empty", [Pure]> {
  let summary = "A tensor without contents, written piece by piece by `exec.map`";
  let results = (outs Exec_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def Exec_MapOp : Exec_Op<"map", [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Launches a kernel on tensors";
  let description = [{
    `into` is a tensor of which the kernel writes a part; without it the kernel
    writes the whole result.

    Constraints:
    * E12: the symbol names a kernel whose operand types and number of scalars
      agree; `into` has no other use.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Exec_Tensor>:$inputs,
      ArrayAttr:$scalars, Optional<Exec_Tensor>:$into);
  let results = (outs Exec_Tensor:$result);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `scalars` $scalars (`into` $into^ `:` type($into))?
    attr-dict `:` functional-type($inputs, $result)
  }];
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// Constraints of every statement:
/// * E20: its operands lie on one tier, device or host; those of communication
///   on the device. Transfers have E19 instead.
class Exec_Statement<string mnemonic, list<string> overrides = ["verifyGeometry"],
                     list<Trait> traits = []>
    : Exec_Op<mnemonic, [HasParent<"ProgramOp">,
        DeclareOpInterfaceMethods<StatementOpInterface, overrides>] # traits>;

def Exec_LaunchOp : Exec_Statement<"launch", [],
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel over its space";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Exec_BufferType>:$inputs,
      Exec_BufferType:$output, ArrayAttr:$scalars, OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `scalars` $scalars `into` $output attr-dict
    `:` functional-type($inputs, $output)
  }];
}

def Exec_MatmulOp : Exec_Statement<"matmul", ["verifyGeometry", "readsWritten"]> {
  let summary = "Strided, batched product: out[b, i, j] = sum over l of lhs[b, i, l] rhs[b, l, j]";
  let description = [{
    `shape` is [m, n, k]. Strides are [row, column] in elements. Batch dimensions
    have a size and a stride per operand; stride 0 repeats an operand. With
    `accumulate` the product is added to what the output holds.
  }];
  let arguments = (ins Exec_BufferType:$lhs, Exec_BufferType:$rhs,
      Exec_BufferType:$output, DenseI64ArrayAttr:$shape,
      DenseI64ArrayAttr:$lhs_strides, DenseI64ArrayAttr:$rhs_strides,
      DenseI64ArrayAttr:$output_strides, DenseI64ArrayAttr:$batch,
      DenseI64ArrayAttr:$lhs_batch_strides, DenseI64ArrayAttr:$rhs_batch_strides,
      DenseI64ArrayAttr:$output_batch_strides, OptionalAttr<Exec_CostAttr>:$cost,
      UnitAttr:$accumulate);
  let assemblyFormat = [{
    (`accumulate` $accumulate^)?
    $lhs $lhs_strides `,` $rhs $rhs_strides `into` $output $output_strides `shape` $shape
    `batch` $batch `:` $lhs_batch_strides `,` $rhs_batch_strides `,` $output_batch_strides attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($output)
  }];
}

def Exec_ConvolutionOp : Exec_Statement<"convolution",
    ["verifyGeometry", "getWrittenCount"], [AttrSizedOperandSegments]> {
  let summary = "Convolution of dense N C spatial.. by O I/groups spatial..";
  let arguments = (ins Exec_BufferType:$input, Exec_BufferType:$weight,
      Optional<Exec_BufferType>:$bias, Optional<Exec_BufferType>:$workspace,
      Exec_BufferType:$output, I64Attr:$batch, I64Attr:$in_channels,
      I64Attr:$out_channels, I64Attr:$groups, DenseI64ArrayAttr:$in,
      DenseI64ArrayAttr:$out, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_low,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^ `:` type($bias))?
    (`workspace` $workspace^ `:` type($workspace))? `into` $output attr-dict
    `:` type($input) `,` type($weight) `,` type($output)
  }];
}

def Exec_PoolOp : Exec_Statement<"pool"> {
  let summary = "Maximum (`max`) or average over windows of dense N C spatial..";
  let arguments = (ins Exec_BufferType:$input, Exec_BufferType:$output,
      UnitAttr:$max, I64Attr:$batch, I64Attr:$channels, DenseI64ArrayAttr:$in,
      DenseI64ArrayAttr:$out, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_low,
      DenseI64ArrayAttr:$pads_high, UnitAttr:$count_include_pad,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat =
      "(`max` $max^)? $input `into` $output attr-dict `:` type($input) `,` type($output)";
}

/// Arrays seen as [outer][length][inner]; the op works along `length`.
class Exec_RowsStatement<string mnemonic, list<string> overrides = ["verifyGeometry"],
                         list<Trait> traits = []>
    : Exec_Statement<mnemonic, overrides, traits>;

def Exec_ReduceOp : Exec_RowsStatement<"reduce"> {
  let summary = "Sum, maximum or product along `length` of [outer][length][inner]";
  let arguments = (ins Parplan_ReduceKindAttr:$kind, Exec_BufferType:$input,
      Exec_BufferType:$output, I64Attr:$outer, I64Attr:$length, I64Attr:$inner,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $kind $input `into` $output `rows` $outer `,` $length `,` $inner attr-dict
    `:` type($input) `,` type($output)
  }];
}
def Exec_SoftmaxOp : Exec_RowsStatement<"softmax"> {
  let summary = "Softmax, or its logarithm (`log`), along `length`";
  let arguments = (ins Exec_BufferType:$input, Exec_BufferType:$output,
      UnitAttr:$log, I64Attr:$outer, I64Attr:$length, I64Attr:$inner,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    (`log` $log^)? $input `into` $output `rows` $outer `,` $length `,` $inner
    attr-dict `:` type($input) `,` type($output)
  }];
}
def Exec_LayerNormOp : Exec_RowsStatement<"layer_norm", ["verifyGeometry"],
                                          [AttrSizedOperandSegments]> {
  let summary = "Layer norm of rows of `length` elements";
  let arguments = (ins Exec_BufferType:$input, Optional<Exec_BufferType>:$scale,
      Optional<Exec_BufferType>:$bias, Exec_BufferType:$output, I64Attr:$outer,
      I64Attr:$length, F64Attr:$epsilon, OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $input (`scale` $scale^ `:` type($scale))? (`bias` $bias^ `:` type($bias))?
    `into` $output `rows` $outer `,` $length `epsilon` $epsilon attr-dict
    `:` type($input) `,` type($output)
  }];
}
def Exec_RMSNormOp : Exec_RowsStatement<"rms_norm"> {
  let summary = "RMS norm of rows of `length` elements";
  let arguments = (ins Exec_BufferType:$input, Optional<Exec_BufferType>:$scale,
      Exec_BufferType:$output, I64Attr:$outer, I64Attr:$length, F64Attr:$epsilon,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $input (`scale` $scale^ `:` type($scale))? `into` $output `rows` $outer `,` $length
    `epsilon` $epsilon attr-dict `:` type($input) `,` type($output)
  }];
}
def Exec_CumSumOp : Exec_RowsStatement<"cumsum"> {
  let summary = "Running sum along `length`";
  let arguments = (ins Exec_BufferType:$input, Exec_BufferType:$output,
      UnitAttr:$exclusive, UnitAttr:$reverse, I64Attr:$outer, I64Attr:$length,
      I64Attr:$inner, OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $input `into` $output `rows` $outer `,` $length `,` $inner attr-dict
    `:` type($input) `,` type($output)
  }];
}
def Exec_TopKOp : Exec_RowsStatement<"topk", ["verifyGeometry", "getWrittenCount"],
                                     [AttrSizedOperandSegments]> {
  let summary = "The `count` largest or smallest along `length`, in order";
  let arguments = (ins Exec_BufferType:$input, Optional<Exec_BufferType>:$values,
      Optional<Exec_BufferType>:$indices, I64Attr:$outer, I64Attr:$length,
      I64Attr:$inner, I64Attr:$count, BoolAttr:$largest,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $input (`values` $values^ `:` type($values))?
    (`indices` $indices^ `:` type($indices))? `rows` $outer `,` $length `,` $inner
    `count` $count `largest` $largest attr-dict `:` type($input)
  }];
}

def Exec_EmbeddingOp : Exec_Statement<"embedding"> {
  let summary = "Rows of a table; ids outside of it give zeros";
  let description = "`shape` is [ids, rows, width].";
  let arguments = (ins Exec_BufferType:$ids, Exec_BufferType:$table,
      Exec_BufferType:$output, DenseI64ArrayAttr:$shape,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $ids `,` $table `into` $output `shape` $shape attr-dict
    `:` type($ids) `,` type($table) `,` type($output)
  }];
}
def Exec_GatherOp : Exec_Statement<"gather"> {
  let summary = "out[o, c, i] = data[o, indices[c], i]";
  let description = "`shape` is [outer, length, count, inner].";
  let arguments = (ins Exec_BufferType:$data, Exec_BufferType:$indices,
      Exec_BufferType:$output, DenseI64ArrayAttr:$shape,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $data `,` $indices `into` $output `shape` $shape attr-dict
    `:` type($data) `,` type($indices) `,` type($output)
  }];
}
def Exec_GatherElementsOp : Exec_Statement<"gather_elements"> {
  let summary = "out[i..] = data[i.. with i_dim replaced by indices[i..]]";
  let arguments = (ins Exec_BufferType:$data, Exec_BufferType:$indices,
      Exec_BufferType:$output, DenseI64ArrayAttr:$data_shape,
      DenseI64ArrayAttr:$index_shape, I64Attr:$dim, OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $data $data_shape `,` $indices $index_shape `into` $output `dim` $dim attr-dict
    `:` type($data) `,` type($indices) `,` type($output)
  }];
}
def Exec_GatherNDOp : Exec_Statement<"gather_nd"> {
  let summary = "out[b, c, :] = data[b, indices[b, c, 0], .., :]";
  let arguments = (ins Exec_BufferType:$data, Exec_BufferType:$indices,
      Exec_BufferType:$output, I64Attr:$batch, I64Attr:$count,
      DenseI64ArrayAttr:$indexed, I64Attr:$inner, OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $data `,` $indices `into` $output `batch` $batch `count` $count
    `indexed` $indexed `inner` $inner attr-dict
    `:` type($data) `,` type($indices) `,` type($output)
  }];
}

def Exec_CopyOp : Exec_Statement<"copy",
    ["verifyGeometry", "getReaders", "getWriters"]> {
  let summary = "Strided copy: out[offset + i.strides] = in[offset + i.strides] over `extents`";
  let description = [{
    With `only`, one member of each group of a communicator copies; the others do
    nothing. Example: a rank takes what was reduced to it into its block.

    Constraints:
    * E16: the member is of a communicator of the program.
  }];
  let arguments = (ins Exec_BufferType:$input, Exec_BufferType:$output,
      DenseI64ArrayAttr:$extents, I64Attr:$input_offset,
      DenseI64ArrayAttr:$input_strides, I64Attr:$output_offset,
      DenseI64ArrayAttr:$output_strides, OptionalAttr<Exec_CostAttr>:$cost,
      OptionalAttr<Exec_MemberAttr>:$only);
  let assemblyFormat = [{
    $input `at` $input_offset $input_strides `into` $output `at` $output_offset
    $output_strides `extents` $extents (`only` $only^)? attr-dict
    `:` type($input) `,` type($output)
  }];
}
def Exec_ZeroOp : Exec_Statement<"zero", []> {
  let summary = "Fills a buffer with zero bytes";
  let arguments = (ins Exec_BufferType:$output, OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = "$output attr-dict `:` type($output)";
}

include "dialects/exec/ExecCommunicationOps.td"
include "dialects/exec/ExecAttentionOps.td"
include "dialects/exec/ExecTrainingOps.td"
include "dialects/exec/ExecExpertOps.td"

#endif // EXEC_OPS_TD
