//===- IssuedStatements.cpp - What a rank runs, in its order --------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "lib/Simulator/IssuedStatements.h"

#include <map>

using namespace parplan;

void parplan::forEachIssued(
    const Program &program, const RankClass &rankClass,
    llvm::function_ref<void(const IssuedStatement &)> visit) {
  std::map<int, int64_t> lastRecord;
  std::array<int, ProgramStream::count> openGroup;
  openGroup.fill(-1);
  auto leftOut = rankClass.leftOut.begin();
  int64_t index = -1;
  for (const ProgramStatement &statement :
       program.getProgram(rankClass).statements) {
    ++index;
    if (leftOut != rankClass.leftOut.end() && *leftOut == index) {
      ++leftOut;
      continue;
    }
    int &group = openGroup[static_cast<size_t>(statement.stream)];
    bool joins = statement.group != -1 && statement.group == group;
    group = statement.group;
    int64_t record = -1;
    if (statement.kind == StatementKind::record)
      lastRecord[statement.event] = index;
    else if (statement.kind == StatementKind::wait)
      record = lastRecord.at(statement.event);
    visit({statement, index, joins, record});
  }
}
