//===- NearestSizes.cpp - Requests near an impossible one -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/NearestSizes.h"

#include "parplan/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace parplan;

std::vector<int64_t> parplan::getNearestDivisors(int64_t wanted,
                                                 int64_t total) {
  std::vector<int64_t> nearest;
  int64_t below = std::min(wanted, total);
  while (total % below != 0)
    --below;
  nearest.push_back(below);
  for (int64_t above = below + 1; below != wanted && above <= total; ++above)
    if (above >= wanted && total % above == 0) {
      nearest.push_back(above);
      break;
    }
  return nearest;
}

int64_t parplan::getNearestMultiple(int64_t step, int64_t total) {
  return std::max<int64_t>(1, (total + step / 2) / step) * step;
}

namespace {

/// Looks at every grid of a product, and keeps the nearest one.
class GridSearch {
public:
  explicit GridSearch(const std::vector<int64_t> &wanted) : wanted(wanted) {}

  void visit(int64_t product) {
    grid.clear();
    extend(product, product);
  }

  std::vector<int64_t> best;

private:
  /// Less is nearer: distance, then devices with the sign turned, then the
  /// largest size.
  using Score = std::tuple<double, int64_t, int64_t>;

  void extend(int64_t rest, int64_t product) {
    size_t position = grid.size();
    if (position + 1 == wanted.size()) {
      if (rest >= 2)
        consider(rest, product);
      return;
    }
    for (int64_t size = 2; size <= rest / 2; ++size) {
      if (rest % size != 0)
        continue;
      grid.push_back(size);
      extend(rest / size, product);
      grid.pop_back();
    }
  }

  void consider(int64_t last, int64_t product) {
    grid.push_back(last);
    double distance = 0;
    for (size_t i = 0; i < grid.size(); ++i)
      distance += std::abs(std::log(static_cast<double>(grid[i])) -
                           std::log(static_cast<double>(wanted[i])));
    // Rounded, so that grids that are as far apart compare as equal.
    Score score{std::round(distance * 1e6), -product,
                *std::max_element(grid.begin(), grid.end())};
    if (best.empty() || score < bestScore) {
      best = grid;
      bestScore = score;
    }
    grid.pop_back();
  }

  const std::vector<int64_t> &wanted;
  std::vector<int64_t> grid;
  Score bestScore;
};

} // namespace

std::vector<int64_t> parplan::getNearestGrid(const std::vector<int64_t> &wanted,
                                             int64_t total, bool divides) {
  GridSearch search(wanted);
  for (int64_t product = divides ? 1 : total; product <= total; ++product)
    if (total % product == 0)
      search.visit(product);
  return search.best;
}

std::string parplan::adviseRequests(const std::vector<std::string> &requests) {
  if (requests.empty())
    return "";
  std::vector<std::string> first(requests.begin(), requests.end() - 1);
  return "try " + joinText(first, ", ") + (first.empty() ? "" : " or ") +
         requests.back();
}
