//===- RandomStep.cpp - Small random training steps -----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "GraphGrower.h"

#include <cmath>

using namespace mlir;

namespace parplan::test {
namespace {

constexpr double betas[] = {0.75, 0.5};
constexpr double epsilon = 0.25;

/// Grows a graph over variables, and gradients and updates behind it. The
/// gradients are no derivatives: any sums over micro-batches do.
class StepGrower {
public:
  StepGrower(MLIRContext &context, Random &random, int64_t mostMicroBatches)
      : random(random),
        grower(context, random, random.between(1, mostMicroBatches)) {}

  Graph grow() {
    for (int64_t i = random.between(1, 3); i > 0; --i)
      addVariable();
    using Grow = void (*)(GraphGrower &);
    constexpr Grow families[] = {growElementwise, growElementwise, growShape,
                                 growReduction,   growMatmul,      growMatmul};
    for (int64_t i = random.between(1, 5); i > 0; --i) {
      if (random.chance(25))
        addSum();
      else
        random.pick(families)(grower);
    }
    for (Variable &variable : variables)
      variable.gradient = makeGradient(GraphGrower::getShape(variable.value));
    Value scale, skip;
    makeNorm(scale, skip);
    for (Variable &variable : variables)
      update(variable, scale, skip);
    Graph graph = grower.finish(results);
    setRolesBehindNorm(graph);
    return graph;
  }

private:
  /// What follows from ops of the optimizer is the optimizer's.
  static void setRolesBehindNorm(Graph &graph) {
    graph.module->walk([](Operation *op) {
      auto isOfOptimizer = [](Value value) {
        Operation *maker = value.getDefiningOp();
        return maker && getRole(maker) == roles::optimizer;
      };
      if (op->getNumResults() > 0 &&
          llvm::any_of(op->getOperands(), isOfOptimizer))
        op->setAttr(attributes::role,
                    StringAttr::get(op->getContext(), roles::optimizer));
    });
  }

  struct Variable {
    std::string name;
    Value value, gradient;
  };

  void addVariable() {
    Variable variable;
    variable.name = "v" + std::to_string(variables.size());
    Shape shape = grower.makeShape(random.between(1, 3));
    variable.value = grower.makeVariable(variable.name, "", shape, -3, 3);
    grower.add(variable.value, 3, true);
    variables.push_back(variable);
  }

  /// Lets what follows read a sum over the micro-batches.
  void addSum() {
    for (Value value : llvm::reverse(grower.getValues())) {
      auto [bound, isExact] = grower.getRange(value);
      if (!grower.isOfMicroBatch(value) ||
          cast<RankedTensorType>(value.getType()).getElementType() !=
              grower.getReal())
        continue;
      grower.add(grower.create<AccumulateOp>(value),
                 bound * static_cast<double>(grower.getMicroBatches()),
                 isExact);
      return;
    }
  }

  /// The sum of all elements of a value of the graph, kept small.
  Value makeScalar() {
    Value value = grower.pickReal();
    Shape dims;
    int64_t count = 1;
    for (auto [dim, size] : llvm::enumerate(GraphGrower::getShape(value))) {
      dims.push_back(dim);
      count *= size;
    }
    auto [bound, isExact] = grower.getRange(value);
    isAllExact &= isExact;
    Value sum = grower.create<ReduceOp>(ReduceKind::sum, value, dims,
                                        /*keep_dims=*/false);
    if (isExact)
      return grower.create<ModOp>(sum, grower.makeSplat(5));
    return grower.create<MulOp>(
        sum, grower.makeSplat(1 / (bound * static_cast<double>(count) + 1)));
  }

  Value makePart(ArrayRef<int64_t> shape) {
    if (random.chance(40))
      return grower.create<MulOp>(grower.makeBatch(shape), makeScalar());
    Shape taller(shape);
    taller.insert(taller.begin(), random.between(2, 4));
    Value sum = grower.create<ReduceOp>(
        ReduceKind::sum, grower.makeBatch(taller), ArrayRef<int64_t>(0),
        /*keep_dims=*/false);
    setRole(sum, roles::weightGradient);
    return sum;
  }

  /// A tied parameter has several parts.
  Value makeGradient(ArrayRef<int64_t> shape) {
    SmallVector<Value> parts;
    for (int64_t i = random.between(1, 3); i > 0; --i)
      parts.push_back(makePart(shape));
    Value sum = parts.front();
    if (parts.size() > 1) {
      sum = grower.create<SumOp>(sum.getType(), parts);
      setRole(sum, roles::gradientSum);
    }
    Value gradient = grower.create<AccumulateOp>(sum);
    setRole(gradient, roles::gradientSum);
    return gradient;
  }

