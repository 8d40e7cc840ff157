//===- CheckTest.cpp - Guards end the process with 70 ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Check.h"

#include <cstdio>
#include <gtest/gtest.h>

using namespace parplan;

TEST(Check, holdingConditionsCostNothing) {
  int evaluations = 0;
  auto message = [&] { return ++evaluations; };
  PARPLAN_CHECK(true, message());
  EXPECT_EQ(evaluations, 0);
}

TEST(CheckDeathTest, printsPlaceMessageAndConditionAndEndsWith70) {
  EXPECT_EXIT(PARPLAN_CHECK(1 > 2, "sizes ", 3, " and ", 4),
              testing::ExitedWithCode(70),
              "internal error \\[E9001\\] .*CheckTest.cpp:[0-9]+: sizes 3 and "
              "4 \\(1 > 2\\)");
}

TEST(CheckDeathTest, messageMayBeLeftOut) {
  EXPECT_EXIT(PARPLAN_CHECK(false), testing::ExitedWithCode(70),
              "CheckTest.cpp:[0-9]+: \\(false\\)");
}

TEST(CheckDeathTest, unreachableCodeEndsWith70) {
  EXPECT_EXIT(PARPLAN_UNREACHABLE("kind ", 7), testing::ExitedWithCode(70),
              "CheckTest.cpp:[0-9]+: kind 7");
}

TEST(CheckDeathTest, handlerReplacesTheMessageButNotTheEnd) {
  EXPECT_EXIT(
      {
        setCheckHandler([](const char *, int, const std::string &message) {
          std::fprintf(stderr, "handled: %s", message.c_str());
        });
        PARPLAN_CHECK(false, "x");
      },
      testing::ExitedWithCode(70), "handled: x");
}

TEST(CheckDeathTest, failingHandlerDoesNotLoop) {
  EXPECT_EXIT(
      {
        setCheckHandler([](const char *, int, const std::string &) {
          PARPLAN_CHECK(false, "in the handler");
        });
        PARPLAN_CHECK(false, "first");
      },
      testing::ExitedWithCode(70), "in the handler");
}
