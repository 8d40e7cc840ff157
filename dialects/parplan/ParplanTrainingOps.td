//===- ParplanTrainingOps.td - Ops of a training step -*- tablegen -*-===//
//
// Losses, sums over micro-batches, updates, and adjoints of ops that read at
// indices or slide windows. Other gradients are written in ordinary ops.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TRAINING_OPS_TD
#define PARPLAN_TRAINING_OPS_TD

include "dialects/parplan/ParplanBase.td"
include "dialects/parplan/ParplanInterfaces.td"

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

def Parplan_AccumulateOp
    : Parplan_UnaryOp<"accumulate", Parplan_Tensor, [Parplan_MapsZeroToZero]> {
  let summary = "The sum of a per-micro-batch value over the micro-batches of a step";
  let description = [{
    The only way from a value with `parplan.per_micro_batch` to one without. With
    one micro-batch it is the identity; unrolling replaces it by sums.
  }];
}

def Parplan_SumOp : Parplan_ElementwiseOp<"sum",
    [SameOperandsAndResultType, Parplan_MapsZeroToZero]> {
  let summary = "The sum of one or more tensors of one type, from left to right";
  let arguments = (ins Variadic<Parplan_Tensor>:$inputs);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Parplan_SquareSumOp : Parplan_TensorOp<"square_sum",
    [InferTypeOpAdaptor, Parplan_Differentiable,
     DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "The sum of the squares of all elements, a scalar";
  let description = [{
    The result is f64 whatever the elements: sums of sums in another order then
    agree in all bits of their f32.
  }];
  let arguments = (ins Parplan_FloatTensor:$input);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

def Parplan_OptimizerUpdateOp : Parplan_TensorOp<"optimizer_update",
    [AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "New values of a parameter and of its optimizer states";
  let description = [{
    With g = gradient * scale (1 if absent), p the parameter, lr the learning
    rate, and the states in this order:

        sgd       g += weight_decay p; p -= lr g
        momentum  g += weight_decay p; b = momentum b + g; p -= lr b
        adam      g += weight_decay p; m += (g - m)(1 - beta1);
                  v = beta2 v + (1 - beta2) g g;
                  p -= step_size m / (sqrt(v) / bias_correction2_sqrt + epsilon)
        adamw     p *= 1 - lr weight_decay; then as adam, without decay of g

    Where `skip` is true nothing changes.

    Constraints:
    * the gradient and the states have the type of the parameter;
    * sgd has no state, momentum one, adam and adamw two;
    * adam and adamw, and only they, take `step_size` and
      `bias_correction2_sqrt`, and have a positive epsilon;
    * scalars have the element type of the parameter.
  }];
  let arguments = (ins Parplan_OptimizerKindAttr:$kind,
      Parplan_FloatTensor:$parameter, Parplan_FloatTensor:$gradient,
      Variadic<Parplan_FloatTensor>:$states,
      0DTensorOf<[AnyFloat]>:$learning_rate,
      Optional<0DTensorOf<[AnyFloat]>>:$step_size,
      Optional<0DTensorOf<[AnyFloat]>>:$bias_correction2_sqrt,
      Optional<0DTensorOf<[AnyFloat]>>:$scale,
      Optional<0DTensorOf<[I1]>>:$skip,
      F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay,
      F64Attr:$momentum);
  let results = (outs Parplan_FloatTensor:$new_parameter,
      Variadic<Parplan_FloatTensor>:$new_states);
  let assemblyFormat = [{
    $kind $parameter `,` $gradient (`states` $states^)?
    `learning_rate` $learning_rate (`step_size` $step_size^)?
    (`bias_correction2_sqrt` $bias_correction2_sqrt^)? (`scale` $scale^)?
    (`skip` $skip^)? `betas` $beta1 `,` $beta2 `epsilon` $epsilon
    `weight_decay` $weight_decay `momentum` $momentum attr-dict
    `:` type(operands)
  }];
  let builders = [OpBuilder<(ins "::parplan::OptimizerKind":$kind,
      "::mlir::Value":$parameter, "::mlir::Value":$gradient,
      "::mlir::ValueRange":$states, "::mlir::Value":$learningRate,
      "::mlir::Value":$stepSize, "::mlir::Value":$biasCorrection2Sqrt,
      "::mlir::Value":$scale, "::mlir::Value":$skip, "double":$beta1,
      "double":$beta2, "double":$epsilon, "double":$weightDecay,
      "double":$momentum), [{
    build($_builder, $_state, kind, parameter, gradient, states, learningRate,
          stepSize, biasCorrection2Sqrt, scale, skip, ::llvm::APFloat(beta1),
          ::llvm::APFloat(beta2), ::llvm::APFloat(epsilon),
          ::llvm::APFloat(weightDecay), ::llvm::APFloat(momentum));
  }]>];
}

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

def Parplan_CrossEntropyOp : Parplan_TensorOp<"cross_entropy",
    [InferTypeOpAdaptor, Parplan_Differentiable,
     DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "Negative log likelihood of labels per position, not reduced";
  let description = [{
    The last dimension of the logits counts classes, the others are those of the
    labels. `log_sum_exp` is log(sum(exp(logits))) over the classes, `loss` is
    log_sum_exp - logits[label], and 0 where the label is -100. Results are f64
    for f64 logits and f32 for others. A label outside of the classes other than
    -100 has no meaning.
  }];
  let arguments = (ins Parplan_FloatTensor:$logits, Parplan_IndexTensor:$labels);
  let results = (outs Parplan_FloatTensor:$loss, Parplan_FloatTensor:$log_sum_exp);
  let assemblyFormat =
      "$logits `,` $labels attr-dict `:` type($logits) `,` type($labels)";
  let extraClassDeclaration = [{
    /// The label of positions that have no loss.
    static constexpr int64_t ignoredLabel = -100;
  }];
}

//===----------------------------------------------------------------------===//
// Adjoints. Result types that no operand tells are written. Those that models
// use themselves, in scatters and transposed convolutions, have gradients too.
//===----------------------------------------------------------------------===//

def Parplan_EmbeddingGradientOp : Parplan_TensorOp<"embedding_gradient"> {
  let summary = "result[v, d] = sum of gradient[i.., d] over the ids[i..] that are v";
  let description = "Ids outside of the result give nothing.";
  let arguments = (ins Parplan_IndexTensor:$ids, Parplan_FloatTensor:$gradient);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $ids `,` $gradient attr-dict
    `:` type($ids) `,` type($gradient) `to` type($result)
  }];
  let hasVerifier = 1;
}

