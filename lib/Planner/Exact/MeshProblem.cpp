//===- MeshProblem.cpp - The planning problem on one mesh -----------------===//

#include "MeshProblem.h"

#include "parplan/Planner/InnerBytes.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Support/Check.h"

#include <algorithm>
#include <bit>
#include <set>

using namespace parplan;

std::vector<CopySet> ValueCopies::getShares(int rest,
                                            const Sharding &atRest) const {
  std::vector<CopySet> shares(kinds.size(), 0);
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    if (kinds[kind].layout == rest)
      continue;
    size_t first = 0;
    while (!(kinds[first].layout == kinds[kind].layout &&
             sharesCopies(kinds[first].reader, kinds[kind].reader, atRest)))
      ++first;
    shares[kind] = CopySet(1) << first;
  }
  return shares;
}

CopySet parplan::unite(CopySet set, const std::vector<CopySet> &shares) {
  CopySet united = 0;
  for (; set != 0; set &= set - 1)
    united |= shares[std::countr_zero(set)];
  return united;
}

MeshProblem::MeshProblem(const PlanningProblem &problem,
                         const PlanRequest &request, const PlanSpace &space,
                         std::vector<std::vector<FactorAssignment>> assignments,
                         const PlanCosts &costs)
    : problem(problem), mesh(space.mesh), costs(costs),
      control(request.control), layouts(space.mesh, costs),
      decisions(getDecisions(problem)), assignments(std::move(assignments)),
      readers(problem.values.size()), writers(problem.values.size(), {-1, 0}),
      replacements(problem.values.size(), problem.values.size()) {
  rests = getRestCandidates(problem, request, space, this->assignments);
  addDecisions();
  addValues();
}

PlanningAnswer MeshProblem::getAnswer(const std::vector<int> &choices) const {
  PlanningAnswer answer;
  answer.mesh = mesh;
  for (size_t op = 0; op < problem.ops.size(); ++op)
    answer.assignments.push_back(assignments[op][choices[decisions.ofOp[op]]]);
  for (size_t value = 0; value < problem.values.size(); ++value)
    answer.rest.push_back(rests[value][getRest(value, choices)]);
  return answer;
}

int64_t
MeshProblem::getLeastParameterBytes(const std::vector<int> &choices) const {
  int64_t bytes = problem.fixedBytes;
  for (size_t value = 0; value < problem.values.size(); ++value) {
    ValueKind kind = problem.values[value].kind;
    if (kind != ValueKind::parameter && kind != ValueKind::state)
      continue;
    bool chosen = choices[variableOf[value]] >= 0;
    bytes +=
        chosen ? restBytes[value][getRest(value, choices)] : leastBytes[value];
  }
  return bytes;
}

int64_t MeshProblem::getLeastPeakBytes() const {
  std::vector<int64_t> changes(problem.ops.size() + 1, 0);
  for (size_t value = 0; value < problem.values.size(); ++value) {
    if (problem.values[value].updates >= 0)
      continue;
    changes[liveRanges[value].first] += leastBytes[value];
    changes[liveRanges[value].second + 1] -= leastBytes[value];
  }
  int64_t live = problem.fixedBytes, most = live;
  for (int64_t change : changes)
    most = std::max(most, live += change);
  return most;
}

bool MeshProblem::mayBeFused(size_t value) const {
  int writer = writers[value].op;
  return writer >= 0 && problem.ops[writer].fusedReads > 0;
}

double MeshProblem::getMakingSeconds(size_t value, size_t choice, int rest,
                                     const Prices &prices) const {
  const Making &making = makings[value]->makings[choice];
  // What is made in another layout lives beside that at rest.
  bool isExtra = prices.secondsPerByte > 0 && !mayBeFused(value) &&
                 making.layout != restLayouts[value][rest];
  return making.seconds[rest] +
         (isExtra
              ? prices.secondsPerByte * prices.opWeights[writers[value].op] *
                    static_cast<double>(making.bytes)
              : 0);
}

