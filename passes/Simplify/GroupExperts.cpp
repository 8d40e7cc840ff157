//===- GroupExperts.cpp - Rows for the experts that a token has -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "dialects/parplan/TensorTypes.h"
#include "passes/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_GROUPEXPERTS
#include "passes/Simplify/Passes.h.inc"

namespace {

/// The values between dispatches and combines of one choice of experts, whose
/// dimension 0 are the experts, and the ops that make and read them.
class RowFollower {
public:
  explicit RowFollower(MoeDispatchOp dispatch)
      : choices(dispatch.getExperts()) {
    add(dispatch.getResult());
  }

  /// False where something else reads or makes one of them, which would see
  /// that experts have no rows for some tokens.
  bool run() {
    for (size_t next = 0; next < values.size(); ++next) {
      Value value = values[next];
      if (!value.getDefiningOp() || !follow(value.getDefiningOp(), value))
        return false;
      // Of rows or not, a constant is what its readers make of it.
      if (value.getDefiningOp<ConstantOp>())
        continue;
      for (Operation *user : value.getUsers())
        if (!follow(user, value))
          return false;
    }
    return true;
  }

  ArrayRef<Value> getValues() const { return values.getArrayRef(); }
  ArrayRef<Operation *> getOps() const { return ops.getArrayRef(); }
  int64_t countExperts() const { return getShape(values.front()).front(); }
  int64_t countChoices() const { return getShape(choices).back(); }

private:
  void add(Value value) { values.insert(value); }

  /// Adds what `op`, which makes or reads `value`, has of such values.
  bool follow(Operation *op, Value value) {
    if (!ops.insert(op))
      return true;
    if (auto dispatch = dyn_cast<MoeDispatchOp>(op))
      return isOwn(dispatch) && value == dispatch.getResult();
    if (auto combine = dyn_cast<MoeCombineOp>(op))
      return isOwn(combine) && value == combine.getValues();
    if (auto product = dyn_cast<MatmulOp>(op))
      return followProduct(product);
    if (auto constant = dyn_cast<ConstantOp>(op))
      return constant.getValue().isSplat();
    // What is not made of rows lies by expert.
    return op->getNumOperands() > 0 && followDimension(op, value);
  }

  /// Of the same choices, and not in groups yet.
  template <typename Op> bool isOwn(Op op) const {
    return op.getExperts() == choices && !op.getGroups();
  }

  bool followProduct(MatmulOp product) {
    MatmulSpec spec = *MatmulSpec::parse(product.getSpec());
    if (!isOwn(product) || spec.lhs.front() != spec.findCommon() ||
        spec.result.front() != spec.lhs.front() ||
        product.getRows()->areSummed(spec))
      return false;
    add(product.getLhs());
    add(product.getResult());
    return !values.contains(product.getRhs());
  }

  /// Ops for which dimension 0 is one of many: what they compute of a row is
  /// of no other row.
  bool followDimension(Operation *op, Value value) {
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    if (!ruled)
      return false;
    ShardingRule rule = ruled.getShardingRule();
    takeConstants(op);
    SmallVector<Value> tensors(op->getOperands());
    llvm::append_range(tensors, op->getResults());
    SmallVector<TensorFactors> factors;
    llvm::append_range(factors, rule.operands);
    llvm::append_range(factors, rule.results);
    const DimFactors &dim =
        factors[llvm::find(tensors, value) - tensors.begin()][0];
    if (dim.size() != 1)
      return false;
    int rows = dim.front();
    if (rule.factors[rows].kind != FactorKind::parallel ||
        rule.factors[rows].isNumbered)
      return false;
    for (auto [tensor, dims] : llvm::zip_equal(tensors, factors))
      for (auto [index, own] : llvm::enumerate(dims)) {
        if (!llvm::is_contained(own, rows))
          continue;
        if (index != 0 || own.size() != 1)
          return false;
        add(tensor);
      }
    return true;
  }

  /// Gives the op constants of its own, as others may read them by expert.
  static void takeConstants(Operation *op) {
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      if (auto constant = operand.get().getDefiningOp<ConstantOp>();
          constant && !constant->hasOneUse())
        operand.set(builder.clone(*constant)->getResult(0));
  }

  Value choices;
  llvm::SetVector<Value> values;
  llvm::SetVector<Operation *> ops;
};

/// Gives values so many rows.
void setRows(ArrayRef<Value> values, int64_t count) {
  for (Value value : values) {
    RankedTensorType type = getTensorType(value);
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = count;
    value.setType(type.clone(shape));
    if (auto constant = value.getDefiningOp<ConstantOp>())
      constant.setValueAttr(
          cast<SplatElementsAttr>(constant.getValue())
              .resizeSplat(cast<ShapedType>(value.getType())));
  }
}

void setGroups(ArrayRef<Operation *> ops, DenseI64ArrayAttr groups) {
  for (Operation *op : ops)
    llvm::TypeSwitch<Operation *>(op)
        .Case<MoeDispatchOp, MoeCombineOp, MatmulOp>(
            [&](auto own) { own.setGroupsAttr(groups); });
}

/// Whether the op makes what its results say. Attributes of some ops have sizes
/// of dimension 0.
bool hasOwnTypes(Operation *op) {
  auto inferable = dyn_cast<InferTypeOpInterface>(op);
  if (!inferable)
    return true;
  SmallVector<Type> inferred;
  return succeeded(inferable.inferReturnTypes(
             op->getContext(), std::nullopt, op->getOperands(),
             op->getAttrDictionary(), op->getPropertiesStorage(),
             op->getRegions(), inferred)) &&
         llvm::equal(inferred, op->getResultTypes());
}

struct GroupExperts : impl::GroupExpertsBase<GroupExperts> {
  using GroupExpertsBase::GroupExpertsBase;

  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!function || groups < 1) {
      getOperation().emitError(
          "groups of experts need a function @main, and to be one or more");
      return signalPassFailure();
    }
    SmallVector<MoeDispatchOp> dispatches(function.getOps<MoeDispatchOp>());
    for (MoeDispatchOp dispatch : dispatches)
      if (!dispatch.getGroups())
        group(dispatch);
  }

private:
  void group(MoeDispatchOp dispatch) {
    RowFollower follower(dispatch);
    int64_t experts = follower.countExperts();
    int64_t ofGroup = experts / groups;
    int64_t rows = std::min(ofGroup, follower.countChoices());
    // Where every expert has a row, rows need no group.
    if (experts % groups != 0 || rows == ofGroup || !follower.run())
      return;
    setRows(follower.getValues(), groups * rows);
    setGroups(follower.getOps(),
              ExpertGroups{ofGroup, rows}.write(&getContext()));
    if (llvm::all_of(follower.getOps(), hasOwnTypes))
      return;
    setGroups(follower.getOps(), DenseI64ArrayAttr());
    setRows(follower.getValues(), experts);
  }
};

} // namespace
} // namespace parplan
