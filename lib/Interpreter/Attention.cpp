//===- Attention.cpp - Values of attention and rotary embedding -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/AttentionValues.h"

#include "parplan/Sharding/Zigzag.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace parplan {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The scores of one attention.
class Scores {
public:
  explicit Scores(const AttentionInputs &inputs) : inputs(inputs) {
    ArrayRef<int64_t> query = inputs.query.getShape();
    ArrayRef<int64_t> value = inputs.value.getShape();
    batch = query[0], queries = query[1], heads = query[2], width = query[3];
    keys = value[1], groups = value[2], valueWidth = value[3];
    if (inputs.mask)
      maskStrides =
          getBroadcastStrides(*inputs.mask, {batch, heads, queries, keys});
  }

  int64_t getQuery(int64_t b, int64_t h, int64_t s) const {
    return ((b * queries + s) * heads + h) * width;
  }
  int64_t getResult(int64_t b, int64_t h, int64_t s) const {
    return ((b * queries + s) * heads + h) * valueWidth;
  }
  int64_t getKey(int64_t b, int64_t h, int64_t t) const {
    return ((b * keys + t) * groups + h / (heads / groups)) * width;
  }
  int64_t getValue(int64_t b, int64_t h, int64_t t) const {
    return ((b * keys + t) * groups + h / (heads / groups)) * valueWidth;
  }
  int64_t getStatistics(int64_t b, int64_t h, int64_t s) const {
    return (b * heads + h) * queries + s;
  }

  /// scale q k^T + mask of one query and one key.
  double getScore(int64_t b, int64_t h, int64_t s, int64_t t) const {
    if (inputs.causal && getPosition(t) > getPosition(s + inputs.offset))
      return -infinity;
    double added = 0;
    if (inputs.mask) {
      int64_t position = parplan::getPosition({b, h, s, t}, maskStrides);
      if (inputs.mask->isReal())
        added = (*inputs.mask)[position].real;
      else if (!(*inputs.mask)[position].integer)
        return -infinity;
    }
    int64_t left = getQuery(b, h, s), right = getKey(b, h, t);
    double product = 0;
    for (int64_t e = 0; e < width; ++e)
      product += inputs.query[left + e].real * inputs.key[right + e].real;
    return product * inputs.scale + added;
  }

  void forEachQuery(
      llvm::function_ref<void(int64_t b, int64_t h, int64_t s)> body) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t s = 0; s < queries; ++s)
          body(b, h, s);
  }

  const AttentionInputs &inputs;
  int64_t batch, queries, heads, width, keys, groups, valueWidth;

private:
  /// Queries count as keys do.
  int64_t getPosition(int64_t index) const {
    return getZigzagPosition(index, keys, inputs.zigzag);
  }

  SmallVector<int64_t> maskStrides;
};

Tensor evaluateRope(const Evaluation &evaluation, RopeOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  SmallVector<int64_t> tableShape(input.getShape());
  int64_t last = input.getRank() - 1, half = tableShape[last] / 2;
  tableShape[last] = half;
  auto cosStrides = getBroadcastStrides(evaluation.operand(1), tableShape);
  auto sinStrides = getBroadcastStrides(evaluation.operand(2), tableShape);
  SmallVector<int64_t> strides = input.getStrides();
  forEachIndex(tableShape, [&](ArrayRef<int64_t> index, int64_t) {
    double cosine = evaluation.operand(1)[getPosition(index, cosStrides)].real;
    double sine = evaluation.operand(2)[getPosition(index, sinStrides)].real;
    int64_t pair = index[last];
    int64_t row = getPosition(index, strides) - pair;
    int64_t first = row + (op.getInterleaved() ? 2 * pair : pair);
    int64_t second = first + (op.getInterleaved() ? 1 : half);
    double x = input[first].real, y = input[second].real;
    result[first].real = x * cosine - y * sine;
    result[second].real = y * cosine + x * sine;
  });
  return result;
}

AttentionInputs getInputs(const Evaluation &evaluation, unsigned next,
                          Value mask, Value queryOffset, double scale,
                          bool causal, int64_t zigzag) {
  AttentionInputs inputs{evaluation.operand(0), evaluation.operand(1),
                         evaluation.operand(2)};
  inputs.scale = scale;
  inputs.causal = causal;
  inputs.zigzag = zigzag;
  if (mask)
    inputs.mask = &evaluation.operand(next++);
  if (queryOffset)
    inputs.offset = evaluation.operand(next)[0].integer;
  return inputs;
}