std::vector<double>
MeshProblem::getLiveBytes(size_t value, int rest,
                          llvm::ArrayRef<double> weightBefore) const {
  const ValueCopies &copies = valueCopies[value];
  std::vector<CopySet> shares = getShares(copies, value, rest);
  auto getBytes = [&](int64_t bytes, int first, int last) {
    return static_cast<double>(bytes) *
           (weightBefore[last + 1] - weightBefore[first]);
  };
  std::vector<double> liveBytes;
  for (size_t kind = 0; kind < copies.kinds.size(); ++kind) {
    // What shares the copy may read it later.
    int last = copies.kinds[kind].lastUse;
    for (size_t other = kind + 1; other < copies.kinds.size(); ++other)
      if (shares[other] == CopySet(1) << kind)
        last = std::max(last, copies.kinds[other].lastUse);
    liveBytes.push_back(
        getBytes(copies.kinds[kind].bytes, copies.kinds[kind].firstUse, last));
  }
  liveBytes.push_back(getBytes(restBytes[value][rest], liveRanges[value].first,
                               liveRanges[value].second));
  return liveBytes;
}

CostNetwork MeshProblem::getNetwork(const Prices &prices) const {
  CostNetwork priced = network.fork();
  addPrices(prices, /*countsCopies=*/true, priced);
  return priced;
}

CostNetwork MeshProblem::getLiveBytes(int op, bool countsCopies) const {
  CostNetwork bytes;
  for (int variable = 0; variable < network.getVariableCount(); ++variable)
    bytes.addVariable(std::vector<double>(network.getDomainSize(variable), 0));
  Prices prices;
  prices.secondsPerByte = 1;
  prices.opWeights.assign(problem.ops.size(), 0);
  prices.opWeights[op] = 1;
  addPrices(prices, countsCopies, bytes);
  return bytes;
}

void MeshProblem::addPrices(const Prices &prices, bool countsCopies,
                            CostNetwork &priced) const {
  std::vector<double> weightBefore = {0};
  for (double weight : prices.opWeights)
    weightBefore.push_back(weightBefore.back() + weight);
  for (auto [number, decision] : llvm::enumerate(decisions.all)) {
    std::vector<double> seconds(innerBytes[decision.leader].size(), 0);
    for (int member : decision.members)
      for (auto [choice, bytes] : llvm::enumerate(innerBytes[member]))
        seconds[choice] += prices.secondsPerByte * prices.opWeights[member] *
                           static_cast<double>(bytes);
    priced.addCosts(static_cast<int>(number), seconds);
  }
  std::vector<double> liveBytes;
  for (size_t value = 0; value < problem.values.size(); ++value) {
    std::vector<double> seconds;
    if (problem.values[value].updates < 0) {
      for (int rest = -1; const ValueChoice &choice : valueChoices[value]) {
        if (choice.rest != rest) {
          rest = choice.rest;
          liveBytes = getLiveBytes(value, rest, weightBefore);
        }
        double bytes = liveBytes.back();
        for (CopySet set = countsCopies ? choice.copies : 0; set != 0;
             set &= set - 1)
          bytes += liveBytes[std::countr_zero(set)];
        seconds.push_back(prices.secondsPerByte * bytes);
      }
      priced.addCosts(variableOf[value], seconds);
    }
    int writer = writers[value].op;
    if (writer < 0)
      continue;
    seconds.clear();
    for (const ValueChoice &choice : valueChoices[value])
      for (const Making &making : makings[value]->makings)
        // The seconds of the path are in the network already.
        seconds.push_back(
            mayBeFused(value) ||
                    making.layout == restLayouts[value][choice.rest]
                ? 0
                : prices.secondsPerByte * prices.opWeights[writer] *
                      static_cast<double>(making.bytes));
    priced.addPair(variableOf[value], decisions.ofOp[writer], seconds);
  }
}

int MeshProblem::getRest(size_t value, const std::vector<int> &choices) const {
  return valueChoices[value][choices[variableOf[value]]].rest;
}

void MeshProblem::addDecisions() {
  for (auto [op, choices] : llvm::zip_equal(problem.ops, assignments)) {
    innerBytes.emplace_back();
    for (const FactorAssignment &assignment : choices)
      innerBytes.back().push_back(getInnerBytes(problem, op, assignment, mesh));
  }
  for (const Decision &decision : decisions.all) {
    std::vector<double> seconds(assignments[decision.leader].size(), 0.0);
    for (int member : decision.members)
      for (auto [choice, assignment] : llvm::enumerate(assignments[member]))
        seconds[choice] +=
            costs.getOpSeconds(problem, problem.ops[member], assignment, mesh) +
            costs.getInnerSeconds(problem, problem.ops[member], assignment,
                                  mesh);
    network.addVariable(std::move(seconds));
  }
}

