//===- Experts.cpp - Values of dispatch and combine -----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace parplan {
namespace {

/// The choices of all tokens, seen as [t, k], and the block of experts that
/// this rank has.
class Routing {
public:
  Routing(const Tensor &experts, const Tensor *weights, const Tensor *first,
          ArrayRef<int64_t> values)
      : width(values.back()), experts(experts), weights(weights),
        first(first ? (*first)[0].integer : 0), count(values.front()),
        choices(experts.getShape().back()) {}

  /// Calls `body` with the first elements of the row in [e, *t, d] and in
  /// [*t, d], the position in [*t, k] and the weight there, for every choice of
  /// an expert of the block.
  void forEachChoice(llvm::function_ref<void(int64_t value, int64_t token,
                                             int64_t choice, double weight)>
                         body) const {
    int64_t tokens = choices ? experts.getSize() / choices : 0;
    for (int64_t choice = 0; choice < experts.getSize(); ++choice) {
      int64_t expert = experts[choice].integer - first;
      int64_t token = choice / choices;
      if (expert >= 0 && expert < count)
        body((expert * tokens + token) * width, token * width, choice,
             weights ? (*weights)[choice].real : 1);
    }
  }

  int64_t width;

private:
  const Tensor &experts;
  const Tensor *weights;
  int64_t first, count, choices;
};

const Tensor *find(const Evaluation &evaluation, Value value) {
  for (OpOperand &operand : evaluation.op->getOpOperands())
    if (value && operand.get() == value)
      return evaluation.operands[operand.getOperandNumber()];
  return nullptr;
}

Values evaluateDispatch(const Evaluation &evaluation, MoeDispatchOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &tokens = evaluation.operand(0);
  Routing routing(evaluation.operand(1), find(evaluation, op.getWeights()),
                  find(evaluation, op.getFirstExpert()), result.getShape());
  routing.forEachChoice(
      [&](int64_t value, int64_t token, int64_t, double weight) {
        for (int64_t d = 0; d < routing.width; ++d)
          result[value + d].real += weight * tokens[token + d].real;
      });
  return {result};
}

Values evaluateCombine(const Evaluation &evaluation, MoeCombineOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &values = evaluation.operand(0);
  Routing routing(evaluation.operand(1), find(evaluation, op.getWeights()),
                  find(evaluation, op.getFirstExpert()), values.getShape());
  routing.forEachChoice(
      [&](int64_t value, int64_t token, int64_t, double weight) {
        for (int64_t d = 0; d < routing.width; ++d)
          result[token + d].real += weight * values[value + d].real;
      });
  return {result};
}

Values evaluateWeightGradient(const Evaluation &evaluation,
                              MoeWeightGradientOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &values = evaluation.operand(0);
  const Tensor &gradient = evaluation.operand(1);
  Routing routing(evaluation.operand(2), /*weights=*/nullptr,
                  find(evaluation, op.getFirstExpert()), values.getShape());
  routing.forEachChoice([&](int64_t value, int64_t token, int64_t choice,
                            double) {
    for (int64_t d = 0; d < routing.width; ++d)
      result[choice].real += values[value + d].real * gradient[token + d].real;
  });
  return {result};
}

Values evaluateRows(const Evaluation &evaluation, MatmulOp op) {
  ExpertRows rows = *op.getRows();
  MatmulSpec spec = *MatmulSpec::parse(op.getSpec());
  Tensor lhs = evaluation.operand(0);
  clearOtherRows(lhs, spec, rows.tokens, evaluation.operand(2),
                 find(evaluation, rows.first));
  return {multiply(spec, lhs, evaluation.operand(1),
                   evaluation.makeResult().getType())};
}

} // namespace

void clearOtherRows(Tensor &lhs, const MatmulSpec &spec, StringRef tokens,
                    const Tensor &choices, const Tensor *first) {
  SmallVector<size_t> tokenDims;
  for (char letter : tokens)
    tokenDims.push_back(spec.lhs.find(letter));
  size_t expertDim = spec.lhs.find(spec.findCommon());
  SmallVector<int64_t> strides = choices.getStrides();
  int64_t choiceCount = choices.getShape().back();
  forEachIndex(lhs.getShape(), [&](ArrayRef<int64_t> index, int64_t position) {
    int64_t start = 0;
    for (auto [dim, tokenDim] : llvm::enumerate(tokenDims))
      start += index[tokenDim] * strides[dim];
    int64_t expert = index[expertDim] + (first ? (*first)[0].integer : 0);
    bool counts = false;
    for (int64_t choice = start; choice < start + choiceCount; ++choice)
      counts |= choices[choice].integer == expert;
    if (!counts)
      lhs[position].real = 0;
  });
}

MaybeValues evaluateExperts(const Evaluation &evaluation) {
  return llvm::TypeSwitch<Operation *, MaybeValues>(evaluation.op)
      .Case<MatmulOp>([&](MatmulOp op) -> MaybeValues {
        if (op.getExperts())
          return evaluateRows(evaluation, op);
        return std::nullopt;
      })
      .Case<MoeDispatchOp>(
          [&](MoeDispatchOp op) { return evaluateDispatch(evaluation, op); })
      .Case<MoeCombineOp>(
          [&](MoeCombineOp op) { return evaluateCombine(evaluation, op); })
      .Case<MoeWeightGradientOp>([&](MoeWeightGradientOp op) {
        return evaluateWeightGradient(evaluation, op);
      })
      .Default([](auto) { return std::nullopt; });
}

} // namespace parplan
