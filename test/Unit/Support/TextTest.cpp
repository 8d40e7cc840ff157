//===- TextTest.cpp - Escaping, matching and printing ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Text.h"

#include <gtest/gtest.h>

using namespace parplan;

TEST(Text, sanitizeEscapesWhatTerminalsObey) {
  EXPECT_EQ(sanitize("plain /h.3'\\"), "plain /h.3'\\");
  EXPECT_EQ(sanitize("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(sanitize("\033[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(sanitize(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(sanitize("h\xc3\xa4user"), "h\xc3\xa4user");
  EXPECT_EQ(sanitize("\xe2\x80\xae"), "\\u{202e}");
  EXPECT_EQ(sanitize("\xc2\x9b"), "\\x9b");
}

TEST(Text, sanitizeEscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(sanitize("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(sanitize("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(sanitize("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(sanitize("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Text, sanitizeTwiceIsSanitizeOnce) {
  std::string once = sanitize("a\n\xff\xe2\x80\xae");
  EXPECT_EQ(sanitize(once), once);
}

TEST(Text, quotedNamesCannotEndTheirQuotes) {
  EXPECT_EQ(quoteName("a'b\\"), "'a\\'b\\\\'");
}

TEST(Text, longNamesKeepBothEnds) {
  EXPECT_EQ(escapeName("abcdefghij", 4), "ab...ij");
  EXPECT_EQ(escapeName("abcd", 4), "abcd");
  // A cut never splits a character.
  EXPECT_EQ(escapeName("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 6),
            "\xc3\xa4...\xc3\xa4\xc3\xa4");
  EXPECT_LT(quoteName(std::string(100000, 'x')).size(), 200u);
}

TEST(Text, cStringLiterals) {
  EXPECT_EQ(cStringLiteral("a\"b\\"), R"("a\"b\\")");
  EXPECT_EQ(cStringLiteral("\n1"), R"("\0121")");
  EXPECT_EQ(cStringLiteral("\xff"), R"("\377")");
  EXPECT_EQ(cStringLiteral("?\?="), R"("?\077=")");
}

TEST(Text, globs) {
  struct Case {
    const char *pattern, *name;
    bool matches;
  };
  const Case cases[] = {
      {"*", "", true},
      {"*", "/h.3/mlp", true},
      {"/h.?/mlp", "/h.3/mlp", true},
      {"/h.?/mlp", "/h.13/mlp", false},
      {"*/mlp/*", "/h.3/mlp/MatMul", true},
      {"*mlp", "/h.3/mlp/MatMul", false},
      {"a*b*c", "a-b-b-c", true},
      {"", "a", false},
      {"a", "", false},
      {"a\\*", "a*", true},
      {"a\\*", "ab", false},
      {"x[1]", "x[1]", true},
  };
  for (const Case &test : cases)
    EXPECT_EQ(matchesGlob(test.pattern, test.name), test.matches)
        << test.pattern << " " << test.name;
}

TEST(Text, globsDoNotExplode) {
  std::string pattern, name(2000, 'a');
  for (int i = 0; i < 200; ++i)
    pattern += "a*";
  EXPECT_FALSE(matchesGlob(pattern + "b", name));
}

TEST(Text, editDistances) {
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(editDistance("dgx-h100", "dgx-h010"), 1u);
  EXPECT_EQ(editDistance("ABC", "abc"), 0u);
}

TEST(Text, suggestionsAreNearAndInOrder) {
  std::vector<std::string> names = {"dgx-h200", "dgx-h100", "host"};
  EXPECT_EQ(suggest("dgx-h10", names),
            "did you mean 'dgx-h100' or 'dgx-h200'?");
  EXPECT_EQ(suggest("hots", names), "did you mean 'host'?");
  EXPECT_EQ(suggest("completely-else", names), "");
  EXPECT_EQ(suggest("", names), "");
  EXPECT_EQ(suggest(std::string(1000000, 'a'), names), "");
}

TEST(Text, numbersFillTheText) {
  EXPECT_EQ(parseInteger("-12"), -12);
  EXPECT_EQ(parseInteger("12 "), std::nullopt);
  EXPECT_EQ(parseInteger(""), std::nullopt);
  EXPECT_EQ(parseInteger("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parseNumber("1e-3"), 1e-3);
  EXPECT_EQ(parseNumber("nan"), std::nullopt);
  EXPECT_EQ(parseNumber("inf"), std::nullopt);
  EXPECT_EQ(parseNumber("1x"), std::nullopt);
}

TEST(Text, byteSizes) {
  EXPECT_EQ(parseByteSize("4096"), 4096);
  EXPECT_EQ(parseByteSize("8K"), 8192);
  EXPECT_EQ(parseByteSize("8k"), 8192);
  EXPECT_EQ(parseByteSize("1.5G"), int64_t{3} << 29);
  EXPECT_EQ(parseByteSize("2T"), int64_t{2} << 40);
  for (const char *bad : {"", "K", "-1", "+1", "1.", ".5G", "1P", "8 K", "1e3",
                          "99999999T", "1.0000000000000000G", "nan"})
    EXPECT_EQ(parseByteSize(bad), std::nullopt) << bad;
}

TEST(Text, printedByteSizesReadBack) {
  EXPECT_EQ(printByteSize(8192), "8K");
  EXPECT_EQ(printByteSize(1537), "1537");
  EXPECT_EQ(printByteSize(0), "0");
  EXPECT_EQ(printByteSize(int64_t{4} << 30), "4G");
}

TEST(Text, quantitiesForPeople) {
  EXPECT_EQ(formatBytes(512), "512 B");
  EXPECT_EQ(formatBytes(1536), "1.50 KiB");
  EXPECT_EQ(formatBytes(int64_t{3} << 29), "1.50 GiB");
  EXPECT_EQ(formatSeconds(0), "0.00 s");
  EXPECT_EQ(formatSeconds(0.00125), "1.25 ms");
  EXPECT_EQ(formatSeconds(3e-6), "3.00 us");
}

TEST(Text, splittingJoiningTrimming) {
  EXPECT_EQ(splitText("a,,b", ',').size(), 3u);
  EXPECT_EQ(splitText("", ',').size(), 1u);
  EXPECT_EQ(joinText({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(trimText(" \ta b\n"), "a b");
  EXPECT_EQ(trimText("  "), "");
}

TEST(Text, changesOfTimeHaveASign) {
  EXPECT_EQ(formatSecondsChange(0.00125), "+1.25 ms");
  EXPECT_EQ(formatSecondsChange(-3e-6), "-3.00 us");
}

TEST(Text, columnsAreApartWhateverTheirTexts) {
  EXPECT_EQ(padText("ab", 4), "ab  ");
  EXPECT_EQ(padText("abcd", 4), "abcd ");
}
