//===- GraphGrower.cpp - Values from which random graphs grow -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "GraphGrower.h"

using namespace mlir;

namespace parplan::test {

GraphGrower::GraphGrower(MLIRContext &context, Random &random,
                         int64_t microBatches)
    : builder(&context), random(random) {
  graph.module = ModuleOp::create(getLocation());
  graph.microBatches = microBatches;
  builder.setInsertionPointToEnd(graph.module->getBody());
  function = create<func::FuncOp>("main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

Graph GraphGrower::finish(ArrayRef<std::pair<Value, VariableAttr>> variables) {
  SmallVector<Value> results;
  for (auto [value, variable] : variables)
    results.push_back(value);
  // Nothing is dead: a fault anywhere can show.
  for (Value value : values)
    if (value.use_empty() || random.chance(20))
      results.push_back(isOfMicroBatch(value) ? accumulate(value) : value);
  create<func::ReturnOp>(results);
  Block &body = function.getBody().front();
  function.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), TypeRange(ValueRange(results))));
  for (auto [index, result] : llvm::enumerate(variables))
    function.setResultAttr(index, attributes::variable, result.second);
  if (graph.microBatches > 0)
    markMicroBatchOps();
  graph.tolerance = largestInexact * 1e-9;
  return std::move(graph);
}

Value GraphGrower::accumulate(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType().isInteger(1))
    value = create<CastOp>(type.clone(builder.getI64Type()), value);
  return create<AccumulateOp>(value);
}

bool GraphGrower::isOfMicroBatch(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return batches.contains(value);
  return !isa<AccumulateOp>(op) &&
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return isOfMicroBatch(operand); });
}

void GraphGrower::markMicroBatchOps() {
  function->setAttr(attributes::microBatches,
                    builder.getI64IntegerAttr(graph.microBatches));
  for (BlockArgument argument : function.getArguments()) {
    if (batches.contains(argument))
      function.setArgAttr(argument.getArgNumber(), attributes::batch,
                          builder.getUnitAttr());
    StringRef schedule = schedules[argument.getArgNumber()];
    if (!schedule.empty())
      function.setArgAttr(argument.getArgNumber(), attributes::schedule,
                          builder.getStringAttr(schedule));
  }
  for (Operation &op : function.getBody().front().without_terminator())
    if (op.getNumResults() > 0 && isOfMicroBatch(op.getResult(0)))
      op.setAttr(attributes::perMicroBatch, builder.getUnitAttr());
}

llvm::ArrayRef<int64_t> GraphGrower::getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

Shape GraphGrower::makeShape(size_t rank) {
  Shape shape;
  int64_t elements = 1;
  for (size_t dim = 0; dim < rank; ++dim) {
    shape.push_back(random.chance(10) ? 1 : random.between(2, 6));
    if (elements * shape.back() > 150)
      shape.back() = random.between(1, 2);
    elements *= shape.back();
  }
  return shape;
}

Value GraphGrower::pickReal() {
  if (values.empty() || random.chance(10))
    return makeReal(makeShape(random.between(1, 4)));
  // Later values more often: deep graphs.
  size_t first = random.chance(60) ? values.size() - 1 : 0;
  for (size_t i = 0; i < values.size(); ++i) {
    Value value = values[(first + i) % values.size()];
    if (cast<RankedTensorType>(value.getType()).getElementType() == getReal() &&
        (i == 0 || random.chance(50)))
      return value;
  }
  return makeReal(makeShape(random.between(1, 4)));
}

Value GraphGrower::pickReal(size_t rank) {
  for (size_t i = values.size(); i > 0; --i)
    if (getShape(values[i - 1]).size() == rank &&
        cast<RankedTensorType>(values[i - 1].getType()).getElementType() ==
            getReal())
      return values[i - 1];
  return makeReal(makeShape(rank));
}

Value GraphGrower::makeReal(ArrayRef<int64_t> shape) {
  // Sometimes all negative: padding would be the maximum.
  int64_t high = random.chance(25) ? -1 : 3;
  return makeInput(RankedTensorType::get(shape, getReal()), -3, high);
}

Value GraphGrower::makePositive(ArrayRef<int64_t> shape) {
  return makeInput(RankedTensorType::get(shape, getReal()), 1, 3);
}

Value GraphGrower::makeIndices(ArrayRef<int64_t> shape, int64_t low,
                               int64_t high) {
  return makeInput(RankedTensorType::get(shape, builder.getI64Type()), low,
                   high);
}

Value GraphGrower::makeBools(ArrayRef<int64_t> shape) {
  return makeInput(RankedTensorType::get(shape, builder.getI1Type()), 0, 1);
}

Value GraphGrower::makeSplat(double value) {
  auto type = RankedTensorType::get({}, getReal());
  return create<ConstantOp>(DenseElementsAttr::get(type, value));
}

