//===- UnitLeastCost.cpp - What every plan of a unit costs at least -------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PhaseComponents.h"
#include "UnitNetwork.h"

#include <algorithm>

using namespace parplan;

CostVector parplan::getLeastCost(const UnitSample &sample, UnitTables &tables,
                                 int kind) {
  const UnitSample::Range &range = sample.kinds[kind];
  Components least{};
  for (const Decision &decision : sample.decisions.all) {
    if (decision.leader < range.firstOp || decision.leader >= range.endOp)
      continue;
    Components ofDecision;
    ofDecision.fill(BoundaryMatrix::impossible);
    for (size_t choice = 0; choice < tables.assignments[decision.leader].size();
         ++choice) {
      Components cost{};
      for (int member : decision.members)
        cost[getComponent(sample, member, sample.phases[member])] +=
            tables.opSeconds[member][choice];
      for (int component = 0; component < componentCount; ++component)
        ofDecision[component] =
            std::min(ofDecision[component], cost[component]);
    }
    add(least, ofDecision);
  }
  for (int value = range.firstValue; value < range.endValue; ++value) {
    ValueKind valueKind = sample.problem.values[value].kind;
    if ((valueKind != ValueKind::parameter && valueKind != ValueKind::state) ||
        tables.movers[value] != UnitLists::noMover ||
        sample.values[value].part == StepUnits::Part::foreign)
      continue;
    double bytes = BoundaryMatrix::impossible;
    for (int rest : tables.rests[value])
      bytes = std::min(bytes, static_cast<double>(tables.layouts.getBytes(
                                  tables.forms[value], rest)));
    least[permanent] += bytes;
  }
  return toCost(least);
}
