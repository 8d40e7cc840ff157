//===- ExtractProblem.cpp - From a function to a planning problem ---------===//

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Support/Check.h"
#include "passes/Plan/FactorFollower.h"
#include "passes/Plan/GraphProblem.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace parplan;

namespace {

int64_t getElementBytes(Type type) {
  unsigned bits = cast<RankedTensorType>(type).getElementTypeBitWidth();
  return (bits + 7) / 8;
}

/// A constant that kernels compute from indices takes no memory.
bool isComputedFromIndices(Operation *op) {
  if (auto constant = dyn_cast<parplan::ConstantOp>(op))
    return constant.getValue().isSplat();
  return isa<IotaOp, AffineMaskOp>(op);
}

class Extractor {
public:
  Extractor(func::FuncOp function,
            llvm::function_ref<std::string(int64_t)> getNodeName)
      : function(function), getNodeName(getNodeName),
        symbols(function->getParentOfType<ModuleOp>()) {}

  GraphProblem extract() {
    Block &body = function.getBody().front();
    if (auto count =
            function->getAttrOfType<IntegerAttr>(attributes::microBatches))
      graph.problem.microBatches = count.getInt();
    for (BlockArgument argument : body.getArguments()) {
      unsigned number = argument.getArgNumber();
      PlanningValue &value = addValue(argument, ValueKind::input);
      if (auto name =
              function.getArgAttrOfType<StringAttr>(number, attributes::name))
        value.name = name.str();
      if (function.getArgAttr(number, attributes::batch) &&
          !value.shape.empty()) {
        value.batchDimension = 0;
        value.sequenceDimension = hasSequence(argument) ? 1 : -1;
      }
    }
    graph.problem.ops.reserve(body.getOperations().size());
    for (Operation &op : body.without_terminator())
      addOperation(op);
    for (auto [index, result] :
         llvm::enumerate(body.getTerminator()->getOperands())) {
      PlanningValue &value = graph.problem.values[numbers.lookup(result)];
      value.isOutput = true;
      if (Attribute variable =
              function.getResultAttr(index, attributes::variable))
        value.updates = variables.lookup(variable);
    }
    followFactors(graph.problem);
    return std::move(graph);
  }

private:
  /// Token ids [batch, sequence, ..], or embedded tokens [batch, sequence,
  /// width]; images and features have none.
  static bool hasSequence(BlockArgument argument) {
    auto type = cast<RankedTensorType>(argument.getType());
    return type.getElementType().isInteger() ? type.getRank() >= 2
                                             : type.getRank() == 3;
  }

  PlanningValue &addValue(Value value, ValueKind kind) {
    numbers[value] = static_cast<int>(graph.values.size());
    graph.values.push_back(value);
    PlanningValue &description = graph.problem.values.emplace_back();
    description.kind = kind;
    llvm::append_range(description.shape,
                       cast<RankedTensorType>(value.getType()).getShape());
    description.elementBytes = getElementBytes(value.getType());
    return description;
  }

  void addOperation(Operation &op) {
    if (auto parameter = dyn_cast<ParameterOp>(op)) {
      auto initializer =
          symbols.lookup<InitializerOp>(parameter.getInitializer());
      addValue(parameter.getResult(),
               parameter.getSlot() ? ValueKind::state : ValueKind::parameter)
          .name = initializer.getName().str();
      variables[parameter.getVariable()] = numbers.lookup(parameter);
      return;
    }
    if (op.hasTrait<OpTrait::ConstantLike>() || isComputedFromIndices(&op)) {
      PlanningValue &value = addValue(op.getResult(0), ValueKind::constant);
      if (isComputedFromIndices(&op))
        value.elementBytes = 0;
      return;
    }
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    PARPLAN_CHECK(ruled, "an op without a sharding rule cannot be planned: ",
                  op.getName().getStringRef().str());
    PlanningOp planned;
    planned.rule = ruled.getShardingRule();
    planned.work = cast<CostOpInterface>(op).getWork();
    if (auto node = op.getAttrOfType<IntegerAttr>(attributes::node)) {
      planned.nodeIndex = node.getInt();
      planned.node = getNodeName(planned.nodeIndex);
    }
    if (auto type = op.getAttrOfType<StringAttr>(attributes::onnxOp))
      planned.type = type.str();
    else
      planned.type = op.getName().stripDialect().str();
    if (auto block = op.getAttrOfType<IntegerAttr>(attributes::block))
      planned.block = block.getInt();
    for (Value operand : op.getOperands())
      planned.operands.push_back(numbers.lookup(operand));
    addTraining(op, planned);
    nameFactors(op, planned);
    for (Value result : op.getResults()) {
      addValue(result, ValueKind::activation).name = planned.node;
      planned.results.push_back(numbers.lookup(result));
    }
    if (auto entropy = dyn_cast<CrossEntropyOp>(op))
      keepClassesSplit(entropy.getLogits());
    graph.ops.push_back(&op);
    graph.problem.ops.push_back(std::move(planned));
  }

