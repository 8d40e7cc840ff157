//===- DeadlockTest.cpp - Statements that wait in a circle ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestPrograms.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Ranks 0 and 2 differ on dp0, as 1 and 3 do.
Program makeMessages(const std::vector<ProgramStatement> &first,
                     const std::vector<ProgramStatement> &second) {
  Program program = makeProgram(4);
  for (size_t rank = 0; rank < 4; ++rank)
    program.programs[rank].statements = rank < 2 ? first : second;
  return program;
}

} // namespace

TEST(Deadlock, messagesInOneOrderComeThrough) {
  using enum CollectiveKind;
  EXPECT_EQ(findDeadlock(makeMessages(
                {message(send, 0, 1, 8), message(receive, 0, 1, 8)},
                {message(receive, 0, 0, 8), message(send, 0, 0, 8)})),
            std::nullopt);
}

TEST(Deadlock, bothReceiveFirst) {
  using enum CollectiveKind;
  EXPECT_EQ(findDeadlock(makeMessages(
                {message(receive, 0, 1, 8), message(send, 0, 1, 8)},
                {message(receive, 0, 0, 8), message(send, 0, 0, 8)})),
            "rank 0 in recv over dp0 (statement 0), rank 1 in recv over dp0 "
            "(statement 0), rank 2 in recv over dp0 (statement 0), rank 3 in "
            "recv over dp0 (statement 0)");
}

TEST(Deadlock, groupsAreIssuedTogether) {
  using enum CollectiveKind;
  EXPECT_EQ(findDeadlock(makeMessages(
                {message(receive, 0, 1, 8, 0), message(send, 0, 1, 8, 0)},
                {message(receive, 0, 0, 8, 0), message(send, 0, 0, 8, 0)})),
            std::nullopt);
}

TEST(Deadlock, anEventOfAnotherStreamKeepsACallBack) {
  using enum CollectiveKind;
  ProgramStatement late = call(allReduce, 2, 8);
  // The message of the second position waits for a call of all ranks, the call
  // of the first position for the message.
  ProgramStatement out = message(send, 0, 1, 8);
  ProgramStatement in = message(receive, 0, 0, 8);
  out.stream = in.stream = ProgramStream::pointToPoint;
  std::vector<ProgramStatement> second = {
      late, record(0, 1), wait(0, ProgramStream::pointToPoint), in};
  EXPECT_EQ(findDeadlock(makeMessages({late, out}, second)), std::nullopt);
  EXPECT_TRUE(findDeadlock(makeMessages(
      {out, record(0, ProgramStream::pointToPoint), wait(0, 1), late},
      second)));
}

TEST(Deadlock, whatHoldsTheIssueKeepsOtherStreamsBack) {
  using enum CollectiveKind;
  ProgramStatement out = message(send, 0, 1, 8), in = message(receive, 0, 0, 8);
  out.stream = in.stream = ProgramStream::pointToPoint;
  ProgramStatement meeting = call(allReduce, 2, 8);
  ProgramStatement held = launch(1, {}, ProgramStream::compute);
  // A kernel of the second position waits for the message, which the first one
  // sends behind the call in which both meet.
  auto getSecond = [&] {
    return std::vector<ProgramStatement>{
        in, record(0, ProgramStream::pointToPoint),
        wait(0, ProgramStream::compute), held, meeting};
  };
  std::vector<ProgramStatement> first = {
      meeting, record(0, 1), wait(0, ProgramStream::pointToPoint), out};
  EXPECT_EQ(findDeadlock(makeMessages(first, getSecond())), std::nullopt);
  held.holdsIssue = true;
  EXPECT_TRUE(findDeadlock(makeMessages(first, getSecond())));
}

TEST(Deadlock, aLaunchEndsAGroup) {
  using enum CollectiveKind;
  auto getRank = [](int64_t peer) {
    return std::vector<ProgramStatement>{
        message(receive, 0, peer, 8, 0),
        launch(1, {}, ProgramStream::communication),
        message(send, 0, peer, 8, 0)};
  };
  EXPECT_TRUE(findDeadlock(makeMessages(getRank(1), getRank(0))));
}

TEST(Deadlock, aWaitIsForTheLastRecordBeforeIt) {
  using enum CollectiveKind;
  ProgramStatement out = message(send, 0, 1, 8), in = message(receive, 0, 0, 8);
  out.stream = in.stream = ProgramStream::pointToPoint;
  ProgramStatement meeting = call(allReduce, 2, 8);
  // The first position's call waits for what is recorded before its message,
  // or behind it; the message waits for the other's call.
  std::vector<ProgramStatement> second = {
      meeting, record(0, 1), wait(0, ProgramStream::pointToPoint), in};
  ProgramStatement before = record(0, ProgramStream::pointToPoint);
  EXPECT_EQ(findDeadlock(makeMessages(
                {before, wait(0, 1), meeting, out, before}, second)),
            std::nullopt);
  EXPECT_EQ(
      findDeadlock(makeMessages(
          {before, wait(0, 1), out, before, wait(0, 1), meeting}, second)),
      "rank 0 in send over dp0 (statement 2), rank 1 in send over dp0 "
      "(statement 2), rank 2 in all_reduce over dp0,tp0 (statement 0), "
      "rank 3 in all_reduce over dp0,tp0 (statement 0)");
}

TEST(Deadlock, membersOfAnExchangeHaveTheirOwnPeers) {
  using enum CollectiveKind;
  // Both ranks of a tensor-parallel group swap their blocks.
  Program program = makeProgram();
  setClasses(program, {{0, 0, {}}, {0, 0, {}}}, {0, 1, 0, 1});
  ProgramStatement out = message(send, 1, -1, 8, /*group=*/0),
                   in = message(receive, 1, -1, 8, /*group=*/0);
  out.peerList = in.peerList = 0;
  program.programs[0].statements = {out, in, launch(1)};
  program.programs[0].peerLists = {{1, 0}};
  EXPECT_EQ(verifyProgram(program), std::nullopt);
  EXPECT_EQ(findDeadlock(program), std::nullopt);
  // One of them does not call.
  program.classes[1].leftOut = {0, 1};
  EXPECT_EQ(findDeadlock(program), "rank 0 in send over tp0 (statement 0)");
}

TEST(Deadlock, oneRankStandsForItsClass) {
  using enum CollectiveKind;
  // Of two positions, on two ranks each, that meet within and across them.
  Program program = makeProgram(2);
  setClasses(program, program.classes, {0, 0, 1, 1});
  auto set = [&](bool isLate) {
    ProgramStatement out = message(send, 0, 1, 8),
                     in = message(receive, 0, 0, 8);
    program.programs[0].statements = {call(allReduce, 1, 8), out,
                                      call(allReduce, 2, 8)};
    program.programs[1].statements = {in, call(allReduce, 2, 8),
                                      call(allReduce, 1, 8)};
    if (isLate)
      std::swap(program.programs[1].statements[0],
                program.programs[1].statements[1]);
  };
  set(/*isLate=*/false);
  EXPECT_EQ(verifyProgram(program), std::nullopt);
  EXPECT_EQ(findDeadlock(program), std::nullopt);
  set(/*isLate=*/true);
  EXPECT_EQ(findDeadlock(program),
            "rank 0 in send over dp0 (statement 1), rank 2 in all_reduce over "
            "dp0,tp0 (statement 0)");
}
