//===- Frontier.cpp - What is left of all configurations ------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Frontier.h"

#include <tuple>
#include <utility>

using namespace parplan;

static constexpr double never = std::numeric_limits<double>::infinity();

void Frontier::add(Node node) {
  nodes.push_back(std::move(node));
  if (nodes.back().bound != never)
    giveBack(nodes.size() - 1);
}

double Frontier::getLeastOpen() const {
  return open.empty() ? never : open.begin()->first;
}

void Frontier::close(double bound, size_t number, bool isCutOff) {
  if (bound == never)
    return;
  cutOff += isCutOff;
  if (bound < closed.first)
    closed = {bound, number};
}

void Frontier::certify(
    double bestSeconds,
    llvm::function_ref<std::string(const Configuration &)> describe,
    SpaceSearchResult &result) const {
  double bound = closed.first;
  std::optional<size_t> source;
  if (bound != never)
    source = closed.second;
  if (getLeastOpen() < bound)
    std::tie(bound, source) = *open.begin();
  if (bound >= bestSeconds) {
    bound = bestSeconds;
    source.reset();
  }
  result.boundSource = "the plan";
  if (source) {
    const Configuration &configuration = nodes[*source].configuration;
    result.boundSource = describe(configuration);
    result.boundMicroBatches = configuration.microBatches;
    result.boundPositions = configuration.shape.positions;
  }
  Certificate &certificate = result.certificate;
  certificate.upperBoundSeconds = result.plan ? bestSeconds : 0;
  certificate.lowerBoundSeconds = bound;
  certificate.exact = result.plan && bound == bestSeconds;
  certificate.explored = result.evaluations;
  certificate.pruned = cutOff + static_cast<int64_t>(open.size());
}
