//===- Layouts.cpp - Axes and shardings in documents ----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Layouts.h"

#include "parplan/Support/Check.h"

using namespace parplan;

Json parplan::nameAxes(llvm::ArrayRef<int> axes, const Mesh &mesh) {
  Json names = Json::array();
  for (int axis : axes)
    names.push_back(mesh.getAxis(axis).name);
  return names;
}

void parplan::addSharding(Json &object, const Sharding &sharding,
                          const Mesh &mesh) {
  Json dims = Json::array();
  for (const AxisList &axes : sharding.dims)
    dims.push_back(nameAxes(axes, mesh));
  object["sharding"] = std::move(dims);
  if (sharding.isPartial()) {
    object["partial"] = nameAxes(sharding.partial, mesh);
    object["reduction"] =
        sharding.reduction == ReductionKind::sum ? "sum" : "max";
  }
  if (sharding.isStored())
    object["stored"] = nameAxes(sharding.storage, mesh);
}

std::string parplan::nameTier(MemoryTier tier) {
  switch (tier) {
  case MemoryTier::device:
    return "hbm";
  case MemoryTier::host:
    return "cpu";
  case MemoryTier::nvme:
    return "nvme";
  }
  PARPLAN_UNREACHABLE("unknown tier");
}

Json parplan::describeValue(const PlanningValue &value,
                            const Sharding &sharding, const Mesh &mesh) {
  Json object = {{"shape", value.shape}};
  addSharding(object, sharding, mesh);
  return object;
}
