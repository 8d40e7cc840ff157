//===- Layouts.h - Layouts of one mesh as small numbers ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_LAYOUTS_H
#define PARPLAN_PLANNER_LAYOUTS_H

#include "parplan/Planner/PlanCosts.h"

#include <memory>

namespace parplan {

/// Numbers the layouts of one mesh, and knows the seconds from one to another.
/// Any thread may ask.
class LayoutTable {
public:
  LayoutTable(const Mesh &mesh, const PlanCosts &costs);
  ~LayoutTable();

  const Mesh &getMesh() const { return mesh; }

  int intern(const Sharding &layout);
  const Sharding &get(int layout) const;

  /// The number of what reshards of a value depend on: shape, bytes of an
  /// element, the dimension that is not gathered, exposed shares and bucket.
  int getForm(const PlanningValue &value);

  /// Seconds of the path that the evaluator takes; infinity where there is none
  /// or `mayReshard` forbids it.
  double getSeconds(int form, int from, int to);
  /// Row by row from each to each.
  std::vector<double> getAllSeconds(int form, llvm::ArrayRef<int> from,
                                    llvm::ArrayRef<int> to);

  /// Bytes of a value on one rank (`getLocalBytes`).
  int64_t getBytes(int form, int layout);

private:
  struct Storage;
  double findSeconds(const PlanningValue &value, const Sharding &from,
                     const Sharding &to) const;

  Mesh mesh;
  const PlanCosts &costs;
  std::unique_ptr<Storage> storage;
};

} // namespace parplan

#endif // PARPLAN_PLANNER_LAYOUTS_H
