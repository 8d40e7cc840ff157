//===- Zigzag.cpp - Brings the sequence into zig-zag order ----------------===//
//
// Part of parplan.
//
// A permutation of a dimension changes nothing but the order of results, as
// long as all ops that the dimension reaches treat its elements alike. Which
// ones it reaches, and how they treat it, sharding rules say: a factor that may
// carry axes does not care which elements a block has. What tells positions
// apart is made from indices, from constants or from parameters, and read at
// the permuted positions.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Zigzag.h"

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Sharding/Zigzag.h"
#include "passes/Simplify/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

#include <map>

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_ZIGZAG
#include "passes/Simplify/Passes.h.inc"

namespace {

RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A value of its own, which every reader may have in another order.
bool isSource(Value value) {
  return isa_and_nonnull<ParameterOp, ConstantOp, IotaOp, AffineMaskOp>(
      value.getDefiningOp());
}

/// A factor whose elements have numbers that other operands name.
bool isNumbered(Operation *op, StringRef factor) {
  if (isa<EmbeddingOp, CrossEntropyOp>(op))
    return factor == "v";
  return isa<MoeDispatchOp, MoeCombineOp>(op) && factor == "e";
}

//===----------------------------------------------------------------------===//
// Where the sequence goes
//===----------------------------------------------------------------------===//

/// Follows the sequences of causal attentions to all that is in their order.
class SequenceFollower {
public:
  explicit SequenceFollower(int64_t ranks) : ranks(ranks) {}

  /// False where the order cannot change.
  bool run(func::FuncOp function) {
    for (auto attention : function.getOps<AttentionOp>())
      if (attention.getCausal() && !takeFactors(attention))
        return false;
    while (!open.empty()) {
      auto [value, dim] = open.pop_back_val();
      if (!follow(value, dim))
        return false;
    }
    if (factors.empty())
      return fail(nullptr, "there is no causal attention");
    return true;
  }

  /// Ops with a sequence, and per factor whether it is one.
  const llvm::MapVector<Operation *, llvm::SmallBitVector> &getFactors() const {
    return factors;
  }
  const ShardingRule &getRule(Operation *op) {
    auto [place, isNew] = rules.try_emplace(op);
    if (isNew)
      place->second = cast<ShardingRuleOpInterface>(op).getShardingRule();
    return place->second;
  }
  bool hasOrder(Value value, unsigned dim) const {
    return places.contains({value, dim});
  }
  const OrderObstacle &getObstacle() const { return obstacle; }

private:
  bool fail(Operation *op, const Twine &reason) {
    obstacle = {op, reason.str()};
    return false;
  }

  /// Queries and keys of a causal attention are one sequence.
  bool takeFactors(AttentionOp attention) {
    const ShardingRule &rule = getRule(attention);
    std::optional<int> queries = rule.findFactor("s"),
                       keys = rule.findFactor("t");
    if (!queries || !keys || attention.getQueryOffset() ||
        rule.factors[*queries].size != rule.factors[*keys].size)
      return fail(attention, "its queries are not its keys");
    if (rule.factors[*queries].size % (2 * ranks) != 0)
      return fail(attention,
                  Twine(rule.factors[*queries].size) +
                      " positions are no two equal chunks for each of " +
                      Twine(ranks) + " ranks");
    return take(attention, *queries) && take(attention, *keys);
  }

  bool take(Operation *op, int factor) {
    const ShardingRule &rule = getRule(op);
    llvm::SmallBitVector &own = factors[op];
    own.resize(rule.factors.size());
    if (own.test(factor))
      return true;
    own.set(factor);
    const Factor &description = rule.factors[factor];
    if (description.kind == FactorKind::blocked ||
        isNumbered(op, description.name))
      return fail(op, "it depends on the order of the sequence");
    auto takeDims = [&](const TensorFactors &tensor, Value value) {
      for (auto [dim, indices] : llvm::enumerate(tensor)) {
        if (!llvm::is_contained(indices, factor))
          continue;
        if (indices.size() != 1)
          return fail(op, "it joins the sequence with other dimensions");
        if (!isSource(value) &&
            places.insert({value, static_cast<unsigned>(dim)}))
          open.emplace_back(value, static_cast<unsigned>(dim));
      }
      return true;
    };
    for (auto [tensor, operand] :
         llvm::zip_equal(rule.operands, op->getOperands()))
      if (!takeDims(tensor, operand))
        return false;
    for (auto [tensor, result] :
         llvm::zip_equal(rule.results, op->getResults()))
      if (!takeDims(tensor, result))
        return false;
    return true;
  }