void MeshProblem::addValues() {
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    for (auto [position, operand] : llvm::enumerate(op.operands))
      readers[operand].push_back(
          {static_cast<int>(index), static_cast<int>(position)});
    for (auto [position, result] : llvm::enumerate(op.results))
      writers[result] = {static_cast<int>(index), static_cast<int>(position)};
  }
  for (size_t value = 0; value < problem.values.size(); ++value) {
    if (isStopped())
      return;
    const PlanningValue &description = problem.values[value];
    int end = static_cast<int>(problem.ops.size()) - 1;
    bool persistent = description.kind != ValueKind::activation;
    int first = persistent ? 0 : std::max(writers[value].op, 0);
    bool isKept = persistent || description.isOutput || description.isServed;
    int last = isKept                   ? end
               : readers[value].empty() ? first
                                        : readers[value].back().op;
    liveRanges.emplace_back(first, last);
    forms.push_back(layouts.getForm(description));
    restLayouts.emplace_back();
    restBytes.emplace_back();
    // Where it is in registers it takes nothing.
    bool isFused = mayBeFused(value);
    for (const Sharding &rest : rests[value]) {
      restLayouts.back().push_back(layouts.intern(rest));
      restBytes.back().push_back(
          isFused ? 0
                  : layouts.getBytes(forms.back(), restLayouts.back().back()));
    }
    leastBytes.push_back(
        *std::min_element(restBytes.back().begin(), restBytes.back().end()));

    int updated = description.updates;
    if (updated >= 0) {
      // Written where the variable lies, after all that read it.
      variableOf.push_back(variableOf[updated]);
      valueChoices.push_back(valueChoices[updated]);
      valueCopies.emplace_back();
      replacements[updated] = value;
    } else {
      ValueCopies copies = getCopies(value);
      if (tooRich)
        return;
      const ValueTables &tables = getTables(value, copies);
      variableOf.push_back(network.addVariable(tables.seconds));
      valueChoices.push_back(tables.choices);
      for (auto [reading, pair] :
           llvm::zip_equal(copies.readings, tables.readings))
        network.addPair(variableOf[value], reading.decision, pair);
      valueCopies.push_back(std::move(copies));
    }
    makings.push_back(nullptr);
    if (writers[value].op >= 0)
      addMaking(value);
  }
}

ValueCopies MeshProblem::getCopies(size_t value) {
  ValueCopies copies;
  for (const Reader &reader : readers[value]) {
    const PlanningOp &op = problem.ops[reader.op];
    int decision = decisions.ofOp[reader.op];
    auto reading = llvm::find_if(copies.readings, [&](const auto &known) {
      return known.decision == decision;
    });
    if (reading == copies.readings.end()) {
      copies.readings.push_back(
          {decision, std::vector<CopySet>(assignments[reader.op].size(), 0)});
      reading = std::prev(copies.readings.end());
    }
    CopyReader description = getCopyReader(op);
    for (auto [choice, assignment] : llvm::enumerate(assignments[reader.op])) {
      int use =
          layouts.intern(getUseSharding(op.rule, assignment, reader.position));
      auto kind = llvm::find_if(copies.kinds, [&](const auto &known) {
        return known.layout == use &&
               llvm::all_of(rests[value], [&](const Sharding &rest) {
                 return sharesCopies(known.reader, description, rest);
               });
      });
      size_t number = kind - copies.kinds.begin();
      if (number >= maxCopyKinds) {
        tooRich = true;
        continue;
      }
      if (kind == copies.kinds.end())
        copies.kinds.push_back({use, layouts.getBytes(forms[value], use),
                                description, getRepeat(problem, op), reader.op,
                                reader.op});
      copies.kinds[number].lastUse = reader.op;
      reading->needs[choice] |= CopySet(1) << number;
    }
  }
  return copies;
}

const MeshProblem::ValueTables &
MeshProblem::getTables(size_t value, const ValueCopies &copies) {
  TablesKey key = {forms[value],
                   problem.values[value].kind == ValueKind::constant,
                   static_cast<int64_t>(restLayouts[value].size())};
  llvm::append_range(key, restLayouts[value]);
  key.push_back(static_cast<int64_t>(copies.kinds.size()));
  for (const ValueCopies::Kind &kind : copies.kinds)
    llvm::append_range(key,
                       std::initializer_list<int64_t>{
                           kind.layout, kind.repeat,
                           static_cast<int64_t>(kind.reader.role),
                           static_cast<int64_t>(kind.reader.perMicroBatch)});
  for (const ValueCopies::Reading &reading : copies.readings) {
    key.push_back(static_cast<int64_t>(reading.needs.size()));
    llvm::append_range(key, reading.needs);
  }
  auto [known, isNew] = valueTables.try_emplace(std::move(key));
  if (isNew) {
    addChoices(value, copies, known->second);
    addReadings(value, copies, known->second);
  }
  return known->second;
}

