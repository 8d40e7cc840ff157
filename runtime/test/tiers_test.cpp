//===- tiers_test.cpp - Programs that use the host's memory and a disk ----===//

#include "training_fixture.h"

namespace parplan {
namespace runtime {
namespace {

class TiersTest : public TrainingTest {
protected:
  /// The program with its file in a folder of the test.
  std::string tiers(const std::string &options) {
    return program("tiers", "--nvme-dir " + file("disk") + " " + options);
  }
};

TEST_F(TiersTest, TrainAsTheFormulasSay) {
  const Reference model = train(12);
  for (const char *environment :
       {"", "PARPLAN_IO_URING=0 ", "PARPLAN_CHAOS=3 "})
    for (const char *form : {"", "--communicator local "}) {
      unlink(file("saved.safetensors").c_str());
      expectRun(environment + tiers(form + std::string("--steps 12 --save ") +
                                    file("saved.safetensors")));
      expectMetrics(model);
      expectSaved(model);
    }
}

TEST_F(TiersTest, CountsCopiesAndPeaks) {
  expectRun(tiers("--steps 10"));
  // The weights and the bias up; 25 gradients and a flag down; the bias and two
  // states in, and out again.
  const std::string counts = "{\"host_to_device_bytes\":1000,"
                             "\"device_to_host_bytes\":1010,"
                             "\"nvme_read_bytes\":1800,"
                             "\"nvme_write_bytes\":1800}";
  EXPECT_TRUE(metricsHold("\"offload\":{\"per_rank\":[" + counts + "," +
                          counts + "]}"));
  EXPECT_TRUE(metricsHold("\"peak_memory_bytes\":{\"per_rank\":[1188,1188]}"));
  EXPECT_TRUE(
      metricsHold("\"host_peak_memory_bytes\":{\"per_rank\":[4304,4304]}"));
  EXPECT_TRUE(metricsHold("\"nvme_peak_bytes\":{\"per_rank\":[8212,8212]}"))
      << contents(file("metrics.json"));
}

TEST_F(TiersTest, OverflowsLeaveEverythingAsItIs) {
  for (float &value : x)
    value *= 8;
  writeData();
  expectRun("PARPLAN_TEST_SCALED=1 " + tiers("--steps 8"));
  const int64_t skipped = std::stoll(metric("skipped_steps"));
  EXPECT_GT(skipped, 0);
  const std::vector<double> losses = numbers("loss");
  const Reference model = train(8, skipped);
  ASSERT_EQ(losses.size(), 8u);
  for (size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(losses[i], model.losses[i], 1e-5 * model.losses[i]);
}

TEST_F(TiersTest, CheckpointsHoldAllTiers) {
  const std::string checkpoints = "--checkpoint-dir " + file("checkpoints") +
                                  " --save " + file("saved.safetensors") + " ";
  expectRun(tiers(checkpoints + "--steps 4"));
  expectRun(tiers(checkpoints + "--steps 7"));
  expectMetrics(train(7), 4);
  expectRun(program("one", checkpoints + "--steps 9"));
  expectRun(tiers(checkpoints + "--steps 12"));
  expectMetrics(train(12), 9);
  expectSaved(train(12));
}

TEST_F(TiersTest, AResumedRunIsTheUninterruptedOne) {
  expectResumesBitwise("tiers");
}

TEST_F(TiersTest, AFailingDiskLeavesTheLastCheckpointWhole) {
  const std::string checkpoints =
      "--checkpoint-dir " + file("checkpoints") + " ";
  for (const char *form : {"", "--communicator local "}) {
    expectRun("rm -rf " + file("checkpoints"));
    expectFailure(
        "PARPLAN_STORAGE_FAULT=60 " +
            tiers(form + checkpoints + "--steps 100 --checkpoint-every 1"),
        74, "the NVMe tier in");
    EXPECT_TRUE(metricsHold("\"failure\":\"cannot "));
    expectRun(tiers(form + checkpoints + "--steps 12"));
    const size_t first = std::stoul(metric("first_step"));
    EXPECT_GT(first, 2u);
    expectMetrics(train(12), first);
  }
}

TEST_F(TiersTest, RefuseFoldersThatCannotBe) {
  write("taken", "");
  expectFailure(program("tiers", "--nvme-dir " + file("taken/disk")), 73,
                "cannot write to the folder");
  expectFailure(program("tiers", "--nvme-dir="), 64, "takes a folder");
  // A limit on the size of files stands for a full disk.
  expectFailure("trap '' XFSZ; ulimit -f 8; " + tiers("--communicator local"),
                74, "no room for 12288 bytes of the NVMe tier");
}

TEST_F(TiersTest, LeaveNothingBehind) {
  expectRun(program("tiers", "--steps 2"));
  EXPECT_EQ(run("ls " + file("nvme")).output, "");
}

TEST_F(TiersTest, NothingIsAllocatedDuringSteps) { expectSteadyHeap("tiers"); }

} // namespace
} // namespace runtime
} // namespace parplan
