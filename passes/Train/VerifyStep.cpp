//===- VerifyStep.cpp - Closes the train phase ----------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Passes.h"
#include "passes/Train/Step.h"

#include "mlir/IR/AsmState.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_VERIFYSTEP
#include "passes/Train/Passes.h.inc"

namespace {

using namespace train;

class StepVerifier {
public:
  explicit StepVerifier(func::FuncOp function)
      : function(function), body(function.getBody().front()) {}

  bool verify() {
    if (!function->hasAttr(attributes::microBatches))
      fail(function) << "a step has '" << attributes::microBatches << "'";
    verifyResults();
    verifyVariables();
    verifyMicroBatches();
    verifyGroups();
    return isValid;
  }

private:
  InFlightDiagnostic fail(Operation *op) {
    isValid = false;
    return op->emitOpError("after train: ");
  }

  StringRef getRole(Operation *op) {
    auto role = op->getAttrOfType<StringAttr>(attributes::role);
    return role ? role.getValue() : StringRef(roles::forward);
  }

  void verifyResults() {
    bool hasLoss = false, hasVariable = false;
    for (auto [index, result] : llvm::enumerate(getResults(function))) {
      StringRef name = getResultName(function, index);
      bool isVariable = static_cast<bool>(
          function.getResultAttr(index, attributes::variable));
      hasVariable |= isVariable;
      hasLoss |= name == "loss";
      if (isVariable != name.empty())
        fail(function) << "result " << index
                       << " is either a named value or a variable";
      if (Operation *op = result.value.getDefiningOp();
          isVariable && op && !isa<OptimizerUpdateOp>(op))
        fail(op) << "gives the variable of result " << index
                 << " its new value, which only an update does";
      if (isOfMicroBatch(result.value))
        fail(function) << "result " << index
                       << " is a value of one micro-batch";
    }
    if (!hasLoss || !hasVariable)
      fail(function) << "a step has a loss and variables";
  }

  /// Every variable has one parameter, and every parameter that may change its
  /// variable.
  void verifyVariables() {
    llvm::DenseMap<Attribute, ParameterOp> parameters;
    SymbolTable symbols(function->getParentOp());
    for (auto parameter : function.getOps<ParameterOp>()) {
      bool changes =
          parameter.getSlot() || isTrained(getInitializer(parameter, symbols));
      if (!changes)
        continue;
      auto [entry, isNew] =
          parameters.try_emplace(parameter.getVariable(), parameter);
      if (!isNew)
        fail(parameter) << "reads the same variable as another parameter";
    }
    for (unsigned index = 0; index < function.getNumResults(); ++index) {
      Attribute variable = function.getResultAttr(index, attributes::variable);
      if (!variable)
        continue;
      auto found = parameters.find(variable);
      if (found == parameters.end()) {
        fail(function) << "nothing reads the variable of result " << index;
        continue;
      }
      if (found->second.getType() != function.getResultTypes()[index])
        fail(found->second)
            << "has another type than the new value of its variable, result "
            << index;
      parameters.erase(found);
    }
    for (auto &[variable, parameter] : parameters)
      fail(parameter) << "reads what is trained, but no result replaces it";
  }

  bool isOfMicroBatch(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return function.getArgAttr(argument.getArgNumber(), attributes::batch) !=
             nullptr;
    return value.getDefiningOp()->hasAttr(attributes::perMicroBatch);
  }

  /// A sum over all micro-batches, or zero where nothing reads the variable.
  static bool isOfStep(Value gradient) {
    if (gradient.getDefiningOp<AccumulateOp>())
      return true;
    auto constant = gradient.getDefiningOp<ConstantOp>();
    auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                          : SplatElementsAttr();
    return splat && isa<FloatType>(splat.getElementType()) &&
           splat.getSplatValue<APFloat>().isZero();
  }

  void verifyMicroBatches() {
    // A loss of parameters alone is that of the step.
    bool accumulates = !function.getOps<AccumulateOp>().empty();
    for (Operation &op : body.without_terminator()) {
      bool readsMicroBatch = llvm::any_of(op.getOperands(), [&](Value operand) {
        return isOfMicroBatch(operand);
      });
      bool isOwn = op.hasAttr(attributes::perMicroBatch);
      if (isa<AccumulateOp>(op) && (isOwn || !readsMicroBatch))
        fail(&op) << "reads a value of a micro-batch and gives one of the step";
      else if (!isa<AccumulateOp>(op) && readsMicroBatch && !isOwn)
        fail(&op) << "runs once per step, but reads a value of a micro-batch";
      auto update = dyn_cast<OptimizerUpdateOp>(op);
      if (update && getTensorType(update.getGradient()).getShape() !=
                        getTensorType(update.getParameter()).getShape())
        fail(&op) << "has a gradient of another shape";
      if (update && accumulates && !isOfStep(update.getGradient()))
        fail(&op) << "has a gradient that is neither accumulated nor zero";
    }
  }

  /// One leader per group: a forward op before all others, or an update.
  void verifyGroups() {
    llvm::DenseMap<int64_t, Operation *> leaders, first;
    for (Operation &op : body.without_terminator()) {
      auto group = op.getAttrOfType<IntegerAttr>(attributes::group);
      bool isUpdate = isa<OptimizerUpdateOp>(op);
      bool leads = getRole(&op) == roles::forward ||
                   getRole(&op) == roles::loss || isUpdate;
      if (!group)
        continue;
      bool isFirst = first.try_emplace(group.getInt(), &op).second;
      if (!leads)
        continue;
      auto [entry, isNew] = leaders.try_emplace(group.getInt(), &op);
      if (!isNew)
        fail(&op) << "is a second leader of group " << group.getInt();
      else if (!isUpdate && !isFirst)
        fail(&op) << "leads group " << group.getInt()
                  << ", but stands behind another member of it";
    }
    for (Operation &op : body.without_terminator())
      if (auto group = op.getAttrOfType<IntegerAttr>(attributes::group);
          group && !leaders.contains(group.getInt()))
        fail(&op) << "is in group " << group.getInt()
                  << ", which has no leader";
  }

  func::FuncOp function;
  Block &body;
  bool isValid = true;
};

struct VerifyStep : impl::VerifyStepBase<VerifyStep> {
  void runOnOperation() override {
    func::FuncOp function = findMain(getOperation());
    if (!function || !StepVerifier(function).verify())
      signalPassFailure();
  }
};

} // namespace
} // namespace parplan
