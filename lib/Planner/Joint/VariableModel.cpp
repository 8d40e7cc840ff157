//===- VariableModel.cpp - What variables make of a space -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "VariableModel.h"

#include "parplan/Support/Check.h"

#include <map>

using namespace parplan;

/// Nothing crosses a boundary. The oracles behind have the first mode alone:
/// others make again, or gather again, for fewer bytes of passes. Those do not
/// count here, so it costs no more than any of them in what does.
class VariableModel::Oracle : public BlockOracle {
public:
  Oracle(BlockOracle &oracle, const CostVector &ofOps)
      : oracle(oracle), ofOps(ofOps) {}

  int getInCount() const override { return 1; }
  int getOutCount() const override { return 1; }
  int getModeCount() const override { return unitModeCount; }

  BoundaryMatrix minimise(const Weights &weights, ModeSet modes) override {
    return {1, 1, {getLeastValue(weights, modes)}};
  }
  Least getLeast(const Weights &weights, ModeSet /*modes*/) override {
    Least least = oracle.getLeast(getPrices(weights), allModes);
    least.cost.savedBytes = least.cost.waitingBytes = 0;
    least.cost += ofOps;
    least.value += weights.get(ofOps);
    return least;
  }
  double getLeastValue(const Weights &weights, ModeSet /*modes*/) override {
    return oracle.getLeastValue(getPrices(weights), allModes) +
           weights.get(ofOps);
  }
  double getKnownValue(const Weights &weights,
                       ModeSet /*modes*/) const override {
    return oracle.getKnownValue(getPrices(weights), allModes) +
           weights.get(ofOps);
  }
  std::optional<BlockPlan> getPlan(const Weights & /*weights*/,
                                   ModeSet /*modes*/, int /*in*/,
                                   int /*out*/) override {
    return std::nullopt;
  }

private:
  static Weights getPrices(Weights weights) {
    weights.savedBytes = weights.waitingBytes = 0;
    return weights;
  }

  BlockOracle &oracle;
  CostVector ofOps;
};

VariableModel::VariableModel(std::shared_ptr<UnitOracles> given)
    : oracles(std::move(given)),
      units(oracles->getUnits(UnitScope::variables)) {
  std::map<BlockOracle *, Oracle *> known;
  for (auto [unit, ofOps] :
       llvm::zip_equal(units, oracles->getLeastOpCosts())) {
    Oracle *&own = known[unit.oracle];
    // Bytes of variables are those of their layouts.
    ofOps.permanentBytes = 0;
    if (!own)
      own = owned.emplace_back(std::make_unique<Oracle>(*unit.oracle, ofOps))
                .get();
    unit.oracle = own;
  }
}

VariableModel::~VariableModel() = default;

JudgedPlan VariableModel::judge(const std::vector<BlockPlan> & /*plans*/,
                                const StageChoice & /*stages*/,
                                double /*limitBytes*/) {
  PARPLAN_UNREACHABLE("variables alone are no plan");
}
