//===- Training.cpp - Values of sums, losses and updates ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace parplan {
namespace {

Values evaluateSum(const Evaluation &evaluation) {
  Tensor result = evaluation.makeResult();
  for (const Tensor *operand : evaluation.operands)
    for (int64_t i = 0; i < result.getSize(); ++i) {
      if (result.isReal())
        result[i].real += (*operand)[i].real;
      else
        result[i].integer =
            static_cast<int64_t>(static_cast<uint64_t>(result[i].integer) +
                                 static_cast<uint64_t>((*operand)[i].integer));
    }
  return {result};
}

Values evaluateSquareSum(const Evaluation &evaluation) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  for (int64_t i = 0; i < input.getSize(); ++i)
    result[0].real += input[i].real * input[i].real;
  return {result};
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

/// The numbers of one update. What is absent is 1, a factor or divisor.
struct Update {
  OptimizerKind kind;
  double beta1, beta2, epsilon, weightDecay, momentum;
  double learningRate, stepSize, biasCorrection2Sqrt, scale;

  void run(double &parameter, double gradient, double *first,
           double *second) const {
    gradient *= scale;
    if (kind == OptimizerKind::adamw)
      parameter *= 1 - learningRate * weightDecay;
    else
      gradient += weightDecay * parameter;
    if (kind == OptimizerKind::sgd) {
      parameter -= learningRate * gradient;
    } else if (kind == OptimizerKind::momentum) {
      *first = momentum * *first + gradient;
      parameter -= learningRate * *first;
    } else {
      *first += (gradient - *first) * (1 - beta1);
      *second = *second * beta2 + (1 - beta2) * gradient * gradient;
      parameter -= stepSize * *first /
                   (std::sqrt(*second) / biasCorrection2Sqrt + epsilon);
    }
  }
};

Values evaluateUpdate(const Evaluation &evaluation, OptimizerUpdateOp op) {
  auto read = [&](Value value) -> const Tensor * {
    for (OpOperand &operand : op->getOpOperands())
      if (value && operand.get() == value)
        return evaluation.operands[operand.getOperandNumber()];
    return nullptr;
  };
  auto number = [&](Value value) {
    const Tensor *tensor = read(value);
    return tensor ? (*tensor)[0].real : 1;
  };
  Update update{op.getKind(),
                op.getBeta1().convertToDouble(),
                op.getBeta2().convertToDouble(),
                op.getEpsilon().convertToDouble(),
                op.getWeightDecay().convertToDouble(),
                op.getMomentum().convertToDouble(),
                number(op.getLearningRate()),
                number(op.getStepSize()),
                number(op.getBiasCorrection2Sqrt()),
                number(op.getScale())};
  Values results;
  results.push_back(evaluation.operand(0));
  for (size_t state = 0; state < op.getStates().size(); ++state)
    results.push_back(evaluation.operand(2 + state));
  const Tensor *skip = read(op.getSkip());
  if (skip && (*skip)[0].integer)
    return results;
  const Tensor &gradient = evaluation.operand(1);
  for (int64_t i = 0; i < gradient.getSize(); ++i)
    update.run(results[0][i].real, gradient[i].real,
               results.size() > 1 ? &results[1][i].real : nullptr,
               results.size() > 2 ? &results[2][i].real : nullptr);
  return results;
}

//===----------------------------------------------------------------------===//
// Cross entropy
//===----------------------------------------------------------------------===//

FailureOr<Values> evaluateCrossEntropy(const Evaluation &evaluation,
                                       CrossEntropyOp op) {
  Tensor loss = evaluation.makeResult(0), logSumExp = evaluation.makeResult(1);
  const Tensor &logits = evaluation.operand(0), &labels = evaluation.operand(1);
  int64_t classes = logits.getShape().back();
  for (int64_t row = 0; row < labels.getSize(); ++row) {
    int64_t first = row * classes, label = labels[row].integer;
    double maximum = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t i = 0; i < classes; ++i)
      maximum = std::max(maximum, logits[first + i].real);
    for (int64_t i = 0; i < classes; ++i)
      total += std::exp(logits[first + i].real - maximum);
    logSumExp[row].real = maximum + std::log(total);
    if (label == CrossEntropyOp::ignoredLabel)
      continue;
    if (label < 0 || label >= classes)
      return op.emitOpError("label ")
             << label << " is outside of " << classes << " classes";
    loss[row].real = logSumExp[row].real - logits[first + label].real;
  }
  return Values{loss, logSumExp};
}

} // namespace

MaybeValues evaluateTraining(const Evaluation &evaluation) {
  return llvm::TypeSwitch<Operation *, MaybeValues>(evaluation.op)
      // The sum over one micro-batch.
      .Case<AccumulateOp>([&](auto) { return Values{evaluation.operand(0)}; })
      .Case<SumOp>([&](auto) { return evaluateSum(evaluation); })
      .Case<SquareSumOp>([&](auto) { return evaluateSquareSum(evaluation); })
      .Case<OptimizerUpdateOp>(
          [&](OptimizerUpdateOp op) { return evaluateUpdate(evaluation, op); })
      .Case<CrossEntropyOp>([&](CrossEntropyOp op) {
        return evaluateCrossEntropy(evaluation, op);
      })
      .Default([](auto) { return std::nullopt; });
}

} // namespace parplan
