//===- asynchronous_server_test.cpp - Workers at their own pace -----------===//

#include "application_log.h"
#include "training_fixture.h"

#include <set>

namespace parplan {
namespace runtime {
namespace {

constexpr int64_t workers = 3, staleness = 1;

class AsynchronousServerTest : public TrainingTest {
protected:
  /// Runs the program with different delays and gives what it applied.
  ApplicationLog expectLog(const std::string &options,
                           const std::string &environment = "") {
    expectRun(environment + program("free", options));
    ApplicationLog log;
    std::string reason;
    EXPECT_TRUE(readApplicationLog(file("metrics.json"), log, reason))
        << reason;
    return log;
  }
  /// What a run does that applies pushes as the log says. Losses are the means
  /// over the labels of all workers, of the steps that all have made.
  Reference repeat(const ApplicationLog &log) {
    std::vector<Reference> versions = {start()};
    const size_t steps = log.order.size();
    std::vector<size_t> finished(workers);
    std::vector<double> losses(steps), norms(steps), counts(steps);
    for (size_t i = 0; i < log.order.size(); ++i) {
      const int64_t worker = log.order[i];
      const size_t step = finished[worker]++;
      // Each worker has one of the three rows of a micro-batch.
      const Gradients gradients =
          gradientsOf(versions[log.seen[i]], static_cast<int64_t>(step),
                      [&](int64_t row) { return row % 3 == worker; });
      losses[step] += gradients.count * gradients.loss;
      norms[step] += gradients.count * std::sqrt(gradients.squares);
      counts[step] += gradients.count;
      versions.push_back(versions.back());
      update(versions.back(), gradients, static_cast<int64_t>(step),
             static_cast<double>(i + 1));
    }
    Reference model = versions.back();
    const size_t made = *std::min_element(finished.begin(), finished.end());
    for (size_t step = 0; step < made; ++step) {
      model.losses.push_back(losses[step] / counts[step]);
      model.norms.push_back(norms[step] / counts[step]);
    }
    return model;
  }
  std::string saved() { return contents(file("saved.safetensors")); }
  std::string save() { return " --save " + file("saved.safetensors"); }
};

TEST_F(AsynchronousServerTest, DoesWhatItsLogSays) {
  for (const char *form : {"", " --communicator local"})
    for (const char *chaos : {"", "PARPLAN_CHAOS=5 "}) {
      const ApplicationLog log = expectLog("--steps 9" + save() + form, chaos);
      ASSERT_EQ(log.workers, workers);
      ASSERT_EQ(log.order.size(), 9u * workers);
      const Reference model = repeat(log);
      expectMetrics(model);
      expectSaved(model);
    }
}

TEST_F(AsynchronousServerTest, RepeatsAnOrderToTheBit) {
  const std::string form = " --communicator local --steps 12";
  std::set<std::vector<int32_t>> orders;
  for (int slow = 0; slow < workers; ++slow) {
    const ApplicationLog log = expectLog(
        save() + form,
        "PARPLAN_CHAOS=1 PARPLAN_CHAOS_RANK=" + std::to_string(slow) + " ");
    if (!orders.insert(log.order).second)
      continue;
    const std::string losses = metric("loss"), norms = metric("gradient_norm"),
                      weights = saved();
    EXPECT_EQ(
        std::rename(file("metrics.json").c_str(), file("log.json").c_str()), 0);
    for (const char *environment : {"", "PARPLAN_CHAOS=77 "}) {
      const ApplicationLog again = expectLog(
          save() + form + " --replay " + file("log.json"), environment);
      EXPECT_EQ(again.order, log.order);
      EXPECT_EQ(again.seen, log.seen);
      EXPECT_EQ(metric("loss"), losses);
      EXPECT_EQ(metric("gradient_norm"), norms);
      EXPECT_EQ(saved(), weights);
    }
  }
  EXPECT_GE(orders.size(), 2u) << "a slow worker does not fall behind";
}

TEST_F(AsynchronousServerTest, RepeatsBetweenProcessesWhatThreadsDid) {
  const ApplicationLog log =
      expectLog("--communicator local --steps 6" + save(), "PARPLAN_CHAOS=3 ");
  const std::string weights = saved();
  EXPECT_EQ(std::rename(file("metrics.json").c_str(), file("log.json").c_str()),
            0);
  expectLog("--steps 6" + save() + " --replay " + file("log.json"));
  EXPECT_EQ(saved(), weights);
}

TEST_F(AsynchronousServerTest, AFastWorkerGoesAheadAsFarAsTheBound) {
  const ApplicationLog log =
      expectLog("--communicator local --steps 8",
                "PARPLAN_TEST_DELAY=20 PARPLAN_TEST_DELAYED=0 ");
  std::vector<int64_t> finished(workers);
  int64_t ahead = 0;
  for (size_t i = 0; i < log.order.size(); ++i) {
    EXPECT_LE(static_cast<int64_t>(i) - log.seen[i],
              (workers - 1) * (2 * staleness + 1));
    for (int64_t other : finished)
      ahead = std::max(ahead, finished[log.order[i]] - other);
    ++finished[log.order[i]];
  }
  EXPECT_EQ(ahead, staleness);
}

TEST_F(AsynchronousServerTest, CountsEveryApplication) {
  expectRun(program("free", "--steps 5"));
  const std::string worker = "{\"send\":{\"calls\":10,\"bytes\":520},"
                             "\"recv\":{\"calls\":10,\"bytes\":520}}",
                    server = "{\"send\":{\"calls\":15,\"bytes\":780},"
                             "\"recv\":{\"calls\":15,\"bytes\":780}}";
  EXPECT_TRUE(metricsHold("\"per_rank\":[" + worker + "," + worker + "," +
                          worker + "," + server + "," + server + "]"))
      << contents(file("metrics.json"));
  EXPECT_EQ(numbers("step_time_s").size(), 5u);
}

TEST_F(AsynchronousServerTest, WorkersMeetAtCheckpoints) {
  const std::string options =
      "--communicator local --steps 9 --checkpoint-dir " + file("checkpoints") +
      " --checkpoint-every 3" + save();
  const ApplicationLog log = expectLog(options, "PARPLAN_CHAOS=4 ");
  const Reference model = repeat(log);
  expectMetrics(model);
  expectSaved(model);
  for (size_t i = 3 * workers; i < log.seen.size(); ++i)
    EXPECT_GE(log.seen[i], i < 6 * workers ? 3 * workers : 6 * workers);
  // From a checkpoint on it is a run of its own, in the state of the first one.
  const std::string weights = saved();
  EXPECT_EQ(std::rename(file("metrics.json").c_str(), file("log.json").c_str()),
            0);
  EXPECT_EQ(std::system(("rm -r " + file("checkpoints") + "/step-*9").c_str()),
            0);
  expectLog(options);
  EXPECT_EQ(metric("first_step"), "6");
  // The log of the whole run does not begin there.
  EXPECT_EQ(std::system(("rm -r " + file("checkpoints") + "/step-*9").c_str()),
            0);
  expectFailure(program("free", options + " --replay " + file("log.json")), 78,
                "the log begins after step 0, this run after step 6");
  expectLog(options + " --resume none --replay " + file("log.json"));
  EXPECT_EQ(saved(), weights);
}

TEST_F(AsynchronousServerTest, LogsThatDoNotFitAreRefused) {
  expectFailure(program("free", "--replay " + file("none.json")), 66,
                "No such file");
  write("log.json", "{}");
  expectFailure(program("free", "--replay " + file("log.json")), 65,
                "it is not of a run with an asynchronous parameter server");
  write("log.json", "{\"parameter_server\":{\"workers\":1,\"order\":[[0]],"
                    "\"seen\":[[0]]}}");
  expectFailure(program("free", "--replay " + file("log.json")), 78,
                "the log is of 1 workers, the plan of 3");
  write("log.json", "{\"parameter_server\":{\"workers\":3,\"order\":[[0,1]],"
                    "\"seen\":[[0,0]]}}");
  expectFailure(program("free", "--replay " + file("log.json")), 65,
                "its lists of applications have different lengths");
  write("log.json", "{\"first_step\":0,\"parameter_server\":{\"workers\":3,"
                    "\"order\":[[0,1,2],[1,1,0],[2,0,2]],"
                    "\"seen\":[[0,0,0],[2,4,1],[3,6,7]]}}");
  const std::string replay =
      "--communicator local --replay " + file("log.json");
  expectLog(replay + " --steps 3");
  // Fewer steps, where all workers have made as many.
  expectLog(replay + " --steps 1");
  expectFailure(program("free", replay + " --steps 2"), 78,
                "they can have met after step 1 and 3");
  expectFailure(program("free", replay + " --steps 4"), 64,
                "the log ends after step 3; --steps is beyond it");
  expectFailure(program("free", replay + " --steps 3 --checkpoint-dir " +
                                    file("points") + " --checkpoint-every 2"),
                78, "the workers of the log did not meet where those of this");
}

TEST_F(AsynchronousServerTest, AnyWorkersLossCanEndTheRun) {
  for (const char *form : {"", "--communicator local "})
    expectFailure("PARPLAN_TEST_NAN=2 " + program("free", form), 65,
                  "rank 2: error: the loss of step 1 is NaN");
}

TEST_F(AsynchronousServerTest, AFailedRunSaysWhatItDid) {
  for (const char *form : {"", "--communicator local "}) {
    const std::string command =
        program("free", std::string(form) + "--steps 12 ");
    expectFailure(
        "PARPLAN_CHAOS=3 PARPLAN_TEST_NAN=2 PARPLAN_TEST_NAN_STEP=8 " + command,
        65, "rank 2: error: the loss of step 8 is NaN");
    ApplicationLog log;
    std::string reason;
    ASSERT_TRUE(readApplicationLog(file("metrics.json"), log, reason))
        << reason;
    EXPECT_TRUE(log.isOfFailure);
    // Another worker is a step behind at most, and rank 0 has heard what was
    // applied before its own last push.
    const std::vector<double> losses = numbers("loss"),
                              norms = numbers("gradient_norm");
    EXPECT_GE(losses.size(), 4u);
    EXPECT_GE(log.order.size(), 4u * workers);
    const Reference model = repeat(log);
    for (size_t i = 0; i < std::min(losses.size(), model.losses.size()); ++i) {
      EXPECT_NEAR(losses[i], model.losses[i], 2e-6);
      EXPECT_NEAR(norms[i], model.norms[i], 2e-6);
    }
    // What is known is repeated, and the run goes on by itself.
    EXPECT_EQ(
        std::rename(file("metrics.json").c_str(), file("log.json").c_str()), 0);
    expectRun("PARPLAN_CHAOS=9 " + command + " --replay " + file("log.json"));
    ApplicationLog again;
    ASSERT_TRUE(readApplicationLog(file("metrics.json"), again, reason))
        << reason;
    ASSERT_EQ(again.order.size(), 12u * workers);
    again.order.resize(log.order.size());
    again.seen.resize(log.seen.size());
    EXPECT_EQ(again.order, log.order);
    EXPECT_EQ(again.seen, log.seen);
    std::vector<double> repeated = numbers("loss");
    repeated.resize(losses.size());
    EXPECT_EQ(repeated, losses);
  }
}

TEST_F(AsynchronousServerTest, WritesWhatItDidBeforeItMayBeEnded) {
  const auto endless = program("free", "--communicator local --steps 100000"),
             finite = program("free", "--communicator local --steps 300");
  const std::string foreseen = file("metrics.json.foreseen");
  // Continued, as mpirun does before it ends ranks, and left without time.
  Result result = run("PARPLAN_TEST_DELAY=5 timeout -s CONT -k 2 2 " + endless);
  EXPECT_EQ(result.code, 128 + SIGKILL) << result.output;
  ApplicationLog log;
  std::string reason;
  ASSERT_TRUE(readApplicationLog(foreseen, log, reason)) << reason;
  EXPECT_TRUE(log.isOfFailure);
  EXPECT_GT(log.order.size(), 0u);
  // Continued by a user, it goes on to its end.
  result = run("PARPLAN_TEST_DELAY=5 timeout -s CONT 1 " + finite);
  EXPECT_EQ(result.code, 124) << result.output;
  EXPECT_FALSE(metricsHold("failure"));
  EXPECT_EQ(numbers("loss").size(), 300u);
  EXPECT_NE(access(foreseen.c_str(), F_OK), 0);
}

TEST_F(AsynchronousServerTest, EndsWhenItIsAskedTo) {
  const auto state = [&](const std::string &folder, size_t steps) {
    char name[16];
    std::snprintf(name, sizeof name, "%08zu", steps);
    return contents(file(folder) + "/step-" + name + "/state.safetensors");
  };
  const Result result =
      run("PARPLAN_TEST_DELAY=5 timeout -s TERM 1 " +
          program("free", "--communicator local --steps 100000 "
                          "--checkpoint-dir " +
                              file("asked")));
  EXPECT_EQ(result.code, 124) << result.output;
  EXPECT_NE(result.output.find("preempted after step"), std::string::npos)
      << result.output;
  // What was done until then can be repeated.
  const size_t steps = numbers("loss").size();
  ASSERT_GT(steps, 0u);
  EXPECT_EQ(std::rename(file("metrics.json").c_str(), file("log.json").c_str()),
            0);
  expectLog("--communicator local --steps " + std::to_string(steps) +
            " --checkpoint-dir " + file("again") + " --replay " +
            file("log.json"));
  EXPECT_FALSE(state("asked", steps).empty());
  EXPECT_EQ(state("asked", steps), state("again", steps));
}

TEST_F(AsynchronousServerTest, TheMemoryOfManyStepsIsTakenBefore) {
  expectSteadyHeap("free");
}

} // namespace
} // namespace runtime
} // namespace parplan
