//===- Outcomes.cpp - What interpreted ranks come to ----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "Outcomes.h"

#include "dialects/parplan/ParplanOps.h"

#include "mlir/IR/BuiltinOps.h"

#include <cmath>

using namespace mlir;

namespace parplan::test {

LogicalResult checkBlocks(OpResult result, llvm::ArrayRef<Tensor> blocks) {
  Operation *op = result.getOwner();
  auto global = op->getAttrOfType<TypeAttr>(attributes::globalType);
  ShardingAttr attribute = getSharding(result);
  bool isCleared = !result.use_empty() &&
                   llvm::all_of(result.getUsers(), [](Operation *user) {
                     return isa<ClearPaddingOp>(user);
                   });
  if (!global || !attribute || isCleared)
    return success();
  Mesh mesh = getOnlyMesh(op->getParentOfType<ModuleOp>()).getMesh().getMesh();
  Sharding sharding = *attribute.resolve(mesh);
  if (sharding.isPartial())
    return success();
  auto type = cast<RankedTensorType>(global.getValue())
                  .clone(blocks.front().getType().getElementType());
  Tensor whole;
  if (auto fault =
          unshard(blocks, cast<RankedTensorType>(type), sharding, mesh, whole))
    return op->emitError(*fault);
  return success();
}

std::vector<Outcome> getOutcomes(func::FuncOp function,
                                 llvm::ArrayRef<Tensor> values) {
  std::vector<Outcome> outcomes;
  auto add = [&](Attribute variable, StringRef name = "") {
    outcomes.push_back({variable, values[outcomes.size()], name.str()});
  };
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (auto bucket =
            function.getResultAttrOfType<ArrayAttr>(index, attributes::bucket))
      for (auto member : bucket.getAsRange<MemberAttr>())
        add(member.getVariable());
    else if (auto name = function.getResultAttrOfType<StringAttr>(
                 index, attributes::name))
      add(function.getResultAttr(index, attributes::variable), name);
    else
      add(function.getResultAttr(index, attributes::variable));
  auto print = [](Attribute variable) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (variable)
      stream << variable;
    return text;
  };
  llvm::stable_sort(outcomes, [&](const Outcome &left, const Outcome &right) {
    return print(left.variable) < print(right.variable);
  });
  return outcomes;
}

std::string compare(const Tensor &wanted, const Tensor &found,
                    double tolerance) {
  for (int64_t i = 0; i < wanted.getSize(); ++i) {
    double left = wanted.getNumber(i), right = found.getNumber(i);
    if (left != right && !(std::isnan(left) && std::isnan(right)) &&
        !(std::abs(left - right) <= tolerance))
      return "element " + std::to_string(i) + ": " + std::to_string(right) +
             ", not " + std::to_string(left);
  }
  return "";
}

} // namespace parplan::test
