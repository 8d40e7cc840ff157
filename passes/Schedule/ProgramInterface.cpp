//===- ProgramInterface.cpp - What lives outside of a step ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ProgramInterface.h"

#include "dialects/parplan/ParplanOps.h"
#include "dialects/parplan/TensorTypes.h"
#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan {

static constexpr llvm::StringLiteral globalTypeName = "parplan.global_type";

LogicalResult ProgramInterface::findVariables() {
  FailureOr<SmallVector<VariableResult>> placed =
      placeVariables(function, placement.getMesh());
  if (failed(placed))
    return failure();
  variables = std::move(*placed);
  if (!function->hasAttr(attributes::forwardOnly))
    microBatches =
        function->getAttrOfType<IntegerAttr>(attributes::microBatches);
  placement.getProgram().setMicroBatchesAttr(microBatches);
  return success();
}

void ProgramInterface::defineInputs() {
  for (BlockArgument argument : function.getArguments())
    placement.map(argument, createInput(argument));
}

void ProgramInterface::defineVariables() {
  for (const VariableResult &variable : variables) {
    if (auto parameter = dyn_cast<ParameterOp>(variable.parameter))
      defineParameter(parameter);
    else
      defineBucket(cast<BucketParameterOp>(variable.parameter), placement);
    if (variable.written)
      placement.assign(variable.written, getVariableBuffer(variable));
  }
}

static RankedTensorType getGlobalType(Attribute attribute, Type local) {
  if (auto type = llvm::dyn_cast_if_present<TypeAttr>(attribute))
    return cast<RankedTensorType>(type.getValue());
  return cast<RankedTensorType>(local);
}

static StringRef getName(Attribute attribute) {
  auto name = llvm::dyn_cast_if_present<StringAttr>(attribute);
  return name ? name.getValue() : "";
}

/// The block with its dimensions in the order of `parplan.zigzag`, or null.
static exec::BlockAttr setOrder(exec::BlockAttr block, Attribute order) {
  auto ranks = llvm::dyn_cast_if_present<DenseI64ArrayAttr>(order);
  if (!ranks)
    return block;
  SmallVector<exec::DimensionAttr> dims;
  for (auto [dim, zigzag] :
       llvm::zip_equal(block.getDims(), ranks.asArrayRef()))
    dims.push_back(exec::DimensionAttr::get(block.getContext(), dim.getSize(),
                                            dim.getAxes(), dim.getStride(),
                                            zigzag));
  return exec::BlockAttr::get(block.getContext(), block.getName(),
                              block.getSlot(), block.getSource(),
                              block.getOffset(), dims, block.getStorage());
}

/// The roles of a training step's inputs and outputs are called as they are.
static void setRole(exec::BufferOp buffer, StringRef name, bool isInput) {
  std::optional<exec::BufferRole> role = exec::symbolizeBufferRole(name);
  if (role && (*role < exec::BufferRole::loss) == isInput)
    buffer.setRole(role);
}

Value ProgramInterface::createInput(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  exec::BlockAttr block = placement.getBlock(
      getName(function.getArgAttr(index, attributes::name)),
      getGlobalType(function.getArgAttr(index, globalTypeName),
                    argument.getType()),
      function.getArgAttrOfType<ShardingAttr>(index, attributes::sharding));
  block = setOrder(block, function.getArgAttr(index, attributes::zigzag));
  Value buffer = placement.createInterface(exec::BufferKind::input,
                                           getTensorType(argument), block);
  auto input = buffer.getDefiningOp<exec::BufferOp>();
  if (function->hasAttr(attributes::microBatches) &&
      function.getArgAttr(index, attributes::batch))
    input.setBatched(true);
  if (!microBatches)
    return buffer;
  auto schedule =
      function.getArgAttrOfType<StringAttr>(index, attributes::schedule);
  setRole(input, schedule ? schedule.getValue() : block.getName().getValue(),
          /*isInput=*/true);
  return buffer;
}

static ShardingAttr getResultSharding(Operation *op) {
  auto list = op->getAttrOfType<ArrayAttr>(attributes::shardings);
  return list ? cast<ShardingAttr>(list[0]) : ShardingAttr();
}

void ProgramInterface::defineParameter(ParameterOp op) {
  if (placement.lookup(op.getResult()) || (op->use_empty() && !isVariable(op)))
    return;
  auto initializer =
      parts.symbols.lookup<InitializerOp>(op.getInitializerAttr().getValue());
  PARPLAN_CHECK(initializer, "a parameter names no initializer");
  ShardingAttr sharding = getResultSharding(op);
  Attribute global = op->getAttr(globalTypeName);
  if (!global && !op.getView())
    global = initializer.getTypeAttr();
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  if (std::optional<ViewAttr> view = op.getView()) {
    offset = view->getOffset();
    strides.assign(view->getStrides().begin(), view->getStrides().end());
  }
  exec::BlockAttr block = placement.getBlock(
      initializer.getName(), getGlobalType(global, op.getType()), sharding,
      op.getInitializerAttr(), offset, strides, op.getSlotAttr());
  // Tied weights in one layout are one buffer.
  auto [place, isNew] = parameters.try_emplace({block, op.getType()});
  if (isNew) {
    placement.setTier(getRestingTier(op));
    place->second = placement.createInterface(
        op.getSlot() ? exec::BufferKind::state : exec::BufferKind::parameter,
        getTensorType(op.getResult()), block);
    placement.setTier(exec::Tier::device);
  }
  placement.map(op.getResult(), place->second);
}

