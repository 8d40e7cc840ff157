//===- Communication.cpp - What leaves a rank or a tier -------------------===//
//
// Part of parplan. E13, E14 and E18 to E20 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/ExecOps.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

static CommunicatorOp findCommunicator(Operation *op, FlatSymbolRefAttr name) {
  return SymbolTable::lookupNearestSymbolFrom<CommunicatorOp>(op, name);
}

//===----------------------------------------------------------------------===//
// Tiers
//===----------------------------------------------------------------------===//

Tier exec::getTier(Value operand) {
  BufferOp buffer = getBuffer(getArrays(operand).front());
  return buffer ? buffer.getTier() : Tier::device;
}

StreamKind exec::getLaunchStream(Operation *statement) {
  for (Value operand : statement->getOperands())
    if (getTier(operand) == Tier::host)
      return StreamKind::host;
  return StreamKind::compute;
}

LogicalResult exec::verifyTiers(Operation *statement) {
  if (isa<TransferOp>(statement))
    return success();
  bool communicates =
      isa<CollectiveOp, ExchangeOp, SendOp, ReceiveOp>(statement);
  std::optional<Tier> common;
  for (Value operand : statement->getOperands()) {
    Tier tier = getTier(operand);
    if (tier == Tier::nvme || (communicates && tier != Tier::device))
      return statement->emitOpError("takes a buffer on ")
             << stringifyTier(tier) << " (E20)";
    if (common && *common != tier)
      return statement->emitOpError("takes buffers on device and host (E20)");
    common = tier;
  }
  return success();
}

StreamKind TransferOp::getStreamKind() {
  Tier from = exec::getTier(getInput()), to = exec::getTier(getOutput());
  if (from == Tier::nvme || to == Tier::nvme)
    return StreamKind::storage;
  return to == Tier::device ? StreamKind::upload : StreamKind::download;
}

