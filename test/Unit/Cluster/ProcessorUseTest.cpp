//===- ProcessorUseTest.cpp - Who uses the processors ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/ProcessorUse.h"
#include "parplan/Support/DiagnosticCodes.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace parplan;

namespace {

TEST(ProcessorUse, IdleAndWaitingForDisksAreNotBusy) {
  auto use = parseProcessorUse("cpu  100 20 30 5000 400 1 2 47 90 0\n"
                               "cpu0 50 10 15 2500 200 1 1 23 45 0\n",
                               100);
  ASSERT_TRUE(use);
  EXPECT_DOUBLE_EQ(use->busySeconds, 2);
  EXPECT_DOUBLE_EQ(use->allSeconds, 56);
}

TEST(ProcessorUse, WhatIsNotOfLinuxIsNoUse) {
  EXPECT_FALSE(parseProcessorUse("", 100));
  EXPECT_FALSE(parseProcessorUse("intr 1 2 3 4 5 6 7 8\n", 100));
  EXPECT_FALSE(parseProcessorUse("cpu  100 20 30\ncpu0 1 2 3 4 5 6 7\n", 100));
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

TEST(ProcessorUse, OwnWorkIsOwn) {
  auto first = getProcessorUse();
  ASSERT_TRUE(first);
  auto getTime = std::chrono::steady_clock::now;
  for (auto start = getTime();
       getTime() - start < std::chrono::milliseconds(50);)
    continue;
  auto last = getProcessorUse();
  ASSERT_TRUE(last);
  EXPECT_GT(last->ownSeconds, first->ownSeconds);
  EXPECT_GE(last->allSeconds, first->allSeconds);
}

} // namespace
