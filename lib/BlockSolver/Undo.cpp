//===- Undo.cpp - From answers of a reduced problem to the whole ----------===//

#include "lib/BlockSolver/Undo.h"

#include "parplan/Support/Check.h"

#include <algorithm>

using namespace parplan;
using namespace parplan::block;

void Undo::addMerge(int node, int leader, std::vector<int> ids,
                    std::vector<int> leaderIds) {
  steps.push_back({node,
                   std::move(ids),
                   {},
                   {{leader, std::move(leaderIds), {}}},
                   /*isMerge=*/true});
}

void Undo::addElimination(int node, std::vector<int> ids,
                          std::vector<double> costs,
                          std::vector<Neighbour> neighbours) {
  steps.push_back({node, std::move(ids), std::move(costs),
                   std::move(neighbours), /*isMerge=*/false});
}

void Undo::expand(Choices &choices) const {
  std::vector<double> sum;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    auto getIndex = [&](const Neighbour &neighbour) {
      auto it = std::find(neighbour.ids.begin(), neighbour.ids.end(),
                          choices[neighbour.node]);
      PARPLAN_CHECK(it != neighbour.ids.end(), "value ",
                    choices[neighbour.node], " of node ", neighbour.node,
                    " was dropped before");
      return it - neighbour.ids.begin();
    };
    if (step->isMerge) {
      choices[step->node] = step->ids[getIndex(step->neighbours.front())];
      continue;
    }
    sum = step->costs;
    for (const Neighbour &neighbour : step->neighbours) {
      const double *row =
          neighbour.table.data() + getIndex(neighbour) * sum.size();
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += row[i];
    }
    choices[step->node] =
        step->ids[std::min_element(sum.begin(), sum.end()) - sum.begin()];
  }
}
