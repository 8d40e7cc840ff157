//===- BlockOracle.cpp - Costs in components and boundary matrices --------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/BlockOracle.h"

#include "parplan/Support/Check.h"

#include <algorithm>

using namespace parplan;

CostVector &CostVector::operator+=(const CostVector &other) {
  forward += other.forward;
  inputGradient += other.inputGradient;
  weightGradient += other.weightGradient;
  step += other.step;
  permanentBytes += other.permanentBytes;
  savedBytes += other.savedBytes;
  hostBytes += other.hostBytes;
  return *this;
}

CostVector CostVector::operator*(double factor) const {
  std::array<double, size> components = toArray();
  for (double &component : components)
    component *= factor;
  return fromArray(components);
}

std::array<double, CostVector::size> CostVector::toArray() const {
  return {forward,        inputGradient, weightGradient, step,
          permanentBytes, savedBytes,    hostBytes};
}

CostVector
CostVector::fromArray(const std::array<double, CostVector::size> &components) {
  return {components[0], components[1], components[2], components[3],
          components[4], components[5], components[6]};
}

std::array<double, CostVector::size> Weights::toArray() const {
  return {forward, inputGradient, weightGradient, step, permanent, saved, host};
}

double parplan::getWeighted(const Weights &weights, const CostVector &cost) {
  std::array<double, CostVector::size> ofWeights = weights.toArray();
  std::array<double, CostVector::size> ofCost = cost.toArray();
  double sum = 0;
  for (int component = 0; component < CostVector::size; ++component)
    sum += ofWeights[component] * ofCost[component];
  return sum;
}

double BoundaryMatrix::getMinimum() const {
  return costs.empty() ? impossible
                       : *std::min_element(costs.begin(), costs.end());
}

std::pair<double, int> BoundaryMatrix::getClosedMinimum() const {
  PARPLAN_CHECK(rows == columns, "a boundary closes with itself");
  std::pair<double, int> least = {impossible, -1};
  for (int boundary = 0; boundary < rows; ++boundary)
    if (get(boundary, boundary) < least.first)
      least = {get(boundary, boundary), boundary};
  return least;
}

BoundaryMatrix parplan::multiply(const BoundaryMatrix &first,
                                 const BoundaryMatrix &second) {
  PARPLAN_CHECK(first.columns == second.rows, "units meet at one boundary");
  BoundaryMatrix product(first.rows, second.columns);
  for (int in = 0; in < first.rows; ++in)
    for (int between = 0; between < first.columns; ++between) {
      double before = first.get(in, between);
      if (before == BoundaryMatrix::impossible)
        continue;
      for (int out = 0; out < second.columns; ++out)
        product.at(in, out) =
            std::min(product.get(in, out), before + second.get(between, out));
    }
  return product;
}

BoundaryMatrix parplan::getPower(const BoundaryMatrix &unit, int64_t count) {
  PARPLAN_CHECK(count > 0, "a power of no units has no boundaries");
  std::optional<BoundaryMatrix> power;
  for (BoundaryMatrix square = unit;; square = multiply(square, square)) {
    if (count % 2 == 1)
      power = power ? multiply(*power, square) : square;
    count /= 2;
    if (count == 0)
      return *power;
  }
}
