//===- Accesses.cpp - What statements touch, and on which ranks -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/ExecOps.h"

#include "parplan/Support/Check.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

Ranks Ranks::getOnly(exec::MemberAttr member, Operation *user) {
  auto communicator = SymbolTable::lookupNearestSymbolFrom<CommunicatorOp>(
      user, member.getCommunicator());
  Ranks ranks;
  ranks.communicator = member.getCommunicator().getAttr();
  ranks.members.resize(communicator ? communicator.getSize() : 0);
  if (member.getPosition() < static_cast<int64_t>(ranks.members.size()))
    ranks.members.set(member.getPosition());
  return ranks;
}

Ranks Ranks::getOthers() const {
  PARPLAN_CHECK(!areAll(), "there are no others than all ranks");
  Ranks others = *this;
  others.members.flip();
  return others;
}

Ranks Ranks::intersect(const Ranks &other) const {
  if (areAll() || other.areAll())
    return areAll() ? other : *this;
  PARPLAN_CHECK(communicator == other.communicator,
                "E24: members of two communicators");
  Ranks both = *this;
  both.members &= other.members;
  return both;
}

bool Ranks::meet(const Ranks &other) const {
  if (areNone() || other.areNone())
    return false;
  return communicator != other.communicator || areAll() ||
         members.anyCommon(other.members);
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

SmallVector<Value, 2> exec::getArrays(Value operand) {
  if (auto choice = operand.getDefiningOp<ChoiceOp>())
    return {choice.getOwn(), choice.getOther()};
  return {operand};
}

Value exec::getArrayOn(exec::MemberAttr member, Value operand) {
  auto choice = operand.getDefiningOp<ChoiceOp>();
  if (!choice ||
      choice.getMember().getCommunicator() != member.getCommunicator())
    return operand;
  return choice.getMember() == member ? choice.getOwn() : choice.getOther();
}

LogicalResult ChoiceOp::verify() {
  for (Value array : {getOwn(), getOther()})
    if (!exec::getBuffer(array))
      return emitOpError("is of no exec.buffer (E24)");
  if (getTier(getOwn()) != getTier(getOther()))
    return emitOpError("is between ")
           << stringifyTier(getTier(getOwn())) << " and "
           << stringifyTier(getTier(getOther())) << " (E24)";
  auto communicator = SymbolTable::lookupNearestSymbolFrom<CommunicatorOp>(
      *this, getMember().getCommunicator());
  if (!communicator)
    return emitOpError("names no communicator: ")
           << getMember().getCommunicator() << " (E24)";
  int64_t position = getMember().getPosition();
  if (position < 0 || position >= communicator.getSize())
    return emitOpError("is for member ")
           << position << " of " << communicator.getSize() << " (E24)";
  return success();
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

LogicalResult exec::verifyChoices(Operation *op) {
  auto verify = [&](OperandRange operands,
                    const Ranks &ranks) -> LogicalResult {
    for (Value operand : operands) {
      auto choice = operand.getDefiningOp<ChoiceOp>();
      if (!choice)
        continue;
      if (isa<TransferOp>(op))
        return op->emitOpError("takes a choice (E24)");
      if (!ranks.areAll() && ranks.getCommunicator() !=
                                 choice.getMember().getCommunicator().getAttr())
        return op->emitOpError("is of one member of ")
               << FlatSymbolRefAttr::get(ranks.getCommunicator())
               << " and takes a choice for one of "
               << choice.getMember().getCommunicator() << " (E24)";
    }
    return success();
  };
  auto statement = cast<StatementOpInterface>(op);
  if (failed(verify(statement.getReadBuffers(), statement.getReaders())))
    return failure();
  return verify(statement.getWrittenBuffers(), statement.getWriters());
}

static bool isWorkspace(Value array) {
  BufferOp buffer = getBuffer(array);
  return buffer && buffer.getKind() == BufferKind::workspace;
}

SmallVector<Access> exec::getAccesses(StatementOpInterface statement) {
  SmallVector<Access> accesses;
  auto add = [&](Value operand, const Ranks &ranks, bool writes) {
    auto choice = operand.getDefiningOp<ChoiceOp>();
    if (!choice) {
      accesses.push_back({operand, ranks, writes});
      return;
    }
    Ranks member = Ranks::getOnly(choice.getMember(), statement);
    std::pair<Value, Ranks> arrays[] = {
        {choice.getOwn(), member.intersect(ranks)},
        {choice.getOther(), member.getOthers().intersect(ranks)}};
    for (auto &[array, touching] : arrays)
      if (!touching.areNone())
        accesses.push_back({array, touching, writes});
  };
  Ranks readers = statement.getReaders(), writers = statement.getWriters();
  for (Value operand : statement.getReadBuffers())
    add(operand, readers, /*writes=*/false);
  if (statement.readsWritten())
    for (Value operand : statement.getWrittenBuffers())
      if (!isWorkspace(operand))
        add(operand, writers, /*writes=*/false);
  for (Value operand : statement.getWrittenBuffers())
    add(operand, writers, /*writes=*/true);
  return accesses;
}
