//===- ExecTrainingOps.td - Statements of training steps -*- tablegen -*-===//
//
// Part of ExecOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_TRAINING_OPS_TD
#define EXEC_TRAINING_OPS_TD

//===----------------------------------------------------------------------===//
// Loss and optimizer
//===----------------------------------------------------------------------===//

def Exec_CrossEntropyOp : Exec_Statement<"cross_entropy",
    ["verifyGeometry", "getWrittenCount"]> {
  let summary = "log(sum(exp(logits))) - logits[label] per row; 0 for the label -100";
  let arguments = (ins Exec_BufferType:$logits, Exec_BufferType:$labels,
      Exec_BufferType:$loss, Optional<Exec_BufferType>:$log_sum_exp,
      I64Attr:$rows, I64Attr:$classes, OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $logits `,` $labels `into` $loss (`log_sum_exp` $log_sum_exp^)?
    `rows` $rows `,` $classes attr-dict `:` type(operands)
  }];
}

def Exec_SquareSumOp : Exec_Statement<"square_sum"> {
  let summary = "The sum of the squares of all elements";
  let arguments = (ins Exec_BufferType:$input, Exec_BufferType:$output,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat =
      "$input `into` $output attr-dict `:` type($input) `,` type($output)";
}

def Exec_UpdateOp : Exec_Statement<"update",
    ["verifyGeometry", "getWrittenCount"], [AttrSizedOperandSegments]> {
  let summary = "One step of an optimizer, element by element";
  let description = [{
    The arithmetic is that of `parplan.optimizer_update`. A new value may lie
    where the old one does.
  }];
  let arguments = (ins Parplan_OptimizerKindAttr:$kind,
      Exec_BufferType:$parameter, Exec_BufferType:$gradient,
      Variadic<Exec_BufferType>:$states, Exec_BufferType:$learning_rate,
      Optional<Exec_BufferType>:$step_size,
      Optional<Exec_BufferType>:$bias_correction2_sqrt,
      Optional<Exec_BufferType>:$scale, Optional<Exec_BufferType>:$skip,
      Exec_BufferType:$new_parameter, Variadic<Exec_BufferType>:$new_states,
      F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay,
      F64Attr:$momentum, OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $kind $parameter `,` $gradient (`states` $states^)?
    `learning_rate` $learning_rate (`step_size` $step_size^)?
    (`bias_correction2_sqrt` $bias_correction2_sqrt^)? (`scale` $scale^)?
    (`skip` $skip^)? `into` $new_parameter (`,` $new_states^)? attr-dict
    `:` type(operands)
  }];
}

//===----------------------------------------------------------------------===//
// Adjoints; sizes and windows are those of the op that they belong to
//===----------------------------------------------------------------------===//

def Exec_EmbeddingGradientOp : Exec_Statement<"embedding_gradient"> {
  let summary = "Sums rows of the gradient by their id";
  let description = "`shape` is [ids, rows, width].";
  let arguments = (ins Exec_BufferType:$ids, Exec_BufferType:$gradient,
      Exec_BufferType:$output, DenseI64ArrayAttr:$shape,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $ids `,` $gradient `into` $output `shape` $shape attr-dict
    `:` type($ids) `,` type($gradient) `,` type($output)
  }];
}
def Exec_GatherGradientOp : Exec_Statement<"gather_gradient"> {
  let summary = "out[o, indices[c], i] += gradient[o, c, i]";
  let description = "`shape` is [outer, length, count, inner].";
  let arguments = (ins Exec_BufferType:$gradient, Exec_BufferType:$indices,
      Exec_BufferType:$output, DenseI64ArrayAttr:$shape,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $gradient `,` $indices `into` $output `shape` $shape attr-dict
    `:` type($gradient) `,` type($indices) `,` type($output)
  }];
}
def Exec_GatherElementsGradientOp : Exec_Statement<"gather_elements_gradient"> {
  let summary = "out[i.. with i_dim replaced by indices[i..]] += gradient[i..]";
  let arguments = (ins Exec_BufferType:$gradient, Exec_BufferType:$indices,
      Exec_BufferType:$output, DenseI64ArrayAttr:$data_shape,
      DenseI64ArrayAttr:$index_shape, I64Attr:$dim, OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $gradient `,` $indices $index_shape `into` $output $data_shape `dim` $dim
    attr-dict `:` type($gradient) `,` type($indices) `,` type($output)
  }];
}
def Exec_GatherNDGradientOp : Exec_Statement<"gather_nd_gradient"> {
  let summary = "out[b, indices[b, c, 0], .., :] += gradient[b, c, :]";
  let arguments = (ins Exec_BufferType:$gradient, Exec_BufferType:$indices,
      Exec_BufferType:$output, I64Attr:$batch, I64Attr:$count,
      DenseI64ArrayAttr:$indexed, I64Attr:$inner, OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $gradient `,` $indices `into` $output `batch` $batch `count` $count
    `indexed` $indexed `inner` $inner attr-dict
    `:` type($gradient) `,` type($indices) `,` type($output)
  }];
}

