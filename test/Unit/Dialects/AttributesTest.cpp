//===- AttributesTest.cpp - Attributes as values and back -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OpFixture.h"

#include "parplan/Sharding/OpRole.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

const char *const preamble =
    "parplan.mesh @mesh <[\"x\"=2 data, \"y\"=3 tensor, \"z\"=2 tensor]>";

class Attributes : public testing::Test {
protected:
  OpFixture fixture{"%y = parplan.matmul \"mk,kn->mn\" %0, %1 : "
                    "tensor<4x8xf32>, tensor<8x6xf32>",
                    {"4x8xf32", "8x6xf32"},
                    preamble};
  MeshOp meshOp = getOnlyMesh(*fixture.module);
  Mesh mesh = meshOp.getMesh().getMesh();
  mlir::FlatSymbolRefAttr symbol =
      mlir::FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
};

TEST_F(Attributes, MeshKeepsAxes) {
  EXPECT_EQ(mesh.getRankCount(), 12);
  EXPECT_EQ(mesh.getAxis(1), (MeshAxis{"y", 3, AxisRole::tensor}));
  EXPECT_EQ(MeshAttr::get(&fixture.context, mesh), meshOp.getMesh());
  EXPECT_EQ(findMesh(fixture.getOp(), symbol), meshOp);
}

TEST_F(Attributes, ShardingKeepsAllFields) {
  Sharding sharding = Sharding::getReplicated(2);
  sharding.dims[0] = {2};
  sharding.partial = {0};
  sharding.reduction = ReductionKind::max;
  sharding.storage = {1};
  ShardingAttr attribute = ShardingAttr::get(symbol, mesh, sharding);
  EXPECT_EQ(*attribute.resolve(mesh), sharding);
}

TEST_F(Attributes, ShardingOfAnotherMeshDoesNotResolve) {
  Sharding sharding = Sharding::getReplicated(1);
  sharding.dims[0] = {0};
  ShardingAttr attribute = ShardingAttr::get(symbol, mesh, sharding);
  EXPECT_TRUE(
      mlir::failed(attribute.resolve(Mesh({{"a", 2, AxisRole::data}}))));
}

TEST_F(Attributes, FactorsKeepTheDecision) {
  ShardingRule rule =
      mlir::cast<ShardingRuleOpInterface>(fixture.getOp()).getShardingRule();
  FactorAssignment assignment = FactorAssignment::getReplicated(rule);
  assignment.axes[*rule.findFactor("k")] = {1, 2};
  assignment.pending = {0};
  assignment.pendingOperand = 1;
  FactorsAttr attribute = FactorsAttr::get(symbol, mesh, rule, assignment);
  EXPECT_EQ(attribute.getNames().size(), 1u);
  EXPECT_EQ(*attribute.resolve(rule, mesh), assignment);
}

TEST_F(Attributes, FactorsKeepTheStorage) {
  ShardingRule rule =
      mlir::cast<ShardingRuleOpInterface>(fixture.getOp()).getShardingRule();
  FactorAssignment assignment = FactorAssignment::getReplicated(rule);
  assignment.storage = {2, 0};
  FactorsAttr attribute = FactorsAttr::get(symbol, mesh, rule, assignment);
  EXPECT_EQ(*attribute.resolve(rule, mesh), assignment);
}

TEST_F(Attributes, FactorsKeepPanels) {
  ShardingRule rule =
      mlir::cast<ShardingRuleOpInterface>(fixture.getOp()).getShardingRule();
  FactorAssignment assignment = FactorAssignment::getReplicated(rule);
  assignment.axes[*rule.findFactor("m")] = {1};
  assignment.panels = {*rule.findFactor("k"), {1}};
  FactorsAttr attribute = FactorsAttr::get(symbol, mesh, rule, assignment);
  EXPECT_EQ(*attribute.resolve(rule, mesh), assignment);
}

TEST_F(Attributes, ShardingOfAValueIsWhereItsOpSays) {
  mlir::Operation *op = fixture.getOp();
  EXPECT_FALSE(getSharding(op->getResult(0)));
  ShardingAttr attribute =
      ShardingAttr::get(symbol, mesh, Sharding::getReplicated(2));
  op->setAttr(attributes::shardings,
              mlir::ArrayAttr::get(&fixture.context, {attribute}));
  EXPECT_EQ(getSharding(op->getResult(0)), attribute);
  fixture.getFunction().setArgAttr(0, attributes::sharding, attribute);
  EXPECT_EQ(getSharding(op->getOperand(0)), attribute);
  EXPECT_FALSE(getSharding(op->getOperand(1)));
}

TEST(Roles, AreThoseOfTheShardingLibrary) {
  for (llvm::StringRef role :
       {roles::forward, roles::loss, roles::inputGradient,
        roles::weightGradient, roles::gradientSum, roles::optimizer})
    EXPECT_TRUE(parseOpRole(role)) << role.str();
}

TEST(MatmulSpec, AcceptsDistinctLetters) {
  auto spec = MatmulSpec::parse("bsk,kn->bsn");
  ASSERT_TRUE(mlir::succeeded(spec));
  EXPECT_EQ(spec->lhs, "bsk");
  EXPECT_EQ(spec->rhs, "kn");
  EXPECT_EQ(spec->result, "bsn");
  for (const char *text : {"", "mk", "mk,kn", "mm,mn->n", "m1,1n->mn", "mk->m"})
    EXPECT_TRUE(mlir::failed(MatmulSpec::parse(text))) << text;
}

} // namespace
