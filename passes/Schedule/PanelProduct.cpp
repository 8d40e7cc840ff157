//===- PanelProduct.cpp - What one step of a panel loop multiplies --------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/PanelProduct.h"

#include "parplan/Support/Sizes.h"

#include "passes/Schedule/Placement.h"

using namespace mlir;

namespace parplan {

PanelProduct::PanelProduct(PanelMatmulOp op, const Mesh &mesh)
    : spec(op.getLetters()), letter(op.getPanel().front()) {
  for (auto [tensor, value, axes] :
       llvm::enumerate(op.getTensors(), op.getPanelAxes())) {
    blocks[tensor] = SmallVector<int64_t>(
        cast<RankedTensorType>(value.getType()).getShape());
    isMoving[tensor] = mesh.getWidth(*axes.resolve(mesh)) > 1;
  }
}

size_t PanelProduct::getDim(unsigned tensor) const {
  StringRef letters[] = {spec.lhs, spec.rhs, spec.result};
  return letters[tensor].find(letter);
}

bool PanelProduct::hasPanels(unsigned tensor) const {
  return getDim(tensor) != StringRef::npos;
}

StridedShape PanelProduct::getShape(unsigned tensor, int64_t panelSize) const {
  StridedShape shape = StridedShape::getDense(blocks[tensor]);
  if (!hasPanels(tensor))
    return shape;
  shape.sizes[getDim(tensor)] = panelSize;
  return moves(tensor) ? StridedShape::getDense(shape.sizes) : shape;
}

std::optional<MatmulForm> PanelProduct::getForm(int64_t panelSize) const {
  return getMatmulForm(spec, getShape(0, panelSize), getShape(1, panelSize),
                       getShape(2, panelSize));
}

PanelProduct::Block PanelProduct::getBlock(unsigned tensor) const {
  ArrayRef<int64_t> sizes = blocks[tensor];
  size_t dim = getDim(tensor);
  return {multiplySizes(sizes.take_front(dim)), sizes[dim],
          multiplySizes(sizes.drop_front(dim + 1))};
}

bool PanelProduct::isContiguous(unsigned tensor, int64_t panelSize) const {
  Block block = getBlock(tensor);
  return block.outer == 1 || block.length == panelSize;
}

} // namespace parplan
