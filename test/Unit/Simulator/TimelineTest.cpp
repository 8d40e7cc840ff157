//===- TimelineTest.cpp - When statements run -----------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestPrograms.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t giga = 1000000000;

Prediction run(const Program &program,
               std::vector<TimelineSpan> *timeline = nullptr) {
  std::optional<Prediction> prediction =
      simulate(program, makeCosts(), timeline);
  EXPECT_TRUE(prediction);
  return prediction.value_or(Prediction());
}

/// Two groups of two send one buffer each over a bus of 1 GB/s.
constexpr double gatherSeconds = 2;

} // namespace

TEST(Timeline, aStreamRunsInOrder) {
  Program program = makeProgram();
  program.programs[0].statements = {launch(1), launch(2), launch(3)};
  std::vector<TimelineSpan> timeline;
  Prediction prediction = run(program, &timeline);
  EXPECT_DOUBLE_EQ(prediction.stepSeconds, 6);
  EXPECT_DOUBLE_EQ(prediction.breakdown.compute, 6);
  ASSERT_EQ(timeline.size(), 3u);
  EXPECT_DOUBLE_EQ(timeline[2].startSeconds, 3);
  EXPECT_DOUBLE_EQ(timeline[2].endSeconds, 6);
}

TEST(Timeline, communicationBetweenEventsIsExposed) {
  Program program = makeProgram();
  program.programs[0].statements = {
      launch(1),    record(0, 0),
      wait(0, 1),   call(CollectiveKind::allGather, 1, giga),
      record(1, 1), wait(1, 0),
      launch(1)};
  Prediction prediction = run(program);
  EXPECT_DOUBLE_EQ(prediction.stepSeconds, 2 + gatherSeconds);
  EXPECT_DOUBLE_EQ(prediction.breakdown.compute, 2);
  EXPECT_DOUBLE_EQ(prediction.breakdown.tensorCommunication, gatherSeconds);
  EXPECT_DOUBLE_EQ(prediction.breakdown.dataCommunication, 0);
  EXPECT_DOUBLE_EQ(prediction.breakdown.idle, 0);
}

TEST(Timeline, communicationOverDataAxesAndOthersIsOfData) {
  Program program = makeProgram();
  program.programs[0].statements = {call(CollectiveKind::allGather, 2, giga)};
  Prediction prediction = run(program);
  EXPECT_GT(prediction.stepSeconds, 0);
  EXPECT_DOUBLE_EQ(prediction.breakdown.dataCommunication,
                   prediction.stepSeconds);
  EXPECT_DOUBLE_EQ(prediction.breakdown.tensorCommunication, 0);
}

TEST(Timeline, communicationBesideComputationIsNotFree) {
  Program program = makeProgram();
  program.programs[0].statements = {call(CollectiveKind::allGather, 0, giga),
                                    launch(3)};
  Prediction prediction = run(program);
  EXPECT_DOUBLE_EQ(prediction.breakdown.compute, 3);
  EXPECT_DOUBLE_EQ(prediction.breakdown.dataCommunication,
                   0.25 * gatherSeconds);
  EXPECT_DOUBLE_EQ(prediction.stepSeconds, 3 + 0.25 * gatherSeconds);
}

TEST(Timeline, whatComputationDoesNotCoverIsExposed) {
  Program program = makeProgram();
  program.programs[0].statements = {call(CollectiveKind::allGather, 0, giga),
                                    launch(0.5)};
  EXPECT_DOUBLE_EQ(run(program).stepSeconds, gatherSeconds + 0.25 * 0.5);
}

TEST(Timeline, aWaitIsForTheLastRecordBeforeIt) {
  Program program = makeProgram();
  program.programs[0].statements = {launch(1),    record(0, 0),
                                    wait(0, 1),   launch(1),
                                    record(0, 0), launch(1, {}, /*stream=*/1)};
  std::vector<TimelineSpan> timeline;
  run(program, &timeline);
  for (const TimelineSpan &span : timeline)
    if (span.stream == 1) {
      EXPECT_DOUBLE_EQ(span.startSeconds, 1);
    }
}

TEST(Timeline, collectivesStartWhenTheLastMemberArrives) {
  Program program = makeProgram(4);
  for (int rank = 0; rank < 4; ++rank)
    program.programs[static_cast<size_t>(rank)].statements = {
        launch(rank + 1), record(0, 0), wait(0, 1),
        call(CollectiveKind::allGather, /*tp0*/ 1, giga)};
  std::vector<TimelineSpan> timeline;
  Prediction prediction = run(program, &timeline);
  // Ranks 0 and 1 meet at 2 s, ranks 2 and 3 at 4 s.
  EXPECT_DOUBLE_EQ(prediction.stepSeconds, 4 + gatherSeconds);
  for (const TimelineSpan &span : timeline)
    if (span.stream == 1) {
      EXPECT_DOUBLE_EQ(span.startSeconds, span.rank < 2 ? 2 : 4);
    }
}

