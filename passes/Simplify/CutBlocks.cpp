//===- CutBlocks.cpp - A model with fewer of its equal blocks -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/CutBlocks.h"

#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace parplan;

namespace {

class Cutter {
public:
  Cutter(func::FuncOp function, int64_t kept)
      : function(function), symbols(function->getParentOfType<ModuleOp>()),
        first(kept / 2) {
    for (Operation &op : function.getBody().front().without_terminator())
      if (int64_t block = getBlock(&op); block >= 0) {
        if (block >= static_cast<int64_t>(blocks.size()))
          blocks.resize(block + 1);
        places[&op] = {block, static_cast<int64_t>(blocks[block].size())};
        blocks[block].push_back(&op);
      }
    count = static_cast<int64_t>(blocks.size()) - kept;
  }

  std::optional<CutBlocks> run(llvm::function_ref<int64_t(StringRef)> getKind) {
    if (first < 1 || count < 1 || !areEven() || !findParameters(getKind) ||
        !areReadByNeighbours())
      return std::nullopt;
    cut.count = count;
    for (const std::vector<Operation *> &block : blocks) {
      std::vector<int64_t> &nodes = cut.nodes.emplace_back();
      for (Operation *op : block) {
        auto node = op->getAttrOfType<IntegerAttr>(attributes::node);
        nodes.push_back(node ? node.getInt() : -1);
      }
    }
    erase();
    return std::move(cut);
  }

private:
  static int64_t getBlock(Operation *op) {
    auto block = op->getAttrOfType<IntegerAttr>(attributes::block);
    return block ? block.getInt() : -1;
  }

  /// In the ONNX file.
  StringRef getName(StringRef initializer) const {
    return symbols.lookup<InitializerOp>(initializer).getName();
  }

  bool isCut(int64_t block) const {
    return block >= first && block < first + count;
  }

  bool areEven() const {
    return llvm::all_of(blocks, [&](const std::vector<Operation *> &block) {
      return block.size() == blocks.front().size();
    });
  }

  /// The parameters that blocks read, at the same places of all of them: each
  /// is read by all blocks, or by one of them and by nothing else.
  bool findParameters(llvm::function_ref<int64_t(StringRef)> getKind) {
    // By initializer, of which a module may have several views.
    llvm::DenseMap<StringRef, int64_t> owners;
    constexpr int64_t shared = -1;
    for (auto parameter : function.getOps<ParameterOp>())
      for (Operation *user : parameter->getUsers()) {
        auto place = places.find(user);
        int64_t block = place == places.end() ? shared : place->second.first;
        auto [owner, isNew] =
            owners.try_emplace(parameter.getInitializer(), block);
        if (owner->second != block)
          owner->second = shared;
      }
    for (const std::vector<Operation *> &block : blocks) {
      std::vector<std::string> &own = cut.initializers.emplace_back();
      for (auto [op, model] : llvm::zip_equal(block, blocks.front())) {
        if (op->getNumOperands() != model->getNumOperands())
          return false;
        for (auto [operand, other] :
             llvm::zip_equal(op->getOperands(), model->getOperands())) {
          auto parameter = operand.getDefiningOp<ParameterOp>(),
               ofModel = other.getDefiningOp<ParameterOp>();
          if (!parameter != !ofModel)
            return false;
          if (!parameter || parameter == ofModel)
            continue;
          StringRef name = parameter.getInitializer();
          if (owners.lookup(name) == shared ||
              owners.lookup(ofModel.getInitializer()) == shared ||
              getKind(getName(name)) !=
                  getKind(getName(ofModel.getInitializer())))
            return false;
        }
        for (Value operand : op->getOperands())
          if (auto parameter = operand.getDefiningOp<ParameterOp>())
            if (StringRef name = parameter.getInitializer();
                owners.lookup(name) != shared &&
                !llvm::is_contained(own, getName(name)))
              own.push_back(getName(name).str());
      }
      if (own.size() != cut.initializers.front().size())
        return false;
    }
    return true;
  }

  /// What the blocks make that are to go is read by them and by the next block.
  bool areReadByNeighbours() const {
    for (int64_t block = first; block < first + count; ++block)
      for (Operation *op : blocks[block])
        for (Operation *user : op->getUsers()) {
          auto place = places.find(user);
          if (place == places.end())
            return false;
          int64_t reader = place->second.first;
          if (reader != block && reader != block + 1)
            return false;
        }
    return true;
  }

  void erase() {
    const std::vector<Operation *> &last = blocks[first + count - 1],
                                   &model = blocks[first - 1];
    for (auto [op, other] : llvm::zip_equal(last, model))
      for (auto [result, replacement] :
           llvm::zip_equal(op->getResults(), other->getResults()))
        result.replaceUsesWithIf(replacement, [&](OpOperand &use) {
          return !isCut(places.lookup(use.getOwner()).first);
        });
    llvm::SmallSetVector<Operation *, 16> leaves;
    for (int64_t block = first + count; block-- > first;)
      for (Operation *op : llvm::reverse(blocks[block])) {
        for (Value operand : op->getOperands())
          if (Operation *leaf = operand.getDefiningOp();
              leaf && leaf->getNumOperands() == 0)
            leaves.insert(leaf);
        op->erase();
      }
    for (Operation *leaf : leaves) {
      if (!leaf->use_empty())
        continue;
      if (auto parameter = dyn_cast<ParameterOp>(leaf))
        if (auto initializer =
                symbols.lookup<InitializerOp>(parameter.getInitializer()))
          unread.insert(initializer);
      leaf->erase();
    }
    for (auto parameter : function.getOps<ParameterOp>())
      unread.remove(symbols.lookup(parameter.getInitializer()));
    for (Operation *initializer : unread)
      initializer->erase();
    auto type = IntegerType::get(function.getContext(), 64);
    for (size_t block = first + count; block < blocks.size(); ++block)
      for (Operation *op : blocks[block])
        op->setAttr(
            attributes::block,
            IntegerAttr::get(type, static_cast<int64_t>(block) - count));
  }

  func::FuncOp function;
  /// A table: looking a symbol up in the module takes time linear in it.
  SymbolTable symbols;
  /// The first of `count` blocks to leave out.
  int64_t first, count = 0;
  std::vector<std::vector<Operation *>> blocks;
  /// Of ops in blocks: the block, and the place in it.
  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> places;
  llvm::SmallSetVector<Operation *, 16> unread;
  CutBlocks cut;
};

} // namespace

std::optional<CutBlocks>
parplan::cutBlocks(func::FuncOp function, int64_t kept,
                   llvm::function_ref<int64_t(StringRef)> getKind) {
  return Cutter(function, kept).run(getKind);
}
