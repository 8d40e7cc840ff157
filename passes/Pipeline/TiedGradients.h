//===- TiedGradients.h - Gradients with parts on several stages -*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PIPELINE_TIEDGRADIENTS_H
#define PARPLAN_PASSES_PIPELINE_TIEDGRADIENTS_H

#include "dialects/parplan/ParplanOps.h"

namespace parplan {

/// Lets `sum` run where its operand is made. Where parts of that are made on
/// several stages, each of these sums up its own part over the micro-batches,
/// and reduces it; the lowest stage then adds the sums in the order of stages.
void splitTiedGradient(AccumulateOp sum);

} // namespace parplan

#endif // PARPLAN_PASSES_PIPELINE_TIEDGRADIENTS_H
