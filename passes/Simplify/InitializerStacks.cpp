//===- InitializerStacks.cpp - Several initializers as one ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/InitializerStacks.h"
#include "passes/Simplify/Matching.h"

#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan::simplify {

InitializerOp InitializerStacks::getInitializer(Attribute symbol) const {
  auto initializer =
      symbols.lookup<InitializerOp>(cast<FlatSymbolRefAttr>(symbol).getValue());
  PARPLAN_CHECK(initializer, "a parameter reads no initializer");
  return initializer;
}

ArrayAttr InitializerStacks::getMembers(ArrayRef<Value> values) const {
  auto first = values[0].getDefiningOp<ParameterOp>();
  SmallVector<Attribute> members;
  for (Value value : values) {
    auto parameter = value.getDefiningOp<ParameterOp>();
    if (!parameter || parameter.getType() != first.getType() ||
        parameter.getSlot() || parameter.getViewAttr() != first.getViewAttr() ||
        llvm::is_contained(members, parameter.getInitializerAttr()))
      return {};
    InitializerOp initializer = getInitializer(parameter.getInitializerAttr());
    if (initializer.getMembers() ||
        initializer.getType() !=
            getInitializer(first.getInitializerAttr()).getType())
      return {};
    members.push_back(parameter.getInitializerAttr());
  }
  return ArrayAttr::get(first.getContext(), members);
}

InitializerOp InitializerStacks::getStack(ArrayAttr members) {
  InitializerOp &stack = known[members];
  if (stack)
    return stack;
  SmallVector<InitializerOp> initializers;
  for (Attribute symbol : members)
    initializers.push_back(getInitializer(symbol));
  auto type = cast<RankedTensorType>(initializers[0].getType());
  int64_t count = members.size();
  SmallVector<int64_t> shape{count};
  llvm::append_range(shape, type.getShape());
  // Behind its members, with a symbol that no other initializer has.
  OpBuilder builder(module.getContext());
  Operation *last = initializers[0];
  for (InitializerOp member : initializers)
    if (last->isBeforeInBlock(member))
      last = member;
  builder.setInsertionPointAfter(last);
  std::string symbol = initializers[0].getSymName().str() + "_stack";
  stack = builder.create<InitializerOp>(
      last->getLoc(), symbol,
      initializers[0].getName().str() + " and " + std::to_string(count - 1) +
          " more",
      RankedTensorType::get(shape, type.getElementType()), /*file=*/"",
      /*offset=*/int64_t{0}, initializers[0].getLength() * count);
  stack.setMembersAttr(members);
  symbols.insert(stack);
  return stack;
}

Value InitializerStacks::read(ArrayRef<Value> values, Rewriter &rewriter) {
  auto first = values[0].getDefiningOp<ParameterOp>();
  InitializerOp stack = getStack(getMembers(values));
  SmallVector<int64_t> shape{static_cast<int64_t>(values.size())};
  llvm::append_range(shape, getShape(first));
  ViewAttr view;
  if (std::optional<ViewAttr> own = first.getView()) {
    auto whole = cast<RankedTensorType>(stack.getType());
    SmallVector<int64_t> strides{whole.getNumElements() / whole.getDimSize(0)};
    llvm::append_range(strides, own->getStrides());
    view = ViewAttr::get(module.getContext(), own->getOffset(), strides);
  }
  return rewriter.create<ParameterOp>(
      RankedTensorType::get(shape, getElementType(first)),
      FlatSymbolRefAttr::get(stack.getSymNameAttr()), view);
}

} // namespace parplan::simplify