void MeshProblem::addChoices(size_t value, const ValueCopies &copies,
                             ValueTables &made) {
  const PlanningValue &description = problem.values[value];
  std::vector<double> seconds;
  for (auto [rest, layout] : llvm::enumerate(restLayouts[value])) {
    std::vector<double> kindSeconds;
    for (const ValueCopies::Kind &kind : copies.kinds)
      kindSeconds.push_back(
          description.kind == ValueKind::constant
              ? 0
              : static_cast<double>(kind.repeat) *
                    getPathSeconds(value, layout, kind.layout));
    // What the readers need together, whatever each of them chooses.
    std::vector<CopySet> shares =
        getShares(copies, value, static_cast<int>(rest));
    std::set<CopySet> sets = {0};
    for (const ValueCopies::Reading &reading : copies.readings) {
      std::set<CopySet> distinct, extended;
      for (CopySet needs : reading.needs)
        distinct.insert(unite(needs, shares));
      for (CopySet needs : distinct)
        for (CopySet set : sets)
          extended.insert(set | needs);
      sets = std::move(extended);
    }
    for (CopySet set : sets) {
      double sum = 0;
      for (CopySet left = set; left != 0; left &= left - 1)
        sum += kindSeconds[std::countr_zero(left)];
      made.choices.push_back({static_cast<int>(rest), set});
      seconds.push_back(sum);
    }
  }
  made.seconds = network.getTable(std::move(seconds));
}

void MeshProblem::addReadings(size_t value, const ValueCopies &copies,
                              ValueTables &made) {
  for (const ValueCopies::Reading &reading : copies.readings) {
    // Choices with one layout at rest stand together.
    std::vector<double> pair;
    std::vector<CopySet> united;
    int rest = -1;
    for (const ValueChoice &choice : made.choices) {
      if (choice.rest != rest) {
        rest = choice.rest;
        united.clear();
        std::vector<CopySet> shares = getShares(copies, value, rest);
        for (CopySet needs : reading.needs)
          united.push_back(unite(needs, shares));
      }
      for (CopySet needs : united)
        pair.push_back((needs & ~choice.copies) == 0 ? 0
                                                     : CostNetwork::forbidden);
    }
    made.readings.push_back(network.getTable(std::move(pair)));
  }
}

void MeshProblem::addMaking(size_t value) {
  const Reader &writer = writers[value];
  const PlanningOp &op = problem.ops[writer.op];
  int64_t repeat = getResultRepeat(problem, op);
  TablesKey key = {forms[value], repeat,
                   static_cast<int64_t>(restLayouts[value].size())};
  llvm::append_range(key, restLayouts[value]);
  key.push_back(static_cast<int64_t>(valueChoices[value].size()));
  for (const ValueChoice &choice : valueChoices[value])
    key.push_back(choice.rest);
  size_t first = key.size();
  for (const FactorAssignment &assignment : assignments[writer.op])
    key.push_back(
        layouts.intern(getMadeSharding(op.rule, assignment, writer.position)));
  auto [known, isNew] = makingTables.try_emplace(std::move(key));
  MakingTables &tables = known->second;
  if (isNew) {
    for (int64_t layout : llvm::drop_begin(known->first, first)) {
      Making &making = tables.makings.emplace_back();
      making.layout = static_cast<int>(layout);
      making.bytes = layouts.getBytes(forms[value], making.layout);
      for (int rest : restLayouts[value])
        making.seconds.push_back(static_cast<double>(repeat) *
                                 getPathSeconds(value, making.layout, rest));
    }
    std::vector<double> pair;
    for (const ValueChoice &choice : valueChoices[value])
      for (const Making &making : tables.makings)
        pair.push_back(making.seconds[choice.rest]);
    tables.seconds = network.getTable(std::move(pair));
  }
  makings.back() = &tables;
  network.addPair(variableOf[value], decisions.ofOp[writer.op], tables.seconds);
}
