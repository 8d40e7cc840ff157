//===- Losses.cpp - Losses that a model computes itself --------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Formula.h"
#include "lib/Import/Operators/OperatorTable.h"

namespace parplan::importer {

/// -weights[label] log_probabilities[.., label, ..] per position, with the
/// classes in dimension 1 of the probabilities, zero where the label is
/// ignored, and reduced as the node says. A mean divides by what the positions
/// weigh.
static ValueId computeLoss(NodeContext &node, ValueId logProbabilities) {
  GraphBuilder &builder = node.builder;
  Formula formula(builder, builder.getType(logProbabilities));
  ValueId labels = node.getInput(1), weights = node.getOptionalInput(2);
  Shape positions(builder.getShape(logProbabilities));
  if (positions.size() < 2)
    failNode(codes::badNode, "operand of shape ", printShape(positions));
  int64_t classes = positions[1];
  positions.erase(positions.begin() + 1);
  if (builder.getShape(labels) != positions)
    failNode(codes::badNode, "labels of shape ",
             printShape(builder.getShape(labels)), " for ",
             printShape(builder.getShape(logProbabilities)));
  if (weights != noValue && builder.getShape(weights) != Shape({classes}))
    failNode(codes::badNode, "weights of shape ",
             printShape(builder.getShape(weights)), " for ", classes,
             " classes");
  std::string reduction = node.getText("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    failNode(codes::badNode, "reduction is neither none, sum nor mean");

  ValueId isCounted = noValue;
  if (node.hasAttribute("ignore_index")) {
    ElementType type = builder.getType(labels);
    Cell ignored{.integer =
                     wrapToType(node.getInteger("ignore_index", 0), type)};
    isCounted = builder.compare(Predicate::ne, labels,
                                builder.makeSplat(type, {}, ignored));
    // What is read there does not matter, but there must be something.
    labels = builder.select(isCounted, labels, builder.makeNumber(type, 0));
  }
  auto count = [&](ValueId value) {
    return isCounted == noValue
               ? value
               : builder.select(isCounted, value, formula.number(0));
  };
  ValueId loss = formula.unary(
      OpKind::neg,
      builder.reshape(builder.gatherElements(logProbabilities,
                                             builder.insertDims(labels, 1), 1),
                      positions));
  ValueId weight = noValue;
  if (weights != noValue) {
    weight = count(builder.gather(weights, labels, 0));
    loss = formula.mul(loss, weight);
  } else if (isCounted != noValue) {
    weight = builder.cast(isCounted, formula.type);
  }
  loss = count(loss);
  if (reduction == "none")
    return loss;
  llvm::SmallVector<int64_t, 6> dims;
  for (size_t dim = 0; dim < positions.size(); ++dim)
    dims.push_back(dim);
  if (reduction == "mean" && weight == noValue)
    return builder.mean(loss, dims, /*keepDims=*/false);
  auto sum = [&](ValueId value) {
    return builder.reduce(ReduceKind::sum, value, dims, /*keepDims=*/false);
  };
  return reduction == "sum" ? sum(loss) : formula.div(sum(loss), sum(weight));
}

static void importNegativeLogLikelihoodLoss(NodeContext &node) {
  node.setOutput(0, computeLoss(node, node.getInput(0)));
}

static void importSoftmaxCrossEntropyLoss(NodeContext &node) {
  ValueId logProbabilities =
      node.builder.softmax(OpKind::logSoftmax, node.getInput(0), 1);
  node.setOutput(0, computeLoss(node, logProbabilities));
  node.setOutput(1, logProbabilities);
}

llvm::ArrayRef<OperatorEntry> getLossOperators() {
  static const OperatorEntry entries[] = {
      {"NegativeLogLikelihoodLoss",
       {12, 13, 22},
       Support::lowered,
       importNegativeLogLikelihoodLoss,
       "elements at the labels"},
      {"SoftmaxCrossEntropyLoss",
       {12, 13},
       Support::lowered,
       importSoftmaxCrossEntropyLoss,
       "log_softmax, elements at the labels"},
  };
  return entries;
}

} // namespace parplan::importer
