//===- PanelProduct.h - What one step of a panel loop multiplies *- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_PANELPRODUCT_H
#define PARPLAN_PASSES_SCHEDULE_PANELPRODUCT_H

#include "dialects/parplan/Panels.h"
#include "passes/Schedule/MatmulForm.h"

namespace parplan {

/// The tensors of a product in panels, lhs, rhs and result, as one step of the
/// loop sees them: a tensor that moves is a dense panel; another one with the
/// panel letter is that part of its block; one without it is whole.
class PanelProduct {
public:
  static constexpr unsigned tensorCount = 3;

  PanelProduct(PanelMatmulOp op, const Mesh &mesh);

  /// The letters and the blocks, for forms of other orders of dimensions.
  MatmulSpec spec;
  llvm::SmallVector<int64_t> blocks[tensorCount];

  bool hasPanels(unsigned tensor) const;
  bool moves(unsigned tensor) const { return isMoving[tensor]; }

  StridedShape getShape(unsigned tensor, int64_t panelSize) const;
  std::optional<MatmulForm> getForm(int64_t panelSize) const;

  /// A block as [outer][length][inner] around the panel letter.
  struct Block {
    int64_t outer, length, inner;
  };
  Block getBlock(unsigned tensor) const;
  /// Whether the panel's elements lie side by side in the owner's block.
  bool isContiguous(unsigned tensor, int64_t panelSize) const;

private:
  size_t getDim(unsigned tensor) const;

  char letter;
  bool isMoving[tensorCount];
};

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_PANELPRODUCT_H
