//===- FuseElementwise.cpp - Chains of elementwise ops as kernels ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/TensorTypes.h"
#include "passes/Schedule/FusableOps.h"
#include "passes/Schedule/KernelBuilder.h"
#include "passes/Schedule/Origins.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/Variables.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/DenseSet.h"

#include <vector>

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "passes/Schedule/Passes.h.inc"

namespace {

/// A kernel takes at most so many tensors, and so many ops: beyond, its
/// arguments no longer fit a launch and its text gets long.
constexpr int maximumLeaves = 24;
constexpr int maximumOps = 128;

/// Transposes that attention reads through its strides.
bool isAttentionView(TransposeOp op) {
  if (op.getPermutation().empty() ||
      op.getPermutation().back() !=
          static_cast<int64_t>(op.getPermutation().size()) - 1)
    return false;
  return !op->use_empty() && llvm::all_of(op->getUses(), readsHeadsByStrides);
}

/// Ops that become kernels and take producers in.
bool isRoot(Operation *op) {
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return !isAttentionView(transpose);
  // Every reshape is an alias of its operand's bytes.
  if (isa<ReshapeOp>(op))
    return false;
  if (auto slice = dyn_cast<SliceOp>(op); slice && isInputView(slice))
    return false;
  return isFusable(op) || isa<ConcatOp, RopeOp>(op);
}

/// Roots that compute their operands. A flat block reads them as bytes.
bool takesIn(Operation *op) {
  auto slice = dyn_cast<ShardSliceOp>(op);
  return isRoot(op) && !(slice && static_cast<int64_t>(slice.getDim()) < 0);
}

/// Sums over micro-batches are added where the gradient of each of them is
/// made: one kernel for all of them would keep all of these until then.
bool addsMicroBatch(Operation *op) {
  auto role = op->getAttrOfType<StringAttr>(attributes::role);
  return isa<AddOp>(op) && role && role.getValue() == roles::gradientSum;
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// Decides which ops are computed inside of their users.
class Decisions {
public:
  explicit Decisions(Block &body) {
    for (Operation &op : body)
      decide(&op);
  }

  const llvm::DenseSet<Operation *> &getInlined() const { return inlined; }

private:
  struct Size {
    int leaves = 1;
    int ops = 0;
    bool isCostly = false;
  };

  void decide(Operation *op) {
    if (!takesIn(op))
      return;
    Size total;
    total.leaves = 0;
    total.ops = 1;
    total.isCostly = isCostly(op);
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && isFree(producer))
        ++total.ops;
      else if (!producer || !join(producer, op, total))
        ++total.leaves;
    }
    sizes[op] = total;
  }

  /// Computes `producer` inside of `user` where that is possible and pays.
  bool join(Operation *producer, Operation *user, Size &total) {
    if (isUnitReshape(producer))
      return joinReshape(producer, user, total);
    if (!isFusable(producer) || !isRoot(producer) || addsMicroBatch(producer))
      return false;
    const Size &part = sizes[producer];
    if (total.leaves + part.leaves > maximumLeaves ||
        total.ops + part.ops > maximumOps)
      return false;
    bool pays;
    if (producer->hasOneUse())
      pays = !(part.isCostly && repeats(producer, user));
    else
      // Copies of an index map cost nothing as long as they compute nothing.
      pays = isa<BroadcastOp, SliceOp>(producer) && part.ops == 1 &&
             llvm::all_of(producer->getUsers(), takesIn);
    if (!pays)
      return false;
    inlined.insert(producer);
    total.leaves += part.leaves;
    total.ops += part.ops;
    total.isCostly |= part.isCostly;
    return true;
  }

  /// A reshape joins with what it reads; otherwise it is an alias of memory.
  bool joinReshape(Operation *reshape, Operation *user, Size &total) {
    Operation *producer = reshape->getOperand(0).getDefiningOp();
    if (!producer || !reshape->hasOneUse() ||
        !(isFree(producer) || join(producer, user, total)))
      return false;
    inlined.insert(reshape);
    return true;
  }

  static bool repeats(Operation *producer, Operation *user) {
    return !isa<ConcatOp, PadOp>(user) &&
           getTensorType(user->getResult(0)).getNumElements() >
               getTensorType(producer->getResult(0)).getNumElements();
  }