class Parplan_GatherAdjointOp<string mnemonic>
    : Parplan_TensorOp<mnemonic, [Parplan_Differentiable]> {
  let results = (outs Parplan_FloatTensor:$result);
  let hasVerifier = 1;
}
def Parplan_GatherGradientOp : Parplan_GatherAdjointOp<"gather_gradient"> {
  let summary = "Adds the blocks of `gradient` at `indices` of `dim` (negative from the end)";
  let arguments = (ins Parplan_FloatTensor:$gradient,
      Parplan_IndexTensor:$indices, I64Attr:$dim);
  let assemblyFormat = [{
    $gradient `,` $indices `dim` $dim attr-dict
    `:` type($gradient) `,` type($indices) `to` type($result)
  }];
}
def Parplan_GatherElementsGradientOp
    : Parplan_GatherAdjointOp<"gather_elements_gradient"> {
  let summary = "Adds gradient[i] at i with i_dim = indices[i]";
  let arguments = (ins Parplan_FloatTensor:$gradient,
      Parplan_IndexTensor:$indices, I64Attr:$dim);
  let assemblyFormat = [{
    $gradient `,` $indices `dim` $dim attr-dict
    `:` type($gradient) `,` type($indices) `to` type($result)
  }];
}
def Parplan_GatherNDGradientOp : Parplan_GatherAdjointOp<"gather_nd_gradient"> {
  let summary = "Adds slices of the gradient at index tuples";
  let arguments = (ins Parplan_FloatTensor:$gradient,
      Parplan_IndexTensor:$indices, I64Attr:$batch_dims);
  let assemblyFormat = [{
    $gradient `,` $indices `batch_dims` $batch_dims attr-dict
    `:` type($gradient) `,` type($indices) `to` type($result)
  }];
}

class Parplan_ConvAdjointOp<string mnemonic>
    : Parplan_TensorOp<mnemonic, [Parplan_Differentiable]> {
  let results = (outs Parplan_FloatTensor:$result);
  let hasVerifier = 1;
}
def Parplan_ConvInputGradientOp : Parplan_ConvAdjointOp<"conv_input_gradient"> {
  let summary = "Gradient of the input of a convolution";
  let arguments = (ins Parplan_FloatTensor:$gradient, Parplan_FloatTensor:$weight,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
      DenseI64ArrayAttr:$dilations, I64Attr:$groups);
  let assemblyFormat = [{
    $gradient `,` $weight `strides` $strides `pads` $pads
    `dilations` $dilations `groups` $groups attr-dict
    `:` type($gradient) `,` type($weight) `to` type($result)
  }];
}
def Parplan_ConvWeightGradientOp : Parplan_ConvAdjointOp<"conv_weight_gradient"> {
  let summary = "Gradient of the weight of a convolution";
  let arguments = (ins Parplan_FloatTensor:$input, Parplan_FloatTensor:$gradient,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
      DenseI64ArrayAttr:$dilations, I64Attr:$groups);
  let assemblyFormat = [{
    $input `,` $gradient `strides` $strides `pads` $pads
    `dilations` $dilations `groups` $groups attr-dict
    `:` type($input) `,` type($gradient) `to` type($result)
  }];
}

def Parplan_MaxPoolGradientOp
    : Parplan_TensorOp<"max_pool_gradient", [InferTypeOpAdaptor]> {
  let summary = "Hands the gradient to the first maximum of every window, row-major";
  let arguments = (ins Parplan_FloatTensor:$input, Parplan_FloatTensor:$gradient,
      DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $gradient `window` $window `strides` $strides `pads` $pads
    `dilations` $dilations attr-dict `:` type($input) `,` type($gradient)
  }];
}
def Parplan_AveragePoolGradientOp
    : Parplan_TensorOp<"average_pool_gradient"> {
  let summary = "Spreads the gradient evenly over what every window has averaged";
  let arguments = (ins Parplan_FloatTensor:$gradient, DenseI64ArrayAttr:$window,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
      DenseI64ArrayAttr:$dilations, UnitAttr:$count_include_pad);
  let results = (outs Parplan_FloatTensor:$result);
  let assemblyFormat = [{
    $gradient `window` $window `strides` $strides `pads` $pads
    `dilations` $dilations attr-dict `:` type($gradient) `to` type($result)
  }];
  let hasVerifier = 1;
}

#endif // PARPLAN_TRAINING_OPS_TD
