//===- DimsTest.cpp - Sizes for the symbols of a model ---------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

#include "lib/Import/Sweep/Dims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::importer;
using namespace parplan::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::optional<int64_t> evaluate(std::string_view text,
                                const DimBindings &bindings) {
  std::optional<DimExpression> expression = DimExpression::parse(text);
  return expression ? expression->evaluate(bindings) : std::nullopt;
}

TEST(DimExpression, ReadsWhatExportersWrite) {
  DimBindings bindings = {{"batch", 8}, {"past_length", 3}, {"s0", 5}};
  EXPECT_EQ(evaluate("batch", bindings), 8);
  EXPECT_EQ(evaluate("1024*batch", bindings), 8192);
  EXPECT_EQ(evaluate("past_length + s0", bindings), 8);
  EXPECT_EQ(evaluate("(s0 - 1) * batch // 3", bindings), 10);
  EXPECT_EQ(evaluate("s0 % 2 + 2*3", bindings), 7);
}

TEST(DimExpression, RefusesWhatIsNone) {
  for (const char *text : {"", "a +", "* a", "(a", "a)", "a b", "a$", "-"})
    EXPECT_FALSE(DimExpression::parse(text)) << text;
  EXPECT_FALSE(DimExpression::parse(std::string(500, '(')));
  EXPECT_EQ(evaluate("a // 0", {{"a", 1}}), std::nullopt);
  EXPECT_EQ(evaluate("a * a", {{"a", INT64_MAX}}), std::nullopt);
  EXPECT_EQ(evaluate("unknown", {}), std::nullopt);
}

constexpr const char *dynamic =
    "g (float[batch, length] x, float[batch, 3] z) => (float[batch, length] y) "
    "{ y = Relu(x) }";

TEST(Dims, EverySymbolWithoutSizeIsNamed) {
  Outcome outcome = importText(dynamic);
  EXPECT_THAT(outcome.codes, ElementsAre(1021, 1021));
  EXPECT_EQ(outcome.exitCode, 64);
  EXPECT_THAT(outcome.text, HasSubstr("'batch'"));
  EXPECT_THAT(outcome.text, HasSubstr("--dim length=N"));
  EXPECT_THAT(outcome.text, HasSubstr("--global-batch N"));
}

TEST(Dims, BindingsGiveShapes) {
  ImportOptions options;
  options.dims = {{"batch", 4}, {"length", 7}};
  EXPECT_THAT(importText(dynamic, 20, options).graph,
              HasSubstr("return %0:float[4, 7]"));
  options.dims = {{"length", 7}};
  options.globalBatch = 6;
  EXPECT_THAT(importText(dynamic, 20, options).graph,
              HasSubstr("return %0:float[6, 7]"));
}

TEST(Dims, ModulesOfOtherSamplesAreMadeWhereTheBatchIsSymbolic) {
  ImportOptions options;
  options.dims = {{"batch", 12}, {"length", 7}};
  options.chooseSamples = [](int64_t batch) { return batch / 4; };
  EXPECT_THAT(importText(dynamic, 20, options).graph,
              HasSubstr("return %0:float[3, 7]"));
  options.dims = {};
  EXPECT_THAT(importText("g (float[8, 2] x) => (float[8, 2] y) { y = Relu(x) }",
                         20, options)
                  .graph,
              HasSubstr("return %0:float[8, 2]"));
}

TEST(Dims, UnknownNameIsRefusedWithTheNearest) {
  ImportOptions options;
  options.dims = {{"batch", 4}, {"length", 7}, {"lenght", 7}};
  Outcome outcome = importText(dynamic, 20, options);
  EXPECT_EQ(outcome.code, 1020);
  EXPECT_EQ(outcome.exitCode, 64);
  EXPECT_THAT(outcome.text, HasSubstr("'length'"));
}

TEST(Dims, SizesMustBePositive) {
  for (int64_t size : {int64_t(0), int64_t(-4), INT64_MAX}) {
    ImportOptions options;
    options.dims = {{"batch", size}, {"length", 7}};
    Outcome outcome = importText(dynamic, 20, options);
    EXPECT_EQ(outcome.exitCode, 64) << size;
    EXPECT_EQ(outcome.code, 1010) << size;
  }
}

TEST(Dims, BatchGivenTwiceMustAgree) {
  ImportOptions options;
  options.dims = {{"batch", 4}, {"length", 7}};
  options.globalBatch = 8;
  Outcome outcome = importText(dynamic, 20, options);
  EXPECT_EQ(outcome.code, 1011);
  EXPECT_EQ(outcome.exitCode, 64);
}

TEST(Dims, FixedBatchTakesMultiples) {
  const char *fixed = "g (float[8, 2] x) => (float[8, 2] y) { y = Relu(x) }";
  ImportOptions options;
  options.globalBatch = 24;
  EXPECT_TRUE(importText(fixed, 20, options).succeeded);
  options.globalBatch = 12;
  EXPECT_EQ(importText(fixed, 20, options).code, 1010);
}

TEST(Dims, InputsWithoutElementsAreConstants) {
  EXPECT_EQ(importText("g (float[0, 2] x, float[2] b) => (float[2] y) "
                       "{ s = ReduceSum <keepdims = 0> (x) y = Add(b, s) }")
                .graph,
            "return b:float[2]");
  EXPECT_EQ(
      importText("g (float[0, 2] x) => (float[0, 2] y) { y = Relu(x) }").code,
      2011);
}

TEST(Dims, InputsOfOtherTypesAreFaultsOfWhatReadsThem) {
  Outcome outcome =
      importText("g (float[2] x, string[2] w, seq(float[2]) s) => (float[2] y) "
                 "{ v = Cast <to = 1> (w) n = SequenceLength(s) y = Relu(x) }");
  EXPECT_THAT(outcome.codes, testing::ElementsAre(2011, 2011));
  EXPECT_THAT(outcome.text, testing::HasSubstr("node 1 'n' (SequenceLength)"));
  EXPECT_TRUE(importText("g (float[2] x, string[2] w) => (float[2] y) "
                         "{ y = Relu(x) }")
                  .succeeded);
}

TEST(Dims, InputsWithoutUsableSize) {
  EXPECT_EQ(
      importText("g (float[?, 2] x) => (float[?, 2] y) { y = Relu(x) }").code,
      2020);
  EXPECT_EQ(importText("g (float[2000000000, 2000000000] x) => (float[?, ?] y) "
                       "{ y = Relu(x) }")
                .code,
            2107);
  EXPECT_EQ(
      importText("g (string[2] x) => (string[2] y) { y = Identity(x) }").code,
      2011);
}

TEST(Dims, DeclaredOutputMustAgree) {
  Outcome outcome =
      importText("g (float[2, 3] x) => (float[3, 3] y) { y = Relu(x) }");
  EXPECT_EQ(outcome.code, 2021);
  EXPECT_EQ(outcome.exitCode, 65);
}

} // namespace
