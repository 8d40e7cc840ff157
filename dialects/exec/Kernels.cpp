//===- Kernels.cpp - Kernels, their scalar code and their launches --------===//
//
// Part of parplan. E10, E11 and E12 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/ExecOps.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  size_t rank = getSpace().size();
  for (BlockArgument argument : region.getArguments()) {
    size_t number = argument.getArgNumber();
    setName(argument, number < rank ? "i" + std::to_string(number)
                                    : "s" + std::to_string(number - rank));
  }
}

/// The least and the greatest element of an access without dynamic part.
static std::pair<int64_t, int64_t>
getReach(ArrayRef<int64_t> space, int64_t offset, ArrayRef<int64_t> strides) {
  int64_t low = offset, high = offset;
  for (auto [size, stride] : llvm::zip_equal(space, strides)) {
    int64_t span = (size - 1) * stride;
    (span < 0 ? low : high) += span;
  }
  return {low, high};
}

LogicalResult
KernelOp::verifyAccesses(ArrayRef<int64_t> inputElements,
                         int64_t outputElements,
                         function_ref<InFlightDiagnostic()> emitError) {
  for (int64_t size : getSpace())
    if (size == 0)
      return success();
  auto check = [&](ArrayRef<int64_t> strides, int64_t offset, int64_t elements,
                   const Twine &name) -> LogicalResult {
    auto [low, high] = getReach(getSpace(), offset, strides);
    if (low < 0 || high >= elements)
      return emitError() << name << " reaches elements " << low << " to "
                         << high << " of " << elements << " (E10)";
    return success();
  };
  for (Operation &op : getBody().front()) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      if (!load.getDynamic().empty() || load.getCondition())
        continue;
      if (failed(check(load.getStrides(), load.getOffset(),
                       inputElements[load.getInput()],
                       "load of input " + Twine(load.getInput()))))
        return failure();
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      if (failed(check(store.getStrides(), store.getOffset(), outputElements,
                       "store")))
        return failure();
    }
  }
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  Block &body = getBody().front();
  size_t rank = getSpace().size();
  if (rank == 0 || rank > 8)
    return emitOpError("has a space of ") << rank << " dimensions; 1 to 8 fit";
  if (llvm::any_of(getSpace(), [](int64_t size) { return size < 0; }))
    return emitOpError("has a negative size in its space");
  if (body.getNumArguments() != rank + getScalars())
    return emitOpError("has ")
           << body.getNumArguments() << " arguments for " << rank
           << " dimensions and " << getScalars() << " scalars";
  for (Type type : body.getArgumentTypes())
    if (!type.isSignlessInteger(64))
      return emitOpError("has an argument of type ") << type << ", not i64";
  bool stores = false;
  for (Operation &op : body) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      if (load.getStrides().size() != rank)
        return load.emitOpError("needs ") << rank << " strides (E10)";
      if (load.getDynamic().size() != load.getScales().size())
        return load.emitOpError("needs a scale per dynamic index (E10)");
      if (load.getInput() >= getInputs().size())
        return load.emitOpError("names input ")
               << load.getInput() << " of " << getInputs().size() << " (E10)";
      Type type = cast<TypeAttr>(getInputs()[load.getInput()]).getValue();
      if (type != load.getType())
        return load.emitOpError("reads ")
               << load.getType() << " from an array of " << type << " (E10)";
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      stores = true;
      if (store.getStrides().size() != rank)
        return store.emitOpError("needs ") << rank << " strides (E10)";
      if (store.getValue().getType() != getOutput())
        return store.emitOpError("writes ")
               << store.getValue().getType() << " to an array of "
               << getOutput() << " (E10)";
    } else if (!isa<LiteralOp, ApplyOp>(op)) {
      return op.emitOpError("is not scalar code of a kernel");
    }
  }
  if (!stores)
    return emitOpError("stores nothing");
  return success();
}

LogicalResult LiteralOp::verify() {
  if (getValue().getType() != getType())
    return emitOpError("of type ")
           << getValue().getType() << " as " << getType() << " (E11)";
  return success();
}

