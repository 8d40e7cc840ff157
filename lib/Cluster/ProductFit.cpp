//===- ProductFit.cpp - What products of all sizes take -------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "ProductFit.h"

#include <cmath>
#include <limits>

using namespace parplan;

ProductFit parplan::fitProducts(const std::vector<MeasuredProduct> &products) {
  constexpr size_t enough = 6;
  // What three numbers leave of few measurements is their noise: these steps
  // are as fine as sizes are coarse.
  std::vector<double> steps = {0};
  if (products.size() >= enough)
    steps = {0, 1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128};
  ProductFit best;
  double least = std::numeric_limits<double>::infinity();
  auto count = static_cast<double>(products.size());
  for (double rows : steps)
    for (double columns : steps)
      for (double contracted : steps) {
        std::array<double, 3> overhead = {rows, columns, contracted};
        double sum = 0, squares = 0;
        for (const MeasuredProduct &product : products) {
          double flops = 2;
          for (size_t size = 0; size < overhead.size(); ++size)
            flops *= product.sizes[size] + overhead[size];
          double logarithm = std::log(flops / product.seconds);
          sum += logarithm;
          squares += logarithm * logarithm;
        }
        double deviation = squares - sum * sum / count;
        if (deviation < least)
          best = {std::exp(sum / count), overhead};
        least = std::min(least, deviation);
      }
  return best;
}
