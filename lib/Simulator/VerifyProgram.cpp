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

Fault verifyCall(const ProgramStatement &statement, const RankProgram &own,
                 const Program &program) {
  if (statement.communicator < 0 ||
      statement.communicator >= static_cast<int>(program.communicators.size()))
    return concat("communicator ", statement.communicator, " does not exist");
  if (statement.bytes < 0)
    return concat(statement.bytes, " bytes");
  bool hasPeer = statement.collective == CollectiveKind::send ||
                 statement.collective == CollectiveKind::receive;
  int64_t size = program.mesh.getWidth(
      program.communicators[static_cast<size_t>(statement.communicator)].axes);
  auto fail = [&](const std::string &what) {
    return concat(what, " of ", stringifyCollectiveKind(statement.collective));
  };
  bool isListed = statement.peerList != -1;
  if (isListed  ? statement.peer != -1
      : hasPeer ? statement.peer < 0 || statement.peer >= size
                : statement.peer != -1)
    return fail(concat("peer ", statement.peer));
  if (!isListed)
    return std::nullopt;
  if (!hasPeer || statement.peerList < 0 ||
      statement.peerList >= static_cast<int>(own.peerLists.size()))
    return fail(concat("list ", statement.peerList, " of peers"));
  const std::vector<int64_t> &peers =
      own.peerLists[static_cast<size_t>(statement.peerList)];
  if (static_cast<int64_t>(peers.size()) != size)
    return fail(concat(peers.size(), " peers for ", size, " members"));
  for (int64_t peer : peers)
    if (peer < 0 || peer >= size)
      return fail(concat("peer ", peer, " of list ", statement.peerList));
  return std::nullopt;
}

Fault verifyStatements(const RankProgram &own, const Program &program) {
  for (size_t i = 0; i < own.buffers.size(); ++i)
    if (own.buffers[i].offset < 0 || own.buffers[i].bytes < 0)
      return concat("buffer ", i, " starts or ends below zero");
  std::set<int> recorded;
  for (size_t i = 0; i < own.statements.size(); ++i) {
    const ProgramStatement &statement = own.statements[i];
    auto fail = [&](const std::string &what) {
      return concat("statement ", i, ": ", what);
    };
    if (statement.stream < 0 || statement.stream >= ProgramStream::count)
      return fail(concat("stream ", statement.stream, " does not exist"));
    for (int buffer : statement.buffers)
      if (buffer < 0 || buffer >= static_cast<int>(own.buffers.size()))
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
      if (Fault fault = verifyCall(statement, own, program))
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

Fault verifyClass(const RankClass &rankClass, const Program &program) {
  if (rankClass.program < 0 ||
      rankClass.program >= static_cast<int64_t>(program.programs.size()))
    return concat("program ", rankClass.program, " does not exist");
  const std::vector<ProgramStatement> &statements =
      program.getProgram(rankClass).statements;
  int64_t last = -1;
  for (int64_t each : rankClass.leftOut) {
    if (each <= last || each >= static_cast<int64_t>(statements.size()))
      return concat("statement ", each, " is left out behind ", last, " of ",
                    statements.size());
    StatementKind kind = statements[static_cast<size_t>(each)].kind;
    if (kind == StatementKind::record || kind == StatementKind::wait)
      return concat("statement ", each, " of an event is left out");
    last = each;
  }
  return std::nullopt;
}

/// Every rank is of a class, every class has ranks, and every program classes.
Fault verifyClasses(const Program &program) {
  std::vector<bool> isRun(program.programs.size(), false);
  for (size_t i = 0; i < program.classes.size(); ++i) {
    if (Fault fault = verifyClass(program.classes[i], program))
      return concat("class ", i, ": ", *fault);
    isRun[static_cast<size_t>(program.classes[i].program)] = true;
  }
  for (size_t i = 0; i < isRun.size(); ++i)
    if (!isRun[i])
      return concat("program ", i, " is of no class");
  auto ranks = static_cast<size_t>(program.mesh.getRankCount());
  bool isOne = program.classOf.empty() && program.isSameForAllRanks();
  if (!isOne && program.classOf.size() != ranks)
    return concat(program.classOf.size(), " ranks with a class, of ", ranks);
  std::vector<int64_t> firstRanks(program.classes.size(), isOne ? 0 : -1);
  for (size_t rank = 0; rank < program.classOf.size(); ++rank) {
    int64_t each = program.classOf[rank];
    if (each < 0 || each >= static_cast<int64_t>(firstRanks.size()))
      return concat("class ", each, " does not exist");
    int64_t &first = firstRanks[static_cast<size_t>(each)];
    if (first == -1)
      first = static_cast<int64_t>(rank);
  }
  for (size_t i = 0; i < firstRanks.size(); ++i) {
    if (firstRanks[i] == -1)
      return concat("class ", i, " is of no rank");
    if (program.classes[i].firstRank != firstRanks[i])
      return concat("class ", i, " begins at rank ", firstRanks[i], ", not ",
                    program.classes[i].firstRank);
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string> parplan::verifyProgram(const Program &program) {
  for (size_t i = 0; i < program.communicators.size(); ++i)
    if (Fault fault =
            verifyCommunicator(program.communicators[i], program.mesh))
      return concat("communicator ", i, ": ", *fault);
  for (size_t i = 0; i < program.programs.size(); ++i)
    if (Fault fault = verifyStatements(program.programs[i], program))
      return concat("program ", i, ": ", *fault);
  return verifyClasses(program);
}
