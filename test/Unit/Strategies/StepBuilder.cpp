//===- StepBuilder.cpp - Functions with decisions, from short text --------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "StepBuilder.h"

#include "parplan/Support/Check.h"

#include "dialects/exec/ExecDialect.h"

using namespace mlir;

namespace parplan::test {

int64_t draw(Random &random, int64_t low, int64_t high) {
  return low +
         static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

MLIRContext &getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<ParplanDialect, exec::ExecDialect, func::FuncDialect>();
    auto *created = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *context;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static AxisList parseAxes(StringRef text, const Mesh &mesh) {
  AxisList axes;
  SmallVector<StringRef> names;
  text.split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef name : names) {
    std::optional<int> axis = mesh.findAxis(name);
    PARPLAN_CHECK(axis, "no axis ", std::string_view(name));
    axes.push_back(*axis);
  }
  return axes;
}

/// Calls `take` for every `name:axis,axis` of `text`.
static void parseEntries(StringRef text, const Mesh &mesh,
                         llvm::function_ref<void(StringRef, AxisList)> take) {
  SmallVector<StringRef> entries;
  text.split(entries, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [name, axes] = entry.split(':');
    take(name, parseAxes(axes, mesh));
  }
}

Sharding parseLayout(const Layout &layout, const Mesh &mesh) {
  Sharding sharding = Sharding::getReplicated(layout.letters.size());
  auto [complete, storage] = StringRef(layout.axes).split('/');
  auto [dims, partial] = complete.split('+');
  parseEntries(dims, mesh, [&](StringRef letter, AxisList axes) {
    size_t dim = layout.letters.find(letter.str());
    PARPLAN_CHECK(dim != std::string::npos, "no dimension ",
                  std::string_view(letter));
    sharding.dims[dim] = axes;
  });
  sharding.partial = parseAxes(partial.trim(), mesh);
  sharding.storage = parseAxes(storage, mesh);
  return sharding;
}

static FactorAssignment parseFactors(StringRef text, const ShardingRule &rule,
                                     const Mesh &mesh) {
  auto assignment = FactorAssignment::getReplicated(rule);
  auto getFactor = [&](StringRef name) {
    std::optional<int> factor = rule.findFactor(name);
    PARPLAN_CHECK(factor, "no factor ", std::string_view(name));
    return *factor;
  };
  auto [factors, panels] = text.split("panels ");
  auto [dims, storage] = factors.split('/');
  auto [axes, pending] = dims.split('+');
  parseEntries(axes, mesh, [&](StringRef name, AxisList list) {
    assignment.axes[getFactor(name)] = list;
  });
  assignment.pending = parseAxes(pending.trim(), mesh);
  assignment.storage = parseAxes(storage.trim(), mesh);
  parseEntries(panels, mesh, [&](StringRef name, AxisList list) {
    llvm::sort(list);
    assignment.panels.factor = getFactor(name);
    assignment.panels.axes = list;
  });
  return assignment;
}

//===----------------------------------------------------------------------===//
// Builder
//===----------------------------------------------------------------------===//

StepBuilder::StepBuilder(const Mesh &mesh, Random &random)
    : builder(&getContext()), mesh(mesh), random(random),
      symbol(FlatSymbolRefAttr::get(&getContext(), "mesh")) {
  step.module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(step.module->getBody());
  builder.create<MeshOp>(builder.getUnknownLoc(), "mesh",
                         MeshAttr::get(&getContext(), mesh));
  function = builder.create<func::FuncOp>(builder.getUnknownLoc(), "main",
                                          builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

Tensor StepBuilder::makeContent(RankedTensorType type, int64_t low,
                                int64_t high) {
  Tensor content(type);
  for (int64_t i = 0; i < content.getSize(); ++i)
    content.setNumber(i, static_cast<double>(draw(random, low, high)));
  return content;
}

ShardingAttr StepBuilder::getAttr(const Layout &layout) {
  return ShardingAttr::get(symbol, mesh, parseLayout(layout, mesh));
}

Value StepBuilder::addInput(Shape shape, const Layout &layout) {
  return addInput(RankedTensorType::get(shape, builder.getF32Type()), layout,
                  -3, 3);
}

Value StepBuilder::addInput(RankedTensorType type, const Layout &layout,
                            int64_t low, int64_t high) {
  return addArgument(makeContent(type, low, high), type, layout);
}

Value StepBuilder::addArgument(Tensor content, RankedTensorType type,
                               const Layout &layout) {
  step.arguments.push_back(std::move(content));
  unsigned index = function.getNumArguments();
  function.insertArgument(index, type,
                          builder.getDictionaryAttr(builder.getNamedAttr(
                              attributes::sharding, getAttr(layout))),
                          builder.getUnknownLoc());
  return function.getArgument(index);
}

Value StepBuilder::addBatch(Shape shape, const Layout &layout,
                            int64_t microBatches) {
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  SmallVector<int64_t> all(shape);
  all.insert(all.begin(), microBatches);
  Value value = addArgument(makeContent(type.clone(all), -3, 3), type, layout);
  function.setArgAttr(function.getNumArguments() - 1, attributes::batch,
                      builder.getUnitAttr());
  function->setAttr(attributes::microBatches,
                    builder.getI64IntegerAttr(microBatches));
  return value;
}

Value StepBuilder::addLearningRate() {
  Value rate =
      addInput(RankedTensorType::get({}, builder.getF32Type()), Layout(), 1, 3);
  function.setArgAttr(function.getNumArguments() - 1, attributes::schedule,
                      builder.getStringAttr(schedules::learningRate));
  return rate;
}

void StepBuilder::runPerMicroBatch(Operation *op) {
  op->setAttr(attributes::perMicroBatch, builder.getUnitAttr());
}

Value StepBuilder::addParameter(StringRef name, Shape shape,
                                const Layout &layout) {
  return addParameter(name, RankedTensorType::get(shape, builder.getF32Type()),
                      layout);
}

Value StepBuilder::addParameter(StringRef name, RankedTensorType type,
                                const Layout &layout, StringRef slot) {
  Tensor content = makeContent(type, -3, 3);
  if (slot.empty()) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    builder.create<InitializerOp>(builder.getUnknownLoc(), name, name, type,
                                  /*file=*/"", /*offset=*/0,
                                  /*length=*/4 * type.getNumElements());
    step.initializers[name] = content;
  } else {
    step.initializers[getSlotName(name, slot)] = content;
  }
  auto op = builder.create<ParameterOp>(
      builder.getUnknownLoc(), type,
      FlatSymbolRefAttr::get(&getContext(), name), ViewAttr(),
      slot.empty() ? StringAttr() : builder.getStringAttr(slot));
  op->setAttr(attributes::shardings, builder.getArrayAttr(getAttr(layout)));
  return op.getResult();
}

void StepBuilder::decide(Operation *op, StringRef factors,
                         ArrayRef<Layout> atRest, StringRef role) {
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  FactorAssignment assignment = parseFactors(factors, rule, mesh);
  std::optional<std::string> fault = verifyAssignment(rule, assignment, mesh);
  PARPLAN_CHECK(!fault, *fault);
  op->setAttr(attributes::factors,
              FactorsAttr::get(symbol, mesh, rule, assignment));
  SmallVector<Attribute> shardings;
  for (const Layout &layout : atRest)
    shardings.push_back(getAttr(layout));
  op->setAttr(attributes::shardings, builder.getArrayAttr(shardings));
  op->setAttr(attributes::role, builder.getStringAttr(role));
}

void StepBuilder::gatherAgain(Value value) {
  value.getDefiningOp()->setAttr(attributes::gatherAgain,
                                 builder.getUnitAttr());
}

void StepBuilder::addResult(Value value, const Layout &layout) {
  results.push_back({value, getAttr(layout), VariableAttr()});
}

void StepBuilder::addNewValue(Value value, StringRef name, const Layout &layout,
                              StringRef slot) {
  results.push_back(
      {value, getAttr(layout),
       VariableAttr::get(
           &getContext(), FlatSymbolRefAttr::get(&getContext(), name),
           slot.empty() ? StringAttr() : builder.getStringAttr(slot),
           ViewAttr())});
}

Step StepBuilder::finish() {
  SmallVector<Value> values;
  for (const Result &result : results)
    values.push_back(result.value);
  builder.create<func::ReturnOp>(builder.getUnknownLoc(), values);
  function.setFunctionType(builder.getFunctionType(
      function.getFunctionType().getInputs(), TypeRange(ValueRange(values))));
  for (auto [index, result] : llvm::enumerate(results)) {
    function.setResultAttr(index, attributes::sharding, result.sharding);
    if (result.variable)
      function.setResultAttr(index, attributes::variable, result.variable);
  }
  return std::move(step);
}

} // namespace parplan::test
