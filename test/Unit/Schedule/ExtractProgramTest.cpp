//===- ExtractProgramTest.cpp - Which ranks of a program do the same ------===//

#include "passes/Schedule/ExtractProgram.h"

#include "dialects/exec/ExecOps.h"
#include "parplan/Simulator/Simulator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace parplan;

namespace {

/// Of two replicas of four tensor-parallel ranks, with some more statements.
/// Those that use arrays get their types.
Program extract(llvm::ArrayRef<std::string> statements, int events = 0) {
  const std::string types = " : <16xf32>, <16xf32>";
  auto usesArrays = [](llvm::StringRef statement) {
    return statement.contains('%');
  };
  std::string end = std::to_string(llvm::count_if(statements, usesArrays)),
              text = R"(
    exec.program @main mesh <["dp0"=2 data, "tp0"=4 tensor]> arena 128 events )" +
                     std::to_string(events) + R"( {
      exec.communicator @ranks <"tp0">
      exec.communicator @all <"dp0", "tp0">
      %x = exec.buffer input at 0 live -1 to )" +
                     end + R"( block <"x" dims [16 over <> stride 1]> : <16xf32>
      %y = exec.buffer output at 64 live 0 to )" +
                     end + R"( block <"y" dims [16 over <> stride 1]> : <16xf32>
)";
  for (const std::string &statement : statements)
    text += statement + (usesArrays(statement) ? types : "") + "\n";
  text += "}";
  MLIRContext context;
  context.loadDialect<exec::ExecDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return {};
  Program program = extractProgram(*module->getOps<exec::ProgramOp>().begin());
  EXPECT_EQ(verifyProgram(program), std::nullopt);
  EXPECT_EQ(findDeadlock(program), std::nullopt);
  return program;
}

using Ranks = std::vector<int64_t>;

TEST(ExtractProgram, AllRanksRunOneWithoutDifferences) {
  Program program =
      extract({"exec.collective broadcast @ranks root 2 %x into %y count 16 "
               "bytes 64"});
  EXPECT_TRUE(program.isSameForAllRanks());
}

TEST(ExtractProgram, RanksDifferInTheirPlaceInAnExchange) {
  Program program =
      extract({"exec.exchange @ranks %x into %y send [1, 2, 3, 0] "
               "receive [3, 0, 1, 2] count 16 bytes 64"});
  ASSERT_EQ(program.programs.size(), 1u);
  EXPECT_EQ(program.programs[0].peerLists,
            std::vector<Ranks>({{1, 2, 3, 0}, {3, 0, 1, 2}}));
  EXPECT_EQ(program.classOf, Ranks({0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(ExtractProgram, RanksDifferWhereOneOfThemCopies) {
  Program program = extract({"exec.copy %x at 0 [1] into %y at 0 [1] extents "
                             "[16] only <2 of @ranks>"});
  ASSERT_EQ(program.classes.size(), 2u);
  EXPECT_EQ(program.classOf, Ranks({0, 0, 1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(program.classes[0].leftOut, Ranks({0}));
  EXPECT_EQ(program.classes[1].leftOut, Ranks());
}

TEST(ExtractProgram, PlacesOfAxesThatTwoShareCountWhole) {
  Program program = extract(
      {"exec.copy %x at 0 [1] into %y at 0 [1] extents [16] only <2 of @ranks>",
       "exec.copy %x at 0 [1] into %y at 0 [1] extents [16] only <0 of @all>"});
  // One for each of all eight.
  ASSERT_EQ(program.classes.size(), 8u);
  EXPECT_EQ(program.classOf, Ranks({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(program.classes[0].leftOut, Ranks({0}));
  EXPECT_EQ(program.classes[1].leftOut, Ranks({0, 1}));
  EXPECT_EQ(program.classes[6].leftOut, Ranks({1}));
}

TEST(ExtractProgram, EqualExchangesHaveOneListOfPeers) {
  std::string swap = "exec.exchange @ranks %x into %y send [1, 0, 3, 2] "
                     "receive [1, 0, 3, 2] count 16 bytes 64";
  Program program = extract({swap, swap});
  ASSERT_EQ(program.programs.size(), 1u);
  EXPECT_EQ(program.programs[0].peerLists, std::vector<Ranks>({{1, 0, 3, 2}}));
  // Both are calls of their own.
  std::vector<int> groups;
  for (const ProgramStatement &each : program.programs[0].statements)
    groups.push_back(each.group);
  EXPECT_EQ(groups, std::vector<int>({0, 0, 1, 1}));
}

TEST(ExtractProgram, WhatSomeRanksDoOthersLeaveOut) {
  Program program = extract(
      {"exec.exchange @ranks %x into %y send [0, 2, 3, 1] receive [0, 3, 1, "
       "2] count 16 bytes 64",
       "exec.record 0 on communication", "exec.wait 0 on compute",
       "exec.copy %x at 0 [1] into %y at 0 [1] extents [16] only <1 of "
       "@ranks>"},
      /*events=*/1);
  // A send, a receive, and a copy for the block that stays; two events.
  ASSERT_EQ(program.classes.size(), 4u);
  EXPECT_EQ(program.classes[0].leftOut, Ranks({0, 1, 5}));
  EXPECT_EQ(program.classes[1].leftOut, Ranks({2}));
  EXPECT_EQ(program.classes[2].leftOut, Ranks({2, 5}));
}

} // namespace
