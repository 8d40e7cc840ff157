//===- TiedGradients.h - Gradients with parts on several stages -*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PIPELINE_TIEDGRADIENTS_H
#define PARPLAN_PASSES_PIPELINE_TIEDGRADIENTS_H

#include "dialects/parplan/ParplanOps.h"

namespace parplan {

/// Lets `sum` run where its operand is made. Where that adds up several parts,
/// each of them is summed up over the micro-batches by itself, where it is
/// made; the lowest stage then adds the sums from left to right. So it makes no
/// difference for the result which parts a cut leaves on one stage.
void splitTiedGradient(AccumulateOp sum);

} // namespace parplan

#endif // PARPLAN_PASSES_PIPELINE_TIEDGRADIENTS_H
