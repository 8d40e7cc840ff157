//===- ExpertRows.cpp - Products of the rows that experts have ------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ExpertRows.h"
#include "dialects/parplan/Inference.h"

using namespace mlir;

namespace parplan {

bool dependsOnExperts(Operation *op) {
  if (auto product = dyn_cast<MatmulOp>(op))
    return product.getExperts() != nullptr;
  if (auto product = dyn_cast<PanelMatmulOp>(op))
    return product.getExperts() != nullptr;
  return isa<MoeDispatchOp, MoeCombineOp, MoeWeightGradientOp>(op);
}

/// Whether groups are a pair of sizes.
static bool areWhole(ArrayRef<int64_t> groups) {
  return groups.size() == 2 && groups[0] >= 1 && groups[1] >= 1;
}

ExpertGroups ExpertGroups::read(std::optional<ArrayRef<int64_t>> groups) {
  return groups && areWhole(*groups) ? ExpertGroups{(*groups)[0], (*groups)[1]}
                                     : ExpertGroups();
}

DenseI64ArrayAttr ExpertGroups::write(MLIRContext *context) const {
  return *this == ExpertGroups()
             ? DenseI64ArrayAttr()
             : DenseI64ArrayAttr::get(context, {experts, rows});
}

double ExpertRows::getShare() const {
  return std::min(1.0, static_cast<double>(getShape(experts).back()) /
                           static_cast<double>(expertCount));
}

int64_t ExpertRows::getGroupSize(StringRef letters) const {
  return letters.contains(tokens) ? groups.rows : groups.experts;
}

bool ExpertRows::areSummed(const MatmulSpec &spec) const {
  return spec.rhs.contains(tokens);
}

bool ExpertRows::areOfVectors(const MatmulSpec &spec,
                              ArrayRef<int64_t> lhsShape) const {
  char common = spec.findCommon();
  return llvm::all_of(
      llvm::zip_equal(spec.lhs, lhsShape), [&](const auto &dim) {
        auto [letter, size] = dim;
        return letter == common || tokens.contains(letter) || size == 1;
      });
}

int64_t ExpertRows::countExperts(const MatmulSpec &spec,
                                 ArrayRef<int64_t> lhsShape) const {
  return groups.countExperts(lhsShape[spec.lhs.find(spec.findCommon())]);
}

std::tuple<StringAttr, IntegerAttr, DenseI64ArrayAttr>
getRowAttributes(OpBuilder &builder, const std::optional<ExpertRows> &rows) {
  if (!rows)
    return {};
  return {builder.getStringAttr(rows->tokens),
          builder.getI64IntegerAttr(rows->expertCount),
          rows->groups.write(builder.getContext())};
}

bool canBePanels(StringRef letter, const MatmulSpec &spec,
                 const ExpertRows &rows) {
  auto hasRole = [&](char other) {
    return spec.lhs.contains(other) == spec.lhs.contains(letter) &&
           spec.rhs.contains(other) == spec.rhs.contains(letter) &&
           spec.result.contains(other) == spec.result.contains(letter);
  };
  return !rows.tokens.contains(letter) &&
         llvm::count_if(spec.lhs, hasRole) <= 1 &&
         llvm::count_if(spec.rhs, hasRole) <= 1;
}

/// Whether `tokens` are all letters of `own` that `other` lacks.
static bool areAllOf(StringRef tokens, StringRef own, StringRef other) {
  return llvm::all_of(own, [&](char letter) {
    return tokens.contains(letter) != other.contains(letter);
  });
}

LogicalResult verifyGroups(std::optional<Location> location,
                           std::optional<ArrayRef<int64_t>> groups,
                           int64_t choices, int64_t rowCount) {
  if (!groups)
    return success();
  if (!areWhole(*groups))
    return emitOptionalError(location, "needs groups [experts, rows], each at "
                                       "least 1");
  auto [experts, rows] = ExpertGroups::read(groups);
  if (rows < std::min(choices, experts))
    return emitOptionalError(location, "has ", rows, " rows in a group of ",
                             experts, " experts for tokens with ", choices);
  if (rowCount % rows != 0)
    return emitOptionalError(location, "has ", rowCount, " rows for groups of ",
                             rows);
  return success();
}

LogicalResult verifyRows(Operation *op, const MatmulSpec &spec, Value lhs,
                         const std::optional<ExpertRows> &rows) {
  if (!rows)
    return success();
  RankedTensorType type = getTensorType(lhs);
  if (!isa<FloatType>(type.getElementType()))
    return op->emitOpError("has rows of experts that are no floats");
  if (!spec.findCommon())
    return op->emitOpError("needs one letter that all tensors have, the "
                           "experts");
  bool areSummed = rows->areSummed(spec);
  StringRef with = areSummed ? spec.rhs : spec.result;
  StringRef without = areSummed ? spec.result : spec.rhs;
  if (rows->tokens.empty() || !spec.lhs.contains(rows->tokens) ||
      !with.contains(rows->tokens) ||
      !areAllOf(rows->tokens, spec.lhs, without))
    return op->emitOpError("has tokens '")
           << rows->tokens << "' that are not all rows, or all that is summed";
  Shape expected;
  for (char letter : rows->tokens)
    expected.push_back(type.getDimSize(spec.lhs.find(letter)));
  ArrayRef<int64_t> choices = getShape(rows->experts);
  if (choices.empty() || choices.drop_back() != ArrayRef(expected))
    return op->emitOpError("has experts of shape ")
           << printShape(choices) << " for tokens of shape "
           << printShape(expected);
  int64_t rowCount = type.getDimSize(spec.lhs.find(spec.findCommon()));
  std::array<int64_t, 2> groups = {rows->groups.experts, rows->groups.rows};
  if (failed(verifyGroups(op->getLoc(), ArrayRef(groups), choices.back(),
                          rowCount)))
    return failure();
  int64_t experts = rows->countExperts(spec, type.getShape());
  if (rows->expertCount < std::max<int64_t>(experts, 1))
    return op->emitOpError("has rows of ")
           << experts << " experts, but " << rows->expertCount << " in all";
  return success();
}

} // namespace parplan
