//===- Parameters.cpp - Which initializers are trained --------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Parameters.h"

#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan {

InitializerOp getInitializer(ParameterOp parameter, SymbolTable &symbols) {
  auto initializer = symbols.lookup<InitializerOp>(parameter.getInitializer());
  PARPLAN_CHECK(initializer, "a parameter reads an initializer");
  return initializer;
}

bool isTrained(InitializerOp initializer) {
  return initializer->hasAttr(attributes::trained);
}

std::vector<TrainedParameter> listParameters(ModuleOp module) {
  std::vector<TrainedParameter> list;
  for (auto initializer : module.getOps<InitializerOp>()) {
    if (initializer.getMembers())
      continue;
    auto reason = initializer->getAttrOfType<StringAttr>(attributes::trained);
    bool trained = static_cast<bool>(reason);
    if (!reason)
      reason = initializer->getAttrOfType<StringAttr>(attributes::frozen);
    if (!reason)
      continue;
    auto type = cast<RankedTensorType>(initializer.getType());
    list.push_back({initializer.getName().str(),
                    SmallVector<int64_t>(type.getShape()), trained,
                    reason.str()});
  }
  return list;
}

} // namespace parplan