  /// Takes the sequence to what makes a value and to all that read it.
  bool follow(Value value, unsigned dim) {
    auto result = dyn_cast<OpResult>(value);
    if (result &&
        !takeFrom(result.getOwner(),
                  getRule(result.getOwner()).results[result.getResultNumber()],
                  dim))
      return false;
    if (!result && dim == 0 && isBatch(cast<BlockArgument>(value)))
      return fail(nullptr, "the batch is the sequence");
    for (OpOperand &use : value.getUses())
      if (!isa<func::ReturnOp>(use.getOwner()) &&
          !takeFrom(use.getOwner(),
                    getRule(use.getOwner()).operands[use.getOperandNumber()],
                    dim))
        return false;
    return true;
  }

  bool takeFrom(Operation *op, const TensorFactors &tensor, unsigned dim) {
    if (tensor[dim].size() != 1)
      return fail(op, "it joins the sequence with other dimensions");
    return take(op, tensor[dim].front());
  }

  static bool isBatch(BlockArgument argument) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return static_cast<bool>(
        function.getArgAttr(argument.getArgNumber(), attributes::batch));
  }

  int64_t ranks;
  llvm::MapVector<Operation *, llvm::SmallBitVector> factors;
  llvm::DenseMap<Operation *, ShardingRule> rules;
  llvm::SetVector<std::pair<Value, unsigned>> places;
  SmallVector<std::pair<Value, unsigned>> open;
  OrderObstacle obstacle;
};

//===----------------------------------------------------------------------===//
// Another order
//===----------------------------------------------------------------------===//

/// Makes sources in the order of their readers.
class SourceBuilder {
public:
  explicit SourceBuilder(int64_t ranks) : ranks(ranks) {}

  /// `source` with the dimensions `dims` in zig-zag order.
  Value get(Value source, ArrayRef<int64_t> dims) {
    auto [place, isNew] = made.try_emplace(
        {source.getAsOpaquePointer(), std::vector<int64_t>(dims)});
    if (isNew) {
      OpBuilder builder(source.getContext());
      builder.setInsertionPointAfter(source.getDefiningOp());
      place->second = build(builder, source.getDefiningOp(), dims);
    }
    return place->second;
  }

private:
  template <typename Op, typename... Arguments>
  Value create(OpBuilder &builder, Operation *origin,
               Arguments &&...arguments) {
    auto op = builder.create<Op>(origin->getLoc(),
                                 std::forward<Arguments>(arguments)...);
    op->setDiscardableAttrs(origin->getDiscardableAttrDictionary());
    return op;
  }

  Value build(OpBuilder &builder, Operation *op, ArrayRef<int64_t> dims) {
    if (auto iota = dyn_cast<IotaOp>(op))
      return buildIndices(builder, iota, dims);
    if (auto mask = dyn_cast<AffineMaskOp>(op))
      return buildMask(builder, mask, dims);
    auto constant = dyn_cast<ConstantOp>(op);
    Value value = op->getResult(0);
    if (constant && constant.getValue().isSplat())
      return value;
    for (int64_t dim : dims) {
      int64_t size = getTensorType(value).getDimSize(dim);
      Value positions =
          buildPositions(builder, op, {size}, /*dim=*/0, /*factor=*/1,
                         /*isOrdered=*/true, builder.getI64Type());
      value = create<GatherOp>(builder, op, value, positions, dim);
    }
    return value;
  }

  /// `factor` times the positions along `dim` of `shape`.
  Value buildPositions(OpBuilder &builder, Operation *origin,
                       ArrayRef<int64_t> shape, int64_t dim, int64_t factor,
                       bool isOrdered, Type element) {
    auto type = RankedTensorType::get(shape, element);
    int64_t size = shape[dim], stride = 1;
    for (int64_t inner : shape.drop_front(dim + 1))
      stride *= inner;
    SmallVector<Attribute> positions;
    for (int64_t index = 0; index < type.getNumElements(); ++index) {
      int64_t position = getZigzagPosition(index / stride % size, size,
                                           isOrdered ? ranks : 1) *
                         factor;
      positions.push_back(
          isa<FloatType>(element)
              ? Attribute(builder.getFloatAttr(element, double(position)))
              : Attribute(builder.getIntegerAttr(element, position)));
    }
    return create<ConstantOp>(builder, origin,
                              DenseElementsAttr::get(type, positions));
  }

  /// Small ones as they are: an op takes longer than to load them.
  Value buildIndices(OpBuilder &builder, IotaOp iota, ArrayRef<int64_t> dims) {
    constexpr int64_t maxElements = int64_t(1) << 16;
    int64_t dim = iota.getDim();
    if (!llvm::is_contained(dims, dim))
      return iota;
    RankedTensorType type = getTensorType(iota);
    SmallVector<int64_t> shape(type.getRank(), 1);
    shape[dim] = type.getDimSize(dim);
    if (type.getNumElements() <= maxElements)
      shape.assign(type.getShape().begin(), type.getShape().end());
    Value line = buildPositions(builder, iota, shape, dim, /*factor=*/1,
                                /*isOrdered=*/true, type.getElementType());
    return line.getType() == type
               ? line
               : create<BroadcastOp>(builder, iota, type, line);
  }

