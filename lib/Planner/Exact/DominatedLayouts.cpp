//===- DominatedLayouts.cpp - Layouts at rest that are never better -------===//
//
// Dead-end elimination compares every two choices of a variable, and those of
// values are many: layouts at rest times sets of copies. Most go before that by
// comparing layouts at rest alone.
//
// A choice (r, S), the layout r at rest and the copies S, matters only for
// readers that together need S exactly: for others, a smaller set costs no
// more. In another layout r' the same readers need the copies S', which is S
// without r', and with r where some of them read that. If for all such S'
//
//     cost(r', S') + max over makings m (to(m, r') - to(m, r))  <=  cost(r, S)
//
// then (r, S) is dropped. Equal costs are decided by order, so that two choices
// never drop each other.
//
//===----------------------------------------------------------------------===//

#include "MeshProblem.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

using namespace parplan;

namespace {

/// Choices of one value by layout at rest.
class LayoutComparison {
public:
  /// `givenShares`: per layout at rest (`ValueCopies::getShares`).
  LayoutComparison(const std::vector<ValueChoice> &choices,
                   const std::vector<double> &costs,
                   std::vector<std::vector<CopySet>> givenShares)
      : choices(choices), costs(costs), shares(std::move(givenShares)) {
    // Choices with one layout at rest stand together, their sets ascending.
    starts.assign(shares.size() + 1, choices.size());
    for (size_t choice = choices.size(); choice-- > 0;)
      starts[choices[choice].rest] = choice;
    for (size_t rest = shares.size(); rest-- > 0;)
      starts[rest] = std::min(starts[rest], starts[rest + 1]);
  }

  /// True if lying in `other` is no worse, which costs `more` for the making.
  bool isDominated(size_t choice, int other, double more) const {
    const std::vector<CopySet> &own = shares[choices[choice].rest];
    const std::vector<CopySet> &others = shares[other];
    CopySet needed = 0, atRest = 0;
    for (size_t kind = 0; kind < own.size(); ++kind)
      if (own[kind] == 0) {
        atRest |= others[kind];
      } else if ((own[kind] & choices[choice].copies) != 0) {
        if (others[kind] != 0 && others[kind] != own[kind])
          return false; // Copies are shared in one of the layouts alone.
        needed |= others[kind];
      }
    constexpr int mostAtRest = 4;
    if (std::popcount(atRest) > mostAtRest)
      return false;
    bool isFound = false;
    for (CopySet read = atRest;; read = (read - 1) & atRest) {
      if (std::optional<size_t> match = find(other, needed | read)) {
        isFound = true;
        double cost = costs[*match] + more;
        if (!(cost < costs[choice] * (1 - tolerance)) &&
            !(cost <= costs[choice] && *match < choice))
          return false;
      }
      if (read == 0)
        return isFound;
    }
  }

  /// All that the comparison depends on besides costs.
  std::vector<uint64_t> getForm() const {
    std::vector<uint64_t> form = {shares.size()};
    for (const std::vector<CopySet> &ofRest : shares)
      form.insert(form.end(), ofRest.begin(), ofRest.end());
    for (const ValueChoice &choice : choices) {
      form.push_back(choice.rest);
      form.push_back(choice.copies);
    }
    return form;
  }

private:
  /// Below what sums of the same numbers in another order differ by.
  static constexpr double tolerance = 1e-12;

  std::optional<size_t> find(int rest, CopySet copies) const {
    auto first = choices.begin() + starts[rest];
    auto last = choices.begin() + starts[rest + 1];
    auto found = std::lower_bound(first, last, copies,
                                  [](const ValueChoice &choice, CopySet set) {
                                    return choice.copies < set;
                                  });
    if (found == last || found->copies != copies)
      return std::nullopt;
    return found - choices.begin();
  }

  const std::vector<ValueChoice> &choices;
  const std::vector<double> &costs;
  std::vector<std::vector<CopySet>> shares;
  std::vector<size_t> starts;
};

} // namespace

std::vector<double> MeshProblem::getMostAdded(size_t value,
                                              const Prices &prices) const {
  size_t count = rests[value].size();
  std::vector<double> most(count * count, -CostNetwork::forbidden);
  std::vector<double> seconds(count);
  for (size_t choice = 0; choice < makings[value]->makings.size(); ++choice) {
    for (size_t rest = 0; rest < count; ++rest)
      seconds[rest] =
          getMakingSeconds(value, choice, static_cast<int>(rest), prices);
    for (size_t from = 0; from < count; ++from) {
      if (seconds[from] == CostNetwork::forbidden)
        continue; // Impossible there anyway.
      for (size_t to = 0; to < count; ++to)
        most[from * count + to] =
            std::max(most[from * count + to], seconds[to] - seconds[from]);
    }
  }
  std::replace(most.begin(), most.end(), -CostNetwork::forbidden, 0.0);
  return most;
}

CostNetwork::Reduction
MeshProblem::dropDominatedLayouts(const CostNetwork &priced,
                                  const Prices &prices) const {
  std::vector<std::vector<int>> kept(priced.getVariableCount());
  for (int variable = 0; variable < priced.getVariableCount(); ++variable)
    for (int choice = 0; choice < priced.getDomainSize(variable); ++choice)
      kept[variable].push_back(choice);
  using Key = std::tuple<CostTable, std::vector<uint64_t>, std::vector<double>>;
  std::map<Key, std::vector<int>> known;
  // Depends on the tables alone where memory has no price; else each is of the
  // value that was asked last.
  std::map<const MakingTables *, std::vector<double>> knownAdded;
  auto getAdded = [&](size_t made) -> const std::vector<double> & {
    auto [it, isNew] = knownAdded.try_emplace(makings[made]);
    if (isNew || prices.secondsPerByte > 0)
      it->second = getMostAdded(made, prices);
    return it->second;
  };
  for (size_t value = 0; value < problem.values.size(); ++value) {
    if (problem.values[value].updates >= 0)
      continue;
    int variable = variableOf[value];
    const std::vector<double> &costs = priced.getCosts(variable);
    int restCount = static_cast<int>(rests[value].size());
    std::vector<std::vector<CopySet>> shares;
    for (int rest = 0; rest < restCount; ++rest)
      shares.push_back(getShares(valueCopies[value], value, rest));
    LayoutComparison comparison(valueChoices[value], costs, std::move(shares));
    std::vector<double> added(restCount * restCount, 0);
    for (size_t made : {value, replacements[value]})
      if (made < problem.values.size() && makings[made])
        for (auto [sum, more] : llvm::zip_equal(added, getAdded(made)))
          sum += more;
    // Equal values lose the same choices.
    Key key = {&costs, comparison.getForm(), added};
    if (auto it = known.find(key); it != known.end()) {
      kept[variable] = it->second;
      continue;
    }
    llvm::erase_if(kept[variable], [&](int choice) {
      int rest = valueChoices[value][choice].rest;
      for (int other = 0; other < restCount; ++other)
        if (other != rest &&
            comparison.isDominated(choice, other,
                                   added[rest * restCount + other]))
          return true;
      return false;
    });
    known.emplace(std::move(key), kept[variable]);
  }
  return priced.keep(std::move(kept));
}
