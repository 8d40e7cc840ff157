//===- SplitParameters.cpp - One parameter for every trained leaf ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/ParameterViews.h"
#include "passes/Train/Passes.h"
#include "passes/Train/Step.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_SPLITPARAMETERS
#include "passes/Train/Passes.h.inc"

namespace {

using namespace train;

/// Parameters that read the same elements of an initializer, in any order.
struct Leaf {
  Box box;
  SmallVector<ParameterOp> readers;
  SmallVector<Box> boxes;
};

/// Groups readers by what they read; fails where a view has no box.
std::optional<std::vector<Leaf>> findLeaves(ArrayRef<ParameterOp> readers,
                                            const Grid &grid) {
  std::vector<Leaf> leaves;
  for (ParameterOp reader : readers) {
    std::optional<Box> box = locate(getView(reader), grid);
    if (!box)
      return std::nullopt;
    auto leaf = llvm::find_if(
        leaves, [&](const Leaf &one) { return one.box.atoms == box->atoms; });
    if (leaf == leaves.end()) {
      leaves.emplace_back().box = *box;
      leaf = std::prev(leaves.end());
    }
    leaf->readers.push_back(reader);
    leaf->boxes.push_back(std::move(*box));
  }
  return leaves;
}

bool areDisjointAndCover(ArrayRef<Leaf> leaves, int64_t elements) {
  for (auto [index, leaf] : llvm::enumerate(leaves)) {
    elements -= leaf.box.getElementCount();
    for (const Leaf &other : leaves.take_front(index))
      if (!areDisjoint(leaf.box, other.box))
        return false;
  }
  return elements == 0;
}

/// `letters` of an operand that is read with another order of dimensions.
std::string permute(StringRef letters, ArrayRef<int64_t> permutation) {
  std::string result(letters.size(), ' ');
  for (auto [dim, from] : llvm::enumerate(permutation))
    result[from] = letters[dim];
  return result;
}

class LeafBuilder {
public:
  LeafBuilder(InitializerOp initializer, func::FuncOp function)
      : initializer(initializer),
        type(cast<RankedTensorType>(initializer.getType())),
        builder(function.getContext()) {}

  LogicalResult build(ArrayRef<ParameterOp> readers) {
    SmallVector<AffineView> views;
    for (ParameterOp reader : readers)
      views.push_back(getView(reader));
    Grid grid(type.getShape(), views);
    std::optional<std::vector<Leaf>> leaves = findLeaves(readers, grid);
    if (leaves && areDisjointAndCover(*leaves, type.getNumElements())) {
      for (Leaf &leaf : *leaves)
        buildShared(leaf, grid);
      return success();
    }
    return buildWhole(readers);
  }

private:
  /// All readers have the same elements: the first that reads them in order is
  /// the leaf.
  void buildShared(Leaf &leaf, const Grid &grid) {
    size_t first = 0;
    for (size_t index = leaf.readers.size(); index-- > 0;)
      if (isOrdered(leaf.boxes[index]) && !leaf.readers[index].getView())
        first = index;
    ParameterOp base = leaf.readers[first];
    if (first != 0)
      base->moveBefore(leaf.readers.front());
    LocatedValue located{base, leaf.boxes[first]};
    for (auto [reader, box] : llvm::zip(leaf.readers, leaf.boxes))
      if (reader != base)
        replace(reader, located, grid, box);
  }

  static bool isOrdered(const Box &box) {
    SmallVector<int> atoms;
    for (const auto &dim : box.dims)
      atoms.append(dim.begin(), dim.end());
    return llvm::is_sorted(atoms);
  }

  LogicalResult buildWhole(ArrayRef<ParameterOp> readers) {
    AffineView whole = getWholeView(type.getShape());
    for (ParameterOp reader : readers)
      if (!locate(getView(reader), Grid(type.getShape(), getView(reader))))
        return initializer.emitError("the initializer ")
               << quoteName(initializer.getName().str())
               << " is read through a view that cannot be trained; --freeze "
                  "keeps it as it is";
    ParameterOp first = readers.front();
    builder.setInsertionPoint(first);
    Value base = builder.create<ParameterOp>(
        first.getLoc(), type,
        FlatSymbolRefAttr::get(initializer.getSymNameAttr()), ViewAttr());
    for (ParameterOp reader : readers) {
      Grid grid(type.getShape(), getView(reader));
      LocatedValue located{base, *locate(whole, grid)};
      replace(reader, located, grid, *locate(getView(reader), grid));
    }
    return success();
  }

  void replace(ParameterOp reader, const LocatedValue &base, const Grid &grid,
               const Box &target) {
    if (std::optional<Sizes> permutation = findPermutation(base, target))
      for (OpOperand &use : llvm::make_early_inc_range(reader->getUses()))
        if (auto product = dyn_cast<MatmulOp>(use.getOwner()))
          readTransposed(product, use.getOperandNumber(), base.value,
                         *permutation);
    if (!reader.use_empty()) {
      builder.setInsertionPoint(reader);
      Value value = buildRead(builder, reader.getLoc(), base, grid, target,
                              reader.getType().getShape());
      reader.replaceAllUsesWith(value);
    }
    reader.erase();
  }

  void readTransposed(MatmulOp product, unsigned index, Value value,
                      ArrayRef<int64_t> permutation) {
    FailureOr<MatmulSpec> spec = MatmulSpec::parse(product.getSpec());
    PARPLAN_CHECK(succeeded(spec), "a product has a spec");
    std::string lhs = spec->lhs.str(), rhs = spec->rhs.str();
    std::string &letters = index == 0 ? lhs : rhs;
    letters = permute(letters, permutation);
    product.setSpec(lhs + "," + rhs + "->" + spec->result.str());
    product->setOperand(index, value);
  }

  InitializerOp initializer;
  RankedTensorType type;
  OpBuilder builder;
};

struct SplitParameters : impl::SplitParametersBase<SplitParameters> {
  void runOnOperation() override {
    func::FuncOp function = findMain(getOperation());
    if (!function)
      return signalPassFailure();
    llvm::MapVector<InitializerOp, SmallVector<ParameterOp>> readers;
    SymbolTable symbols(getOperation());
    for (auto parameter : function.getOps<ParameterOp>())
      if (InitializerOp initializer = getInitializer(parameter, symbols);
          isTrained(initializer) && !parameter.getSlot())
        readers[initializer].push_back(parameter);
    for (auto &[initializer, parameters] : readers)
      if (failed(LeafBuilder(initializer, function).build(parameters)))
        signalPassFailure();
  }
};

} // namespace
} // namespace parplan