LogicalResult TransferOp::verifyGeometry() {
  Tier from = exec::getTier(getInput()), to = exec::getTier(getOutput());
  if ((from == Tier::host) == (to == Tier::host))
    return emitOpError("copies from ")
           << stringifyTier(from) << " to " << stringifyTier(to) << " (E19)";
  BufferType input = getBufferType(getInput()),
             output = getBufferType(getOutput());
  if (input.getElementType() != output.getElementType() ||
      input.getElementCount() != output.getElementCount())
    return emitOpError("copies ") << input << " into " << output << " (E19)";
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

StreamKind CollectiveOp::getStreamKind() { return StreamKind::communication; }
exec::MemberAttr CollectiveOp::getRootMember() {
  if (!getRoot())
    return {};
  return exec::MemberAttr::get(getContext(), *getRoot(), getCommunicatorAttr());
}

Ranks CollectiveOp::getReaders() {
  exec::MemberAttr root = getRootMember();
  return root && getForm() == CollectiveForm::broadcast
             ? Ranks::getOnly(root, *this)
             : Ranks();
}

Ranks CollectiveOp::getWriters() {
  exec::MemberAttr root = getRootMember();
  if (!root)
    return {};
  Ranks ofRoot = Ranks::getOnly(root, *this);
  if (getForm() == CollectiveForm::reduce)
    return ofRoot;
  bool isInPlace =
      isSameArray(getArrayOn(root, getInput()), getArrayOn(root, getOutput()));
  return isInPlace ? ofRoot.getOthers() : Ranks();
}

StreamKind ExchangeOp::getStreamKind() { return StreamKind::communication; }

LogicalResult CollectiveOp::verifyGeometry() {
  CommunicatorOp communicator = findCommunicator(*this, getCommunicatorAttr());
  if (!communicator)
    return emitOpError("names no communicator: ")
           << getCommunicatorAttr() << " (E13)";
  int64_t ranks = communicator.getSize();
  int64_t count = getCount();
  int64_t inCount = count, outCount = count, counted = count;
  switch (getForm()) {
  case CollectiveForm::all_reduce:
  case CollectiveForm::broadcast:
  case CollectiveForm::reduce:
    break;
  case CollectiveForm::all_gather:
    counted = outCount = count * ranks;
    break;
  case CollectiveForm::reduce_scatter:
    counted = inCount = count * ranks;
    break;
  case CollectiveForm::all_to_all:
    counted = inCount = outCount = count * ranks;
    break;
  }
  BufferType input = getBufferType(getInput()),
             output = getBufferType(getOutput());
  if (input.getElementType() != output.getElementType())
    return emitOpError("mixes ") << input.getElementType() << " and "
                                 << output.getElementType() << " (E13)";
  if (input.getElementCount() != inCount ||
      output.getElementCount() != outCount)
    return emitOpError("of ")
           << count << " elements over " << ranks << " ranks moves "
           << input.getElementCount() << " into " << output.getElementCount()
           << " (E13)";
  int64_t bytes = counted * getStorageBytes(input.getElementType());
  if (static_cast<int64_t>(getBytes()) != bytes)
    return emitOpError("counts ")
           << getBytes() << " bytes, not " << bytes << " (E13)";
  bool reduces = getForm() == CollectiveForm::all_reduce ||
                 getForm() == CollectiveForm::reduce_scatter ||
                 getForm() == CollectiveForm::reduce;
  if (reduces != getKind().has_value())
    return emitOpError(reduces ? "needs a kind (E13)" : "has a kind (E13)");
  bool rooted = getForm() == CollectiveForm::broadcast ||
                getForm() == CollectiveForm::reduce;
  if (rooted != getRoot().has_value())
    return emitOpError(rooted ? "needs a root (E13)" : "has a root (E13)");
  if (rooted && static_cast<int64_t>(*getRoot()) >= ranks)
    return emitOpError("has the root ")
           << *getRoot() << " of " << ranks << " ranks (E13)";
  return success();
}

LogicalResult ExchangeOp::verifyGeometry() {
  CommunicatorOp communicator = findCommunicator(*this, getCommunicatorAttr());
  if (!communicator)
    return emitOpError("names no communicator: ")
           << getCommunicatorAttr() << " (E14)";
  int64_t ranks = communicator.getSize();
  ArrayRef<int64_t> to = getSendTo(), from = getReceiveFrom();
  bool inverse = static_cast<int64_t>(to.size()) == ranks &&
                 static_cast<int64_t>(from.size()) == ranks;
  for (int64_t position = 0; inverse && position < ranks; ++position)
    inverse = to[position] >= 0 && to[position] < ranks &&
              from[to[position]] == position;
  if (!inverse)
    return emitOpError("needs inverse permutations of ")
           << ranks << " positions (E14)";
  BufferType input = getBufferType(getInput()),
             output = getBufferType(getOutput());
  int64_t count = getCount();
  if (input.getElementType() != output.getElementType() ||
      input.getElementCount() != count || output.getElementCount() != count ||
      static_cast<int64_t>(getBytes()) != input.getByteSize())
    return emitOpError("count, bytes and buffers disagree (E14)");
  return success();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

StreamKind SendOp::getStreamKind() { return StreamKind::point_to_point; }
unsigned SendOp::getWrittenCount() { return 0; }
StreamKind ReceiveOp::getStreamKind() { return StreamKind::point_to_point; }
unsigned ReceiveOp::getWrittenCount() { return 1; }

/// True if a message between the same two ranks, the other way, stands behind
/// it, and none behind that is of its group.
template <typename Message> static bool isAnsweredByNext(Message op) {
  using Answer =
      std::conditional_t<std::is_same_v<Message, SendOp>, ReceiveOp, SendOp>;
  // Views may stand between.
  Operation *next = op->getNextNode();
  while (next && isa<ViewOp>(next))
    next = next->getNextNode();
  auto answer = dyn_cast_if_present<Answer>(next);
  return answer && !answer.getWithNext() &&
         answer.getCommunicator() == op.getCommunicator() &&
         answer.getPeer() == op.getPeer();
}

template <typename Message> static LogicalResult verifyMessage(Message op) {
  CommunicatorOp communicator = findCommunicator(op, op.getCommunicatorAttr());
  if (!communicator)
    return op.emitOpError("names no communicator: ")
           << op.getCommunicatorAttr() << " (E18)";
  int64_t peer = op.getPeer();
  auto program = cast<ProgramOp>(op->getParentOp());
  // Whoever has pushed.
  bool isAnyWorker = peer == -1 && program.getStaleness();
  if (!isAnyWorker && (peer < 0 || peer >= communicator.getSize()))
    return op.emitOpError("has the peer ")
           << peer << " of " << communicator.getSize() << " ranks (E18)";
  FailureOr<AxisList> axes =
      communicator.getAxes().resolve(program.getMesh().getMesh());
  std::optional<int> pipeline = program.getPipelineAxis();
  if (program.getPosition() == op.getPeer() && pipeline && succeeded(axes) &&
      *axes == AxisList{*pipeline})
    return op.emitOpError("is to its own position (E18)");
  const Mesh &mesh = program.getMesh().getMesh();
  if (mesh.getServerCount() > 0 && !isAnyWorker &&
      program.getPositionOf(peer) ==
          static_cast<int64_t>(program.getPosition().value_or(0)))
    return op.emitOpError("is between two ")
           << (mesh.isServer(peer) ? "servers" : "workers") << " (E18)";
  BufferType type = getBufferType(op.getBuffer());
  if (type.getElementCount() != static_cast<int64_t>(op.getCount()) ||
      type.getByteSize() != static_cast<int64_t>(op.getBytes()))
    return op.emitOpError("count, bytes and buffer disagree (E18)");
  if (op.getWithNext() && !isAnsweredByNext(op))
    return op.emitOpError("stands with a statement that is not its way back "
                          "(E18)");
  return success();
}

LogicalResult SendOp::verifyGeometry() { return verifyMessage(*this); }
LogicalResult ReceiveOp::verifyGeometry() { return verifyMessage(*this); }
