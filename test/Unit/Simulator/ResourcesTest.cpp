//===- ResourcesTest.cpp - Memory, counts and order -----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestPrograms.h"
#include "parplan/Support/Json.h"
#include "parplan/Support/Sha256.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

TEST(Resources, peakIsTheHighestEndThatIsTouched) {
  Program program = makeProgram();
  program.programs[0].buffers = {
      {BufferUse::parameter, 0, 100, /*isResident=*/true},
      {BufferUse::activation, 128, 64},
      {BufferUse::workspace, 192, 32},
      {BufferUse::activation, 1024, 512}, // never touched
  };
  program.programs[0].statements = {launch(1, {0, 1}), launch(1, {1, 2})};
  RankPrediction rank = predictResources(program).getRank(3);
  EXPECT_EQ(rank.peakBytes, 224);
  // At the second launch; 28 bytes between buffers count as activations.
  EXPECT_EQ(rank.memory, (MemoryByUse{100, 0, 0, 92, 32}));
}

TEST(Resources, residentBuffersCountWithoutBeingUsed) {
  Program program = makeProgram();
  program.programs[0].buffers = {{BufferUse::parameter, 64, 100, true}};
  RankPrediction rank = predictResources(program).getRank(0);
  EXPECT_EQ(rank.peakBytes, 164);
  EXPECT_EQ(rank.memory, (MemoryByUse{100, 0, 0, 64, 0}));
}

TEST(Resources, buffersThatShareBytesCountOnce) {
  Program program = makeProgram();
  program.programs[0].buffers = {{BufferUse::activation, 0, 100},
                                 {BufferUse::workspace, 0, 100}};
  program.programs[0].statements = {launch(1, {0}), launch(1, {1})};
  RankPrediction rank = predictResources(program).getRank(0);
  EXPECT_EQ(rank.peakBytes, 100);
  // The peak is reached first by the activation.
  EXPECT_EQ(rank.memory, (MemoryByUse{0, 0, 0, 100, 0}));
}

TEST(Resources, emptyProgramNeedsNothing) {
  Prediction prediction = predictResources(makeProgram());
  EXPECT_EQ(prediction.getPeakBytes(), 0);
  EXPECT_TRUE(prediction.getRank(0).communication.empty());
  EXPECT_EQ(prediction.getRank(0).orderDigest, sha256Hex(""));
}

TEST(Resources, callsAndBytesAreCountedPerKind) {
  Program program = makeProgram();
  program.programs[0].statements = {call(CollectiveKind::allReduce, 1, 100),
                                    launch(1),
                                    call(CollectiveKind::allReduce, 0, 20),
                                    call(CollectiveKind::allGather, 1, 3),
                                    message(CollectiveKind::send, 1, 1, 7),
                                    message(CollectiveKind::receive, 1, 1, 7)};
  auto counts = predictResources(program).getRank(0).communication;
  EXPECT_EQ(counts.size(), 4u);
  EXPECT_EQ(counts[CollectiveKind::allReduce], (CommunicationCount{2, 120}));
  EXPECT_EQ(counts[CollectiveKind::allGather], (CommunicationCount{1, 3}));
  EXPECT_EQ(counts[CollectiveKind::send], (CommunicationCount{1, 7}));
  EXPECT_EQ(counts[CollectiveKind::receive], (CommunicationCount{1, 7}));
}

TEST(Resources, orderIsHashedLineByLine) {
  Program program = makeProgram();
  program.programs[0].statements = {call(CollectiveKind::reduceScatter, 2, 100),
                                    launch(1),
                                    message(CollectiveKind::receive, 1, 0, 7)};
  EXPECT_EQ(predictResources(program).getRank(0).orderDigest,
            sha256Hex("reduce_scatter dp0,tp0 100\nrecv tp0 7\n"));
}

TEST(Resources, documentHasOneEntryPerRank) {
  Program program = makeProgram();
  program.programs[0].buffers = {{BufferUse::parameter, 0, 128, true}};
  program.programs[0].statements = {call(CollectiveKind::allToAll, 0, 64)};
  Json document = toJson(predictResources(program));
  EXPECT_EQ(document["peak_memory_bytes"].dump(),
            R"({"max":128,"per_rank":[128,128,128,128],)"
            R"("by_kind":{"parameters":128,"gradients":0,"optimizer":0,)"
            R"("activations":0,"workspace":0}})");
  EXPECT_EQ(document["communication"]["per_rank"].size(), 4u);
  EXPECT_EQ(document["communication"]["per_rank"][3].dump(),
            R"({"all_to_all":{"calls":1,"bytes":64}})");
  EXPECT_EQ(document["communication"]["order_sha256"].size(), 4u);
  EXPECT_EQ(document["offload"]["per_rank"].size(), 4u);
}

TEST(Resources, documentSaysHowFarThePeakIsFromTheLeast) {
  Program program = makeProgram();
  program.programs[0].buffers = {
      {BufferUse::parameter, 0, 100, true},
      {BufferUse::parameter, 0, 64, true, MemoryTier::host}};
  Json without = toJson(predictResources(program));
  EXPECT_FALSE(without["peak_memory_bytes"].contains("gap"));
  program.programs[0].arenaBounds = {80, 64, 0};
  Json document = toJson(predictResources(program));
  EXPECT_EQ(document["peak_memory_bytes"]["lower_bound"], 80);
  EXPECT_EQ(document["peak_memory_bytes"]["gap"], 0.25);
  EXPECT_EQ(document["host_peak_memory_bytes"]["gap"], 0);
}

