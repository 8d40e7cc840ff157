//===- TransferLowering.cpp - Messages and copies between tiers -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Origins.h"
#include "passes/Schedule/Placement.h"

#include "dialects/parplan/ParplanOps.h"

using namespace mlir;

namespace parplan {

/// True where a message stands with the next op, and nothing has come between.
template <typename Answer, typename Message>
static bool isGrouped(Message message) {
  auto answer = dyn_cast_if_present<Answer>(message->getNextNode());
  return message.getWithNext() && answer &&
         answer.getPeer() == message.getPeer();
}

template <typename Statement, typename Answer, typename Message>
static void addMessage(Message op, Value buffer, Placement &placement) {
  exec::BufferType type = exec::getBufferType(buffer);
  Operation *origins[] = {op};
  setOrigins(
      placement.getStatements().create<Statement>(
          op->getLoc(),
          placement
              .getCommunicator(op.getAxes(), exec::StreamKind::point_to_point)
              .getValue(),
          op.getPeer(), buffer, type.getElementCount(), type.getByteSize(),
          isGrouped<Answer>(op)),
      origins);
}

LogicalResult lowerMessage(Operation *op, Placement &placement) {
  if (auto send = dyn_cast<SendOp>(op))
    addMessage<exec::SendOp, ReceiveOp>(send, placement.lookup(send.getInput()),
                                        placement);
  else if (auto receive = dyn_cast<ReceiveOp>(op))
    addMessage<exec::ReceiveOp, SendOp>(
        receive, placement.define(receive.getResult()), placement);
  return success();
}

bool isIssuedWithNext(Operation *statement) {
  return statement->hasAttr(StringRef("with_next"));
}

exec::Tier getRestingTier(Operation *parameter) {
  auto name = parameter->getAttrOfType<StringAttr>(attributes::tier);
  std::optional<exec::Tier> tier =
      name ? exec::symbolizeTier(name.getValue()) : std::nullopt;
  return tier.value_or(exec::Tier::device);
}

LogicalResult lowerTransfer(TransferOp op, Placement &placement) {
  Value from = placement.lookup(op.getInput());
  std::optional<exec::Tier> tier = exec::symbolizeTier(op.getTier());
  if (!tier)
    return op.emitOpError("names no tier");
  if (exec::getTier(from) == *tier) {
    placement.map(op.getResult(), from);
    return success();
  }
  placement.setTier(*tier);
  Value to = placement.define(op.getResult());
  placement.setTier(exec::Tier::device);
  copyBuffer(op.getLoc(), from, to, placement);
  return success();
}

} // namespace parplan
