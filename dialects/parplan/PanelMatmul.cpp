//===- PanelMatmul.cpp - Products in panels -------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ExpertRows.h"
#include "dialects/parplan/Inference.h"
#include "dialects/parplan/Panels.h"

#include "parplan/Sharding/Blocks.h"
#include "parplan/Sharding/Panels.h"
#include "parplan/Support/Check.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

SmallVector<Panel> getPanels(PanelMatmulOp op, const Mesh &mesh) {
  SmallVector<AxisList> axes;
  for (AxisListAttr list : op.getPanelAxes())
    axes.push_back(*list.resolve(mesh));
  return getPanels(op.getSize(), axes, mesh);
}

std::optional<unsigned> findPanelDim(PanelMatmulOp op, unsigned tensor) {
  MatmulSpec spec = op.getLetters();
  StringRef letters[] = {spec.lhs, spec.rhs, spec.result};
  size_t dim = letters[tensor].find(op.getPanel());
  if (dim == StringRef::npos)
    return std::nullopt;
  return dim;
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

void PanelMatmulOp::build(OpBuilder &builder, OperationState &state,
                          Type result, Value lhs, Value rhs, StringRef spec,
                          StringRef panel, int64_t size,
                          ArrayRef<AxisListAttr> axes,
                          const std::optional<ExpertRows> &rows) {
  auto [tokens, count, groups] = getRowAttributes(builder, rows);
  build(builder, state, result, lhs, rhs, rows ? rows->experts : Value(),
        rows ? rows->first : Value(), builder.getStringAttr(spec),
        builder.getStringAttr(panel), builder.getI64IntegerAttr(size), axes[0],
        axes[1], axes[2], tokens, count, groups);
}

MatmulSpec PanelMatmulOp::getLetters() { return *MatmulSpec::parse(getSpec()); }

std::optional<ExpertRows> PanelMatmulOp::getRows() { return readRows(*this); }

namespace {

constexpr StringLiteral tensorNames[] = {"lhs", "rhs", "result"};

/// Reports letters of `spec` that do not fit the tensors. A letter other than
/// the panel's has one size, which of experts in groups is their number.
LogicalResult verifyLetters(PanelMatmulOp op) {
  MatmulSpec spec = op.getLetters();
  if (failed(verifyGroups(op.getLoc(), op.getGroups(), /*choices=*/1,
                          /*rowCount=*/0)))
    return failure();
  std::optional<ExpertRows> rows = op.getRows();
  char grouped = rows ? spec.findCommon() : 0;
  StringRef letters[] = {spec.lhs, spec.rhs, spec.result};
  int64_t sizes[128];
  std::fill(std::begin(sizes), std::end(sizes), -1);
  for (auto [index, tensor] : llvm::enumerate(op.getTensors())) {
    RankedTensorType type = getTensorType(tensor);
    if (letters[index].size() != static_cast<size_t>(type.getRank()))
      return op.emitOpError() << "'" << letters[index] << "' does not name the "
                              << type.getRank() << " dimensions of " << type;
    for (auto [letter, size] : llvm::zip(letters[index], type.getShape())) {
      if (op.getPanel() == StringRef(&letter, 1))
        continue;
      int64_t &known = sizes[static_cast<unsigned char>(letter)];
      int64_t ofGroup =
          letter == grouped ? rows->getGroupSize(letters[index]) : 1;
      int64_t count = size / ofGroup;
      if (size % ofGroup != 0)
        return op.emitOpError() << "'" << letter << "' has " << size
                                << " elements in groups of " << ofGroup;
      if (known >= 0 && known != count)
        return op.emitOpError() << "'" << letter << "' has " << known << " and "
                                << count << " elements";
      known = count;
    }
  }
  for (auto [index, own] : llvm::enumerate(letters))
    for (char letter : own)
      if (!letters[(index + 1) % 3].contains(letter) &&
          !letters[(index + 2) % 3].contains(letter))
        return op.emitOpError()
               << "'" << letter << "' is only in " << tensorNames[index];
  return success();
}

} // namespace

LogicalResult PanelMatmulOp::verify() {
  if (failed(MatmulSpec::parse(getSpec())))
    return emitOpError()
           << "spec '" << getSpec()
           << "' is not of the form \"bsk,kn->bsn\" with distinct "
              "letters per tensor";
  if (failed(verifyLetters(*this)))
    return failure();
  Type element = getTensorType(getLhs()).getElementType();
  if (getTensorType(getRhs()).getElementType() != element ||
      getTensorType(getResult()).getElementType() != element)
    return emitOpError("mixes element types");
  if (getPanel().size() != 1 ||
      llvm::count_if(ArrayRef<unsigned>{0, 1, 2}, [&](unsigned tensor) {
        return findPanelDim(*this, tensor).has_value();
      }) != 2)
    return emitOpError() << "panel '" << getPanel()
                         << "' is no letter of two tensors (S21)";
  std::optional<ExpertRows> rows = getRows();
  if (failed(verifyRows(*this, getLetters())))
    return failure();
  if (rows && !canBePanels(getPanel(), getLetters(), *rows))
    return emitOpError() << "panel '" << getPanel()
                         << "' of rows of experts is one of tokens, or not "
                            "alone in its role (S21)";
  if (static_cast<int64_t>(getSize()) < 1)
    return emitOpError() << "has " << static_cast<int64_t>(getSize()) << " of '"
                         << getPanel() << "', not one or more (S21)";
  MeshOp meshOp = getOnlyMesh(getOperation()->getParentOfType<ModuleOp>());
  if (!meshOp)
    return emitOpError("needs a module with one mesh");
  const Mesh &mesh = meshOp.getMesh().getMesh();
  llvm::SmallDenseSet<int> seen;
  for (auto [index, list] : llvm::enumerate(getPanelAxes())) {
    FailureOr<AxisList> axes = list.resolve(mesh);
    if (failed(axes))
      return emitOpError() << "axes " << list
                           << " are not axes of the mesh (S2)";
    for (int axis : *axes)
      if (!seen.insert(axis).second)
        return emitOpError()
               << "has the axis '" << mesh.getAxis(axis).name << "' twice (S1)";
    std::optional<unsigned> dim = findPanelDim(*this, index);
    if (!dim && !axes->empty())
      return emitOpError() << tensorNames[index] << " has axes but no '"
                           << getPanel() << "' (S21)";
    if (!dim)
      continue;
    int64_t actual = getTensorType(getTensors()[index]).getDimSize(*dim);
    int64_t expected = ceilDivide(getSize(), mesh.getWidth(*axes));
    if (actual != expected)
      return emitOpError() << tensorNames[index] << " has " << actual << " of '"
                           << getPanel() << "'; blocks of " << getSize()
                           << " over " << list << " have " << expected
                           << " (S3)";
  }
  return success();
}

} // namespace parplan
