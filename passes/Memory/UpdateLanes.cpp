//===- UpdateLanes.cpp - One variable's way through an update -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/UpdateLanes.h"

using namespace mlir;

namespace parplan {

RankedTensorType UpdateLane::getBlockType(const ShardingAccess &access) const {
  ParameterOp parameter = sources.front();
  Sharding sharding = *access.getSharding(parameter.getResult());
  sharding.storage.clear();
  auto global = parameter->getAttrOfType<TypeAttr>(attributes::globalType);
  return access.getLocalType(cast<RankedTensorType>(global.getValue()),
                             sharding);
}

namespace {

/// A move of the flattened block, whatever its shape.
bool isFlatMove(Operation *op) {
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return reduce.getKind() == ReduceKind::sum;
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return scatter.getKind() == ReduceKind::sum &&
           static_cast<int64_t>(scatter.getDim()) == storageDim;
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return static_cast<int64_t>(gather.getDim()) == storageDim;
  if (auto slice = dyn_cast<ShardSliceOp>(op))
    return static_cast<int64_t>(slice.getDim()) == storageDim;
  return false;
}

/// True for what stands between a gradient and its update, and reads moved
/// values only: sums over micro-batches before the first move are left alone.
bool isBehindMove(Operation *op) {
  if (!op)
    return false;
  if (auto sum = dyn_cast<AddOp>(op))
    return sum.getLhs().getType() == sum.getRhs().getType() &&
           isBehindMove(sum.getLhs().getDefiningOp()) &&
           isBehindMove(sum.getRhs().getDefiningOp());
  if (auto conversion = dyn_cast<CastOp>(op)) {
    Operation *maker = conversion.getInput().getDefiningOp();
    return maker && (isa<ParameterOp>(maker) || isBehindMove(maker));
  }
  return isFlatMove(op);
}

/// Buckets hold floats only: a cast to integers reads unpacked values.
bool isConversion(Operation *op) {
  return isa<CastOp>(op) &&
         isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()));
}

/// The operand of the return that gives a variable its new value.
using Replacements = llvm::DenseMap<Attribute, OpOperand *>;

Replacements findReplacements(func::FuncOp function) {
  Replacements replacements;
  Operation *terminator = function.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands())
    if (Attribute variable = function.getResultAttr(operand.getOperandNumber(),
                                                    attributes::variable))
      replacements[variable] = &operand;
  return replacements;
}

class LaneFinder {
public:
  LaneFinder(const Replacements &replacements, const ShardingAccess &access)
      : access(access), replacements(replacements), text(lane.signature) {}

  std::optional<UpdateLane> find(OptimizerUpdateOp update) {
    lane.update = update;
    if (!visit(update.getParameter()) || !visit(update.getGradient()))
      return std::nullopt;
    for (Value state : update.getStates())
      if (!visit(state))
        return std::nullopt;
    if (!addUpdate() || !followUsers() || !findResults())
      return std::nullopt;
    return std::move(lane);
  }

private:
  /// Gives a flat value of the lane a number.
  bool number(Value value) {
    ShardingAttr attribute = parplan::getSharding(value);
    if (!attribute)
      return false;
    Sharding sharding = *attribute.resolve(access.getMesh());
    SmallVector<int> split;
    for (const AxisList &axes : sharding.dims)
      split.append(axes.begin(), axes.end());
    llvm::sort(split);
    sharding.dims = {AxisList(split.begin(), split.end())};
    text << " = " << toString(sharding, access.getMesh()) << ' '
         << cast<RankedTensorType>(value.getType()).getElementType() << '\n';
    values.try_emplace(value, values.size());
    return true;
  }

