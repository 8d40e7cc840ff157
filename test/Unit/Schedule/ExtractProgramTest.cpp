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
Program extract(llvm::ArrayRef<std::string> statements) {
  std::string end = std::to_string(statements.size()),
              text = R"(
    exec.program @main mesh <["dp0"=2 data, "tp0"=4 tensor]> arena 128 events 0 {
      exec.communicator @ranks <"tp0">
      exec.communicator @all <"dp0", "tp0">
      %x = exec.buffer input at 0 live -1 to )" +
                     end + R"( block <"x" dims [16 over <> stride 1]> : <16xf32>
      %y = exec.buffer output at 64 live 0 to )" +
                     end + R"( block <"y" dims [16 over <> stride 1]> : <16xf32>
)";
  for (const std::string &statement : statements)
    text += statement + " : <16xf32>, <16xf32>\n";
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
  EXPECT_EQ(program.ranks.size(), 4u);
  EXPECT_EQ(program.programOf, Ranks({0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(ExtractProgram, RanksDifferWhereOneOfThemCopies) {
  Program program = extract({"exec.copy %x at 0 [1] into %y at 0 [1] extents "
                             "[16] only <2 of @ranks>"});
  EXPECT_EQ(program.ranks.size(), 2u);
  EXPECT_EQ(program.programOf, Ranks({0, 0, 1, 0, 0, 0, 1, 0}));
}

TEST(ExtractProgram, PlacesOfAxesThatTwoShareCountWhole) {
  Program program = extract(
      {"exec.copy %x at 0 [1] into %y at 0 [1] extents [16] only <2 of @ranks>",
       "exec.copy %x at 0 [1] into %y at 0 [1] extents [16] only <0 of @all>"});
  // One for each of all eight.
  EXPECT_EQ(program.ranks.size(), 8u);
  EXPECT_TRUE(program.programOf.empty());
}

} // namespace
