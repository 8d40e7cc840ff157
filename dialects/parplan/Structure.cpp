//===- Structure.cpp - Parameters, constants, indices ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ComposeHelper.h"
#include "dialects/parplan/RuleBuilder.h"

#include "parplan/Support/CheckedMath.h"

using namespace mlir;

namespace parplan {

/// Factors d0, d1, .. of the result.
static ShardingRule getSourceRule(Operation *op, FactorKind kind) {
  RuleBuilder builder(op);
  for (auto [dim, size] : llvm::enumerate(getShape(op->getResult(0))))
    builder.result(0, dim, builder.add("d" + Twine(dim), size, kind));
  return builder.finish();
}

static OpWork getFreeWork() {
  OpWork work;
  work.kind = WorkKind::none;
  return work;
}

//===----------------------------------------------------------------------===//
// Initializer
//===----------------------------------------------------------------------===//

LogicalResult InitializerOp::verifySymbolUses(SymbolTableCollection &symbols) {
  std::optional<ArrayAttr> members = getMembers();
  if (!members)
    return success();
  auto type = cast<RankedTensorType>(getType());
  if (type.getRank() == 0 ||
      type.getDimSize(0) != static_cast<int64_t>(members->size()))
    return emitOpError("a stack of ")
           << members->size() << " initializers has no type " << type;
  auto expected = RankedTensorType::get(type.getShape().drop_front(),
                                        type.getElementType());
  llvm::SmallDenseSet<Attribute> seen;
  for (auto symbol : members->getAsRange<FlatSymbolRefAttr>()) {
    auto member = symbols.lookupNearestSymbolFrom<InitializerOp>(*this, symbol);
    if (!member || member.getMembers())
      return emitOpError() << symbol << " is no initializer of the model";
    if (member.getType() != expected)
      return emitOpError() << symbol << " is a " << member.getType() << ", not "
                           << expected;
    if (!seen.insert(symbol).second)
      return emitOpError() << "stacks " << symbol << " twice";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Parameter
//===----------------------------------------------------------------------===//

LogicalResult ParameterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto initializer = symbols.lookupNearestSymbolFrom<InitializerOp>(
      *this, getInitializerAttr());
  if (!initializer)
    return emitOpError() << getInitializerAttr()
                         << " does not name a parplan.initializer";
  auto source = cast<RankedTensorType>(initializer.getType());
  // A local parameter is a block of what the view reads.
  RankedTensorType type = getType();
  if (auto global = (*this)->getAttrOfType<TypeAttr>(attributes::globalType))
    if (auto whole = dyn_cast<RankedTensorType>(global.getValue()))
      type = whole;
  if (std::optional<StringRef> slot = getSlot()) {
    if (slot->empty() || !isa<FloatType>(type.getElementType()))
      return emitOpError("a slot has a name and holds floats, not ")
             << type.getElementType();
    source = source.clone(type.getElementType());
  } else if (source.getElementType() != type.getElementType()) {
    return emitOpError("reads ")
           << type.getElementType() << " from an initializer of "
           << source.getElementType();
  }
  std::optional<ViewAttr> view = getView();
  if (!view) {
    if (source != type)
      return emitOpError("without a view has the type of its initializer, ")
             << source << ", not " << type;
    return success();
  }
  if (view->getStrides().size() != static_cast<size_t>(type.getRank()))
    return emitOpError("view has ")
           << view->getStrides().size() << " strides for " << type.getRank()
           << " dimensions";
  if (type.getNumElements() == 0)
    return success();
  int64_t lowest = view->getOffset(), highest = view->getOffset();
  for (auto [stride, size] : llvm::zip(view->getStrides(), type.getShape())) {
    std::optional<int64_t> reach = checkedMultiply(stride, size - 1);
    int64_t &bound = stride < 0 ? lowest : highest;
    std::optional<int64_t> moved =
        reach ? checkedAdd(bound, *reach) : std::nullopt;
    if (!moved)
      return emitOpError("view is too large");
    bound = *moved;
  }
  if (lowest < 0 || highest >= source.getNumElements())
    return emitOpError("view reads elements ")
           << lowest << " to " << highest << " of an initializer of "
           << source.getNumElements();
  return success();
}

ShardingRule ParameterOp::getShardingRule() {
  return getSourceRule(*this, FactorKind::parallel);
}
OpWork ParameterOp::getWork() { return getFreeWork(); }
bool ParameterOp::keepsZeroPadding(int) { return true; }

//===----------------------------------------------------------------------===//
// Constant
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

/// A splat is the same in every block; other constants are whole everywhere.
ShardingRule ConstantOp::getShardingRule() {
  return getSourceRule(*this, getValue().isSplat() ? FactorKind::parallel
                                                   : FactorKind::blocked);
}
OpWork ConstantOp::getWork() { return getFreeWork(); }
bool ConstantOp::keepsZeroPadding(int) {
  if (!getValue().isSplat())
    return true;
  if (isa<FloatType>(getValue().getElementType()))
    return getValue().getSplatValue<APFloat>().isZero();
  return getValue().getSplatValue<APInt>().isZero();
}

//===----------------------------------------------------------------------===//
// Iota
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  return requireDim(getLoc(), getDim(),
                    cast<RankedTensorType>(getType()).getRank());
}
ShardingRule IotaOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (auto [dim, size] : llvm::enumerate(getShape(getResult()))) {
    int factor = builder.add("d" + Twine(dim), size);
    builder.result(0, dim, factor);
    if (dim == getDim())
      builder.number(factor);
  }
  return builder.finish();
}
OpWork IotaOp::getWork() { return getCopyWork(); }
bool IotaOp::keepsZeroPadding(int) { return false; }

