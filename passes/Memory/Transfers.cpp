//===- Transfers.cpp - Uploads one ahead of their readers -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/Transfers.h"

#include "passes/Partition/ShardingAccess.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace parplan {

StringRef getTier(Operation *op) {
  auto tier = op->getAttrOfType<StringAttr>(attributes::tier);
  return tier ? tier.getValue() : StringRef(tiers::device);
}

bool isOnDevice(Operation *op) { return getTier(op) == tiers::device; }

TransferOp createTransfer(OpBuilder &builder, Value value, StringRef tier,
                          Operation *reader) {
  auto transfer =
      builder.create<TransferOp>(value.getLoc(), value.getType(), value, tier);
  copyOrigin(reader, transfer);
  if (ShardingAttr sharding = getSharding(value))
    transfer->setAttr(attributes::shardings,
                      builder.getArrayAttr({Attribute(sharding)}));
  if (Operation *maker = value.getDefiningOp())
    if (Attribute global = maker->getAttr(attributes::globalType);
        isa_and_present<TypeAttr>(global))
      transfer->setAttr(attributes::globalType, global);
  return transfer;
}

/// What is in `path` is copied behind `upload`, and read from there.
static void redirect(const Upload &upload, TransferOp transfer,
                     OpBuilder &builder) {
  IRMapping onDevice;
  onDevice.map(upload.original, transfer.getResult());
  for (Operation *op : upload.path)
    builder.clone(*op, onDevice);
  for (OpOperand *use : upload.uses)
    use->set(onDevice.lookup(use->get()));
}

void insertUploads(std::vector<Upload> uploads) {
  llvm::stable_sort(uploads, [](const Upload &left, const Upload &right) {
    return left.firstReader != right.firstReader &&
           left.firstReader->isBeforeInBlock(right.firstReader);
  });
  // Where the upload before is read first.
  Operation *place = nullptr;
  Operation *reader = nullptr;
  for (const Upload &upload : uploads) {
    if (upload.firstReader != reader) {
      place = reader ? reader : upload.firstReader;
      reader = upload.firstReader;
    }
    OpBuilder builder(place);
    if (Operation *maker = upload.value.getDefiningOp();
        maker && !maker->isBeforeInBlock(place))
      builder.setInsertionPointAfter(maker);
    TransferOp transfer =
        createTransfer(builder, upload.value, tiers::device, reader);
    redirect(upload, transfer, builder);
  }
}

} // namespace parplan
