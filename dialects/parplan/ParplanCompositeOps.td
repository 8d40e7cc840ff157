//===- ParplanCompositeOps.td - Composite operations -*- tablegen -*-===//
//
// Kept whole for planning, differentiation and kernels. Included by
// ParplanOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_COMPOSITE_OPS_TD
#define PARPLAN_COMPOSITE_OPS_TD

class Parplan_CompositeOp<string mnemonic, list<Trait> traits = []>
    : Parplan_TensorOp<mnemonic,
        [DeclareOpInterfaceMethods<DecomposableOpInterface>,
         Parplan_Differentiable] # traits>;

class Parplan_SoftmaxLikeOp<string mnemonic>
    : Parplan_CompositeOp<mnemonic, [SameOperandsAndResultType]> {
  let arguments = (ins Parplan_FloatTensor:$input, I64Attr:$dim);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = "$input `dim` $dim attr-dict `:` type($input)";
  let hasVerifier = 1;
}
def Parplan_SoftmaxOp : Parplan_SoftmaxLikeOp<"softmax">;
def Parplan_LogSoftmaxOp : Parplan_SoftmaxLikeOp<"log_softmax">;

def Parplan_LayerNormOp : Parplan_CompositeOp<"layer_norm",
    [AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias over dimensions from `dim` on";
  let description = "`scale` and `bias` have the shape of the normalised dimensions.";
  let arguments = (ins Parplan_FloatTensor:$input,
      Optional<Parplan_FloatTensor>:$scale, Optional<Parplan_FloatTensor>:$bias,
      I64Attr:$dim, F64Attr:$epsilon);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $input (`scale` $scale^ `:` type($scale))? (`bias` $bias^ `:` type($bias))?
    `dim` $dim `epsilon` $epsilon attr-dict `:` type($input)
  }];
}

def Parplan_RMSNormOp : Parplan_CompositeOp<"rms_norm", [InferTypeOpAdaptor]> {
  let summary = "x / sqrt(mean(x^2) + epsilon) * scale over dimensions from `dim` on";
  let arguments = (ins Parplan_FloatTensor:$input,
      Optional<Parplan_FloatTensor>:$scale, I64Attr:$dim, F64Attr:$epsilon);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $input (`scale` $scale^ `:` type($scale))?
    `dim` $dim `epsilon` $epsilon attr-dict `:` type($input)
  }];
}

def Parplan_BatchNormOp : Parplan_CompositeOp<"batch_norm",
    [InferTypeOpAdaptor, AllTypesMatch<["scale", "bias", "mean", "variance"]>]> {
  let summary = "Batch normalisation by running statistics; channels are dimension 1";
  let arguments = (ins Parplan_FloatTensor:$input, Parplan_FloatTensor:$scale,
      Parplan_FloatTensor:$bias, Parplan_FloatTensor:$mean,
      Parplan_FloatTensor:$variance, F64Attr:$epsilon);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $scale `,` $bias `,` $mean `,` $variance `epsilon` $epsilon
    attr-dict `:` type($input) `,` type($scale)
  }];
}

def Parplan_RopeOp : Parplan_CompositeOp<"rope", [InferTypeOpAdaptor]> {
  let summary = "Rotary position embedding of the last dimension";
  let description = [{
    With h = e/2, result[.., i] = x[.., i] cos[.., i] - x[.., i+h] sin[.., i] and
    result[.., i+h] = x[.., i+h] cos[.., i] + x[.., i] sin[.., i]; with
    `interleaved` the pairs are (2i, 2i+1). `cos` and `sin` broadcast to the input
    with e/2 as last size.
  }];
  let arguments = (ins Parplan_FloatTensor:$input, Parplan_FloatTensor:$cos,
      Parplan_FloatTensor:$sin, UnitAttr:$interleaved);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $input `cos` $cos `sin` $sin attr-dict
    `:` type($input) `,` type($cos) `,` type($sin)
  }];
}

