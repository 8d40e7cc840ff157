//===- Components.h - Costs as vectors --------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_COMPONENTS_H
#define PARPLAN_LIB_PLANNER_COMPONENTS_H

#include "parplan/Planner/BlockOracle.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace parplan {

constexpr int componentCount = 8;
/// The members of a `CostVector`, in their order.
using Components = std::array<double, componentCount>;

Components toComponents(const CostVector &cost);
Components toComponents(const Weights &weights);
CostVector toCost(const Components &components);

/// All components at once.
typedef double ComponentVector
    __attribute__((vector_size(sizeof(Components)), aligned(8), may_alias));

inline void add(Components &sum, const Components &added) {
  reinterpret_cast<ComponentVector &>(sum) +=
      reinterpret_cast<const ComponentVector &>(added);
}

inline double getProduct(const Components &weights, const Components &costs) {
  double product = 0;
  for (int component = 0; component < componentCount; ++component)
    product += weights[component] * costs[component];
  return product;
}

/// Vectors of which none is at least as large as another one, or as a mixture
/// of two others, in every component: drops those that are. Two equal ones
/// leave one. False, leaving what is given, where more than `most` would stay.
bool keepSupported(std::vector<Components> &costs, size_t most = SIZE_MAX);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_COMPONENTS_H
