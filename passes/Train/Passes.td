//===- Passes.td - From a forward pass to a training step -*- tablegen -*-===//

#ifndef PARPLAN_PASSES_TRAIN_PASSES_TD
#define PARPLAN_PASSES_TRAIN_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectOutput : Pass<"parplan-select-output", "::mlir::ModuleOp"> {
  let summary = "Keeps the output that the loss reads";
  let description = [{
    The other outputs of @main are dropped, and the ops that only they need.
    Errors: no output of that name, an output of integers.
  }];
  let options = [
    Option<"output", "output", "std::string", "\"\"",
           "name of the output; empty: the first one">
  ];
}

def SelectParameters : Pass<"parplan-select-parameters", "::mlir::ModuleOp"> {
  let summary = "Chooses which initializers are trained";
  let description = [{
    Where the exporter has marked initializers, those it calls parameters. Else
    float initializers that reach the results of @main, but no running
    statistics, masks and rotary tables. What a glob of `freeze` matches stays
    as it is. Every initializer gets `parplan.trained` or `parplan.frozen` with
    the reason. A stack of which some are trained becomes a `concat` of
    parameters. Warns where many norms share one initializer.
  }];
  let options = [
    ListOption<"parameters", "parameters", "std::string",
               "names that the exporter marks as parameters">,
    ListOption<"buffers", "buffers", "std::string",
               "names that the exporter marks as buffers">,
    ListOption<"freeze", "freeze", "std::string",
               "globs of names that are not trained">
  ];
}

def SplitParameters : Pass<"parplan-split-parameters", "::mlir::ModuleOp"> {
  let summary = "Makes one parameter of every leaf that is trained";
  let description = [{
    A trained initializer can be read through several views. If they are
    disjoint and cover it, every view is a leaf, so that the parts of a merged
    weight can be spread each in its own way. Views of the same elements are one
    leaf. Else the whole initializer is the leaf. Other views become slices,
    transposes and reshapes of their leaf; a product takes a transpose into its
    spec. Afterwards every leaf has exactly one `parplan.parameter`.
  }];
}

def SetBatch : Pass<"parplan-set-batch", "::mlir::ModuleOp"> {
  let summary = "Gives @main the batch of one micro-batch";
  let description = [{
    Follows the batch from the arguments with `parplan.batch` through the
    sharding rules of all ops, as if it were split completely, and scales the
    types that have it. Values that are the same for every sample are made in
    the new size. Writes `parplan.micro_batches`.

    With more than one micro-batch, or another batch than the module's, ops that
    mix samples are errors; but a scalar loss of the model itself may be reduced
    over the batch, which then cannot change.

    A forward pass gets `parplan.forward_only`, its ops that depend on samples
    `parplan.per_micro_batch`, and its results that have samples
    `parplan.batch_dim`; the others are made once. In a batch of one sample that
    is dimension 0.
  }];
  let options = [
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "micro-batches of a step">,
    Option<"batch", "batch", "int64_t", "0",
           "samples of a micro-batch; 0: what the module has">,
    Option<"isLoss", "is-loss", "bool", "false",
           "the result is the loss, averaged over micro-batches">,
    Option<"isForward", "is-forward", "bool", "false",
           "the results are those of a forward pass, one part per micro-batch">
  ];
}

def AddLoss : Pass<"parplan-add-loss", "::mlir::ModuleOp"> {
  let summary = "Replaces the result of @main by the loss of the step";
  let description = [{
    * `cross-entropy`: over the last dimension, mean over the labels of the step
      that are not -100; adds the argument `labels`, i64;
    * `mse`: mean over all elements of the step; adds `labels` of the type of
      the result;
    * `output`: the result itself, averaged over the micro-batches.

    With `scale` the argument `loss_scale` is added, by which the seed of the
    gradients is multiplied. With `count` a cross-entropy has the result
    `label_count` besides, of the labels that it is the mean over.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"cross-entropy\"",
           "cross-entropy, mse or output">,
    Option<"scale", "scale", "bool", "false", "add the argument loss_scale">,
    Option<"count", "count", "bool", "false", "add the result label_count">
  ];
}

def SetPrecision : Pass<"parplan-set-precision", "::mlir::ModuleOp"> {
  let summary = "Computes in a short float type where it is safe";
  let description = [{
    * products, convolutions, attention and embeddings compute in the short
      type, and so does what is elementwise between them;
    * norms compute in f32 and hand on the short type; reductions, softmax,
      transcendental functions, the loss and products that rank experts
      compute in f32;
    * parameters stay f32 and are cast once per step, before they are looked up
      or rearranged, so that their gradients are cast back before they are
      accumulated.

    With `rounds-weights` parameters that are cast are of an initializer of the
    short type instead, with the bytes of the f32 one.
  }];
  let options = [
    Option<"type", "type", "std::string", "\"bf16\"", "bf16 or f16">,
    Option<"roundsWeights", "rounds-weights", "bool", "false",
           "parameters are read in the short type: for forward passes">
  ];
}

def KeepStatistics : Pass<"parplan-keep-statistics", "::mlir::ModuleOp"> {
  let summary = "Lets attentions keep what their gradients need";
  let description = [{
    An attention whose operands depend on trained parameters, but not its mask,
    gets `statistics`: its backward is then one `parplan.attention_gradient`,
    without probabilities in memory. Where the mask is learned its gradient is
    that of the probabilities, and the attention stays as it is.
  }];
}

def Differentiate : Pass<"parplan-differentiate", "::mlir::ModuleOp"> {
  let summary = "Adds the gradients of the loss by the trained parameters";
  let description = [{
    Numbers the forward ops (`parplan.group`) and says which run once per
    micro-batch. Adds the backward ops, with the numbers of their forward ops,
    and one `parplan.accumulate` per gradient, directly behind what makes it.
    The gradients become results with `parplan.variable`, the parameter that
    they belong to. A parameter that the loss does not depend on gets none and
    is frozen.
  }];
}

def AddOptimizer : Pass<"parplan-add-optimizer", "::mlir::ModuleOp"> {
  let summary = "Replaces gradients by new values of parameters and states";
  let description = [{
    Results with `parplan.variable` are gradients before and new values after.
    Adds the global norm where it is asked for or needed, and with a loss scale
    the result `overflow`: where it is true nothing changes.
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"sgd\"",
           "sgd, momentum, adam or adamw">,
    Option<"momentum", "momentum", "double", "0.9", "">,
    Option<"beta1", "beta1", "double", "0.9", "">,
    Option<"beta2", "beta2", "double", "0.999", "">,
    Option<"epsilon", "epsilon", "double", "1e-8", "">,
    Option<"weightDecay", "weight-decay", "double", "0", "">,
    Option<"clipNorm", "clip-norm", "double", "0",
           "largest global norm; 0: any">,
    Option<"reportNorm", "report-norm", "bool", "false",
           "return the global norm">
  ];
}

def VerifyStep : Pass<"parplan-verify-step", "::mlir::ModuleOp"> {
  let summary = "Closes the train phase";
  let description = [{
    Checks of a function with `parplan.micro_batches` that
    * every variable of a result has exactly one parameter, of the same type,
      and no other parameter reads a trained initializer;
    * values of a micro-batch reach values of the step only through
      `parplan.accumulate`;
    * the members of a group have exactly one leader, which stands first for
      forward ops;
    * updates have a gradient that was accumulated, or a constant of zeros;
      but nothing is accumulated for a loss of parameters alone.
  }];
}

#endif // PARPLAN_PASSES_TRAIN_PASSES_TD