Values evaluate(const Evaluation &evaluation, AttentionOp op) {
  AttentionInputs inputs = getInputs(
      evaluation, 3, op.getMask(), op.getQueryOffset(),
      op.getScale().convertToDouble(), op.getCausal(), op.getZigzag());
  inputs.zeroMaskedRows = op.getZeroMaskedRows() || op.getStatistics();
  if (op.getSink())
    inputs.sink = &evaluation.operand(op.getSinkIndex());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (!op.getStatistics())
    return {attend(inputs, type, nullptr)};
  Tensor logSumExp = evaluation.makeResult(1);
  Tensor result = attend(inputs, type, &logSumExp);
  return {result, logSumExp};
}

Values evaluate(const Evaluation &evaluation, AttentionGradientOp op) {
  AttentionInputs inputs = getInputs(
      evaluation, 6, op.getMask(), op.getQueryOffset(),
      op.getScale().convertToDouble(), op.getCausal(), op.getZigzag());
  Values values = {evaluation.makeResult(0), evaluation.makeResult(1),
                   evaluation.makeResult(2)};
  differentiateAttention(
      inputs,
      {evaluation.operand(3), evaluation.operand(4), evaluation.operand(5)},
      values[0], values[1], values[2]);
  return values;
}

} // namespace

Tensor attend(const AttentionInputs &inputs, RankedTensorType type,
              Tensor *logSumExp) {
  Scores scores(inputs);
  Tensor result(type);
  std::vector<double> weights(scores.keys);
  scores.forEachQuery([&](int64_t b, int64_t h, int64_t s) {
    double sink = inputs.sink ? (*inputs.sink)[h].real : -infinity;
    double maximum = sink, total = 0;
    for (int64_t t = 0; t < scores.keys; ++t) {
      weights[t] = scores.getScore(b, h, s, t);
      maximum = std::max(maximum, weights[t]);
    }
    bool isEmpty = maximum == -infinity;
    if (logSumExp && isEmpty)
      (*logSumExp)[scores.getStatistics(b, h, s)].real = -infinity;
    if (isEmpty && inputs.zeroMaskedRows)
      return;
    for (double &weight : weights) {
      weight = std::exp(weight - maximum);
      total += weight;
    }
    total += std::exp(sink - maximum);
    if (logSumExp)
      (*logSumExp)[scores.getStatistics(b, h, s)].real =
          maximum + std::log(total);
    for (int64_t f = 0; f < scores.valueWidth; ++f) {
      double sum = 0;
      for (int64_t t = 0; t < scores.keys; ++t)
        sum += weights[t] / total *
               inputs.value[scores.getValue(b, h, t) + f].real;
      result[scores.getResult(b, h, s) + f].real = sum;
    }
  });
  return result;
}

void differentiateAttention(const AttentionInputs &inputs,
                            const GradientInputs &gradients, Tensor &query,
                            Tensor &key, Tensor &value) {
  Scores scores(inputs);
  scores.forEachQuery([&](int64_t b, int64_t h, int64_t s) {
    double statistics = gradients.logSumExp[scores.getStatistics(b, h, s)].real;
    if (statistics == -infinity)
      return;
    int64_t row = scores.getResult(b, h, s), left = scores.getQuery(b, h, s);
    double mean = 0;
    for (int64_t f = 0; f < scores.valueWidth; ++f)
      mean += gradients.gradient[row + f].real * gradients.result[row + f].real;
    for (int64_t t = 0; t < scores.keys; ++t) {
      double weight = std::exp(scores.getScore(b, h, s, t) - statistics);
      int64_t right = scores.getKey(b, h, t), from = scores.getValue(b, h, t);
      double product = 0;
      for (int64_t f = 0; f < scores.valueWidth; ++f) {
        double each = gradients.gradient[row + f].real;
        product += each * inputs.value[from + f].real;
        value[from + f].real += weight * each;
      }
      double change = weight * (product - mean) * inputs.scale;
      for (int64_t e = 0; e < scores.width; ++e) {
        query[left + e].real += change * inputs.key[right + e].real;
        key[right + e].real += change * inputs.query[left + e].real;
      }
    }
  });
}

MaybeValues evaluateAttention(const Evaluation &evaluation) {
  if (auto op = dyn_cast<AttentionOp>(evaluation.op))
    return FailureOr<Values>(evaluate(evaluation, op));
  if (auto op = dyn_cast<AttentionGradientOp>(evaluation.op))
    return FailureOr<Values>(evaluate(evaluation, op));
  if (auto op = dyn_cast<RopeOp>(evaluation.op))
    return FailureOr<Values>(Values{evaluateRope(evaluation, op)});
  return std::nullopt;
}

} // namespace parplan
