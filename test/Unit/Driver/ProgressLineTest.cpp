//===- ProgressLineTest.cpp - How far a search is, on one line ------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/ProgressLine.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

TEST(FormatProgress, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(formatProgress({}, 1.5),
            "planning 1.50 s: no plan yet, 0 explored");
  EXPECT_EQ(formatProgress({0.002, 0, 3}, 2),
            "planning 2.00 s: best 2.00 ms, 3 explored");
}

TEST(FormatProgress, RoundsTheGapUp) {
  EXPECT_EQ(formatProgress({0.9, 0.89998, 3}, 2),
            "planning 2.00 s: best 900.00 ms, bound 899.98 ms, gap 0.01 %, "
            "3 explored");
}

std::string print(bool isTerminal, std::chrono::milliseconds interval) {
  char *text = nullptr;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  {
    ProgressLine line(stream, isTerminal, interval);
    line.show({2, 0, 1});
    line.show({1, 0, 2});
  }
  fclose(stream);
  std::string printed(text, size);
  free(text);
  return printed;
}

TEST(ProgressLine, IsWrittenAgainOnATerminalAndGoesAtTheEnd) {
  std::string text = print(/*isTerminal=*/true, std::chrono::milliseconds(0));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 3);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\x1b[K"));
}

TEST(ProgressLine, IsOneOfManyElsewhere) {
  std::string text = print(/*isTerminal=*/false, std::chrono::milliseconds(0));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(ProgressLine, IsNotShownForWhatIsShort) {
  EXPECT_EQ(print(/*isTerminal=*/true, std::chrono::hours(1)), "");
}

} // namespace
