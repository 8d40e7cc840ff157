//===- CostTables.h - Equal tables of costs are one -------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_COSTTABLES_H
#define PARPLAN_PLANNER_COSTTABLES_H

#include <memory>
#include <unordered_map>
#include <vector>

namespace parplan {

/// A table of costs. Two of one pool are the same if and only if their costs
/// are: what was found out of one holds for the other.
using CostTable = const std::vector<double> *;

/// Keeps every table once. Models repeat their blocks, so a network has many
/// equal ones.
class CostTables {
public:
  CostTables() = default;
  /// Of `base` and others besides.
  explicit CostTables(std::shared_ptr<const CostTables> base)
      : base(std::move(base)) {}

  CostTable get(std::vector<double> costs);

private:
  CostTable find(size_t hash, const std::vector<double> &costs) const;

  std::shared_ptr<const CostTables> base;
  std::unordered_multimap<size_t, std::unique_ptr<const std::vector<double>>>
      tables;
};

} // namespace parplan

#endif // PARPLAN_PLANNER_COSTTABLES_H