//===----------------------------------------------------------------------===//
// Affine mask
//===----------------------------------------------------------------------===//

LogicalResult AffineMaskOp::verify() {
  int64_t rank = getType().getRank();
  if (getCoefficients().size() != static_cast<size_t>(rank))
    return emitOpError("has ") << getCoefficients().size()
                               << " coefficients for " << rank << " dimensions";
  return success();
}

/// Dimensions that the function depends on are coupled: with axes the mask
/// becomes a comparison of indices.
ShardingRule AffineMaskOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (auto [dim, size] : llvm::enumerate(getType().getShape())) {
    bool isNumbered = getCoefficients()[dim] != 0;
    int factor =
        builder.add("d" + Twine(dim), size,
                    isNumbered ? FactorKind::coupled : FactorKind::parallel);
    builder.result(0, dim, factor);
    if (isNumbered)
      builder.number(factor);
  }
  return builder.finish();
}
OpWork AffineMaskOp::getWork() { return getCopyWork(); }
bool AffineMaskOp::keepsZeroPadding(int) { return false; }

SmallVector<Value> AffineMaskOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  Type integer = builder.getI64Type();
  ArrayRef<int64_t> shape = getType().getShape();
  Value total = compose.scalar(
      integer, static_cast<double>(static_cast<int64_t>(getConstant())));
  for (auto [dim, coefficient] : llvm::enumerate(getCoefficients())) {
    if (coefficient == 0)
      continue;
    Shape line(shape.size(), 1);
    line[dim] = shape[dim];
    Value index =
        compose.create<IotaOp>(RankedTensorType::get(line, integer), dim);
    Value factor = compose.scalar(integer, static_cast<double>(coefficient));
    Value term = compose.create<MulOp>(index, factor);
    total = compose.create<AddOp>(total, term);
  }
  Value zero = compose.scalar(integer, 0);
  Value mask = compose.create<CompareOp>(ComparePredicate::le, total, zero);
  return {compose.create<BroadcastOp>(getType(), mask)};
}

} // namespace parplan
