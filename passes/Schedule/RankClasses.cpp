//===- RankClasses.cpp - Which ranks of a program do the same -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/RankClasses.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace parplan;

RankClasses::RankClasses(ArrayRef<exec::ProgramOp> programs, const Mesh &mesh)
    : mesh(mesh), program(programs.front()), hasPositions(programs.size() > 1) {
  for (exec::ProgramOp each : programs)
    addDifferences(each);
  while (spread())
    ;
}

std::vector<int64_t> RankClasses::getKey(int64_t rank) const {
  std::vector<int64_t> key = {getPosition(rank), mesh.getIndex(rank, whole)};
  for (const auto &[axes, places] : chosen) {
    int64_t place = mesh.getIndex(rank, axes);
    key.push_back(places.contains(place) ? place : -1);
  }
  return key;
}

int64_t RankClasses::getPosition(int64_t rank) const {
  return hasPositions ? program.getPositionOf(rank) : 0;
}

void RankClasses::addDifferences(exec::ProgramOp of) {
  Block &body = of.getBody().front();
  llvm::DenseMap<Attribute, AxisList> axesOf;
  for (auto communicator : body.getOps<exec::CommunicatorOp>()) {
    FailureOr<AxisList> axes = communicator.getAxes().resolve(mesh);
    axesOf[communicator.getSymNameAttr()] = *axes;
  }
  for (Operation &op : body) {
    if (auto exchange = dyn_cast<exec::ExchangeOp>(op))
      add(axesOf.lookup(exchange.getCommunicatorAttr().getAttr()));
    else if (auto copy = dyn_cast<exec::CopyOp>(op); copy && copy.getOnly())
      chosen[axesOf.lookup(copy.getOnly()->getCommunicator().getAttr())].insert(
          copy.getOnly()->getPosition());
  }
}

void RankClasses::add(ArrayRef<int> axes) {
  for (int axis : axes)
    if (!llvm::is_contained(whole, axis))
      whole.push_back(axis);
}

/// Choices along axes that others use, too, count whole; true if there was one.
bool RankClasses::spread() {
  for (auto it = chosen.begin(); it != chosen.end(); ++it) {
    bool isShared = llvm::any_of(it->first, [&](int axis) {
      return llvm::is_contained(whole, axis) ||
             llvm::any_of(chosen, [&](const auto &other) {
               return other.first != it->first &&
                      llvm::is_contained(other.first, axis);
             });
    });
    if (!isShared)
      continue;
    add(it->first);
    chosen.erase(it);
    return true;
  }
  return false;
}