TEST(Resources, ranksWithTheirOwnProgramsHaveTheirOwnFigures) {
  Program program = makeProgram(4);
  program.programs[2].buffers = {{BufferUse::activation, 0, 50, true}};
  Prediction prediction = predictResources(program);
  EXPECT_EQ(prediction.getRank(1).peakBytes, 0);
  EXPECT_EQ(prediction.getRank(2).peakBytes, 50);
  EXPECT_EQ(prediction.getPeakBytes(), 50);
}

TEST(ResourcesDeathTest, illegalProgramsAreNotSimulated) {
  Program program = makeProgram();
  program.programs[0].statements = {launch(1, {0})};
  EXPECT_EXIT(predictResources(program), testing::ExitedWithCode(70),
              "buffer 0 does not exist");
}

TEST(Resources, tiersHavePeaksOfTheirOwn) {
  using enum MemoryTier;
  Program program = makeProgram();
  program.programs[0].buffers = {
      {BufferUse::activation, 0, 100},
      {BufferUse::parameter, 64, 1000, true, host},
      {BufferUse::optimizer, 4096, 2000, true, nvme},
      {BufferUse::activation, 2048, 512, false, host}, // never touched
  };
  program.programs[0].statements = {
      transfer(host, device, 1000, ProgramStream::upload, {0, 1}),
      transfer(device, host, 100, ProgramStream::download, {0, 1}),
      transfer(host, nvme, 30, ProgramStream::storage, {1, 2}),
      transfer(nvme, host, 7, ProgramStream::storage, {1, 2}),
      transfer(nvme, host, 7, ProgramStream::storage, {1, 2})};
  Prediction prediction = predictResources(program);
  RankPrediction rank = prediction.getRank(0);
  EXPECT_EQ(rank.peakBytes, 100);
  EXPECT_EQ(rank.hostPeakBytes, 1064);
  EXPECT_EQ(rank.nvmePeakBytes, 6096);
  EXPECT_EQ(rank.offload, (OffloadCount{1000, 100, 14, 30}));
  EXPECT_EQ(rank.memory, (MemoryByUse{0, 0, 0, 100, 0}));
  nlohmann::ordered_json document = toJson(prediction);
  EXPECT_EQ(document["host_peak_memory_bytes"]["max"], 1064);
  EXPECT_EQ(document["nvme_peak_bytes"]["per_rank"].size(), 4u);
  EXPECT_EQ(document["offload"]["per_rank"][3]["nvme_read_bytes"], 14);
}

TEST(Resources, whatRanksLeaveOutTheyHoldNothingFor) {
  Program program = makeProgram();
  program.programs[0].buffers = {{BufferUse::activation, 0, 100},
                                 {BufferUse::activation, 100, 50}};
  program.programs[0].statements = {launch(1, {0}), launch(1, {0, 1}),
                                    call(CollectiveKind::allReduce, 2, 8)};
  setClasses(program, {{0, 0, {}}, {0, 0, {1}}}, {0, 1, 1, 1});
  Prediction prediction = predictResources(program);
  EXPECT_EQ(prediction.getRank(0).peakBytes, 150);
  EXPECT_EQ(prediction.getRank(3).peakBytes, 100);
  EXPECT_EQ(prediction.getRank(3).orderDigest,
            prediction.getRank(0).orderDigest);
}

TEST(Resources, callsThatRanksLeaveOutDoNotCount) {
  Program program = makeProgram();
  program.programs[0].statements = {
      call(CollectiveKind::allReduce, 2, 8), launch(1),
      transfer(MemoryTier::host, MemoryTier::device, 100,
               ProgramStream::upload),
      call(CollectiveKind::allReduce, 2, 16)};
  setClasses(program, {{0, 0, {}}, {0, 0, {0, 2}}, {0, 0, {1}}}, {0, 1, 2, 2});
  Prediction prediction = predictResources(program);
  auto count = [&](int64_t rank) {
    return prediction.getRank(rank).communication.at(CollectiveKind::allReduce);
  };
  EXPECT_EQ(count(0), (CommunicationCount{2, 24}));
  EXPECT_EQ(count(1), (CommunicationCount{1, 16}));
  EXPECT_EQ(prediction.getRank(0).offload.hostToDeviceBytes, 100);
  EXPECT_EQ(prediction.getRank(1).offload.hostToDeviceBytes, 0);
  EXPECT_NE(prediction.getRank(0).orderDigest,
            prediction.getRank(1).orderDigest);
  EXPECT_EQ(prediction.getRank(0).orderDigest,
            prediction.getRank(3).orderDigest);
}

TEST(Resources, ranksOfOneClassNeedTheSame) {
  Program program = makeProgram(2);
  setClasses(program, program.classes, {0, 0, 1, 1});
  program.programs[1].buffers = {{BufferUse::activation, 0, 50, true}};
  Prediction prediction = predictResources(program);
  ASSERT_EQ(prediction.ranks.size(), 4u);
  EXPECT_EQ(prediction.getRank(1).peakBytes, 0);
  EXPECT_EQ(prediction.getRank(2).peakBytes, 50);
  EXPECT_EQ(prediction.getRank(3).peakBytes, 50);
}
