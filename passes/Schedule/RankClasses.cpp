//===- RankClasses.cpp - Which ranks of a program do the same -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/RankClasses.h"

#include "mlir/IR/Threading.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace parplan;

namespace {

/// Where the place of a rank makes a difference in one program.
struct Differences {
  AxisList exchanged;
  RankClasses::Places chosen;
};

} // namespace

static Differences findDifferences(exec::ProgramOp program, const Mesh &mesh) {
  Differences differences;
  Block &body = program.getBody().front();
  llvm::DenseMap<Attribute, AxisList> axesOf;
  for (auto communicator : body.getOps<exec::CommunicatorOp>()) {
    FailureOr<AxisList> axes = communicator.getAxes().resolve(mesh);
    axesOf[communicator.getSymNameAttr()] = *axes;
  }
  for (Operation &op : body) {
    if (auto exchange = dyn_cast<exec::ExchangeOp>(op))
      for (int axis : axesOf[exchange.getCommunicatorAttr().getAttr()]) {
        if (!llvm::is_contained(differences.exchanged, axis))
          differences.exchanged.push_back(axis);
      }
    else if (auto copy = dyn_cast<exec::CopyOp>(op); copy && copy.getOnly())
      differences.chosen[axesOf[copy.getOnly()->getCommunicator().getAttr()]]
          .insert(copy.getOnly()->getPosition());
  }
  return differences;
}

RankClasses::RankClasses(ArrayRef<exec::ProgramOp> programs, const Mesh &mesh)
    : mesh(mesh), program(programs.front()), hasPositions(programs.size() > 1) {
  std::vector<Differences> ofPrograms(programs.size());
  parallelFor(program->getContext(), 0, programs.size(), [&](size_t number) {
    ofPrograms[number] = findDifferences(programs[number], mesh);
  });
  for (const Differences &each : ofPrograms) {
    add(each.exchanged);
    for (const auto &[axes, places] : each.chosen)
      chosen[axes].insert(places.begin(), places.end());
  }
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
