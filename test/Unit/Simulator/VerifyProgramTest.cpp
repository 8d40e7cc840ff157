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
  program.programs[0].statements = std::move(statements);
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
            "program 0: statement 0: stream 7 does not exist");
  EXPECT_EQ(verify({launch(1), launch(1, {0})}),
            "program 0: statement 1: buffer 0 does not exist");
  EXPECT_EQ(verify({call(CollectiveKind::allReduce, 3, 8)}),
            "program 0: statement 0: communicator 3 does not exist");
  EXPECT_EQ(verify({call(CollectiveKind::allReduce, 0, -8)}),
            "program 0: statement 0: -8 bytes");
  EXPECT_EQ(verify({message(CollectiveKind::send, 0, 2, 8)}),
            "program 0: statement 0: peer 2 of send");
  EXPECT_EQ(verify({message(CollectiveKind::allReduce, 0, 1, 8)}),
            "program 0: statement 0: peer 1 of all_reduce");
  EXPECT_EQ(verify({wait(0, 1), record(0, 0)}),
            "program 0: statement 0: event 0 is not recorded yet");
  ProgramStatement grouped = launch(1);
  grouped.group = 0;
  EXPECT_EQ(verify({grouped}),
            "program 0: statement 0: only communication is grouped");
}

TEST(VerifyProgram, structureIsChecked) {
  Program program = makeProgram();
  program.communicators[1].axes = {1, 1};
  EXPECT_EQ(verifyProgram(program),
            "communicator 1: axis 1 is repeated or none of the mesh");
  program = makeProgram();
  program.communicators[0].axes = {};
  EXPECT_EQ(verifyProgram(program), "communicator 0: has one rank");
  program = makeProgram(4);
  program.classOf.clear();
  EXPECT_EQ(verifyProgram(program), "0 ranks with a class, of 4");
  program = makeProgram();
  program.programs[0].buffers = {{BufferUse::activation, -8, 8}};
  EXPECT_EQ(verifyProgram(program),
            "program 0: buffer 0 starts or ends below zero");
}

TEST(VerifyProgram, everyRankIsOfAClass) {
  Program program = makeProgram(2);
  program.classOf = {0, 0, 1};
  EXPECT_EQ(verifyProgram(program), "3 ranks with a class, of 4");
  program.classOf = {0, 0, 1, 2};
  EXPECT_EQ(verifyProgram(program), "class 2 does not exist");
  program.classOf = {0, 0, 0, 0};
  EXPECT_EQ(verifyProgram(program), "class 1 is of no rank");
  program.classOf = {0, 0, 1, 1};
  EXPECT_EQ(verifyProgram(program), "class 1 begins at rank 2, not 1");
  program.classes[1].firstRank = 2;
  EXPECT_EQ(verifyProgram(program), std::nullopt);
  program.classes[1].program = 2;
  EXPECT_EQ(verifyProgram(program), "class 1: program 2 does not exist");
  program.classes[1].program = 0;
  EXPECT_EQ(verifyProgram(program), "program 1 is of no class");
}

TEST(VerifyProgram, eventsAreNotLeftOut) {
  Program program = makeProgram();
  program.programs[0].statements = {launch(1), record(0, 0), launch(1)};
  auto leaveOut = [&](std::vector<int64_t> statements) {
    program.classes[0].leftOut = std::move(statements);
    return verifyProgram(program).value_or("");
  };
  EXPECT_EQ(leaveOut({0, 2}), "");
  EXPECT_EQ(leaveOut({1}), "class 0: statement 1 of an event is left out");
  EXPECT_EQ(leaveOut({2, 0}), "class 0: statement 0 is left out behind 2 of 3");
  EXPECT_EQ(leaveOut({3}), "class 0: statement 3 is left out behind -1 of 3");
}

TEST(VerifyProgram, listsOfPeersFitTheirGroups) {
  Program program = makeProgram();
  auto verifyWith = [&](std::vector<int64_t> peers, int list) {
    ProgramStatement call = message(CollectiveKind::send, 0, -1, 8);
    call.peerList = list;
    program.programs[0].statements = {call};
    program.programs[0].peerLists = {std::move(peers)};
    return verifyProgram(program).value_or("");
  };
  EXPECT_EQ(verifyWith({1, 0}, 0), "");
  EXPECT_EQ(verifyWith({1, 0}, 1),
            "program 0: statement 0: list 1 of peers of send");
  EXPECT_EQ(verifyWith({1}, 0),
            "program 0: statement 0: 1 peers for 2 members of send");
  EXPECT_EQ(verifyWith({1, 2}, 0),
            "program 0: statement 0: peer 2 of list 0 of send");
  EXPECT_EQ(verifyWith({1, 0}, -2),
            "program 0: statement 0: list -2 of peers of send");
}

TEST(VerifyProgram, onlyMessagesWithoutAPeerHaveAListOfPeers) {
  ProgramStatement out = message(CollectiveKind::send, 0, 1, 8);
  out.peerList = 0;
  EXPECT_EQ(verify({out}), "program 0: statement 0: peer 1 of send");
  ProgramStatement sum = call(CollectiveKind::allReduce, 0, 8);
  sum.peerList = 0;
  EXPECT_EQ(verify({sum}),
            "program 0: statement 0: list 0 of peers of all_reduce");
}
