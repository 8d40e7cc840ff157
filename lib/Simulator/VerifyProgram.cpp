//===- VerifyProgram.cpp - What is wrong with a program -------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Simulator/Simulator.h"
#include "parplan/Support/Check.h"

#include <set>

using namespace parplan;

namespace {

using Fault = std::optional<std::string>;

Fault verifyCommunicator(const ProgramCommunicator &communicator,
                         const Mesh &mesh) {
  std::set<int> seen;
  for (int axis : communicator.axes)
    if (axis < 0 || axis >= mesh.getAxisCount() || !seen.insert(axis).second)
      return concat("axis ", axis, " is repeated or none of the mesh");
  if (mesh.getWidth(communicator.axes) < 2)
    return "has one rank";
  return std::nullopt;
}

Fault verifyCall(const ProgramStatement &statement, const Program &program) {
  if (statement.communicator < 0 ||
      statement.communicator >= static_cast<int>(program.communicators.size()))
    return concat("communicator ", statement.communicator, " does not exist");
  if (statement.bytes < 0)
    return concat(statement.bytes, " bytes");
  bool hasPeer = statement.collective == CollectiveKind::send ||
                 statement.collective == CollectiveKind::receive;
  int64_t size = program.mesh.getWidth(
      program.communicators[static_cast<size_t>(statement.communicator)].axes);
  if (hasPeer ? statement.peer < 0 || statement.peer >= size
              : statement.peer != -1)
    return concat("peer ", statement.peer, " of ",
                  stringifyCollectiveKind(statement.collective));
  return std::nullopt;
}

Fault verifyRank(const RankProgram &rank, const Program &program) {
  for (size_t i = 0; i < rank.buffers.size(); ++i)
    if (rank.buffers[i].offset < 0 || rank.buffers[i].bytes < 0)
      return concat("buffer ", i, " starts or ends below zero");
  std::set<int> recorded;
  for (size_t i = 0; i < rank.statements.size(); ++i) {
    const ProgramStatement &statement = rank.statements[i];
    auto fail = [&](const std::string &what) {
      return concat("statement ", i, ": ", what);
    };
    if (statement.stream < 0 || statement.stream >= ProgramStream::count)
      return fail(concat("stream ", statement.stream, " does not exist"));
    for (int buffer : statement.buffers)
      if (buffer < 0 || buffer >= static_cast<int>(rank.buffers.size()))
        return fail(concat("buffer ", buffer, " does not exist"));
    if (statement.group != -1 && statement.kind != StatementKind::communicate)
      return fail("only communication is grouped");
    switch (statement.kind) {
    case StatementKind::launch:
      break;
    case StatementKind::transfer:
      if ((statement.from == MemoryTier::host) ==
          (statement.to == MemoryTier::host))
        return fail("copies between tiers without the host");
      break;
    case StatementKind::communicate:
      if (Fault fault = verifyCall(statement, program))
        return fail(*fault);
      break;
    case StatementKind::record:
      recorded.insert(statement.event);
      break;
    case StatementKind::wait:
      if (!recorded.count(statement.event))
        return fail(concat("event ", statement.event, " is not recorded yet"));
      break;
    }
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string> parplan::verifyProgram(const Program &program) {
  for (size_t i = 0; i < program.communicators.size(); ++i)
    if (Fault fault =
            verifyCommunicator(program.communicators[i], program.mesh))
      return concat("communicator ", i, ": ", *fault);
  auto ranks = static_cast<size_t>(program.mesh.getRankCount());
  if (!program.programOf.empty()) {
    if (program.programOf.size() != ranks)
      return concat(program.programOf.size(), " ranks with a program, of ",
                    ranks);
    for (size_t each = 0; each < program.ranks.size(); ++each)
      if (program.getFirstRank(each) == static_cast<int64_t>(ranks))
        return concat("program ", each, " is of no rank");
    for (int64_t each : program.programOf)
      if (each < 0 || each >= static_cast<int64_t>(program.ranks.size()))
        return concat("program ", each, " does not exist");
  } else if (!program.isSameForAllRanks() && program.ranks.size() != ranks)
    return concat(program.ranks.size(), " programs for ",
                  program.mesh.getRankCount(), " ranks");
  for (size_t rank = 0; rank < program.ranks.size(); ++rank)
    if (Fault fault = verifyRank(program.ranks[rank], program))
      return concat("rank ", program.getFirstRank(rank), ": ", *fault);
  return std::nullopt;
}
