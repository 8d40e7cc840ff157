//===- RanksTest.cpp - Values that N ranks hold ---------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "InterpreterFixture.h"

using namespace mlir;
using namespace parplan::test;
using testing::HasSubstr;

namespace parplan {
namespace {

using InterpreterRanks = InterpreterFixture;

/// What the ranks hold of a value of one element.
Numbers getHeld(llvm::ArrayRef<Tensor> blocks) {
  Numbers held;
  for (const Tensor &block : blocks)
    held.push_back(block.getNumber(0));
  return held;
}

TEST_F(InterpreterRanks, ReducesToARoot) {
  func::FuncOp function = parse(R"(
    parplan.mesh @mesh <["x"=3 data]>
    func.func @f(%a: tensor<1xf64> {parplan.global_type = tensor<3xf64>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>})
        -> (tensor<f64> {parplan.global_type = tensor<f64>, parplan.sharding = #parplan.sharding<@mesh, []>}) {
      %b = parplan.reduce sum %a dims [0] {parplan.global_type = tensor<f64>,
        parplan.shardings = [#parplan.sharding<@mesh, [], partial = sum{"x"}>]} : tensor<1xf64>
      %c = parplan.reduce_to sum %b axes <"x"> root 2 to <@mesh, [], partial = sum{"x"}>
        {parplan.global_type = tensor<f64>} : tensor<f64> -> tensor<f64>
      %d = parplan.all_reduce sum %c axes <"x"> to <@mesh, []>
        {parplan.global_type = tensor<f64>} : tensor<f64> -> tensor<f64>
      %e = parplan.broadcast_from %d axes <"x"> root 1 to <@mesh, []>
        {parplan.global_type = tensor<f64>} : tensor<f64> -> tensor<f64>
      return %e : tensor<f64>
    })");
  Tensor argument(RankedTensorType::get({3}, Float64Type::get(&context)));
  for (int64_t i = 0; i < 3; ++i)
    argument[i].real = static_cast<double>(i + 1);
  std::vector<Numbers> held;
  auto results = interpretRanks(function, {argument}, {},
                                [&](OpResult, llvm::ArrayRef<Tensor> blocks) {
                                  held.push_back(getHeld(blocks));
                                  return success();
                                });
  ASSERT_TRUE(succeeded(results)) << messages;
  EXPECT_EQ(held,
            (std::vector<Numbers>{{1, 2, 3}, {0, 0, 6}, {6, 6, 6}, {6, 6, 6}}));
  EXPECT_EQ(getNumbers(results->front()), (Numbers{6}));
}

/// S3, S4: starts of nested blocks, and what lies behind their ends.
TEST_F(InterpreterRanks, KnowsTheBlocksOfEveryRank) {
  func::FuncOp function = parse(R"(
    parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
    func.func @f() {
      %a = parplan.block_start 5 axes <"x", "y"> : tensor<i64>
      %b = parplan.constant dense<7.0> : tensor<2xf64>
      %c = parplan.clear_padding %b dims [0] sizes [5] axes [#parplan.axes<"x", "y">] fill -1.0 : tensor<2xf64>
      %d = parplan.slice %c dims [0] from [1] to [2] step [1] : tensor<2xf64>
      return
    })");
  std::vector<Numbers> held;
  ASSERT_TRUE(succeeded(interpretRanks(
      function, {}, {}, [&](OpResult, llvm::ArrayRef<Tensor> blocks) {
        held.push_back(getHeld(blocks));
        return success();
      })));
  // 0-1, 2, 3-4, none.
  EXPECT_EQ(held[0], (Numbers{0, 2, 3, 5}));
  EXPECT_EQ(held[2], (Numbers{7, 7, 7, -1}));
  EXPECT_EQ(held[3], (Numbers{7, -1, 7, -1}));
}

/// S4: minus infinity is the least number of an integer type.
TEST_F(InterpreterRanks, PaddingIsNoMaximumOfIntegers) {
  auto getGreatest = [&](const std::string &type, const std::string &number) {
    func::FuncOp function = parse(R"(
      parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
      func.func @f() {
        %a = parplan.constant dense<)" +
                                  number + "> : tensor<2x" + type + R"(>
        %b = parplan.clear_padding %a dims [0] sizes [5] axes [#parplan.axes<"x", "y">] fill 0xFFF0000000000000 : tensor<2x)" +
                                  type + R"(>
        %c = parplan.reduce max %b dims [0] : tensor<2x)" +
                                  type + R"(>
        return
      })");
    std::vector<Numbers> held;
    EXPECT_TRUE(succeeded(interpretRanks(
        function, {}, {}, [&](OpResult, llvm::ArrayRef<Tensor> blocks) {
          held.push_back(getHeld(blocks));
          return success();
        })));
    return held.back();
  };
  // The second rank has one element of padding, the last nothing else.
  EXPECT_EQ(getGreatest("i64", "-7"),
            (Numbers{-7, -7, -7, -9223372036854775808.0}));
  EXPECT_EQ(getGreatest("i32", "-7"), (Numbers{-7, -7, -7, -2147483648.0}));
  EXPECT_EQ(getGreatest("i16", "-7"), (Numbers{-7, -7, -7, -32768}));
  EXPECT_EQ(getGreatest("i8", "-7"), (Numbers{-7, -7, -7, -128}));
  EXPECT_EQ(getGreatest("ui32", "7"), (Numbers{7, 7, 7, 0}));
}

TEST_F(InterpreterRanks, ChecksWhatLeavesTheRanks) {
  const std::string head = R"(
    parplan.mesh @mesh <["x"=2 data]>
    func.func @f(%a: tensor<2xf64> {parplan.global_type = tensor<3xf64>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>})
        -> (tensor<2xf64> {)";
  const std::string body = R"(}) {
      %r = parplan.cos %a : tensor<2xf64>
      return %r : tensor<2xf64>
    })";
  Tensor argument(RankedTensorType::get({3}, Float64Type::get(&context)));
  auto runWith = [&](const std::string &attributes) {
    messages.clear();
    EXPECT_TRUE(
        failed(interpretRanks(parse(head + attributes + body), {argument})));
    return messages;
  };
  // cos(0) = 1 in the padding.
  EXPECT_THAT(runWith("parplan.global_type = tensor<3xf64>, parplan.sharding = "
                      "#parplan.sharding<@mesh, [{\"x\"}]>"),
              HasSubstr("S4"));
  EXPECT_THAT(runWith("parplan.sharding = #parplan.sharding<@mesh, [{}]>"),
              HasSubstr("result 0 has no parplan.global_type"));
  EXPECT_THAT(runWith("parplan.global_type = tensor<2xf64>"),
              HasSubstr("result 0 has no parplan.sharding"));
}

TEST_F(InterpreterRanks, ReportsWhatLocalProgramsLack) {
  auto fail = [&](const std::string &text) {
    messages.clear();
    func::FuncOp function = parse(text);
    std::vector<Tensor> arguments;
    for (Type type : function.getArgumentTypes())
      arguments.emplace_back(cast<RankedTensorType>(type));
    InitializerValues initializers;
    initializers["w"] =
        Tensor(RankedTensorType::get({2}, Float64Type::get(&context)));
    EXPECT_TRUE(failed(interpretRanks(function, arguments, initializers)));
    return messages;
  };
  EXPECT_THAT(fail("func.func @f() { return }"),
              HasSubstr("needs a module with exactly one mesh"));
  const std::string mesh = "parplan.mesh @mesh <[\"x\"=2 data]>\n"
                           "parplan.initializer @w \"w\" : tensor<2xf64> in "
                           "\"\" at 0 length 16\n";
  EXPECT_THAT(fail(mesh + "func.func @f(%a: tensor<2xf64>) { return }"),
              HasSubstr("argument 0 has no parplan.sharding"));
  EXPECT_THAT(fail(mesh + R"(func.func @f() {
      %a = parplan.parameter @w : tensor<2xf64>
      return })"),
              HasSubstr("has no parplan.global_type"));
  EXPECT_THAT(fail(mesh + R"(func.func @f() {
      %a = parplan.parameter @w {parplan.global_type = tensor<2xf64>} : tensor<2xf64>
      return })"),
              HasSubstr("has no parplan.shardings"));
  EXPECT_THAT(fail(mesh + R"(func.func @f() {
      %a = parplan.constant dense<1.0> : tensor<2xf64>
      %b = parplan.shard_slice %a axes <"x"> dim 0 to <@mesh, [{"x"}]> {parplan.global_type = tensor<2xf64>} : tensor<2xf64> -> tensor<1xf64>
      return })"),
              HasSubstr("has no parplan.shardings"));
  EXPECT_THAT(fail(mesh + R"(func.func @f() {
      %a = parplan.constant {parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} dense<1.0> : tensor<2xf64>
      %b = parplan.shard_slice %a axes <"x"> dim 0 to <@mesh, [{"x"}]> : tensor<2xf64> -> tensor<1xf64>
      return })"),
              HasSubstr("has no parplan.global_type"));
}

} // namespace
} // namespace parplan
