//===- ExecAttentionOps.td - Attention and its gradients -*- tablegen -*-===//
//
// Included by ExecOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_ATTENTION_OPS_TD
#define EXEC_ATTENTION_OPS_TD

/// `shape` is [batch, queries, keys, heads, key heads, width, value width]. Strides
/// are those of batch, sequence and head; the last dimension is contiguous.
///
/// The keys may be one block of more: key j is key `key_start` + j of all, the
/// keys from `valid_keys` on are padding. The columns of a `whole_mask` are all
/// keys. With `causal`, key j is excluded for query i where
/// key_start + j > query_start + offset + i. With `zigzag` these numbers count in
/// the zig-zag order of all keys over as many ranks as there are blocks, and what
/// is compared are the positions in the model's order. The visible keys of a query
/// are the first ones of a block also then.
class Exec_AttentionStatement<string mnemonic, list<string> overrides = []>
    : Exec_Statement<mnemonic, ["verifyGeometry", "getWrittenCount"] # overrides,
                     [AttrSizedOperandSegments]>;

def Exec_AttentionOp
    : Exec_AttentionStatement<"attention", ["readsWritten"]> {
  let summary = "softmax(scale q k^T + mask) v per head";
  let description = [{
    `log_sum_exp` is dense [batch, heads, queries]. With `accumulate` the output
    and `log_sum_exp` hold those of other keys before, and of these too after. The
    output may be f32 where the operands have 16 bits.
  }];
  let arguments = (ins Exec_BufferType:$query, Exec_BufferType:$key,
      Exec_BufferType:$value, Optional<Exec_BufferType>:$mask,
      Optional<Exec_BufferType>:$query_offset, Optional<Exec_BufferType>:$workspace,
      Optional<Exec_BufferType>:$log_sum_exp, Exec_BufferType:$output,
      DenseI64ArrayAttr:$shape, DenseI64ArrayAttr:$query_strides,
      DenseI64ArrayAttr:$key_strides, DenseI64ArrayAttr:$value_strides,
      DenseI64ArrayAttr:$output_strides, DenseI64ArrayAttr:$mask_strides,
      F64Attr:$scale, UnitAttr:$causal, UnitAttr:$zero_masked_rows,
      UnitAttr:$accumulate, UnitAttr:$whole_mask, UnitAttr:$zigzag,
      OptionalAttr<Exec_RankValueAttr>:$query_start,
      OptionalAttr<Exec_RankValueAttr>:$key_start,
      OptionalAttr<Exec_RankValueAttr>:$valid_keys,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    (`accumulate` $accumulate^)? $query `,` $key `,` $value
    (`mask` $mask^ `:` type($mask))?
    (`offset` $query_offset^ `:` type($query_offset))?
    (`workspace` $workspace^ `:` type($workspace))?
    (`log_sum_exp` $log_sum_exp^ `:` type($log_sum_exp))? `into` $output
    (`causal` $causal^)? (`zigzag` $zigzag^)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) `,` type($output)
  }];
}

def Exec_AttentionGradientOp : Exec_AttentionStatement<"attention_gradient"> {
  let summary = "Gradients of query, key and value from the saved log_sum_exp";
  let description = [{
    `log_sum_exp` and the gradients that are written are dense; `result` and
    `gradient` have strides of their own. With `accumulate` the query's gradient is
    added to what its buffer holds; it may be f32 where the operands have 16 bits.
    The gradients of padded keys are zero.
  }];
  let arguments = (ins Exec_BufferType:$query, Exec_BufferType:$key,
      Exec_BufferType:$value, Exec_BufferType:$result,
      Exec_BufferType:$log_sum_exp, Exec_BufferType:$gradient,
      Optional<Exec_BufferType>:$mask, Optional<Exec_BufferType>:$query_offset,
      Optional<Exec_BufferType>:$workspace, Exec_BufferType:$query_gradient,
      Exec_BufferType:$key_gradient, Exec_BufferType:$value_gradient,
      DenseI64ArrayAttr:$shape, DenseI64ArrayAttr:$query_strides,
      DenseI64ArrayAttr:$key_strides, DenseI64ArrayAttr:$value_strides,
      DenseI64ArrayAttr:$result_strides, DenseI64ArrayAttr:$gradient_strides,
      DenseI64ArrayAttr:$mask_strides, F64Attr:$scale, UnitAttr:$causal,
      UnitAttr:$accumulate, UnitAttr:$whole_mask, UnitAttr:$zigzag,
      OptionalAttr<Exec_RankValueAttr>:$query_start,
      OptionalAttr<Exec_RankValueAttr>:$key_start,
      OptionalAttr<Exec_RankValueAttr>:$valid_keys,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    (`accumulate` $accumulate^)? $query `,` $key `,` $value `result` $result `,`
    $log_sum_exp `gradient` $gradient (`mask` $mask^ `:` type($mask))?
    (`offset` $query_offset^ `:` type($query_offset))?
    (`workspace` $workspace^ `:` type($workspace))? `into` $query_gradient `,`
    $key_gradient `,` $value_gradient (`causal` $causal^)? (`zigzag` $zigzag^)?
    attr-dict
    `:` type($query) `,` type($key) `,` type($value) `,` type($result) `,`
    type($log_sum_exp) `,` type($gradient) `->` type($query_gradient) `,`
    type($key_gradient) `,` type($value_gradient)
  }];
}

#endif // EXEC_ATTENTION_OPS_TD
