//===- Stages.h - The stages of plan.json -----------------------*- C++ -*-===//
//
// Part of parplan. Private to the library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_REPORT_STAGES_H
#define PARPLAN_REPORT_STAGES_H

#include "lib/Report/PlanDocument.h"

namespace parplan {

/// One entry per virtual stage, in the order of the data: who runs it, which
/// ops of the forward pass it has, and of a pipeline what its passes take. One
/// entry of all ranks and ops without a pipeline.
Json describeStages(const PlanSummary &summary);

/// The axis of the pipeline, or none.
std::optional<int> findStageAxis(const Mesh &mesh);

/// The choice of a pipeline over `positions`, as `describeStages` and the
/// configuration say it; none, after reporting, where they do not.
std::optional<PipelineChoice> readPipeline(const Json &document,
                                           const std::string &file,
                                           int64_t positions,
                                           DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_REPORT_STAGES_H
