//===- Pipeline.cpp - Positions and tiers ---------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/OpFamilies.h"

#include "parplan/Sharding/ServerPositions.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace parplan {

StringRef getRole(Operation *op) {
  auto role = op->getAttrOfType<StringAttr>(attributes::role);
  return role ? role.getValue() : StringRef(roles::forward);
}

std::optional<int64_t> getStage(Operation *op) {
  auto stage = op->getAttrOfType<IntegerAttr>(attributes::stage);
  return stage ? std::optional(stage.getInt()) : std::nullopt;
}

static MeshAxisAttr findAxisOfRole(MeshOp mesh, AxisRole role) {
  for (MeshAxisAttr axis : mesh.getMesh().getAxes())
    if (axis.getRole() == stringifyAxisRole(role))
      return axis;
  return {};
}

MeshAxisAttr getServerAxis(MeshOp mesh) {
  return findAxisOfRole(mesh, AxisRole::server);
}

MeshAxisAttr getPipelineAxis(MeshOp mesh) {
  return findAxisOfRole(mesh, AxisRole::pipeline);
}

/// P9 of messages between workers and servers.
static LogicalResult verifyServerMessage(Operation *op,
                                         FunctionOpInterface function,
                                         MeshOp meshOp, int64_t position) {
  auto point = cast<PointToPointOpInterface>(op);
  const Mesh &mesh = meshOp.getMesh().getMesh();
  FailureOr<AxisList> axes = point.getAxes().resolve(mesh);
  if (failed(axes) || mesh.getWidth(*axes) != mesh.getRankCount())
    return op->emitOpError()
           << point.getAxes() << " is not the workers and the servers (P9)";
  auto peer = static_cast<int64_t>(point.getPeer());
  bool isServer = position == serverPosition;
  bool isAnyWorker = isServer && peer == servedWorker &&
                     function->hasAttr(attributes::staleness);
  if (isAnyWorker || (peer >= 0 && peer < mesh.getRankCount() &&
                      mesh.isServer(peer) != isServer))
    return success();
  return op->emitOpError() << "names the rank " << peer << " of "
                           << mesh.getWorkerCount() << " workers and "
                           << mesh.getServerCount() << " servers from a "
                           << (isServer ? "server" : "worker") << " (P9)";
}

LogicalResult verifyPointToPoint(Operation *op) {
  auto point = cast<PointToPointOpInterface>(op);
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto position =
      function ? function->getAttrOfType<IntegerAttr>(attributes::position)
               : IntegerAttr();
  if (!position)
    return op->emitOpError("stands in a function without '")
           << attributes::position << "' (P9)";
  MeshOp mesh = getOnlyMesh(function->getParentOp());
  if (mesh && getServerAxis(mesh))
    return verifyServerMessage(op, function, mesh, position.getInt());
  MeshAxisAttr axis = mesh ? getPipelineAxis(mesh) : MeshAxisAttr();
  ArrayRef<StringAttr> names = point.getAxes().getNames();
  if (!axis || names.size() != 1 || names[0].getValue() != axis.getName())
    return op->emitOpError() << point.getAxes()
                             << " is not the pipeline axis of the module's "
                                "only mesh (P9)";
  auto peer = static_cast<int64_t>(point.getPeer());
  if (peer < 0 || peer >= axis.getSize() || peer == position.getInt())
    return op->emitOpError()
           << "names the position " << peer << " of " << axis.getSize()
           << " from position " << position.getInt() << " (P9)";
  return success();
}

LogicalResult TransferOp::verify() {
  if (!llvm::is_contained({tiers::device, tiers::host, tiers::nvme}, getTier()))
    return emitOpError("there is no tier \"") << getTier() << "\"";
  return success();
}

} // namespace parplan
