//===- Program.cpp - What ranks do, as a plain value ----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Simulator/Program.h"

#include "lib/Simulator/Issue.h"

#include <algorithm>
#include <map>

using namespace parplan;

int64_t Program::getFirstRank(size_t rankClass) const {
  auto number = static_cast<int64_t>(rankClass);
  return std::find(classOf.begin(), classOf.end(), number) - classOf.begin();
}

void parplan::forEachIssue(
    const Program &program, const RankClass &rankClass,
    llvm::function_ref<void(const ProgramStatement &, const Issue &)> visit) {
  std::map<int, int64_t> lastRecord;
  std::array<int, ProgramStream::count> openGroup;
  openGroup.fill(-1);
  const std::vector<ProgramStatement> &statements =
      program.programs[static_cast<size_t>(rankClass.program)].statements;
  auto leftOut = rankClass.leftOut.begin();
  for (size_t i = 0; i < statements.size(); ++i) {
    if (leftOut != rankClass.leftOut.end() &&
        *leftOut == static_cast<int64_t>(i)) {
      ++leftOut;
      continue;
    }
    const ProgramStatement &statement = statements[i];
    int &group = openGroup[static_cast<size_t>(statement.stream)];
    Issue issue = {static_cast<int64_t>(i),
                   statement.group != -1 && statement.group == group};
    group = statement.group;
    if (statement.kind == StatementKind::record)
      lastRecord[statement.event] = issue.statement;
    else if (statement.kind == StatementKind::wait)
      issue.record = lastRecord.at(statement.event);
    visit(statement, issue);
  }
}
