//===- Dimensions.cpp - Parts of the space of plans -----------------------===//

#include "benchmarks/Dimensions.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;

namespace {

struct Dimension {
  std::string name;
  std::function<void(ForceOptions &, FindPlanOptions &)> leaveOut;
};

} // namespace

static const std::vector<Dimension> &getDimensions() {
  auto makeSize = [](std::string name,
                     std::optional<int64_t> ForceOptions::*size) {
    return Dimension{
        std::move(name),
        [size](ForceOptions &force, FindPlanOptions &) { force.*size = 1; }};
  };
  static const std::vector<Dimension> dimensions = {
      makeSize("data", &ForceOptions::dataSize),
      makeSize("tensor", &ForceOptions::tensorSize),
      makeSize("context", &ForceOptions::contextSize),
      makeSize("expert", &ForceOptions::expertSize),
      makeSize("pipeline", &ForceOptions::pipelineSize),
      {"grids", [](ForceOptions &,
                   FindPlanOptions &options) { options.hasGrids = false; }},
      {"sequence", [](ForceOptions &force,
                      FindPlanOptions &) { force.sequenceParallel = false; }},
      {"zero",
       [](ForceOptions &force, FindPlanOptions &) { force.zeroStage = 0; }},
      {"recompute",
       [](ForceOptions &force, FindPlanOptions &) {
         force.recompute = RecomputeKind::none;
       }},
      {"interleaving",
       [](ForceOptions &, FindPlanOptions &options) {
         options.leftOut.push_back(ScheduleKind::interleaved);
       }},
      {"zero-bubble",
       [](ForceOptions &, FindPlanOptions &options) {
         llvm::append_range(options.leftOut,
                            std::initializer_list<ScheduleKind>{
                                ScheduleKind::zbH1, ScheduleKind::zbH2,
                                ScheduleKind::zbV, ScheduleKind::vHalf,
                                ScheduleKind::vMin});
       }},
  };
  return dimensions;
}

std::vector<std::string> parplan::getDimensionNames() {
  std::vector<std::string> names;
  for (const Dimension &dimension : getDimensions())
    names.push_back(dimension.name);
  return names;
}

bool parplan::leaveOut(llvm::StringRef name, ForceOptions &force,
                       FindPlanOptions &options) {
  for (const Dimension &dimension : getDimensions())
    if (dimension.name == name) {
      dimension.leaveOut(force, options);
      return true;
    }
  return false;
}
