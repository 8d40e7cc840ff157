//===- pipeline_test.cpp - Programs in stages -----------------------------===//

#include "training_fixture.h"

namespace parplan {
namespace runtime {
namespace {

class PipelineTest : public TrainingTest {};

TEST_F(PipelineTest, TrainsAsTheFormulasSay) {
  const Reference model = train(12);
  for (const char *name : {"pair", "four"})
    for (const char *form : {"", "--communicator local "})
      for (const char *chaos : {"", "PARPLAN_CHAOS=5 "}) {
        unlink(file("saved.safetensors").c_str());
        expectRun(chaos +
                  program(name, form + std::string("--steps 12 --save ") +
                                    file("saved.safetensors")));
        expectMetrics(model);
        expectSaved(model);
      }
}

TEST_F(PipelineTest, CountsWhatEachStageDoes) {
  expectRun(program("pair", "--steps 5"));
  EXPECT_TRUE(metricsHold("\"peak_memory_bytes\":{\"per_rank\":[976,724]}"));
  // Two messages of a micro-batch's products in each direction; the losses and
  // norms that rank 0 is told belong to no step.
  const std::string both = "\"send\":{\"calls\":10,\"bytes\":600},"
                           "\"recv\":{\"calls\":10,\"bytes\":600}}";
  EXPECT_TRUE(metricsHold(
      "\"per_rank\":[{\"all_reduce\":{\"calls\":10,"
      "\"bytes\":80}," +
      both + ",{\"all_reduce\":{\"calls\":10,\"bytes\":80}," + both + "]"))
      << contents(file("metrics.json"));
}

TEST_F(PipelineTest, AllStagesSkipTheSameSteps) { expectSkipsSteps("four"); }

TEST_F(PipelineTest, ResumesOnThisPlanAndOnOthers) {
  const Reference model = train(12);
  const std::string checkpoints = "--checkpoint-dir " + file("checkpoints") +
                                  " --save " + file("saved.safetensors") + " ";
  expectRun(program("four", checkpoints + "--steps 4"));
  expectRun(program("four", checkpoints + "--steps 7"));
  EXPECT_EQ(metric("first_step"), "4");
  expectMetrics(train(7), 4);
  expectRun(program("one", checkpoints + "--steps 9"));
  expectMetrics(train(9), 7);
  expectRun(program("pair", checkpoints + "--steps 12"));
  expectMetrics(model, 9);
  expectSaved(model);
}

TEST_F(PipelineTest, AResumedRunIsTheUninterruptedOne) {
  expectResumesBitwise("four");
}

TEST_F(PipelineTest, RankZeroHearsThatTheLossIsNotFinite) {
  for (const char *form : {"", "--communicator local "})
    expectFailure("PARPLAN_TEST_NAN=1 " + program("pair", form), 65,
                  "rank 0: error: the loss of step 1 is NaN");
}

TEST_F(PipelineTest, ShowsTheLossOfTheLastStage) {
  const Result result =
      run("PARPLAN_PROGRESS=1 " + program("pair", "--steps 6"));
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.output.find("\rstep 6/6  loss"), std::string::npos);
}

TEST_F(PipelineTest, NeedsTheInputsOfAllStages) {
  for (const char *name : {"x", "labels"}) {
    const std::string path = file(std::string("data/") + name + ".npy");
    EXPECT_EQ(std::rename(path.c_str(), (path + ".away").c_str()), 0);
    expectFailure(program("pair", ""), 66, "cannot open");
    EXPECT_EQ(std::rename((path + ".away").c_str(), path.c_str()), 0);
  }
  labels[2] = 9;
  writeData();
  expectFailure(program("pair", ""), 65, "sample 2 has label 9");
  EXPECT_NE(run(file("pair") + " --help").output.find("'labels'"),
            std::string::npos);
}

TEST_F(PipelineTest, ASmallerArenaIsRefused) {
  expectFailure(program("pair", "--arena-bytes 975"), 78,
                "the arena holds 975 bytes, but a buffer ends at byte 976");
}

TEST_F(PipelineTest, NothingIsAllocatedDuringSteps) {
  expectSteadyHeap("pair");
}

} // namespace
} // namespace runtime
} // namespace parplan
