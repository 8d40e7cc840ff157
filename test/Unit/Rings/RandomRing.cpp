//===- RandomRing.cpp - Attention in random rings -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"

using namespace mlir;

namespace parplan::test {

MLIRContext &getRingContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<ParplanDialect, exec::ExecDialect, func::FuncDialect>();
    auto *created = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *context;
}

RandomRing::RandomRing(uint64_t seed) : engine(seed) {
  makeMesh();
  do {
    chooseOrder();
    build();
  } while (!assign());
  annotate();
}

void RandomRing::makeMesh() {
  std::vector<MeshAxis> axes;
  if (chance(30))
    axes.push_back({"z", 2, AxisRole::data});
  axes.push_back({"c", between(2, 4)});
  if (chance(25))
    axes.push_back({"d", 2});
  if (chance(30))
    axes.push_back({"x", 2});
  mesh = Mesh(axes);
}

/// Sizes of the sequence: any, or two chunks for every rank of the ring.
void RandomRing::chooseOrder() {
  zigzag = 1;
  s = between(2, 11), t = between(2, 11), causal = chance(60);
  if (!chance(30))
    return;
  for (const MeshAxis &axis : mesh.getAxes())
    if (axis.name == "c" || axis.name == "d")
      zigzag *= axis.size;
  s = t = 2 * zigzag * between(1, 3);
  causal = true;
}

void RandomRing::addArgument(Type type) {
  auto tensorType = cast<RankedTensorType>(type);
  body->addArgument(type, UnknownLoc::get(&getRingContext()));
  Tensor &value = arguments.emplace_back(tensorType);
  for (int64_t i = 0; i < value.getSize(); ++i) {
    if (value.isReal())
      value[i].real = static_cast<double>(between(-1000, 1000)) / 500;
    else
      value[i].integer = between(0, tensorType.getRank() == 0 ? 3 : 1);
  }
}

/// None, or one that broadcasts to [b, h, s, t] in some dimensions.
Value RandomRing::makeMask(OpBuilder &builder) {
  if (chance(40))
    return {};
  SmallVector<int64_t> shape = {b, g * r, s, t};
  shape.erase(shape.begin(), shape.begin() + between(0, 3));
  for (int64_t &size : shape)
    if (chance(30))
      size = 1;
  Type element = builder.getF64Type();
  if (chance(50))
    element = builder.getI1Type();
  addArgument(RankedTensorType::get(shape, element));
  return body->getArguments().back();
}

void RandomRing::build() {
  arguments.clear();
  b = between(1, 2) * between(1, 2);
  g = between(1, 4), r = between(1, 2), e = between(1, 3), f = between(1, 3);
  Location location = UnknownLoc::get(&getRingContext());
  module = ModuleOp::create(location);
  OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
  builder.create<MeshOp>(location, "mesh",
                         MeshAttr::get(builder.getContext(), mesh));
  auto function = builder.create<func::FuncOp>(location, "main",
                                               builder.getFunctionType({}, {}));
  body = function.addEntryBlock();
  auto type = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF64Type());
  };
  addArgument(type({b, s, g * r, e}));
  addArgument(type({b, t, g, e}));
  addArgument(type({b, t, g, f}));
  addArgument(type({b, s, g * r, f}));
  Value mask = makeMask(builder);
  Value offset;
  if (causal && zigzag == 1 && chance(40)) {
    addArgument(RankedTensorType::get({}, builder.getI64Type()));
    offset = body->getArguments().back();
  }
  builder.setInsertionPointToStart(body);
  auto argument = [&](unsigned index) { return body->getArgument(index); };
  attention = builder.create<AttentionOp>(
      location, argument(0), argument(1), argument(2), mask, offset,
      /*sink=*/mlir::Value(), APFloat(0.5), causal, /*zero_masked_rows=*/true,
      /*statistics=*/true, zigzag);
  gradient = builder.create<AttentionGradientOp>(
      location, argument(0), argument(1), argument(2), attention.getResult(),
      attention.getLogSumExp(), argument(3), mask, offset, APFloat(0.5), causal,
      zigzag);
  SmallVector<Value> results(attention->getResults());
  results.append(gradient->result_begin(), gradient->result_end());
  builder.create<func::ReturnOp>(location, results);
  function.setFunctionType(FunctionType::get(
      builder.getContext(), body->getArgumentTypes(), TypeRange(results)));
  rule = attention.getShardingRule();
}

