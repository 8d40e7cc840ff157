//===- Panels.h - The panels of a product -----------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_PANELS_H
#define PARPLAN_DIALECTS_PARPLAN_PANELS_H

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Sharding/Panels.h"

namespace parplan {

/// The panels of a product; places are those of operands and result. A tensor
/// without the letter has a place that means nothing.
llvm::SmallVector<Panel> getPanels(PanelMatmulOp op, const Mesh &mesh);

/// Where `tensor` (0, 1, or 2 for the result) has the panel letter.
std::optional<unsigned> findPanelDim(PanelMatmulOp op, unsigned tensor);

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_PANELS_H
