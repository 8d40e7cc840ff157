//===- Step.cpp - What passes of the phase do to @main --------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Step.h"

using namespace mlir;

namespace parplan::train {

func::FuncOp findMain(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function || function.isExternal()) {
    module.emitError("training needs a function @main");
    return {};
  }
  return function;
}

void eraseUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
}

SmallVector<StepResult> getResults(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<StepResult> results;
  for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
    results.push_back({value, function.getResultAttrDict(index)});
  return results;
}

void setResults(func::FuncOp function, ArrayRef<StepResult> results) {
  SmallVector<Value> values;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> dictionaries;
  auto empty = DictionaryAttr::get(function.getContext());
  for (const StepResult &result : results) {
    values.push_back(result.value);
    types.push_back(result.value.getType());
    dictionaries.push_back(result.attributes ? result.attributes : empty);
  }
  function.getBody().front().getTerminator()->setOperands(values);
  function.setType(FunctionType::get(function.getContext(),
                                     function.getArgumentTypes(), types));
  function.setAllResultAttrs(dictionaries);
}

StepResult makeNamedResult(Value value, StringRef name) {
  Builder builder(value.getContext());
  return {value, builder.getDictionaryAttr(builder.getNamedAttr(
                     attributes::name, builder.getStringAttr(name)))};
}

Value findScheduled(func::FuncOp function, StringRef schedule) {
  for (BlockArgument argument : function.getArguments())
    if (auto name = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), attributes::schedule))
      if (name.getValue() == schedule)
        return argument;
  return {};
}

Value getScheduled(func::FuncOp function, StringRef schedule, Type element) {
  if (Value found = findScheduled(function, schedule))
    return found;
  Builder builder(function.getContext());
  unsigned index = function.getNumArguments();
  function.insertArgument(
      index, RankedTensorType::get({}, element),
      builder.getDictionaryAttr(builder.getNamedAttr(
          attributes::schedule, builder.getStringAttr(schedule))),
      function.getLoc());
  return function.getArgument(index);
}

static StringRef getText(Attribute attribute) {
  auto text = dyn_cast_or_null<StringAttr>(attribute);
  return text ? text.getValue() : StringRef();
}

StringRef getArgumentName(func::FuncOp function, unsigned index) {
  return getText(function.getArgAttr(index, attributes::name));
}

StringRef getResultName(func::FuncOp function, unsigned index) {
  return getText(function.getResultAttr(index, attributes::name));
}

llvm::DenseSet<Operation *> findMicroBatchOps(func::FuncOp function) {
  llvm::DenseSet<Operation *> found;
  auto isOfMicroBatch = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return function.getArgAttr(argument.getArgNumber(), attributes::batch) !=
             nullptr;
    Operation *op = value.getDefiningOp();
    return found.contains(op) && !isa<AccumulateOp>(op);
  };
  for (Operation &op : function.getBody().front().without_terminator())
    if (!isa<AccumulateOp>(op) &&
        llvm::any_of(op.getOperands(), isOfMicroBatch))
      found.insert(&op);
  return found;
}

} // namespace parplan::train
