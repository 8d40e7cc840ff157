//===- VerifyProgramTest.cpp - Programs that cannot be simulated ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestPrograms.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

std::string verify(std::vector<ProgramStatement> statements) {
  Program program = makeProgram();
  program.ranks[0].statements = std::move(statements);
  return verifyProgram(program).value_or("");
}

} // namespace

TEST(VerifyProgram, legalProgramsPass) {
  EXPECT_EQ(verify({launch(1), record(0, 0), wait(0, 1),
                    call(CollectiveKind::allReduce, 0, 8)}),
            "");
}

TEST(VerifyProgram, everyFaultIsNamed) {
  EXPECT_EQ(verify({launch(1, {}, 7)}),
            "rank 0: statement 0: stream 7 does not exist");
  EXPECT_EQ(verify({launch(1), launch(1, {0})}),
            "rank 0: statement 1: buffer 0 does not exist");
  EXPECT_EQ(verify({call(CollectiveKind::allReduce, 3, 8)}),
            "rank 0: statement 0: communicator 3 does not exist");
  EXPECT_EQ(verify({call(CollectiveKind::allReduce, 0, -8)}),
            "rank 0: statement 0: -8 bytes");
  EXPECT_EQ(verify({message(CollectiveKind::send, 0, 2, 8)}),
            "rank 0: statement 0: peer 2 of send");
  EXPECT_EQ(verify({message(CollectiveKind::allReduce, 0, 1, 8)}),
            "rank 0: statement 0: peer 1 of all_reduce");
  EXPECT_EQ(verify({wait(0, 1), record(0, 0)}),
            "rank 0: statement 0: event 0 is not recorded yet");
  ProgramStatement grouped = launch(1);
  grouped.group = 0;
  EXPECT_EQ(verify({grouped}),
            "rank 0: statement 0: only communication is grouped");
}

TEST(VerifyProgram, structureIsChecked) {
  Program program = makeProgram();
  program.communicators[1].axes = {1, 1};
  EXPECT_EQ(verifyProgram(program),
            "communicator 1: axis 1 is repeated or none of the mesh");
  program = makeProgram();
  program.communicators[0].axes = {};
  EXPECT_EQ(verifyProgram(program), "communicator 0: has one rank");
  program = makeProgram(3);
  EXPECT_EQ(verifyProgram(program), "3 programs for 4 ranks");
  program = makeProgram();
  program.ranks[0].buffers = {{BufferUse::activation, -8, 8}};
  EXPECT_EQ(verifyProgram(program),
            "rank 0: buffer 0 starts or ends below zero");
}

TEST(VerifyProgram, everyRankRunsOneOfThePrograms) {
  Program program = makeProgram(2);
  program.programOf = {0, 0, 1};
  EXPECT_EQ(verifyProgram(program), "3 ranks with a program, of 4");
  program.programOf = {0, 0, 1, 2};
  EXPECT_EQ(verifyProgram(program), "program 2 does not exist");
  program.programOf = {0, 0, 0, 0};
  EXPECT_EQ(verifyProgram(program), "program 1 is of no rank");
  program.programOf = {0, 0, 1, 1};
  EXPECT_EQ(verifyProgram(program), std::nullopt);
}