  llvm::DenseSet<Operation *> inlined;
  llvm::DenseMap<Operation *, Size> sizes;
};

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Kernels are equal whatever their names and locations are.
struct KernelInfo : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(Operation *op) {
    auto kernel = cast<exec::KernelOp>(op);
    llvm::hash_code hash = llvm::hash_combine(
        kernel.getSpaceAttr(), kernel.getInputs(), kernel.getOutput());
    for (Operation &statement : kernel.getBody().front())
      hash = llvm::hash_combine(
          hash, OperationEquivalence::computeHash(
                    &statement, OperationEquivalence::ignoreHashValue,
                    OperationEquivalence::ignoreHashValue,
                    OperationEquivalence::IgnoreLocations));
    return static_cast<unsigned>(hash);
  }
  static bool isEqual(Operation *left, Operation *right) {
    auto isMarker = [](Operation *op) {
      return op == getEmptyKey() || op == getTombstoneKey();
    };
    if (left == right || isMarker(left) || isMarker(right))
      return left == right;
    auto one = cast<exec::KernelOp>(left), other = cast<exec::KernelOp>(right);
    return one.getSpaceAttr() == other.getSpaceAttr() &&
           one.getInputs() == other.getInputs() &&
           one.getOutput() == other.getOutput() &&
           one.getScalars() == other.getScalars() &&
           OperationEquivalence::isRegionEquivalentTo(
               &one.getBody(), &other.getBody(),
               OperationEquivalence::IgnoreLocations);
  }
};

/// Kernels, each once, in the order of their names.
class KernelSet {
public:
  /// The same kernel as one that exists is dropped.
  exec::KernelOp share(exec::KernelOp kernel) {
    auto [known, isNew] = numbers.insert(kernel);
    if (isNew) {
      kernel.setSymName("kernel" + std::to_string(numbers.size() - 1));
      kernels.push_back(kernel);
    } else {
      kernel->erase();
    }
    return cast<exec::KernelOp>(*known);
  }

  ArrayRef<exec::KernelOp> get() const { return kernels; }

private:
  llvm::DenseSet<Operation *, KernelInfo> numbers;
  SmallVector<exec::KernelOp> kernels;
};

/// The kernels of one function until the module has them: functions need
/// nothing of each other.
class OwnKernels {
public:
  explicit OwnKernels(func::FuncOp function)
      : function(function),
        module(ModuleOp::create(UnknownLoc::get(function.getContext()))) {}

  OpBuilder getBuilder() { return OpBuilder::atBlockEnd(module->getBody()); }
  exec::KernelOp share(exec::KernelOp kernel) { return kernels.share(kernel); }

  /// Moves them before the function, but for those that the module has.
  void moveTo(KernelSet &ofModule) {
    llvm::DenseMap<Attribute, FlatSymbolRefAttr> symbols;
    for (exec::KernelOp kernel : kernels.get()) {
      auto own = FlatSymbolRefAttr::get(kernel.getSymNameAttr());
      kernel->moveBefore(function);
      symbols[own] =
          FlatSymbolRefAttr::get(ofModule.share(kernel).getSymNameAttr());
    }
    for (exec::MapOp map : maps)
      map.setKernelAttr(symbols.lookup(map.getKernelAttr()));
  }
  /// Launches one of them.
  void add(exec::MapOp map) { maps.push_back(map); }

private:
  func::FuncOp function;
  OwningOpRef<ModuleOp> module;
  KernelSet kernels;
  SmallVector<exec::MapOp> maps;
};

/// Replaces the roots of one function by `exec.map`.
class Fuser {
public:
  Fuser(func::FuncOp function, OwnKernels &kernels)
      : function(function), kernels(kernels),
        decisions(function.getBody().front()), inlined(decisions.getInlined()) {
  }

  void run() {
    SmallVector<Operation *> ops;
    for (Operation &op : function.getBody().front())
      ops.push_back(&op);
    for (Operation *op : ops)
      fuse(op);
    for (Operation *op : llvm::reverse(ops))
      if ((isRoot(op) || isUnitReshape(op)) && op->use_empty())
        op->erase();
  }

private:
  void fuse(Operation *op) {
    if (!isRoot(op) || inlined.contains(op) || op->use_empty())
      return;
    if (isFree(op) && llvm::all_of(op->getUses(), [&](OpOperand &use) {
          return readsInside(use);
        }))
      return;
    Value result;
    if (auto concat = dyn_cast<ConcatOp>(op))
      result = fuseConcat(concat);
    else if (auto rope = dyn_cast<RopeOp>(op))
      result = fuseRope(rope);
    else
      result = fuseElementwise(op);
    op->getResult(0).replaceUsesWithIf(result, [&](OpOperand &use) {
      return !isFree(op) || !readsInside(use);
    });
  }

  /// Whether the user computes free operands itself.
  bool readsInside(OpOperand &use) const {
    Operation *user = use.getOwner();
    return takesIn(user) || inlined.contains(user) ||
           (isa<BlockStartOp>(use.get().getDefiningOp()) && readsPosition(use));
  }

  KernelBuilder start(Operation *op, ArrayRef<int64_t> space) {
    OpBuilder builder = kernels.getBuilder();
    return KernelBuilder(builder, op->getLoc(), space, inlined);
  }