class Exec_ConvolutionAdjoint<string mnemonic, string lhs, string rhs>
    : Exec_Statement<mnemonic, ["verifyGeometry", "getWrittenCount"]> {
  let assemblyFormat = "$" # lhs # " `,` $" # rhs #
      " (`workspace` $workspace^)? `into` $output attr-dict `:` type(operands)";
}
def Exec_ConvolutionInputGradientOp : Exec_ConvolutionAdjoint<
    "convolution_input_gradient", "gradient", "weight"> {
  let summary = "Gradient of the input of a convolution";
  let arguments = (ins Exec_BufferType:$gradient, Exec_BufferType:$weight,
      Optional<Exec_BufferType>:$workspace, Exec_BufferType:$output,
      I64Attr:$batch, I64Attr:$in_channels, I64Attr:$out_channels, I64Attr:$groups,
      DenseI64ArrayAttr:$in, DenseI64ArrayAttr:$out, DenseI64ArrayAttr:$window,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_low, OptionalAttr<Exec_CostAttr>:$cost);
}
def Exec_ConvolutionWeightGradientOp : Exec_ConvolutionAdjoint<
    "convolution_weight_gradient", "input", "gradient"> {
  let summary = "Gradient of the weight of a convolution";
  let arguments = (ins Exec_BufferType:$input, Exec_BufferType:$gradient,
      Optional<Exec_BufferType>:$workspace, Exec_BufferType:$output,
      I64Attr:$batch, I64Attr:$in_channels, I64Attr:$out_channels, I64Attr:$groups,
      DenseI64ArrayAttr:$in, DenseI64ArrayAttr:$out, DenseI64ArrayAttr:$window,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_low, OptionalAttr<Exec_CostAttr>:$cost);
}

def Exec_MaxPoolGradientOp : Exec_Statement<"max_pool_gradient"> {
  let summary = "Hands the gradient to the first maximum of every window";
  let arguments = (ins Exec_BufferType:$input, Exec_BufferType:$gradient,
      Exec_BufferType:$output, I64Attr:$batch, I64Attr:$channels,
      DenseI64ArrayAttr:$in, DenseI64ArrayAttr:$out, DenseI64ArrayAttr:$window,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat = [{
    $input `,` $gradient `into` $output attr-dict
    `:` type($input) `,` type($gradient) `,` type($output)
  }];
}
def Exec_AveragePoolGradientOp : Exec_Statement<"average_pool_gradient"> {
  let summary = "Spreads the gradient evenly over every window";
  let arguments = (ins Exec_BufferType:$gradient, Exec_BufferType:$output,
      I64Attr:$batch, I64Attr:$channels, DenseI64ArrayAttr:$in,
      DenseI64ArrayAttr:$out, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_low,
      DenseI64ArrayAttr:$pads_high, UnitAttr:$count_include_pad,
      OptionalAttr<Exec_CostAttr>:$cost);
  let assemblyFormat =
      "$gradient `into` $output attr-dict `:` type($gradient) `,` type($output)";
}

#endif // EXEC_TRAINING_OPS_TD
