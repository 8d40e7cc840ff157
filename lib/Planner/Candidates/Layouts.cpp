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
  std::deque<Form> forms;
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

double LayoutTable::getSeconds(int form, int from, int to) {
  return getAllSeconds(form, {from}, {to}).front();
}

std::vector<double> LayoutTable::getAllSeconds(int number,
                                               llvm::ArrayRef<int> from,
                                               llvm::ArrayRef<int> to) {
  struct Unknown {
    size_t place;
    std::pair<int, int> layouts;
    const Sharding &from, &to;
  };
  std::vector<Unknown> unknown;
  std::vector<double> seconds;
  std::unique_lock guard(storage->lock);
  Storage::Form &form = storage->forms[number];
  for (int one : from)
    for (int other : to) {
      auto known = form.seconds.find({one, other});
      if (one != other && known == form.seconds.end())
        unknown.push_back({seconds.size(),
                           {one, other},
                           storage->layouts[one],
                           storage->layouts[other]});
      seconds.push_back(known != form.seconds.end() ? known->second : 0);
    }
  if (unknown.empty())
    return seconds;
  // Searching takes long; others may ask meanwhile.
  guard.unlock();
  for (const Unknown &pair : unknown)
    seconds[pair.place] = findSeconds(form.value, pair.from, pair.to);
  guard.lock();
  for (const Unknown &pair : unknown)
    form.seconds.try_emplace(pair.layouts, seconds[pair.place]);
  return seconds;
}

double LayoutTable::findSeconds(const PlanningValue &value,
                                const Sharding &from,
                                const Sharding &to) const {
  if (mayReshard(value, mesh, from, to))
    if (const ReshardPath &path = storage->reshards.get(value.shape, from, to);
        path.found)
      return costs.getPathSeconds(path, mesh, value);
  return std::numeric_limits<double>::infinity();
}

int64_t LayoutTable::getBytes(int number, int layout) {
  std::lock_guard guard(storage->lock);
  Storage::Form &form = storage->forms[number];
  auto [it, isNew] = form.bytes.try_emplace(layout, 0);
  if (isNew)
    it->second = getLocalBytes(form.value, mesh, storage->layouts[layout]);
  return it->second;
}
