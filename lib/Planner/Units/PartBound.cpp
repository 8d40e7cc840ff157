//===- PartBound.cpp - What ops take in more micro-batches ----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PhaseComponents.h"
#include "UnitNetwork.h"

#include "parplan/Planner/UnitOracles.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace parplan;

namespace {

/// The seconds of one choice in both steps.
struct Pair {
  double whole, part;
};
/// Per op.
using Pairs = std::vector<std::vector<Pair>>;

} // namespace

/// Nothing: the parts have choices that the whole has not.
static Pairs match(llvm::ArrayRef<OpChoices> whole,
                   llvm::ArrayRef<OpChoices> parts) {
  if (whole.size() != parts.size())
    return {};
  Pairs pairs;
  for (auto [ofWhole, ofParts] : llvm::zip_equal(whole, parts)) {
    pairs.emplace_back();
    for (auto [number, assignment] : llvm::enumerate(ofParts.assignments)) {
      // Mostly both have the same ones in the same order.
      size_t same = number;
      if (same >= ofWhole.size() || ofWhole.assignments[same] != assignment)
        same = llvm::find(ofWhole.assignments, assignment) -
               ofWhole.assignments.begin();
      if (same == ofWhole.size())
        return {};
      pairs.back().push_back(
          {ofWhole.getSeconds(same), ofParts.getSeconds(number)});
    }
  }
  return pairs;
}

static double getLeastShare(const Pairs &pairs) {
  double share = pairs.empty() ? 0 : 1;
  for (const std::vector<Pair> &ofOp : pairs)
    for (auto [whole, part] : ofOp)
      if (part < share * whole)
        share = part / whole;
  return share;
}

double parplan::getLeastShare(llvm::ArrayRef<OpChoices> whole,
                              llvm::ArrayRef<OpChoices> parts) {
  return ::getLeastShare(match(whole, parts));
}

PartBound parplan::boundParts(llvm::ArrayRef<OpChoices> whole,
                              llvm::ArrayRef<OpChoices> parts) {
  Pairs pairs = match(whole, parts);
  PartBound best;
  double most = -1;
  for (double share : {1.0, 0.99, 0.97, 0.95, 0.9, ::getLeastShare(pairs)}) {
    if (pairs.empty())
      break;
    PartBound bound{share, {}};
    double seconds = 0;
    for (const std::vector<Pair> &ofOp : pairs) {
      double lack = 0, least = ofOp.empty() ? 0 : ofOp.front().whole;
      for (auto [whole, part] : ofOp) {
        lack = std::max(lack, share * whole - part);
        least = std::min(least, whole);
      }
      bound.lackSeconds.push_back(lack);
      seconds += share * least - lack;
    }
    if (seconds > most) {
      most = seconds;
      best = std::move(bound);
    }
  }
  return best;
}

CostVector parplan::sumOps(const UnitSample &sample, int kind,
                           llvm::ArrayRef<double> secondsOfOps) {
  const UnitSample::Range &range = sample.kinds[kind];
  Components sum{};
  for (int op = range.firstOp; op < range.endOp; ++op)
    sum[getComponent(sample, op, sample.phases[op])] +=
        secondsOfOps[op] /
        static_cast<double>(getRepeat(sample.problem, sample.problem.ops[op]));
  return toCost(sum);
}
