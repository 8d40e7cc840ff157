//===- ProcessorUseTest.cpp - Who uses the processors ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/ProcessorUse.h"
#include "parplan/Support/DiagnosticCodes.h"

#include <gtest/gtest.h>

#include <ctime>
#include <sys/wait.h>
#include <unistd.h>

using namespace parplan;

namespace {

bool isAny(int64_t) { return true; }

TEST(ProcessorUse, IdleAndWaitingForDisksAreNotBusy) {
  auto use = parseProcessorUse("cpu  200 40 60 10000 800 2 4 94 180 0\n"
                               "cpu0 100 20 30 5000 400 1 2 47 90 0\n"
                               "cpu1 100 20 30 5000 400 1 2 47 90 0\n"
                               "intr 1 2 3\n",
                               /*ticksPerSecond=*/100, isAny);
  ASSERT_TRUE(use);
  EXPECT_DOUBLE_EQ(use->busySeconds, 4);
  EXPECT_DOUBLE_EQ(use->allSeconds, 112);
}

TEST(ProcessorUse, OnlyOwnProcessorsCount) {
  auto use = parseProcessorUse("cpu  700 0 0 300 0 0 0 0\n"
                               "cpu0 100 0 0 100 0 0 0 0\n"
                               "cpu12 600 0 0 200 0 0 0 0\n",
                               /*ticksPerSecond=*/100,
                               [](int64_t number) { return number == 12; });
  ASSERT_TRUE(use);
  EXPECT_DOUBLE_EQ(use->busySeconds, 6);
  EXPECT_DOUBLE_EQ(use->allSeconds, 8);
}

TEST(ProcessorUse, WhatIsNotOfLinuxIsNoUse) {
  for (const char *text :
       {"", "cpu  1 2 3 4 5 6 7 8\n", "intr 1 2 3\n",
        "cpu  1 2 3 4 5 6 7 8\ncpu0 100 20 30\n", "cpux 1 2 3 4 5 6 7 8\n"})
    EXPECT_FALSE(parseProcessorUse(text, 100, isAny)) << text;
}

TEST(ProcessorUse, OthersHaveWhatIsBusyAndNotOwn) {
  ProcessorUse first = {100, 50, 10}, last = {140, 80, 26};
  EXPECT_DOUBLE_EQ(getShareOfOthers(first, last), (30.0 - 16.0) / 40.0);
  // Ticks may count a little less than a process itself.
  last.ownSeconds = 41;
  EXPECT_EQ(getShareOfOthers(first, last), 0);
  EXPECT_EQ(getShareOfOthers(first, first), 0);
}

TEST(ProcessorUse, OthersThatHadATwentiethAreReported) {
  DiagnosticEngine engine;
  warnOfOthers(0.049, engine);
  EXPECT_TRUE(engine.getDiagnostics().empty());
  warnOfOthers(0.414, engine);
  ASSERT_EQ(engine.getDiagnostics().size(), 1u);
  const Diagnostic &warning = engine.getDiagnostics().front();
  EXPECT_EQ(warning.severity, Severity::warning);
  EXPECT_EQ(warning.code.number, codes::disturbedCalibration.number);
  EXPECT_EQ(warning.message.find("other programs had 41 % of the processors"),
            0u);
  EXPECT_EQ(warning.helps.size(), 1u);
}

/// 50 ms of a processor, however long that takes.
void work() {
  constexpr std::clock_t ticks = CLOCKS_PER_SEC / 20;
  for (std::clock_t start = std::clock(); std::clock() - start < ticks;)
    continue;
}

TEST(ProcessorUse, OwnWorkAndThatOfChildrenIsOwn) {
  auto first = getProcessorUse();
  ASSERT_TRUE(first);
  work();
  auto second = getProcessorUse();
  ASSERT_TRUE(second);
  EXPECT_GT(second->ownSeconds, first->ownSeconds);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // As ranks are: the child of a child.
    if (pid_t rank = fork(); rank > 0)
      waitpid(rank, nullptr, 0);
    else
      work();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  auto third = getProcessorUse();
  ASSERT_TRUE(third);
  EXPECT_GT(third->ownSeconds, second->ownSeconds + 0.01);
}

} // namespace
