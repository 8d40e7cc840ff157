//===- Layouts.cpp - Layouts of one mesh as small numbers -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/Layouts.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>
#include <limits>
#include <mutex>
#include <unordered_map>

using namespace parplan;

struct LayoutTable::Storage {
  struct Hash {
    size_t operator()(const Sharding &layout) const {
      return hash_value(layout);
    }
  };
  struct Form {
    PlanningValue value;
    /// By both layouts.
    llvm::DenseMap<std::pair<int, int>, double> seconds;
    llvm::DenseMap<int, int64_t> bytes;
  };

  explicit Storage(const Mesh &mesh) : reshards(mesh) {}

  std::mutex lock;
  ReshardCache reshards;
  std::unordered_map<Sharding, int, Hash> numbers;
  /// Those that are there stay where they are.
  std::deque<Sharding> layouts;
  std::vector<Form> forms;
};

LayoutTable::LayoutTable(const Mesh &mesh, const PlanCosts &costs)
    : mesh(mesh), costs(costs), storage(std::make_unique<Storage>(mesh)) {}

LayoutTable::~LayoutTable() = default;

int LayoutTable::intern(const Sharding &layout) {
  std::lock_guard guard(storage->lock);
  auto [it, isNew] = storage->numbers.try_emplace(
      layout, static_cast<int>(storage->layouts.size()));
  if (isNew)
    storage->layouts.push_back(layout);
  return it->second;
}

const Sharding &LayoutTable::get(int layout) const {
  std::lock_guard guard(storage->lock);
  return storage->layouts[layout];
}

int LayoutTable::getForm(const PlanningValue &value) {
  std::lock_guard guard(storage->lock);
  for (auto [number, form] : llvm::enumerate(storage->forms))
    if (form.value.shape == value.shape &&
        form.value.elementBytes == value.elementBytes &&
        form.value.keptDimension == value.keptDimension &&
        form.value.exposedReduction == value.exposedReduction &&
        form.value.exposedGather == value.exposedGather &&
        form.value.bucketBytes == value.bucketBytes)
      return static_cast<int>(number);
  PlanningValue description;
  description.shape = value.shape;
  description.elementBytes = value.elementBytes;
  description.keptDimension = value.keptDimension;
  description.exposedReduction = value.exposedReduction;
  description.exposedGather = value.exposedGather;
  description.bucketBytes = value.bucketBytes;
  storage->forms.emplace_back().value = std::move(description);
  return static_cast<int>(storage->forms.size()) - 1;
}

double LayoutTable::getSeconds(int number, int from, int to) {
  if (from == to)
    return 0;
  std::lock_guard guard(storage->lock);
  Storage::Form &form = storage->forms[number];
  auto [it, isNew] = form.seconds.try_emplace(
      {from, to}, std::numeric_limits<double>::infinity());
  const Sharding &layoutFrom = storage->layouts[from],
                 &layoutTo = storage->layouts[to];
  if (!isNew || !mayReshard(form.value, mesh, layoutFrom, layoutTo))
    return it->second;
  const ReshardPath &path =
      storage->reshards.get(form.value.shape, layoutFrom, layoutTo);
  if (path.found)
    it->second = costs.getPathSeconds(path, mesh, form.value);
  return it->second;
}

int64_t LayoutTable::getBytes(int number, int layout) {
  std::lock_guard guard(storage->lock);
  Storage::Form &form = storage->forms[number];
  auto [it, isNew] = form.bytes.try_emplace(layout, 0);
  if (isNew)
    it->second = getLocalBytes(form.value, mesh, storage->layouts[layout]);
  return it->second;
}
