//===- server_test.cpp - Programs with a parameter server -----------------===//

#include "training_fixture.h"

namespace parplan {
namespace runtime {
namespace {

class ServerTest : public TrainingTest {};

TEST_F(ServerTest, TrainsAsTheFormulasSay) {
  const Reference model = train(12);
  for (const char *form : {"", "--communicator local "})
    for (const char *chaos : {"", "PARPLAN_CHAOS=5 "}) {
      unlink(file("saved.safetensors").c_str());
      expectRun(chaos +
                program("servers", form + std::string("--steps 12 --save ") +
                                       file("saved.safetensors")));
      expectMetrics(model);
      expectSaved(model);
    }
}

TEST_F(ServerTest, GivesTheBitsOfDataParallelTraining) {
  const std::string options = "--communicator local --steps 9 --save ";
  expectRun(program("two", options + file("two.safetensors")));
  const std::string losses = metric("loss");
  expectRun(program("servers", options + file("servers.safetensors")));
  EXPECT_EQ(metric("loss"), losses);
  EXPECT_EQ(contents(file("two.safetensors")),
            contents(file("servers.safetensors")));
}

TEST_F(ServerTest, CountsWorkersAndServers) {
  expectRun(program("servers", "--steps 5"));
  EXPECT_TRUE(metricsHold("\"ranks\":4,"));
  EXPECT_TRUE(
      metricsHold("\"peak_memory_bytes\":{\"per_rank\":[1296,1296,680,680]}"));
  // 13 of 26 elements to and from each server; sums of losses and of squares.
  const std::string worker = "{\"all_reduce\":{\"calls\":5,\"bytes\":40},"
                             "\"send\":{\"calls\":10,\"bytes\":520},"
                             "\"recv\":{\"calls\":10,\"bytes\":520}}";
  EXPECT_TRUE(metricsHold("\"per_rank\":[" + worker + "," + worker + "," +
                          worker + "," + worker + "]"))
      << contents(file("metrics.json"));
  EXPECT_FALSE(metricsHold("parameter_server"));
}

TEST_F(ServerTest, WorkersSkipTheStepsThatServersSkip) {
  expectSkipsSteps("servers");
}

TEST_F(ServerTest, ResumesOnThisPlanAndOnOthers) {
  const Reference model = train(12);
  const std::string checkpoints = "--checkpoint-dir " + file("checkpoints") +
                                  " --save " + file("saved.safetensors") + " ";
  expectRun(program("servers", checkpoints + "--steps 4"));
  expectRun(program("one", checkpoints + "--steps 7"));
  EXPECT_EQ(metric("first_step"), "4");
  expectMetrics(train(7), 4);
  expectRun(program("servers", checkpoints + "--steps 9"));
  expectMetrics(train(9), 7);
  expectRun(program("four", checkpoints + "--steps 12"));
  expectMetrics(model, 9);
  expectSaved(model);
}

TEST_F(ServerTest, AResumedRunIsTheUninterruptedOne) {
  expectResumesBitwise("servers");
}

TEST_F(ServerTest, NothingIsAllocatedDuringSteps) {
  expectSteadyHeap("servers");
}

TEST_F(ServerTest, NothingCanBeRepeated) {
  expectFailure(program("servers", "--replay " + file("metrics.json")), 2,
                "--replay is for programs with an asynchronous parameter "
                "server; every run of this one is the same");
}

} // namespace
} // namespace runtime
} // namespace parplan
