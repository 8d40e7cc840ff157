//===- Panels.cpp - Values of products in panels --------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/Panels.h"
#include "lib/Interpreter/Families.h"

using namespace mlir;

namespace parplan {

namespace {

/// Runs the loop on all ranks in lock step, one panel after the other.
class PanelEvaluator {
public:
  PanelEvaluator(PanelMatmulOp op, const Mesh &mesh,
                 ArrayRef<const Values *> operands)
      : op(op), mesh(mesh), operands(operands) {
    for (unsigned tensor = 0; tensor < 3; ++tensor) {
      dims.push_back(findPanelDim(op, tensor));
      axes.push_back(*op.getPanelAxes()[tensor].resolve(mesh));
    }
  }

  Values run() {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Values results(mesh.getRankCount(), Tensor(type));
    for (const Panel &panel : getPanels(op, mesh)) {
      Values products = multiplyPanel(panel, type);
      for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
        addTo(results[rank], rank, products, panel);
    }
    for (Tensor &result : results)
      result.roundToType();
    return results;
  }

private:
  static RankedTensorType resize(RankedTensorType type, unsigned dim,
                                 int64_t size) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = size;
    return type.clone(shape);
  }

  /// The member of the group of `rank` that owns the panel.
  int64_t getOwner(int64_t rank, unsigned tensor, const Panel &panel) const {
    return mesh.getGroup(rank, axes[tensor])[panel.places[tensor].owner];
  }

  /// What `rank` multiplies: the owner's panel, or the whole block of a tensor
  /// without the letter.
  Tensor getOperand(int64_t rank, unsigned tensor, const Panel &panel) const {
    if (!dims[tensor])
      return (*operands[tensor])[rank];
    unsigned dim = *dims[tensor];
    const Tensor &block = (*operands[tensor])[getOwner(rank, tensor, panel)];
    Tensor part(resize(block.getType(), dim, panel.size));
    SmallVector<int64_t> strides = block.getStrides();
    int64_t offset = panel.places[tensor].offset * strides[dim];
    forEachIndex(part.getShape(),
                 [&](ArrayRef<int64_t> index, int64_t position) {
                   part[position] = block[offset + getPosition(index, strides)];
                 });
    return part;
  }

  Values multiplyPanel(const Panel &panel, RankedTensorType type) {
    if (dims[2])
      type = resize(type, *dims[2], panel.size);
    Values products;
    for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
      Tensor lhs = getOperand(rank, 0, panel);
      Tensor rhs = getOperand(rank, 1, panel);
      std::optional<ExpertRows> rows = op.getRows();
      products.push_back(
          rows ? multiplyRows(
                     *rows, op.getLetters(), lhs, rhs, (*operands[2])[rank],
                     rows->first ? &(*operands[3])[rank] : nullptr, type)
               : multiply(op.getLetters(), lhs, rhs, type));
    }
    return products;
  }

  /// Adds the product of the panel to the block of `rank`; those of its whole
  /// group, where it owns the panel of the result, and nothing, where another
  /// rank does.
  void addTo(Tensor &result, int64_t rank, ArrayRef<Tensor> products,
             const Panel &panel) const {
    if (dims[2] && getOwner(rank, 2, panel) != rank)
      return;
    SmallVector<int64_t> strides = result.getStrides();
    int64_t offset = dims[2] ? panel.places[2].offset * strides[*dims[2]] : 0;
    for (int64_t member : mesh.getGroup(rank, axes[2]))
      forEachIndex(products[member].getShape(), [&](ArrayRef<int64_t> index,
                                                    int64_t position) {
        Scalar &sum = result[offset + getPosition(index, strides)];
        if (result.isReal())
          sum.real += products[member][position].real;
        else
          sum.integer = static_cast<int64_t>(
              static_cast<uint64_t>(sum.integer) +
              static_cast<uint64_t>(products[member][position].integer));
      });
  }

  PanelMatmulOp op;
  const Mesh &mesh;
  ArrayRef<const Values *> operands;
  SmallVector<std::optional<unsigned>> dims;
  SmallVector<AxisList> axes;
};

} // namespace

Values evaluatePanels(PanelMatmulOp op, const Mesh &mesh,
                      ArrayRef<const Values *> operands) {
  return PanelEvaluator(op, mesh, operands).run();
}

} // namespace parplan