  /// Logits whose classes are split are never gathered for their loss, nor is
  /// what they are cast from.
  void keepClassesSplit(Value logits) {
    for (;;) {
      PlanningValue &value = graph.problem.values[numbers.lookup(logits)];
      value.keptDimension = static_cast<int>(value.shape.size()) - 1;
      auto cast = logits.getDefiningOp<CastOp>();
      if (!cast)
        return;
      logits = cast.getInput();
    }
  }

  void addTraining(Operation &op, PlanningOp &planned) const {
    if (auto role = op.getAttrOfType<StringAttr>(attributes::role))
      planned.role = parseOpRole(role.getValue()).value_or(OpRole::forward);
    if (auto group = op.getAttrOfType<IntegerAttr>(attributes::group)) {
      planned.group = group.getInt();
      planned.isLeader =
          isBeforeBackward(planned.role) || isa<OptimizerUpdateOp>(op);
    }
    planned.perMicroBatch = op.hasAttr(attributes::perMicroBatch);
    planned.accumulates = isa<AccumulateOp>(op);
    planned.isMadePerUpload = isMadePerUpload(&op);
    if (planned.accumulates && graph.problem.microBatches == 1)
      planned.work.kind = WorkKind::none;
    planned.coupledReductions = countReductions(op);
  }

  /// What DecomposeSplitComposites makes of an op whose coupled factors are
  /// split: the sums and maxima over them. 0: not worth to split.
  static int countReductions(Operation &op) {
    return llvm::TypeSwitch<Operation *, int>(&op)
        // Largest logit, sum of exponentials, logit of the label.
        .Case<CrossEntropyOp>([](auto) { return 3; })
        // Mean and variance; maximum and sum.
        .Case<LayerNormOp, SoftmaxOp, LogSoftmaxOp>([](auto) { return 2; })
        // Mean of squares.
        .Case<RMSNormOp>([](auto) { return 1; })
        .Default([](auto) { return 0; });
  }

  /// The factors that followFactors starts from.
  static void nameFactors(Operation &op, PlanningOp &planned) {
    auto find = [&](StringRef name) {
      return planned.rule.findFactor(name).value_or(-1);
    };
    if (isa<AttentionOp, AttentionGradientOp>(op)) {
      planned.keyFactor = find("t");
      planned.headFactor = find("g");
      auto attention = dyn_cast<AttentionOp>(op);
      PARPLAN_CHECK(!attention || !attention.getSink(),
                    "sinks are written out before a plan is made");
      planned.zigzag = attention ? attention.getZigzag()
                                 : cast<AttentionGradientOp>(op).getZigzag();
    }
    if (dependsOnExperts(&op))
      planned.expertFactor = planned.rule.findNumbered().value_or(-1);
    // Of others experts are a factor.
    auto dispatch = dyn_cast<MoeDispatchOp>(op);
    if (!dispatch || !dispatch.getGroups())
      return;
    planned.experts =
        dispatch.getRowGroups().countExperts(dispatch.getType().getDimSize(0));
    planned.expertsPerToken =
        cast<RankedTensorType>(dispatch.getExperts().getType())
            .getShape()
            .back();
  }

  func::FuncOp function;
  llvm::function_ref<std::string(int64_t)> getNodeName;
  /// A table: looking a symbol up in the module takes time linear in it.
  SymbolTable symbols;
  GraphProblem graph;
  llvm::DenseMap<Value, int> numbers;
  /// The value that reads each variable.
  llvm::DenseMap<Attribute, int> variables;
};

} // namespace

GraphProblem
parplan::extractProblem(func::FuncOp function,
                        llvm::function_ref<std::string(int64_t)> getNodeName) {
  return Extractor(function, getNodeName).extract();
}