def Parplan_AttentionOp
    : Parplan_CompositeOp<"attention",
        [AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "softmax(scale q k^T + mask) v per head, heads grouped over keys";
  let description = [{
    q [b, s, h, e], k [b, t, g, e], v [b, t, g, f], result [b, s, h, f]; g divides
    h and query head i reads key head i / (h/g). `mask` broadcasts to [b, h, s, t]:
    i1 excludes where false, floats are added. `causal` excludes key j for query i
    when j > i + query_offset (0 without that operand). `zero_masked_rows` gives
    zeros where every key is excluded; without it such a row is undefined.

    `sink` [h], of the query's element type and finite, is the score of one more
    key per head, which every query sees and whose value is zero: the
    probabilities of the others add up to less than 1, and rows in which these
    are excluded are zero. Planned attentions have none
    (`parplan-write-out-sinks`).

    With `zigzag` n > 1 queries and keys lie in zig-zag order over n ranks: cut in
    2n chunks, chunks i and 2n-1-i stand behind each other as block i of n. What
    `causal` compares are their positions in the model's order.

    With `statistics` there is a second result, `log_sum_exp` [b, h, s], f64 for
    f64 and f32 for other elements: log(sum over t of exp(scale q k^T + mask)),
    with one more term exp(sink) if there is one, else -infinity where every key
    is excluded; `attention_gradient` reads it. Rows without a key are then zero.

    Constraints: with `zigzag` > 1, `causal` without a query_offset, s = t, and 2n
    divides s.
  }];
  let arguments = (ins Parplan_FloatTensor:$query, Parplan_FloatTensor:$key,
      Parplan_FloatTensor:$value, Optional<Parplan_Tensor>:$mask,
      Optional<Parplan_OffsetTensor>:$query_offset,
      Optional<Parplan_FloatTensor>:$sink, F64Attr:$scale,
      UnitAttr:$causal, UnitAttr:$zero_masked_rows, UnitAttr:$statistics,
      DefaultValuedAttr<I64Attr, "1">:$zigzag);
  let results = (outs Parplan_FloatTensor:$result,
      Optional<Parplan_FloatTensor>:$log_sum_exp);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^ `:` type($mask))?
    (`offset` $query_offset^ `:` type($query_offset))?
    (`sink` $sink^ `:` type($sink))? `scale` $scale
    (`causal` $causal^)? (`zigzag` $zigzag^)?
    (`zero_masked_rows` $zero_masked_rows^)? (`statistics` $statistics^)?
    attr-dict `:` type($query) `,` type($key) `,` type($value)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What an attention without statistics is.
    operator ::mlir::Value() { return getResult(); }
    /// The numbers of optional operands; -1 where there is none.
    int getMaskIndex() { return getMask() ? 3 : -1; }
    int getSinkIndex() {
      return getSink() ? static_cast<int>(getNumOperands()) - 1 : -1;
    }
    /// The results of an attention with a sink by one with statistics and
    /// without it, whose rows are scaled.
    ::llvm::SmallVector<::mlir::Value> writeOutSink(::mlir::OpBuilder &builder);
  }];
}

def Parplan_AttentionGradientOp
    : Parplan_TensorOp<"attention_gradient",
        [AttrSizedOperandSegments, InferTypeOpAdaptor,
         AllTypesMatch<["result", "result_gradient"]>,
         DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "Gradients of the query, the key and the value of an attention";
  let description = [{
    `result` and `log_sum_exp` are the results of the `attention` with
    `statistics`, the other operands and attributes are its own. With
    P = exp(scale q k^T + mask - log_sum_exp), 0 where log_sum_exp is -infinity,
    dO the result's gradient and O the result:

        dS = P (dO v^T - sum over f of dO O)
        query_gradient = scale dS k
        key_gradient = scale dS^T q
        value_gradient = P^T dO

    of the types of the query, the key and the value. Probabilities never exist
    as a whole.

    Constraints: those of `attention`.
  }];
  let arguments = (ins Parplan_FloatTensor:$query, Parplan_FloatTensor:$key,
      Parplan_FloatTensor:$value, Parplan_FloatTensor:$result,
      Parplan_FloatTensor:$log_sum_exp, Parplan_FloatTensor:$result_gradient,
      Optional<Parplan_Tensor>:$mask,
      Optional<Parplan_OffsetTensor>:$query_offset, F64Attr:$scale,
      UnitAttr:$causal, DefaultValuedAttr<I64Attr, "1">:$zigzag);
  let results = (outs Parplan_FloatTensor:$query_gradient,
      Parplan_FloatTensor:$key_gradient, Parplan_FloatTensor:$value_gradient);
  let assemblyFormat = [{
    $query `,` $key `,` $value `result` $result `,` $log_sum_exp
    `gradient` $result_gradient (`mask` $mask^ `:` type($mask))?
    (`offset` $query_offset^ `:` type($query_offset))? `scale` $scale
    (`causal` $causal^)? (`zigzag` $zigzag^)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) `,` type($result) `,`
    type($log_sum_exp)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The first result, so that builders of values can make one.
    operator ::mlir::Value() { return getQueryGradient(); }
  }];
}

#endif // PARPLAN_COMPOSITE_OPS_TD