/// Queries split over the axes of the ring, some other factors over the rest.
/// False where the sizes do not allow it.
bool RandomRing::assign() {
  assignment = FactorAssignment::getReplicated(rule);
  ringAxes.clear();
  auto findFactor = [&](StringRef name) { return rule.findFactor(name); };
  std::optional<int> queries = findFactor("s"), keys = findFactor("t");
  if (!queries || !keys)
    return false;
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis) {
    StringRef name = mesh.getAxis(axis).name;
    if (name == "c" || name == "d") {
      assignment.axes[*queries].push_back(axis);
      ringAxes.push_back(axis);
    } else if (std::optional<int> factor = findFactor(name == "z"  ? "b"
                                                      : chance(70) ? "g"
                                                                   : "f")) {
      assignment.axes[*factor].push_back(axis);
    }
  }
  assignment.panels.factor = *keys;
  assignment.panels.axes = ringAxes;
  if (verifyAssignment(rule, assignment, mesh))
    return false;
  // The gradient has the same factors, by name.
  return !verifyAssignment(gradient.getShardingRule(), assignment, mesh);
}

ShardingAttr RandomRing::getAttr(const Sharding &sharding) {
  return ShardingAttr::get(FlatSymbolRefAttr::get(&getRingContext(), "mesh"),
                           mesh, sharding);
}

/// Arguments lie as the attention reads them, results rest complete.
void RandomRing::annotate() {
  func::FuncOp function = getFunction();
  auto symbol = FlatSymbolRefAttr::get(&getRingContext(), "mesh");
  unsigned next = 0;
  auto setLayout = [&](const ShardingRule &reader, int operand) {
    layouts.push_back(getUseSharding(reader, assignment, operand));
    function.setArgAttr(next++, attributes::sharding, getAttr(layouts.back()));
  };
  ShardingRule backward = gradient.getShardingRule();
  for (int operand : {0, 1, 2})
    setLayout(rule, operand);
  setLayout(backward, 5);
  for (unsigned operand = 3; operand < attention->getNumOperands(); ++operand)
    setLayout(rule, static_cast<int>(operand));
  unsigned result = 0;
  auto setOp = [&](ShardingRuleOpInterface op, const ShardingRule &of) {
    SmallVector<Attribute> shardings;
    for (unsigned index = 0; index < op->getNumResults(); ++index) {
      Sharding atRest =
          getMadeSharding(of, assignment, static_cast<int>(index));
      atRest.partial.clear();
      shardings.push_back(getAttr(atRest));
      function.setResultAttr(result++, attributes::sharding, getAttr(atRest));
    }
    op->setAttr(attributes::shardings,
                ArrayAttr::get(&getRingContext(), shardings));
    op->setAttr(attributes::factors,
                FactorsAttr::get(symbol, mesh, of, assignment));
  };
  setOp(attention, rule);
  if (attention.getMask()) {
    Sharding layout = getUseSharding(rule, assignment, /*operand=*/3);
    isMaskMoving = !layout.dims.empty() && !layout.dims.back().empty();
  }
  setOp(gradient, backward);
}

int64_t RandomRing::countLocal(unsigned index) {
  auto type = cast<RankedTensorType>(attention->getOperand(index).getType());
  return getUseSharding(rule, assignment, static_cast<int>(index))
      .getLocalElementCount(mesh, type.getShape());
}

} // namespace parplan::test
