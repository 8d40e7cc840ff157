//===- GraphGrower.cpp - Values from which random graphs grow -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "GraphGrower.h"

using namespace mlir;

namespace parplan::test {

GraphGrower::GraphGrower(MLIRContext &context, Random &random)
    : builder(&context), random(random) {
  graph.module = ModuleOp::create(getLocation());
  builder.setInsertionPointToEnd(graph.module->getBody());
  function = create<func::FuncOp>("main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

Graph GraphGrower::finish() {
  // Nothing is dead: a fault anywhere can show.
  SmallVector<Value> results;
  for (Value value : values)
    if (value.use_empty() || random.chance(20))
      results.push_back(value);
  create<func::ReturnOp>(results);
  Block &body = function.getBody().front();
  function.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), TypeRange(ValueRange(results))));
  graph.tolerance = largestInexact * 1e-9;
  return std::move(graph);
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

Value GraphGrower::makeInput(RankedTensorType type, int64_t low, int64_t high) {
  Tensor content(type);
  for (int64_t i = 0; i < content.getSize(); ++i)
    content.setNumber(i, static_cast<double>(random.between(low, high)));
  Value value;
  int64_t source = random.below(5);
  if (source < 2) {
    value = function.getBody().front().addArgument(type, getLocation());
    graph.arguments.push_back(std::move(content));
  } else if (source < 4) {
    value = makeParameter(content);
  } else {
    value = makeConstant(content);
  }
  ranges[value] = {static_cast<double>(std::max(std::abs(low), high)), true};
  return value;
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
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(graph.module->getBody());
    create<InitializerOp>(name, name, stored.getType(), /*file=*/"",
                          /*offset=*/0, /*length=*/0);
  }
  graph.initializers[name] = std::move(stored);
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
  if (!isExact)
    largestInexact = std::max({largestInexact, bound, 1.0});
  ranges[value] = {bound, isExact};
  values.push_back(value);
}

} // namespace parplan::test
