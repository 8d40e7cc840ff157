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

int64_t getLetterSize(const Evaluation &evaluation, const MatmulSpec &spec,
                      char letter) {
  size_t dim = spec.lhs.find(letter);
  return dim != llvm::StringRef::npos
             ? evaluation.operand(0).getShape()[dim]
             : evaluation.operand(1).getShape()[spec.rhs.find(letter)];
}

Values evaluateMatmul(const Evaluation &evaluation, MatmulOp op) {
  MatmulSpec spec = *MatmulSpec::parse(op.getSpec());
  std::string summed;
  for (char letter : spec.lhs)
    if (!spec.result.contains(letter))
      summed += letter;
  SmallVector<int64_t> summedShape;
  for (char letter : summed)
    summedShape.push_back(getLetterSize(evaluation, spec, letter));

  Tensor result = evaluation.makeResult();
  const Tensor &lhs = evaluation.operand(0), &rhs = evaluation.operand(1);
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
  return {result};
}

} // namespace

MaybeValues evaluateProduct(const Evaluation &evaluation) {
  if (auto op = dyn_cast<MatmulOp>(evaluation.op))
    return FailureOr<Values>(evaluateMatmul(evaluation, op));
  return std::nullopt;
}

} // namespace parplan
