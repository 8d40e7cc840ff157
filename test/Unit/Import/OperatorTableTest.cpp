//===- OperatorTableTest.cpp - Versions against ONNX's schemas -*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

#include "lib/Import/Load/Limits.h"
#include "lib/Import/Operators/OperatorTable.h"

#include "onnx/defs/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace parplan;
using namespace parplan::importer;
using namespace parplan::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(OperatorTable, HasTheVersionsOfTheSchemas) {
  // By operator: the versions that hold somewhere in the supported opsets.
  std::map<std::string, std::set<int>> schemas;
  for (const onnx::OpSchema &schema :
       onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (!schema.domain().empty() || schema.Deprecated() ||
        schema.SinceVersion() > limits::maximumOpset)
      continue;
    std::set<int> &versions = schemas[schema.Name()];
    versions.insert(schema.SinceVersion());
  }
  std::map<std::string, std::set<int>> table;
  for (const OperatorEntry *entry : getOperators())
    for (int version : entry->versions)
      EXPECT_TRUE(table[entry->type].insert(version).second)
          << entry->type << " " << version << " twice";
  for (auto &[type, versions] : table) {
    std::set<int> expected;
    int oldest = 0;
    for (int version : schemas[type])
      if (version <= limits::minimumOpset)
        oldest = version;
      else
        expected.insert(version);
    if (oldest)
      expected.insert(oldest);
    // Versions before the one that holds in opset 7 may be listed or not.
    std::set<int> listed;
    for (int version : versions) {
      EXPECT_TRUE(schemas[type].count(version)) << type << " " << version;
      if (version >= oldest)
        listed.insert(version);
    }
    EXPECT_EQ(listed, expected) << type;
  }
}

TEST(OperatorTable, AllUnsupportedOperatorsAreReportedAtOnce) {
  Outcome outcome = importText(R"(
    g (float[2, 2] x) => (float[2, 2] y) {
      a = Multinomial(x)
      b = Inverse(x)
      c = Relu(b)
      d = StringConcat(x, x)
      y = ImageDecoder(a)
    })");
  EXPECT_THAT(outcome.codes, ElementsAre(2101, 2101, 2101, 2101));
  EXPECT_EQ(outcome.exitCode, 65);
  EXPECT_THAT(outcome.text, HasSubstr("node 1 'b' (Inverse)"));
}

TEST(OperatorTable, UnsupportedOperatorsAreReportedWithUnboundDimensions) {
  Outcome outcome =
      importText("g (float[n] x) => (float[n] y) { y = Multinomial(x) }");
  EXPECT_THAT(outcome.codes, ElementsAre(1021, 2101));
}

TEST(OperatorTable, OperatorsAreReadAtTheirVersion) {
  EXPECT_EQ(
      importText("g (float[2] x) => (float[2] y) { y = Gelu(x) }", 19).code,
      2101);
  EXPECT_EQ(
      importText("g (float[2] x) => (float[2] y) { y = Gelu(x) }", 20).graph,
      "%0 = gelu x [0]\nreturn %0:float[2]");
}

TEST(OperatorTable, VersionsOutsideTheWindow) {
  EXPECT_EQ(
      importText("g (float[2] x) => (float[2] y) { y = Relu(x) }", 6).code,
      2004);
  EXPECT_EQ(
      importText("g (float[2] x) => (float[2] y) { y = Relu(x) }", 99).code,
      2004);
}

TEST(OperatorTable, OtherDomainsAreUnsupported) {
  Outcome outcome =
      importText("g (float[2] x) => (float[2] y) { y = local.Something(x) }");
  EXPECT_EQ(outcome.code, 2101);
}

TEST(ListOperators, SaysHowEachIsSupported) {
  TestFolder folder;
  ImportOptions options;
  options.path = folder.write("m.onnx", serialize(parseModel(R"(
    g (float[n, 2] x) => (float[n, 2] y) {
      s = Shape(x)
      a = Reshape(x, s)
      b = Multinomial(a)
      c = Multinomial(b)
      d = ReduceMean(c)
      q, u, v = DynamicQuantizeLinear(d)
      y = local.Other(d)
    })")));
  DiagnosticEngine diagnostics;
  std::optional<OperatorReport> report = listOperators(options, diagnostics);
  ASSERT_TRUE(report);
  EXPECT_FALSE(diagnostics.hasErrors());
  std::string text;
  for (const OperatorUse &use : report->operators)
    text += use.domain + ":" + use.type + "-" +
            std::to_string(use.sinceVersion) + " " + std::to_string(use.count) +
            " " + use.support + "\n";
  EXPECT_EQ(text, ":DynamicQuantizeLinear-20 1 expanded\n"
                  ":Multinomial-0 2 unsupported\n"
                  ":ReduceMean-18 1 lowered\n"
                  ":Reshape-19 1 direct\n"
                  ":Shape-19 1 folded\n"
                  "local:Other-0 1 unsupported\n");
  EXPECT_EQ(report->nodes, 7);
}

} // namespace
