//===- Products.cpp - Reductions and matrix products ----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ExpertRows.h"
#include "dialects/parplan/Inference.h"
#include "dialects/parplan/RuleBuilder.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *,
                                         OptionalLocation location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType input = getTensorType(adaptor.getInput());
  ArrayRef<int64_t> dims = adaptor.getDims();
  if (failed(requireDims(location, dims, input.getRank())))
    return failure();
  Shape shape;
  for (auto [dim, size] : llvm::enumerate(input.getShape())) {
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
    else if (adaptor.getKeepDims())
      shape.push_back(1);
  }
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

/// Factors d0, d1, ..; a product has no pending form, so its dims are blocked.
ShardingRule ReduceOp::getShardingRule() {
  RuleBuilder builder(*this);
  FactorKind reduced = getKind() == ReduceKind::sum   ? FactorKind::reduceSum
                       : getKind() == ReduceKind::max ? FactorKind::reduceMax
                                                      : FactorKind::blocked;
  int64_t resultDim = 0;
  for (auto [dim, size] : llvm::enumerate(getShape(getInput()))) {
    bool isReduced = llvm::is_contained(getDims(), static_cast<int64_t>(dim));
    int factor = builder.add("d" + Twine(dim), size,
                             isReduced ? reduced : FactorKind::parallel);
    builder.operand(0, dim, factor);
    if (!isReduced)
      builder.result(0, resultDim, factor);
    resultDim += !isReduced || getKeepDims();
  }
  return builder.finish(getKind() == ReduceKind::sum ? Linearity::jointly
                                                     : Linearity::none);
}
OpWork ReduceOp::getWork() { return getReductionWork(getShardingRule(), 1); }

/// Zeros change no sum; reductions of zeros are zero.
bool ReduceOp::keepsZeroPadding(int factor) {
  return getKind() == ReduceKind::sum ||
         hasFactor(getShardingRule().results[0], factor);
}

//===----------------------------------------------------------------------===//
// Matmul
//===----------------------------------------------------------------------===//

FailureOr<MatmulSpec> MatmulSpec::parse(StringRef text) {
  MatmulSpec spec;
  auto [operands, result] = text.split("->");
  std::tie(spec.lhs, spec.rhs) = operands.split(',');
  spec.result = result;
  if (!operands.contains(',') || !text.contains("->"))
    return failure();
  for (StringRef letters : {spec.lhs, spec.rhs, spec.result})
    for (auto [index, letter] : llvm::enumerate(letters))
      if (!llvm::isAlpha(letter) || letters.substr(0, index).contains(letter))
        return failure();
  return spec;
}

char MatmulSpec::findCommon() const {
  char found = 0;
  for (char letter : result)
    if (lhs.contains(letter) && rhs.contains(letter)) {
      if (found)
        return 0;
      found = letter;
    }
  return found;
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *,
                                         OptionalLocation location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  FailureOr<MatmulSpec> spec = MatmulSpec::parse(adaptor.getSpec());
  if (failed(spec))
    return emitOptionalError(location, "spec '", adaptor.getSpec(),
                             "' is not of the form \"bsk,kn->bsn\" with "
                             "distinct letters per tensor");
  RankedTensorType lhs = getTensorType(adaptor.getLhs());
  RankedTensorType rhs = getTensorType(adaptor.getRhs());
  if (lhs.getElementType() != rhs.getElementType())
    return emitOptionalError(location, "multiplies ", lhs.getElementType(),
                             " and ", rhs.getElementType());
  // Where tensors of tokens have rows, others have experts: both are compared
  // in groups.
  std::optional<ArrayRef<int64_t>> groups = adaptor.getGroups();
  char grouped = groups && adaptor.getTokens() ? spec->findCommon() : 0;
  auto getGroupSize = [&](StringRef letters) {
    ExpertRows rows{Value(), Value(), *adaptor.getTokens(), 0,
                    ExpertGroups::read(groups)};
    return rows.getGroupSize(letters);
  };
  if (grouped && failed(verifyGroups(location, groups, /*choices=*/1,
                                     /*rowCount=*/0)))
    return failure();
  int64_t sizes[128] = {};
  std::fill(std::begin(sizes), std::end(sizes), -1);
  auto record = [&](StringRef letters, RankedTensorType type) -> LogicalResult {
    if (letters.size() != static_cast<size_t>(type.getRank()))
      return emitOptionalError(location, "'", letters, "' does not name the ",
                               type.getRank(), " dimensions of ", type);
    for (auto [letter, extent] : llvm::zip(letters, type.getShape())) {
      int64_t &known = sizes[static_cast<unsigned char>(letter)];
      int64_t ofGroup = letter == grouped ? getGroupSize(letters) : 1;
      int64_t size = extent / ofGroup;
      if (extent % ofGroup != 0)
        return emitOptionalError(location, "'", letter, "' has ", extent,
                                 " elements in groups of ", ofGroup);
      if (known >= 0 && known != size)
        return emitOptionalError(location, "'", letter, "' has ", known,
                                 " and ", size,
                                 letter == grouped ? " groups" : " elements");
      known = size;
    }
    return success();
  };
  if (failed(record(spec->lhs, lhs)) || failed(record(spec->rhs, rhs)))
    return failure();
  Shape shape;
  for (char letter : spec->result) {
    int64_t size = sizes[static_cast<unsigned char>(letter)];
    if (size < 0)
      return emitOptionalError(location, "'", letter,
                               "' of the result is in no operand");
    shape.push_back(letter == grouped ? size * getGroupSize(spec->result)
                                      : size);
  }
  for (StringRef letters : {spec->lhs, spec->rhs})
    for (char letter : letters)
      if (!spec->result.contains(letter) &&
          !(spec->lhs.contains(letter) && spec->rhs.contains(letter)))
        return emitOptionalError(location, "'", letter,
                                 "' is summed over but only in one operand");
  types.push_back(RankedTensorType::get(shape, lhs.getElementType()));
  return success();
}