  /// Compares sums of positions in place of the indices.
  Value buildMask(OpBuilder &builder, AffineMaskOp mask,
                  ArrayRef<int64_t> dims) {
    RankedTensorType type = getTensorType(mask);
    Type integer = builder.getI64Type();
    Value sum;
    for (auto [dim, coefficient] : llvm::enumerate(mask.getCoefficients())) {
      if (coefficient == 0)
        continue;
      SmallVector<int64_t> shape(type.getRank(), 1);
      shape[dim] = type.getDimSize(dim);
      Value term = buildPositions(builder, mask, shape, dim, coefficient,
                                  llvm::is_contained(dims, dim), integer);
      sum = sum ? create<AddOp>(builder, mask, sum, term) : term;
    }
    if (!sum)
      return mask;
    auto scalar = RankedTensorType::get({}, integer);
    Value limit = create<ConstantOp>(
        builder, mask,
        DenseElementsAttr::get(scalar, -int64_t(mask.getConstant())));
    Value inside =
        create<CompareOp>(builder, mask, ComparePredicate::le, sum, limit);
    return inside.getType() == type
               ? inside
               : create<BroadcastOp>(builder, mask, type, inside);
  }

  int64_t ranks;
  std::map<std::pair<void *, std::vector<int64_t>>, Value> made;
};

/// Says of arguments or results which of their dimensions are in the order.
class Interface {
public:
  Interface(const SequenceFollower &follower, int64_t ranks)
      : follower(follower), ranks(ranks) {}

  void annotate(func::FuncOp function) const {
    for (BlockArgument argument : function.getArguments())
      if (Attribute order = getOrder(argument))
        function.setArgAttr(argument.getArgNumber(), attributes::zigzag, order);
    for (OpOperand &result :
         function.getBody().front().getTerminator()->getOpOperands())
      if (Attribute order = getOrder(result.get()))
        function.setResultAttr(result.getOperandNumber(), attributes::zigzag,
                               order);
  }

private:
  Attribute getOrder(Value value) const {
    SmallVector<int64_t> order(getTensorType(value).getRank(), 1);
    for (auto [dim, number] : llvm::enumerate(order))
      if (follower.hasOrder(value, static_cast<unsigned>(dim)))
        number = ranks;
    if (llvm::all_of(order, [](int64_t number) { return number == 1; }))
      return {};
    return DenseI64ArrayAttr::get(value.getContext(), order);
  }

  const SequenceFollower &follower;
  int64_t ranks;
};

void changeOrder(func::FuncOp function, SequenceFollower &follower,
                 int64_t ranks) {
  SourceBuilder sources(ranks);
  for (auto &[op, factors] : follower.getFactors()) {
    const ShardingRule &rule = follower.getRule(op);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isSource(operand.get()))
        continue;
      SmallVector<int64_t> dims;
      for (auto [dim, indices] :
           llvm::enumerate(rule.operands[operand.getOperandNumber()]))
        if (!indices.empty() && factors.test(indices.front()))
          dims.push_back(static_cast<int64_t>(dim));
      if (!dims.empty())
        operand.set(sources.get(operand.get(), dims));
    }
    if (auto attention = dyn_cast<AttentionOp>(op);
        attention && attention.getCausal())
      attention.setZigzag(ranks);
  }
  Interface(follower, ranks).annotate(function);
}

struct Zigzag : impl::ZigzagBase<Zigzag> {
  using ZigzagBase::ZigzagBase;

  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!function || ranks < 2) {
      getOperation().emitError(
          "a zig-zag order needs a function @main and two ranks or more");
      return signalPassFailure();
    }
    if (auto obstacle = bringIntoZigzagOrder(function, ranks))
      emitWarning((obstacle->op ? obstacle->op : function)->getLoc())
          << "the sequence stays in the model's order: " << obstacle->reason;
  }
};

} // namespace

bool hasCausalAttention(func::FuncOp function) {
  return llvm::any_of(function.getOps<AttentionOp>(),
                      [](AttentionOp op) { return op.getCausal(); });
}

std::optional<OrderObstacle> bringIntoZigzagOrder(func::FuncOp function,
                                                  int64_t ranks) {
  SequenceFollower follower(ranks);
  if (!follower.run(function))
    return follower.getObstacle();
  changeOrder(function, follower, ranks);
  return std::nullopt;
}

} // namespace parplan
