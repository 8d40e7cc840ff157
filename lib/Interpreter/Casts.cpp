//===- Casts.cpp - Elements as other types --------------------------------===//
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

/// Towards zero; what the type cannot hold becomes its end, NaN becomes 0.
int64_t truncateToInteger(double value, IntegerType type) {
  int bits = static_cast<int>(type.getWidth()) - !type.isUnsigned();
  double end = std::ldexp(1.0, bits);
  if (std::isnan(value))
    return 0;
  if (value >= end)
    return static_cast<int64_t>(~uint64_t(0) >> (64 - bits));
  if (type.isUnsigned())
    return value <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(value));
  return value <= -end ? std::numeric_limits<int64_t>::min() >> (63 - bits)
                       : static_cast<int64_t>(value);
}

Values convert(const Evaluation &evaluation) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  auto type = dyn_cast<IntegerType>(result.getType().getElementType());
  bool toBool = type && type.getWidth() == 1;
  for (int64_t i = 0; i < result.getSize(); ++i) {
    if (!type)
      result[i].real = input.getNumber(i);
    else if (toBool)
      result[i].integer = input.getNumber(i) != 0;
    else
      result[i].integer = input.isReal()
                              ? truncateToInteger(input[i].real, type)
                              : input[i].integer;
  }
  return {result};
}

/// The bits of a number, as many as its type has.
uint64_t getBits(Scalar scalar, Type type) {
  auto real = dyn_cast<FloatType>(type);
  if (!real)
    return static_cast<uint64_t>(scalar.integer);
  APFloat value(scalar.real);
  bool losesInfo = false;
  value.convert(real.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.bitcastToAPInt().getZExtValue();
}

Values readBits(const Evaluation &evaluation) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  Type from = input.getType().getElementType(),
       to = result.getType().getElementType();
  for (int64_t i = 0; i < result.getSize(); ++i) {
    uint64_t bits = getBits(input[i], from);
    if (auto real = dyn_cast<FloatType>(to)) {
      APFloat value(real.getFloatSemantics(), APInt(real.getWidth(), bits));
      result[i].real = value.convertToDouble();
    } else {
      // Wrapped to the width of the type where the op ends.
      result[i].integer = static_cast<int64_t>(bits);
    }
  }
  return {result};
}

} // namespace

MaybeValues evaluateCast(const Evaluation &evaluation) {
  if (isa<CastOp>(evaluation.op))
    return FailureOr<Values>(convert(evaluation));
  if (isa<BitcastOp>(evaluation.op))
    return FailureOr<Values>(readBits(evaluation));
  return std::nullopt;
}

} // namespace parplan