LogicalResult ApplyOp::verify() {
  ValueRange operands = getOperands();
  Type result = getType();
  auto fail = [&]() -> LogicalResult {
    return emitOpError("'") << stringifyScalarFunction(getFunction())
                            << "' does not take these types (E11)";
  };
  auto takes = [&](std::initializer_list<Type> types) {
    return llvm::equal(TypeRange(operands), types);
  };
  ScalarFunction function = getFunction();
  Type first = operands.empty() ? Type() : operands[0].getType();
  Type boolean = IntegerType::get(getContext(), 1);
  if (function <= ScalarFunction::xor_) {
    bool logic = function >= ScalarFunction::and_;
    return takes({result, result}) && (!logic || isa<IntegerType>(result))
               ? success()
               : fail();
  }
  if (function <= ScalarFunction::ge)
    return first && takes({first, first}) && result == boolean ? success()
                                                               : fail();
  if (function == ScalarFunction::not_)
    return takes({result}) && isa<IntegerType>(result) ? success() : fail();
  if (function < ScalarFunction::not_)
    return takes({result}) ? success() : fail();
  if (function <= ScalarFunction::is_inf)
    return first && isa<FloatType>(first) && takes({first}) && result == boolean
               ? success()
               : fail();
  if (function == ScalarFunction::cast)
    return operands.size() == 1 ? success() : fail();
  if (function == ScalarFunction::bit_cast)
    return operands.size() == 1 &&
                   getStorageBytes(first) == getStorageBytes(result)
               ? success()
               : fail();
  return takes({boolean, result, result}) ? success() : fail();
}

//===----------------------------------------------------------------------===//
// Launches of kernels
//===----------------------------------------------------------------------===//

/// Checks E10 and E12 for a launch of `symbol`.
static LogicalResult verifyKernelUse(Operation *op,
                                     SymbolTableCollection &symbols,
                                     FlatSymbolRefAttr symbol,
                                     ArrayRef<std::pair<Type, int64_t>> inputs,
                                     std::pair<Type, int64_t> output,
                                     ArrayAttr scalars) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(op, symbol);
  if (!kernel)
    return op->emitOpError("names no kernel: ") << symbol << " (E12)";
  if (kernel.getInputs().size() != inputs.size())
    return op->emitOpError("passes ")
           << inputs.size() << " arrays to a kernel of "
           << kernel.getInputs().size() << " (E12)";
  SmallVector<int64_t> elements;
  for (auto [number, input] : llvm::enumerate(inputs)) {
    Type type = cast<TypeAttr>(kernel.getInputs()[number]).getValue();
    if (type != input.first)
      return op->emitOpError("passes ") << input.first << " as input " << number
                                        << " of type " << type << " (E12)";
    elements.push_back(input.second);
  }
  if (kernel.getOutput() != output.first)
    return op->emitOpError("writes ")
           << kernel.getOutput() << " to " << output.first << " (E12)";
  if (scalars.size() != kernel.getScalars())
    return op->emitOpError("passes ")
           << scalars.size() << " scalars to a kernel of "
           << kernel.getScalars() << " (E12)";
  for (Attribute scalar : scalars)
    if (!isa<RankValueAttr>(scalar))
      return op->emitOpError("passes ") << scalar << " as a scalar (E12)";
  return kernel.verifyAccesses(elements, output.second,
                               [&] { return op->emitOpError(); });
}

LogicalResult MapOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (Value into = getInto()) {
    if (!into.hasOneUse())
      return emitOpError("writes into a tensor that has another use (E12)");
    if (into.getType() != getType())
      return emitOpError("result and 'into' have different types (E12)");
  }
  auto describe = [](Value value) {
    auto type = cast<ShapedType>(value.getType());
    return std::pair(type.getElementType(), type.getNumElements());
  };
  SmallVector<std::pair<Type, int64_t>> inputs =
      llvm::map_to_vector(getInputs(), describe);
  return verifyKernelUse(*this, symbols, getKernelAttr(), inputs,
                         describe(getResult()), getScalars());
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto describe = [](Value value) {
    auto type = cast<BufferType>(value.getType());
    return std::pair(type.getElementType(), type.getElementCount());
  };
  SmallVector<std::pair<Type, int64_t>> inputs =
      llvm::map_to_vector(getInputs(), describe);
  return verifyKernelUse(*this, symbols, getKernelAttr(), inputs,
                         describe(getOutput()), getScalars());
}
