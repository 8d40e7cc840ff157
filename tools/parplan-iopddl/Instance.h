//===- Instance.h - Instances of the contest, in 64-bit integers -*- C++ -*-==//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TOOLS_IOPDDL_INSTANCE_H
#define PARPLAN_TOOLS_IOPDDL_INSTANCE_H

#include "parplan/BlockSolver/Problem.h"
#include "parplan/Support/Diagnostics.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parplan::contest {

/// What the files write for "must not be chosen". Sums of it do not fit 64
/// bits, so it is never added.
constexpr int64_t forbiddenCost = 1'000'000'000'000'000'000;

/// Lists of numbers, one after the other.
struct Lists {
  std::vector<int64_t> numbers;
  std::vector<size_t> ends;

  size_t size() const { return ends.size(); }
  std::span<const int64_t> operator[](size_t index) const {
    size_t begin = index == 0 ? 0 : ends[index - 1];
    return {numbers.data() + begin, ends[index] - begin};
  }
};

/// An instance of the ASPLOS/EuroSys 2025 contest on intra-operator
/// parallelism, as its file has it.
struct Instance {
  /// Per node: [begin, end), costs and usages of its strategies.
  Lists intervals, costs, usages;
  /// Per edge: two nodes, and costs of pairs, those of the second fastest.
  Lists edges, edgeCosts;
  int64_t usageLimit = 0;
};

/// An instance, and what the solver makes of it.
struct Task {
  Instance instance;
  block::Problem problem;
};

/// Parses a file's text and checks all that solver and evaluator rely on.
std::optional<Task> readInstance(std::string_view text, const std::string &file,
                                 DiagnosticEngine &engine);

/// The text of a file, unpacked if it is a gzip file.
std::optional<std::string> readPackedFile(const std::string &file,
                                          DiagnosticEngine &engine);

/// The cost of strategies by the rules of the contest. None if something
/// forbidden is chosen or the limit is exceeded at some time.
std::optional<int64_t> getCost(const Instance &instance,
                               const std::vector<int> &strategies);

} // namespace parplan::contest

#endif // PARPLAN_TOOLS_IOPDDL_INSTANCE_H
