//===- worker_progress_test.cpp - Who may go on ---------------------------===//

#include "application_log.h"
#include "worker_progress.h"

#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

namespace parplan {
namespace runtime {
namespace {

/// Applies pushes of workers with random speeds; `applied(worker, foreign)` is
/// told how many pushes of others came between an answer and the push.
template <typename Applied>
void simulate(int workers, int64_t staleness, int64_t steps, unsigned seed,
              Applied applied) {
  std::mt19937 generator(seed);
  std::exponential_distribution<double> length;
  std::vector<double> ready(static_cast<size_t>(workers));
  for (double &time : ready)
    time = 0.5 + length(generator);
  WorkerProgress progress(workers, staleness, steps, /*first=*/7);
  double now = 0;
  while (!progress.isDone()) {
    int next = -1;
    for (int worker = 0; worker < workers; ++worker)
      if (progress.computes(worker) &&
          (next < 0 || ready[worker] < ready[next]))
        next = worker;
    ASSERT_GE(next, 0) << "all wait for each other";
    now = ready[next];
    applied(progress, next);
    progress.apply(next);
    for (int worker = 0; worker < workers; ++worker)
      if (progress.mayHaveAnswer(worker)) {
        progress.answer(worker);
        ready[worker] = now + 0.5 + 2 * length(generator);
      }
  }
  EXPECT_EQ(progress.version(), 7 + workers * steps);
  for (int worker = 0; worker < workers; ++worker)
    EXPECT_EQ(progress.seen(worker), progress.version());
}

TEST(WorkerProgressTest, PushesAreAtMostAsOldAsTheBoundSays) {
  for (int workers : {2, 4, 8})
    for (int64_t staleness : {0, 1, 2, 4}) {
      int64_t oldest = 0;
      for (unsigned seed = 0; seed < 20; ++seed)
        simulate(workers, staleness, 60, seed,
                 [&](const WorkerProgress &progress, int worker) {
                   oldest = std::max(oldest, progress.version() -
                                                 progress.seen(worker));
                 });
      EXPECT_LE(oldest, (workers - 1) * (2 * staleness + 1));
      EXPECT_GT(oldest, (workers - 1) * staleness);
    }
}

TEST(WorkerProgressTest, NobodyStartsAStepFurtherAheadThanTheBound) {
  for (int64_t staleness : {0, 1, 3})
    simulate(3, staleness, 40, 5,
             [&](const WorkerProgress &progress, int worker) {
               for (int other = 0; other < 3; ++other)
                 EXPECT_GE(progress.finished(other),
                           progress.finished(worker) - staleness);
             });
}

TEST(WorkerProgressTest, EndsSoonAfterTheStepsThatHaveBegun) {
  WorkerProgress progress(2, 1, 100, 0);
  progress.apply(0);
  ASSERT_TRUE(progress.mayHaveAnswer(0));
  progress.answer(0);
  // One worker is in its second step, the other one in its first.
  progress.endSoon();
  EXPECT_EQ(progress.stepCount(), 2);
  progress.apply(0);
  EXPECT_FALSE(progress.mayHaveAnswer(0));
  progress.apply(1);
  EXPECT_TRUE(progress.mayHaveAnswer(1));
  progress.answer(1);
  EXPECT_FALSE(progress.isDone());
  progress.apply(1);
  EXPECT_TRUE(progress.mayHaveAnswer(0));
  EXPECT_TRUE(progress.mayHaveAnswer(1));
  progress.answer(0);
  progress.answer(1);
  EXPECT_TRUE(progress.isDone());
}

TEST(WorkerProgressTest, EndsAfterAStepThatIsYetToBegin) {
  WorkerProgress progress(2, 1, 100, 0);
  progress.apply(0);
  progress.answer(0);
  EXPECT_EQ(progress.begun(), 2);
  progress.endAfter(3);
  EXPECT_EQ(progress.stepCount(), 3);
  // It is no longer put off.
  progress.endAfter(5);
  EXPECT_EQ(progress.stepCount(), 3);
  EXPECT_FALSE(progress.isLast(0));
}

class ApplicationLogTest : public testing::Test {
protected:
  ~ApplicationLogTest() override { unlink(path.c_str()); }
  /// Why a document is refused; empty: it is not.
  std::string refusal(const std::string &text) {
    std::ofstream(path) << text;
    std::string reason;
    log = ApplicationLog();
    return readApplicationLog(path, log, reason) ? "" : reason;
  }
  std::string refusalOf(const std::string &order, const std::string &seen) {
    return refusal("{\"first_step\":4,\"other\":[{\"order\":1}],"
                   "\"parameter_server\":{\"workers\":2,\"order\":" +
                   order + ",\"seen\":" + seen + "},\"loss\":[null]}\n");
  }

  const std::string path =
      "/tmp/parplan-application-log-" + std::to_string(getpid()) + ".json";
  ApplicationLog log;
};

TEST_F(ApplicationLogTest, IsReadFromMetrics) {
  EXPECT_EQ(refusalOf("[[1,0],[1,0]]", "[[0,0],[1,3]]"), "");
  EXPECT_EQ(log.workers, 2);
  EXPECT_EQ(log.firstStep, 4);
  EXPECT_EQ(log.order, (std::vector<int32_t>{1, 0, 1, 0}));
  EXPECT_EQ(log.seen, (std::vector<int64_t>{0, 0, 1, 3}));
}

TEST_F(ApplicationLogTest, IsRefusedWhereNoRunCanHaveIt) {
  EXPECT_EQ(refusal("[]"), "it is no metrics document");
  EXPECT_EQ(refusal("{\"loss\":[1]}"),
            "it is not of a run with an asynchronous parameter server");
  EXPECT_EQ(refusalOf("[[0,1]]", "[[0,0],[1,2]]"),
            "its lists of applications have different lengths");
  EXPECT_EQ(refusalOf("[[0,2]]", "[[0,0]]"),
            "application 1 is of a worker that there is not");
  // A push cannot have seen itself, nor miss the worker's own last one.
  EXPECT_EQ(refusalOf("[[0,1]]", "[[0,2]]"),
            "application 1 has seen what cannot be");
  EXPECT_EQ(refusalOf("[[0,1],[0,1]]", "[[0,0],[0,2]]"),
            "application 2 has seen what cannot be");
  EXPECT_EQ(refusalOf("[[0,1],[0,0]]", "[[0,0],[1,3]]"),
            "its workers have made different numbers of steps");
}

} // namespace
} // namespace runtime
} // namespace parplan