Tensor GraphGrower::makeContent(RankedTensorType type, int64_t low,
                                int64_t high) {
  Tensor content(type);
  for (int64_t i = 0; i < content.getSize(); ++i)
    content.setNumber(i, static_cast<double>(random.between(low, high)));
  return content;
}

Value GraphGrower::addArgument(RankedTensorType type, int64_t low, int64_t high,
                               bool isBatched) {
  Value value = function.getBody().front().addArgument(type, getLocation());
  schedules.emplace_back();
  if (isBatched) {
    batches.insert(value);
    Shape shape(type.getShape());
    shape.insert(shape.begin(), graph.microBatches);
    type = type.clone(shape);
  }
  graph.arguments.push_back(makeContent(type, low, high));
  return value;
}

Value GraphGrower::makeInput(RankedTensorType type, int64_t low, int64_t high) {
  Value value;
  int64_t source = random.below(5);
  if (source < 2)
    value = addArgument(type, low, high,
                        graph.microBatches > 0 && random.chance(80));
  else if (source < 4)
    value = makeParameter(makeContent(type, low, high));
  else
    value = makeConstant(makeContent(type, low, high));
  ranges[value] = {static_cast<double>(std::max(std::abs(low), high)), true};
  return value;
}

Value GraphGrower::makeBatch(ArrayRef<int64_t> shape) {
  Value value = addArgument(RankedTensorType::get(shape, getReal()), -3, 3,
                            /*isBatched=*/true);
  ranges[value] = {3, true};
  return value;
}

Value GraphGrower::makeScheduled(StringRef schedule, double number) {
  auto type = RankedTensorType::get({}, getReal());
  Value value = addArgument(type, 0, 0, /*isBatched=*/false);
  schedules.back() = schedule;
  graph.arguments.back().setNumber(0, number);
  return value;
}

Value GraphGrower::makeVariable(StringRef initializer, StringRef slot,
                                ArrayRef<int64_t> shape, int64_t low,
                                int64_t high) {
  auto type = RankedTensorType::get(shape, getReal());
  Tensor content = makeContent(type, low, high);
  StringAttr slotName;
  if (slot.empty()) {
    addInitializer(initializer, content);
  } else {
    graph.initializers[getSlotName(initializer, slot)] = std::move(content);
    slotName = builder.getStringAttr(slot);
  }
  Value value = create<ParameterOp>(
      type, FlatSymbolRefAttr::get(builder.getContext(), initializer),
      ViewAttr(), slotName);
  ranges[value] = {static_cast<double>(std::max(std::abs(low), high)), true};
  return value;
}

void GraphGrower::addInitializer(StringRef name, const Tensor &value) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(graph.module->getBody());
  create<InitializerOp>(name, name, value.getType(), /*file=*/"",
                        /*offset=*/0, /*length=*/0);
  graph.initializers[name] = value;
}

Value GraphGrower::makeParameter(const Tensor &value) {
  std::string name = "w" + std::to_string(graph.initializers.size());
  RankedTensorType type = value.getType();
  Tensor stored = value;
  ViewAttr view;
  // Some initializers are read transposed.
  if (type.getRank() == 2 && random.chance(40)) {
    stored = value.reshaped({type.getDimSize(1), type.getDimSize(0)});
    view = ViewAttr::get(builder.getContext(), 0, {1, type.getDimSize(0)});
  }
  addInitializer(name, stored);
  return create<ParameterOp>(type, name, view);
}

Value GraphGrower::makeConstant(const Tensor &value) {
  RankedTensorType type = value.getType();
  SmallVector<Attribute> elements;
  for (int64_t i = 0; i < value.getSize(); ++i)
    elements.push_back(
        value.isReal() ? Attribute(builder.getFloatAttr(type.getElementType(),
                                                        value[i].real))
                       : Attribute(builder.getIntegerAttr(type.getElementType(),
                                                          value[i].integer)));
  if (random.chance(40))
    elements.assign(1, elements.front());
  return create<ConstantOp>(DenseElementsAttr::get(type, elements));
}

void GraphGrower::note(double bound, bool isExact) {
  if (!isExact)
    largestInexact = std::max({largestInexact, bound, 1.0});
}

void GraphGrower::add(Value value, double bound, bool isExact) {
  bool isReal =
      cast<RankedTensorType>(value.getType()).getElementType() == getReal();
  constexpr double largestExact = 1e6, largestRounded = 1e3;
  if (isReal && isExact && bound > largestExact) {
    value = create<ModOp>(value, makeSplat(97));
    bound = 97;
  } else if (isReal && !isExact && bound > largestRounded) {
    value = create<MulOp>(value, makeSplat(1 / bound));
    bound = 1;
  }
  note(bound, isExact);
  ranges[value] = {bound, isExact};
  values.push_back(value);
}

} // namespace parplan::test