void MatmulOp::build(OpBuilder &builder, OperationState &state, Value lhs,
                     Value rhs, StringRef spec,
                     const std::optional<ExpertRows> &rows) {
  auto [tokens, count, groups] = getRowAttributes(builder, rows);
  build(builder, state, lhs, rhs, rows ? rows->experts : Value(),
        rows ? rows->first : Value(), builder.getStringAttr(spec), tokens,
        count, groups);
}

std::optional<ExpertRows> MatmulOp::getRows() { return readRows(*this); }

LogicalResult MatmulOp::verify() {
  return verifyRows(*this, *MatmulSpec::parse(getSpec()));
}

/// Every letter is a factor; those that the result lacks are summed over. Loops
/// go over panels of letters that one tensor lacks: in that one nothing moves.
ShardingRule MatmulOp::getShardingRule() {
  MatmulSpec spec = *MatmulSpec::parse(getSpec());
  std::optional<ExpertRows> rows = getRows();
  ExpertGroups groups = rows ? rows->groups : ExpertGroups();
  char grouped = rows ? spec.findCommon() : 0;
  RuleBuilder builder(*this);
  llvm::SmallDenseMap<char, int> factors;
  auto declare = [&](StringRef letters, ArrayRef<int64_t> shape) {
    for (auto [letter, size] : llvm::zip(letters, shape)) {
      if (factors.contains(letter))
        continue;
      // The lhs, which is first, has rows.
      int factor = factors[letter] = builder.add(
          StringRef(&letter, 1), letter == grouped ? size / groups.rows : size,
          spec.result.contains(letter) ? FactorKind::parallel
                                       : FactorKind::reduceSum);
      if (size_t dim = spec.lhs.find(letter); dim != StringRef::npos)
        builder.operand(0, dim, factor);
      if (size_t dim = spec.rhs.find(letter); dim != StringRef::npos)
        builder.operand(1, dim, factor);
      if (size_t dim = spec.result.find(letter); dim != StringRef::npos)
        builder.result(0, dim, factor);
    }
  };
  declare(spec.lhs, getShape(getLhs()));
  declare(spec.rhs, getShape(getRhs()));
  if (rows) {
    builder.number(factors.lookup(grouped));
    int ofRows = builder.add(rowsOfGroups, groups.rows, FactorKind::blocked);
    int ofExperts =
        builder.add(expertsOfGroups, groups.experts, FactorKind::blocked);
    builder.operand(0, spec.lhs.find(grouped), ofRows)
        .operand(1, spec.rhs.find(grouped),
                 rows->areSummed(spec) ? ofRows : ofExperts)
        .result(0, spec.result.find(grouped),
                rows->areSummed(spec) ? ofExperts : ofRows);
    for (auto [dim, letter] : llvm::enumerate(rows->tokens))
      builder.operand(2, dim, factors.lookup(letter));
  }
  ShardingRule rule = builder.finish(Linearity::separately);
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    bool inLhs = spec.lhs.contains(factor.name);
    bool inRhs = spec.rhs.contains(factor.name);
    bool isLetter = inLhs || inRhs;
    bool isInAll = inLhs && inRhs && spec.result.contains(factor.name);
    if (isLetter && !isInAll &&
        (!rows || (canBePanels(factor.name, spec, *rows) &&
                   !rows->areOfVectors(spec, getShape(getLhs())))))
      rule.panelFactors.push_back(static_cast<int>(index));
  }
  return rule;
}

OpWork MatmulOp::getWork() {
  MatmulSpec spec = *MatmulSpec::parse(getSpec());
  ShardingRule rule = getShardingRule();
  OpWork work;
  work.kind = WorkKind::matrix;
  std::optional<ExpertRows> rows = getRows();
  double share = rows ? rows->getShare() : 1;
  // One kernel multiplies or adds up vectors of all experts.
  bool isOfVectors = rows && rows->areOfVectors(spec, getShape(getLhs()));
  if (isOfVectors) {
    work.kind = WorkKind::reduction;
  } else if (rows) {
    work.kind = WorkKind::expertMatrix;
    (rows->areSummed(spec) ? work.contractedShare : work.rowShare) = share;
  }
  WorkTerm &flops = work.flops.emplace_back();
  flops.coefficient = 2 * share;
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    bool inLhs = spec.lhs.contains(factor.name);
    bool inRhs = spec.rhs.contains(factor.name);
    // Each expert is multiplied, whatever rows there are.
    if (factor.name == expertsOfGroups)
      inLhs = inRhs = true;
    // Choices of experts have a factor of their own.
    if (!inLhs && !inRhs)
      continue;
    flops.factors.push_back(static_cast<int>(index));
    if (isOfVectors)
      continue;
    auto &role = factor.kind == FactorKind::reduceSum ? work.contracted
                 : inLhs && inRhs                     ? work.batch
                 : inLhs                              ? work.rows
                                                      : work.columns;
    role.push_back(static_cast<int>(index));
  }
  return work;
}
bool MatmulOp::keepsZeroPadding(int) { return true; }

} // namespace parplan