  Value createMap(Operation *op, KernelBuilder &body, Value into) {
    OpBuilder builder(op);
    RankedTensorType type = getTensorType(op->getResult(0));
    exec::KernelOp kernel = kernels.share(body.finish(type.getElementType()));
    auto symbol = FlatSymbolRefAttr::get(kernel.getSymNameAttr());
    SmallVector<Location> locations;
    SmallVector<Operation *> origins(body.getOrigins());
    origins.push_back(op);
    for (Operation *origin : origins)
      locations.push_back(origin->getLoc());
    auto map = builder.create<exec::MapOp>(
        builder.getFusedLoc(locations), type, symbol, body.getInputs(),
        builder.getArrayAttr(body.getScalars()), into);
    setOrigins(map, origins);
    kernels.add(map);
    return map.getResult();
  }

  Value fuseElementwise(Operation *op) {
    RankedTensorType type = getTensorType(op->getResult(0));
    KernelBuilder body = start(op, type.getShape());
    Value element = body.compute(op, body.getIdentity(), /*guard=*/nullptr);
    body.store(element, 0, getStrides(type.getShape()));
    return createMap(op, body, /*into=*/nullptr);
  }

  Value createEmpty(Operation *op) {
    return OpBuilder(op).create<exec::EmptyOp>(op->getLoc(),
                                               op->getResult(0).getType());
  }

  /// One kernel per operand, each into its region.
  Value fuseConcat(ConcatOp op) {
    RankedTensorType type = getTensorType(op.getResult());
    SmallVector<int64_t> strides = getStrides(type.getShape());
    int64_t dim = op.getDim();
    int64_t start = 0;
    Value tensor = createEmpty(op);
    for (Value input : op.getInputs()) {
      ArrayRef<int64_t> shape = getTensorType(input).getShape();
      if (getTensorType(input).getNumElements() == 0)
        continue;
      KernelBuilder body = this->start(op, shape);
      Value element = body.evaluate(input, body.getIdentity());
      body.store(element, start * strides[dim], strides);
      tensor = createMap(op, body, tensor);
      start += shape[dim];
    }
    return tensor;
  }

  /// One kernel over the pairs; each writes both of its elements.
  Value fuseRope(RopeOp op) {
    RankedTensorType type = getTensorType(op.getResult());
    SmallVector<int64_t> space(type.getShape());
    int64_t half = space.back() / 2;
    space.back() = half;
    int64_t step = op.getInterleaved() ? 2 : 1;
    int64_t distance = op.getInterleaved() ? 1 : half;
    KernelBuilder body = start(op, space);
    IndexMap pair = body.getIdentity();
    IndexMap first = pair;
    first.back().coefficients.back() = step;
    IndexMap second = first;
    second.back().constant = distance;
    Type element = type.getElementType();
    auto apply = [&](exec::ScalarFunction function, Value left, Value right) {
      return body.apply(function, {left, right}, element);
    };
    using Function = exec::ScalarFunction;
    Value x = body.evaluate(op.getInput(), first);
    Value y = body.evaluate(op.getInput(), second);
    Value cosine = evaluateBroadcast(body, op.getCos(), pair);
    Value sine = evaluateBroadcast(body, op.getSin(), pair);
    SmallVector<int64_t> strides = getStrides(type.getShape());
    strides.back() = step;
    body.store(apply(Function::sub, apply(Function::mul, x, cosine),
                     apply(Function::mul, y, sine)),
               0, strides);
    body.store(apply(Function::add, apply(Function::mul, y, cosine),
                     apply(Function::mul, x, sine)),
               distance, strides);
    return createMap(op, body, createEmpty(op));
  }

  static Value evaluateBroadcast(KernelBuilder &body, Value value,
                                 const IndexMap &map) {
    ArrayRef<int64_t> shape = getTensorType(value).getShape();
    IndexMap source(map.end() - shape.size(), map.end());
    for (auto [dim, size] : llvm::enumerate(shape))
      if (size == 1) {
        source[dim].coefficients.assign(map.size(), 0);
        source[dim].constant = 0;
      }
    return body.evaluate(value, source);
  }

  static SmallVector<int64_t> getStrides(ArrayRef<int64_t> shape) {
    SmallVector<int64_t> strides(shape.size(), 1);
    for (size_t dim = shape.size(); dim-- > 1;)
      strides[dim - 1] = strides[dim] * shape[dim];
    return strides;
  }

  func::FuncOp function;
  OwnKernels &kernels;
  Decisions decisions;
  const llvm::DenseSet<Operation *> &inlined;
};

struct FuseElementwisePass : impl::FuseElementwiseBase<FuseElementwisePass> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    std::vector<OwnKernels> own(functions.begin(), functions.end());
    parallelFor(&getContext(), 0, functions.size(), [&](size_t number) {
      Fuser(functions[number], own[number]).run();
    });
    KernelSet kernels;
    for (OwnKernels &ofFunction : own)
      ofFunction.moveTo(kernels);
  }
};

} // namespace
} // namespace parplan