  bool visit(Value value) {
    if (values.count(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (auto parameter = dyn_cast_if_present<ParameterOp>(op)) {
      lane.sources.push_back(parameter);
      text << "source";
      describeTier(parameter);
      return number(value);
    }
    if (!isBehindMove(op)) {
      // Pieces of members are no pieces of a bucket.
      ShardingAttr sharding = parplan::getSharding(value);
      if (!sharding || sharding.isStored())
        return false;
      lane.leaves.push_back(value);
      text << "leaf";
      return number(value);
    }
    for (Value operand : op->getOperands())
      if (!visit(operand))
        return false;
    return add(op);
  }

  /// Adds an op whose operands are known. What its attributes say is part of
  /// the signature, but for shardings, which differ in rank.
  bool add(Operation *op) {
    lane.ops.push_back(op);
    text << op->getName().getStringRef();
    for (Value operand : op->getOperands()) {
      text << ' ';
      if (auto known = values.find(operand); known != values.end())
        text << known->second;
      else
        text << operand.getAsOpaquePointer();
    }
    if (Attribute properties = op->getPropertiesAsAttribute())
      if (auto dictionary = dyn_cast<DictionaryAttr>(properties))
        for (NamedAttribute attribute : dictionary)
          if (attribute.getName() != "out_sharding")
            text << ' ' << attribute.getName().getValue() << ' '
                 << attribute.getValue();
    for (Value result : op->getResults())
      if (!number(result))
        return false;
    return true;
  }

  void describeTier(Operation *op) {
    if (Attribute tier = op->getAttr(attributes::tier))
      text << " in " << tier;
    if (op->hasAttr(attributes::inPieces))
      text << " in pieces";
  }

  bool addUpdate() {
    describeTier(lane.update);
    // One gradient, and one variable for each value that is updated.
    return lane.sources.size() == 1 + lane.update.getStates().size() &&
           !lane.leaves.empty() && add(lane.update);
  }

  /// Adds the moves and norms behind known values. Others must be able to read
  /// what is left: whole blocks.
  bool followUsers() {
    for (size_t next = 0; next < values.size(); ++next) {
      Value value = std::next(values.begin(), next)->first;
      SmallVector<Operation *> users(value.getUsers());
      llvm::sort(users, [](Operation *left, Operation *right) {
        return left->isBeforeInBlock(right);
      });
      users.erase(std::unique(users.begin(), users.end()), users.end());
      bool isLeaf = llvm::is_contained(lane.leaves, value);
      for (Operation *user : users) {
        if (isLeaf || llvm::is_contained(lane.ops, user) ||
            isa<func::ReturnOp>(user))
          continue;
        if (isConversion(user) || isFlatMove(user)) {
          if (!add(user))
            return false;
        } else if (SmallVector<Operation *> chain = getNormChain(user);
                   !chain.empty()) {
          for (Operation *op : chain)
            if (!add(op))
              return false;
          lane.norms.push_back(chain.back()->getResult(0));
        } else if (access.getSharding(value)->isStored()) {
          return false;
        }
      }
    }
    return true;
  }

  /// The square sum of a value and its moves, up to a sum over variables.
  SmallVector<Operation *> getNormChain(Operation *op) {
    SmallVector<Operation *> chain;
    if (!isa<SquareSumOp>(op))
      return chain;
    while (isa<SquareSumOp, AllReduceOp, PendOp, CastOp>(op)) {
      chain.push_back(op);
      if (!op->getResult(0).hasOneUse())
        return {};
      op = *op->getResult(0).getUsers().begin();
    }
    if (!isa<SumOp>(op))
      return {};
    text << "sum " << static_cast<void *>(op) << '\n';
    return chain;
  }

  bool findResults() {
    for (ParameterOp source : lane.sources) {
      OpOperand *replacement = replacements.lookup(source.getVariable());
      if (!replacement || !values.count(replacement->get()))
        return false;
      lane.results.push_back(replacement->getOperandNumber());
      text << "result " << values.lookup(replacement->get()) << '\n';
    }
    // Stored variables are gathered, and those of other tiers are uploaded, for
    // a block of the model at a time.
    ParameterOp parameter = lane.sources.front();
    if (access.getSharding(parameter.getResult())->isStored() ||
        parameter->hasAttr(attributes::tier))
      describeBlock();
    return true;
  }

  void describeBlock() {
    for (Operation *user : lane.sources.front()->getUsers())
      if (Attribute block = user->getAttr(attributes::block)) {
        text << "block " << block;
        return;
      }
    text << "of " << lane.sources.front().getVariable();
  }

  const ShardingAccess &access;
  const Replacements &replacements;
  UpdateLane lane;
  llvm::raw_string_ostream text;
  llvm::MapVector<Value, size_t> values;
};

/// The op after which all gradients of a lane are there; null at the start.
Operation *getLastLeaf(const UpdateLane &lane) {
  Operation *last = nullptr;
  for (Value leaf : lane.leaves)
    if (Operation *op = leaf.getDefiningOp();
        op && (!last || last->isBeforeInBlock(op)))
      last = op;
  return last;
}

} // namespace

std::vector<UpdateLane> findUpdateLanes(func::FuncOp function,
                                        const ShardingAccess &access) {
  std::vector<UpdateLane> lanes;
  Replacements replacements = findReplacements(function);
  for (auto update : function.getOps<OptimizerUpdateOp>())
    if (std::optional<UpdateLane> lane =
            LaneFinder(replacements, access).find(update))
      lanes.push_back(std::move(*lane));
  llvm::stable_sort(lanes, [](const UpdateLane &left, const UpdateLane &right) {
    Operation *first = getLastLeaf(left), *second = getLastLeaf(right);
    return second &&
           (!first || (first != second && first->isBeforeInBlock(second)));
  });
  return lanes;
}

} // namespace parplan