TEST(Timeline, waitingForOthersIsIdle) {
  Program program = makeProgram(4);
  for (auto &rank : program.programs)
    rank.statements = {launch(1), record(0, 0), wait(0, 1),
                       call(CollectiveKind::allGather, 2, 0)};
  program.programs[3].statements.insert(program.programs[3].statements.begin(),
                                        launch(4));
  // All finish together; the first rank is reported.
  Prediction prediction = run(program);
  EXPECT_DOUBLE_EQ(prediction.stepSeconds, 5);
  EXPECT_DOUBLE_EQ(prediction.breakdown.compute, 1);
  EXPECT_DOUBLE_EQ(prediction.breakdown.idle, 4);
}

TEST(Timeline, whatRanksLeaveOutTakesThemNoTime) {
  Program program = makeProgram();
  program.programs[0].statements = {launch(1), launch(4),
                                    call(CollectiveKind::allGather, 2, 0)};
  program.programs[0].statements[2].stream = 0;
  setClasses(program, {{0, 0, {1}}, {0, 0, {}}}, {0, 0, 0, 1});
  Prediction prediction = run(program);
  EXPECT_DOUBLE_EQ(prediction.stepSeconds, 5);
  EXPECT_DOUBLE_EQ(prediction.breakdown.compute, 1);
}

TEST(Timeline, messagesMeetTheirPeers) {
  Program program = makeProgram(4);
  // In every pair the first sends, the second receives and then computes.
  for (size_t rank = 0; rank < 4; ++rank) {
    bool isFirst = rank % 2 == 0;
    if (isFirst)
      program.programs[rank].statements = {
          message(CollectiveKind::send, 1, /*peer=*/1, giga)};
    else
      program.programs[rank].statements = {
          message(CollectiveKind::receive, 1, /*peer=*/0, giga), record(0, 1),
          wait(0, 0), launch(1)};
  }
  EXPECT_DOUBLE_EQ(run(program).stepSeconds, 4 + 1);
}

TEST(Timeline, unmatchedOrdersAreADeadlock) {
  Program program = makeProgram(4);
  for (size_t rank = 0; rank < 4; ++rank) {
    int64_t peer = rank % 2 == 0 ? 1 : 0;
    program.programs[rank].statements = {
        message(CollectiveKind::send, 1, peer, 8),
        message(CollectiveKind::receive, 1, peer, 8)};
  }
  EXPECT_FALSE(simulate(program, makeCosts()));
}

TEST(Timeline, groupedMessagesAreIssuedTogether) {
  Program program = makeProgram(4);
  for (size_t rank = 0; rank < 4; ++rank) {
    int64_t peer = rank % 2 == 0 ? 1 : 0;
    program.programs[rank].statements = {
        message(CollectiveKind::send, 1, peer, giga, /*group=*/0),
        message(CollectiveKind::receive, 1, peer, giga, /*group=*/0)};
  }
  EXPECT_DOUBLE_EQ(run(program).stepSeconds, 4);
}

TEST(Timeline, aMissingMemberIsADeadlock) {
  Program program = makeProgram(4);
  program.programs[0].statements = {call(CollectiveKind::allReduce, 1, 8)};
  EXPECT_FALSE(simulate(program, makeCosts()));
}

TEST(Timeline, messagesOfAPipelineHaveTheirOwnPart) {
  Program program = makeProgram(4);
  program.mesh =
      Mesh({{"pp0", 2, AxisRole::pipeline}, {"tp0", 2, AxisRole::tensor}});
  for (size_t rank = 0; rank < 4; ++rank) {
    bool isFirst = rank < 2;
    ProgramStatement exchange =
        message(isFirst ? CollectiveKind::send : CollectiveKind::receive, 0,
                isFirst ? 1 : 0, giga);
    exchange.stream = ProgramStream::pointToPoint;
    program.programs[rank].statements = {exchange};
  }
  Prediction prediction = run(program);
  EXPECT_GT(prediction.breakdown.pipelineCommunication, 0);
  EXPECT_EQ(prediction.breakdown.pipelineCommunication, prediction.stepSeconds);
}

TEST(Timeline, workOnTheHostIsOffload) {
  using enum MemoryTier;
  Program program = makeProgram();
  program.programs[0].statements = {
      transfer(device, host, giga, ProgramStream::download),
      record(0, ProgramStream::download), wait(0, ProgramStream::host),
      launch(1, {}, ProgramStream::host)};
  CostModel costs = makeCosts();
  Prediction prediction = run(program);
  EXPECT_DOUBLE_EQ(prediction.breakdown.offload, prediction.stepSeconds);
  EXPECT_DOUBLE_EQ(
      prediction.stepSeconds,
      costs.getHostCopySeconds(giga) +
          costs.getHostOpSeconds(program.programs[0].statements[3].cost));
}