Value ProgramInterface::getVariableBuffer(
    const VariableResult &variable) const {
  return placement.lookup(variable.parameter->getResult(0));
}

bool ProgramInterface::isVariable(ParameterOp op) const {
  return llvm::any_of(variables, [&](const VariableResult &variable) {
    return variable.parameter == op;
  });
}

void ProgramInterface::defineData(ConstantOp op) {
  if (op->use_empty())
    return;
  auto [place, isNew] = parts.data.try_emplace(op.getValueAttr());
  if (!isNew)
    return;
  OpBuilder builder(placement.getProgram());
  std::string name = "data" + std::to_string(parts.data.size() - 1);
  auto bytes =
      builder.create<exec::DataOp>(op.getLoc(), name, op.getValueAttr());
  place->second = FlatSymbolRefAttr::get(bytes.getSymNameAttr());
}

void ProgramInterface::defineConstant(ConstantOp op) {
  if (op->use_empty())
    return;
  FlatSymbolRefAttr data = parts.data.lookup(op.getValueAttr());
  PARPLAN_CHECK(data, "a constant has no data");
  RankedTensorType type = getTensorType(op.getResult());
  exec::BlockAttr block = placement.getBlock(data.getValue(), type, {}, data);
  placement.map(op.getResult(), placement.createInterface(
                                    exec::BufferKind::parameter, type, block));
}

void ProgramInterface::defineOutputs(func::ReturnOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (getVariable(function, index))
      continue;
    RankedTensorType type = getTensorType(operand.get());
    exec::BlockAttr block = placement.getBlock(
        getName(function.getResultAttr(index, attributes::name)),
        getGlobalType(function.getResultAttr(index, globalTypeName), type),
        function.getResultAttrOfType<ShardingAttr>(index,
                                                   attributes::sharding));
    block = setOrder(block, function.getResultAttr(index, attributes::zigzag));
    Value buffer = placement.lookup(operand.get());
    auto output = buffer.getDefiningOp<exec::BufferOp>();
    if (output && output.getKind() == exec::BufferKind::activation) {
      output.setKind(exec::BufferKind::output);
      output.setBlockAttr(block);
    } else {
      Value copy =
          placement.createInterface(exec::BufferKind::output, type, block);
      copyBuffer(op.getLoc(), buffer, copy, placement);
      output = copy.getDefiningOp<exec::BufferOp>();
    }
    if (microBatches)
      setRole(output, block.getName(), /*isInput=*/false);
    if (auto dim = function.getResultAttrOfType<IntegerAttr>(
            index, attributes::batchDim)) {
      output.setBatched(true);
      output.setBatchDim(dim.getInt());
    }
    outputs.push_back(output);
  }
  // In the order of the function's results.
  for (exec::BufferOp output : outputs)
    if (Operation *last = findLastBuffer(); last != output)
      output->moveAfter(last);
}

void ProgramInterface::storeVariables(func::ReturnOp op) {
  SmallVector<std::pair<Value, Value>> copies;
  for (const VariableResult &variable : variables) {
    Value from = placement.lookup(op.getOperand(variable.index));
    Value to = getVariableBuffer(variable);
    auto buffer = to.getDefiningOp<exec::BufferOp>();
    if (variable.written)
      buffer.setTrained(true);
    if (exec::getBuffer(from) == buffer)
      continue;
    // Another variable's old value, which may be overwritten before.
    if (exec::BufferKind kind = exec::getBuffer(from).getKind();
        kind == exec::BufferKind::parameter ||
        kind == exec::BufferKind::state) {
      exec::BufferType type = exec::getBufferType(from);
      exec::Tier tier = exec::getTier(from);
      placement.setTier(tier);
      Value kept =
          placement.createActivation(type.getShape(), type.getElementType());
      placement.setTier(exec::Tier::device);
      copyBuffer(op.getLoc(), from, kept, placement);
      from = kept;
    }
    buffer.setTrained(true);
    copies.push_back({from, to});
  }
  for (auto [from, to] : copies)
    copyBuffer(op.getLoc(), from, to, placement);
}

Operation *ProgramInterface::findLastBuffer() {
  Operation *last = nullptr;
  for (auto buffer :
       placement.getProgram().getBody().front().getOps<exec::BufferOp>())
    last = buffer;
  return last;
}

} // namespace parplan
