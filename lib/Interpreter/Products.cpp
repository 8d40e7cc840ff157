//===- Products.cpp - Values of matrix products ---------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

using namespace mlir;

namespace parplan {
namespace {

/// Strides of a tensor along `letters`, 0 for those it lacks.
SmallVector<int64_t> getLetterStrides(const Tensor &tensor,
                                      llvm::StringRef names,
                                      llvm::StringRef letters) {
  SmallVector<int64_t> own = tensor.getStrides(), strides;
  for (char letter : letters) {
    size_t dim = names.find(letter);
    strides.push_back(dim == llvm::StringRef::npos ? 0 : own[dim]);
  }
  return strides;
}

} // namespace

Tensor multiply(const MatmulSpec &spec, const Tensor &lhs, const Tensor &rhs,
                RankedTensorType type) {
  std::string summed;
  SmallVector<int64_t> summedShape;
  for (auto [letter, size] : llvm::zip_equal(spec.lhs, lhs.getShape()))
    if (!spec.result.contains(letter)) {
      summed += letter;
      summedShape.push_back(size);
    }

  Tensor result(type);
  auto lhsOuter = getLetterStrides(lhs, spec.lhs, spec.result);
  auto rhsOuter = getLetterStrides(rhs, spec.rhs, spec.result);
  auto lhsInner = getLetterStrides(lhs, spec.lhs, summed);
  auto rhsInner = getLetterStrides(rhs, spec.rhs, summed);
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index,
                                      int64_t position) {
    int64_t left = getPosition(index, lhsOuter);
    int64_t right = getPosition(index, rhsOuter);
    double real = 0;
    uint64_t integer = 0;
    forEachIndex(summedShape, [&](ArrayRef<int64_t> inner, int64_t) {
      Scalar a = lhs[left + getPosition(inner, lhsInner)];
      Scalar b = rhs[right + getPosition(inner, rhsInner)];
      if (result.isReal())
        real += a.real * b.real;
      else
        integer +=
            static_cast<uint64_t>(a.integer) * static_cast<uint64_t>(b.integer);
    });
    if (result.isReal())
      result[position].real = real;
    else
      result[position].integer = static_cast<int64_t>(integer);
  });
  return result;
}

MaybeValues evaluateProduct(const Evaluation &evaluation) {
  if (auto op = dyn_cast<MatmulOp>(evaluation.op); op && !op.getExperts())
    return FailureOr<Values>(Values{
        multiply(*MatmulSpec::parse(op.getSpec()), evaluation.operand(0),
                 evaluation.operand(1), evaluation.makeResult().getType())});
  return std::nullopt;
}

} // namespace parplan