  /// What all gradients decide together: a factor and whether to skip.
  void makeNorm(Value &scale, Value &skip) {
    if (random.chance(30))
      return;
    SmallVector<Value> squares;
    for (const Variable &variable : variables) {
      squares.push_back(grower.create<SquareSumOp>(variable.gradient));
      setRole(squares.back(), roles::optimizer);
    }
    Value total = grower.create<SumOp>(squares.front().getType(), squares);
    setRole(total, roles::optimizer);
    grower.add(total, 1e7, isAllExact);
    if (!isAllExact || random.chance(30))
      return;
    scale = grower.create<ModOp>(total, grower.makeSplat(3));
    if (random.chance(30))
      skip = grower.create<CompareOp>(
          ComparePredicate::eq,
          grower.create<ModOp>(total, grower.makeSplat(4)),
          grower.makeSplat(1));
  }

  /// Of several variables most have one optimizer, as in real steps.
  struct Optimizer {
    OptimizerKind kind;
    Value learningRate, stepSize, biasCorrection;
    double weightDecay;

    bool isAdam() const {
      return kind == OptimizerKind::adam || kind == OptimizerKind::adamw;
    }
  };

  void drawOptimizer() {
    optimizer.kind = static_cast<OptimizerKind>(random.below(4));
    optimizer.weightDecay = static_cast<double>(random.below(2));
    optimizer.learningRate = grower.makeScheduled(schedules::learningRate, 2);
    optimizer.stepSize = optimizer.biasCorrection = Value();
    if (!optimizer.isAdam())
      return;
    optimizer.stepSize = grower.makeScheduled(schedules::stepSize, 2);
    optimizer.biasCorrection =
        grower.makeScheduled(schedules::biasCorrection2Sqrt, 0.5);
  }

  void update(const Variable &variable, Value scale, Value skip) {
    if (!optimizer.learningRate || random.chance(20))
      drawOptimizer();
    bool isAdam = optimizer.isAdam();
    OptimizerKind kind = optimizer.kind;
    ArrayRef<int64_t> shape = GraphGrower::getShape(variable.value);
    SmallVector<std::string> slots;
    if (isAdam)
      slots = {"exp_avg", "exp_avg_sq"};
    else if (kind == OptimizerKind::momentum)
      slots = {"momentum"};
    SmallVector<Value> states;
    for (const std::string &slot : slots)
      states.push_back(grower.makeVariable(variable.name, slot, shape, 0, 3));
    auto op = grower.create<OptimizerUpdateOp>(
        kind, variable.value, variable.gradient, states, optimizer.learningRate,
        optimizer.stepSize, optimizer.biasCorrection, scale, skip, betas[0],
        betas[1], epsilon, optimizer.weightDecay,
        /*momentum=*/2.0);
    op->setAttr(attributes::role,
                grower.builder.getStringAttr(roles::optimizer));
    // Adam takes roots.
    bool isExact = isAllExact && !isAdam;
    grower.note(1e3, isExact);
    MLIRContext *context = grower.builder.getContext();
    auto symbol = FlatSymbolRefAttr::get(context, variable.name);
    for (auto [index, result] : llvm::enumerate(op.getResults()))
      results.emplace_back(
          result, VariableAttr::get(
                      context, symbol,
                      index == 0 ? StringAttr()
                                 : StringAttr::get(context, slots[index - 1]),
                      ViewAttr()));
  }

  void setRole(Value value, StringRef role) {
    value.getDefiningOp()->setAttr(attributes::role,
                                   grower.builder.getStringAttr(role));
  }

  Random &random;
  GraphGrower grower;
  std::vector<Variable> variables;
  Optimizer optimizer;
  bool isAllExact = true;
  SmallVector<std::pair<Value, VariableAttr>> results;
};

} // namespace

Graph makeRandomStepUpTo(MLIRContext &context, Random &random,
                         int64_t mostMicroBatches) {
  return StepGrower(context, random, mostMicroBatches).grow();
}

Graph makeRandomStep(MLIRContext &context, Random &random) {
  return makeRandomStepUpTo(context, random, /*mostMicroBatches=*/3);
}

} // namespace parplan::test
