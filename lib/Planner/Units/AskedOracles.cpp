//===- AskedOracles.cpp - Every question to an oracle, once ---------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "AskedOracles.h"

using namespace parplan;

AskedOracles::Key AskedOracles::makeKey(int type, const Weights &weights,
                                        ModeSet modes) {
  return {type, modes, toComponents(weights)};
}

const BoundaryMatrix &AskedOracles::getMatrix(int type, const Weights &weights,
                                              ModeSet modes) {
  modes &= allowed;
  auto [it, isNew] = matrices.try_emplace(makeKey(type, weights, modes));
  if (isNew && modes == 0) {
    it->second = {getInCount(type), getOutCount(type), {}};
    it->second.costs.assign(getInCount(type) * getOutCount(type),
                            BoundaryMatrix::impossible);
  } else if (isNew) {
    it->second = oracles[type]->minimise(weights, modes);
    ++calls;
  }
  return it->second;
}

const BlockPlan *AskedOracles::getPlan(int type, const Weights &weights,
                                       ModeSet modes, int in, int out) {
  modes &= allowed;
  if (modes == 0)
    return nullptr;
  Key key = makeKey(type, weights, modes);
  key.in = in;
  key.out = out;
  auto [it, isNew] = plans.try_emplace(key);
  if (isNew) {
    it->second = oracles[type]->getPlan(weights, modes, in, out);
    ++calls;
  }
  return it->second ? &*it->second : nullptr;
}

double AskedOracles::getPrice(int type, const Weights &weights) {
  ModeSet modes = getFastest();
  Key key = makeKey(type, weights, modes);
  if (auto answer = answers.find(key); answer != answers.end())
    return answer->second.value;
  auto [it, isNew] = prices.try_emplace(key, BoundaryMatrix::impossible);
  if (isNew && modes != 0) {
    it->second = oracles[type]->getLeastValue(weights, modes);
    ++calls;
  }
  return it->second;
}

const BlockOracle::Least &AskedOracles::ask(int type, const Weights &weights,
                                            ModeSet modes) {
  modes &= allowed;
  auto [it, isNew] = answers.try_emplace(makeKey(type, weights, modes));
  if (isNew && modes != 0) {
    it->second = oracles[type]->getLeast(weights, modes);
    ++calls;
  }
  return it->second;
}
