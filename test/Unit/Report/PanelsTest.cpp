//===- PanelsTest.cpp - Loops over panels in plans ------------------------===//

#include "lib/Report/PlanDocument.h"

#include "gmock/gmock.h"

using namespace parplan;
using testing::HasSubstr;

namespace {

/// One product `mk,kn->mn` of two inputs.
PlanningProblem makeProduct() {
  PlanningProblem problem;
  for (auto [kind, shape] :
       {std::pair(ValueKind::input, std::array<int64_t, 2>{4, 6}),
        {ValueKind::input, {6, 8}},
        {ValueKind::activation, {4, 8}}}) {
    PlanningValue &value = problem.values.emplace_back();
    value.kind = kind;
    value.shape.assign(shape.begin(), shape.end());
  }
  PlanningOp &op = problem.ops.emplace_back();
  op.node = "product";
  op.type = "MatMul";
  op.rule.factors = {{"m", 4}, {"n", 8}, {"k", 6, FactorKind::reduceSum}};
  op.rule.operands = {{{0}, {2}}, {{2}, {1}}};
  op.rule.results = {{{0}, {1}}};
  op.rule.panelFactors = {0, 1, 2};
  op.operands = {0, 1};
  op.results = {2};
  return problem;
}

/// SUMMA on a grid of 2 x 2 with these panels.
Json makeDocument(const Json &panels) {
  auto axis = [](const char *name) {
    return Json{{"name", name}, {"role", "tensor"}, {"size", 2}};
  };
  auto value = Json{{"sharding", {{"tp0"}, {"tp1"}}}};
  return {
      {"mesh", {{"axes", Json::array({axis("tp0"), axis("tp1")})}}},
      {"inputs", Json::array({value, value})},
      {"parameters", Json::array()},
      {"states", Json::array()},
      {"operators", Json::array({{{"node", "product"},
                                  {"factors", {{"m", {"tp0"}}, {"n", {"tp1"}}}},
                                  {"panels", panels},
                                  {"outputs", Json::array({value})}}})}};
}

TEST(PlanPanels, AreReadBack) {
  DiagnosticEngine engine;
  std::optional<PlanningAnswer> answer =
      readAnswer(makeDocument({{"k", {"tp1", "tp0"}}}), "plan.json",
                 makeProduct(), engine);
  ASSERT_TRUE(answer) << engine.render();
  PanelLoop expected{2, {0, 1}};
  EXPECT_EQ(answer->assignments[0].panels, expected);
}

TEST(PlanCopies, ThatAreMadeAgainAreReadBack) {
  DiagnosticEngine engine;
  Json document = makeDocument({{"k", {"tp0", "tp1"}}});
  std::optional<PlanningAnswer> kept =
      readAnswer(document, "plan.json", makeProduct(), engine);
  ASSERT_TRUE(kept) << engine.render();
  EXPECT_FALSE(kept->isGatheredAgain(2));
  document["operators"][0]["outputs"][0]["gathered_again"] = true;
  std::optional<PlanningAnswer> again =
      readAnswer(document, "plan.json", makeProduct(), engine);
  ASSERT_TRUE(again) << engine.render();
  EXPECT_TRUE(again->isGatheredAgain(2));
  EXPECT_FALSE(again->isGatheredAgain(0));
}

TEST(PlanPanels, ThatFitNothingAreRefused) {
  auto getErrors = [](const Json &panels) {
    DiagnosticEngine engine;
    EXPECT_FALSE(
        readAnswer(makeDocument(panels), "plan.json", makeProduct(), engine));
    return engine.render();
  };
  EXPECT_THAT(getErrors({{"z", {"tp0"}}}),
              HasSubstr("field 'operators[0].panels': 'z' is no factor"));
  EXPECT_THAT(getErrors({{"k", {"tp7"}}}),
              HasSubstr("field 'operators[0].panels.k': \"tp7\" is no axis"));
  EXPECT_THAT(getErrors(Json::object()),
              HasSubstr("field 'operators[0].panels': not one factor"));
  EXPECT_THAT(getErrors("k"),
              HasSubstr("field 'operators[0].panels': not one factor"));
}

} // namespace
