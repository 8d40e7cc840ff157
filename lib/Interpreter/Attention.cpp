//===- Attention.cpp - Values of attention and rotary embedding -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace parplan {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// One attention with its operands by name.
class AttentionValue {
public:
  AttentionValue(const Evaluation &evaluation, AttentionOp op)
      : op(op), query(evaluation.operand(0)), key(evaluation.operand(1)),
        value(evaluation.operand(2)), result(evaluation.makeResult()) {
    unsigned next = 3;
    if (op.getMask()) {
      mask = &evaluation.operand(next++);
      ArrayRef<int64_t> shape = query.getShape();
      maskStrides = getBroadcastStrides(
          *mask, {shape[0], shape[2], shape[1], key.getShape()[1]});
    }
    if (op.getQueryOffset())
      offset = evaluation.operand(next)[0].integer;
  }

  Tensor run() {
    ArrayRef<int64_t> shape = query.getShape();
    for (int64_t b = 0; b < shape[0]; ++b)
      for (int64_t h = 0; h < shape[2]; ++h)
        for (int64_t s = 0; s < shape[1]; ++s)
          attend(b, h, s);
    return result;
  }

private:
  void attend(int64_t b, int64_t h, int64_t s) {
    int64_t keys = key.getShape()[1], groups = key.getShape()[2];
    int64_t group = h / (query.getShape()[2] / groups);
    std::vector<double> weights(keys);
    double maximum = -infinity, total = 0;
    for (int64_t t = 0; t < keys; ++t) {
      weights[t] = getScore(b, h, group, s, t);
      maximum = std::max(maximum, weights[t]);
    }
    if (maximum == -infinity && op.getZeroMaskedRows())
      return;
    for (double &weight : weights) {
      weight = std::exp(weight - maximum);
      total += weight;
    }
    int64_t width = value.getShape()[3];
    int64_t target =
        ((b * query.getShape()[1] + s) * query.getShape()[2] + h) * width;
    for (int64_t f = 0; f < width; ++f) {
      double sum = 0;
      for (int64_t t = 0; t < keys; ++t)
        sum += weights[t] / total *
               value[((b * keys + t) * groups + group) * width + f].real;
      result[target + f].real = sum;
    }
  }

  double getScore(int64_t b, int64_t h, int64_t group, int64_t s,
                  int64_t t) const {
    if (op.getCausal() && t > s + offset)
      return -infinity;
    double added = 0;
    if (mask) {
      int64_t position = getPosition({b, h, s, t}, maskStrides);
      if (mask->isReal())
        added = (*mask)[position].real;
      else if (!(*mask)[position].integer)
        return -infinity;
    }
    ArrayRef<int64_t> shape = query.getShape();
    int64_t keys = key.getShape()[1], groups = key.getShape()[2];
    int64_t left = ((b * shape[1] + s) * shape[2] + h) * shape[3];
    int64_t right = ((b * keys + t) * groups + group) * shape[3];
    double product = 0;
    for (int64_t e = 0; e < shape[3]; ++e)
      product += query[left + e].real * key[right + e].real;
    return product * op.getScale().convertToDouble() + added;
  }

  mutable AttentionOp op;
  const Tensor &query, &key, &value;
  const Tensor *mask = nullptr;
  SmallVector<int64_t> maskStrides;
  int64_t offset = 0;
  Tensor result;
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

} // namespace

MaybeValues evaluateAttention(const Evaluation &evaluation) {
  if (auto op = dyn_cast<AttentionOp>(evaluation.op))
    return FailureOr<Values>(Values{AttentionValue(evaluation, op).run()});
  if (auto op = dyn_cast<RopeOp>(evaluation.op))
    return FailureOr<Values>(Values{evaluateRope(evaluation, op)});
  return std::nullopt;
}

} // namespace parplan
