//===- InterpreterTest.cpp - Values of single ops -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Interpreter/Interpreter.h"

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Support/Check.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace mlir;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

namespace parplan {
namespace {

/// Parses functions and runs them; collects diagnostics.
class Interpreter : public testing::Test {
protected:
  Interpreter()
      : context(makeRegistry(), MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) {
          messages += diagnostic.str();
          return success();
        }) {
    context.loadAllAvailableDialects();
  }

  static const DialectRegistry &makeRegistry() {
    static DialectRegistry registry = [] {
      DialectRegistry created;
      created.insert<ParplanDialect, func::FuncDialect>();
      return created;
    }();
    return registry;
  }

  /// The first function of a module.
  func::FuncOp parse(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    PARPLAN_CHECK(module, messages);
    return *module->getOps<func::FuncOp>().begin();
  }

  /// Elements of the only result of ops that end with %r.
  std::vector<double> run(const std::string &ops, const std::string &type) {
    func::FuncOp function = parse("func.func @f() -> " + type + " {\n" + ops +
                                  "\nreturn %r : " + type + "\n}");
    FailureOr<std::vector<Tensor>> results = interpret(function, {});
    return succeeded(results) ? getNumbers(results->front())
                              : std::vector<double>();
  }

  static std::vector<double> getNumbers(const Tensor &tensor) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < tensor.getSize(); ++i)
      numbers.push_back(tensor.getNumber(i));
    return numbers;
  }

  MLIRContext context;
  std::string messages;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
};

using Numbers = std::vector<double>;

TEST_F(Interpreter, BroadcastsOperands) {
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
      %b = parplan.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf32>
      %r = parplan.add %a, %b : tensor<2x1xf32>, tensor<3xf32>)",
                "tensor<2x3xf32>"),
            (Numbers{11, 21, 31, 12, 22, 32}));
}

TEST_F(Interpreter, RoundsToTheElementType) {
  // 1/3 in f32; the sum is rounded once more.
  EXPECT_EQ(run(R"(%a = parplan.constant dense<3.0> : tensor<f32>
      %r = parplan.reciprocal %a : tensor<f32>)",
                "tensor<f32>"),
            (Numbers{1.0f / 3.0f}));
  EXPECT_EQ(run(R"(%a = parplan.constant dense<1.001> : tensor<f64>
      %r = parplan.cast %a : tensor<f64> to tensor<bf16>)",
                "tensor<bf16>"),
            (Numbers{1.0}));
}

TEST_F(Interpreter, WrapsIntegers) {
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[100, -100]> : tensor<2xi8>
      %r = parplan.add %a, %a : tensor<2xi8>, tensor<2xi8>)",
                "tensor<2xi8>"),
            (Numbers{-56, 56}));
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[7, -7, 5]> : tensor<3xi64>
      %b = parplan.constant dense<[-3, 3, 0]> : tensor<3xi64>
      %r = parplan.mod %a, %b : tensor<3xi64>, tensor<3xi64>)",
                "tensor<3xi64>"),
            (Numbers{-2, 2, 0}));
  EXPECT_EQ(
      run(R"(%a = parplan.constant dense<[2.9, -2.9, 1.0e30]> : tensor<3xf64>
      %r = parplan.cast %a : tensor<3xf64> to tensor<3xi32>)",
          "tensor<3xi32>"),
      (Numbers{2, -2, 2147483647}));
}

TEST_F(Interpreter, UnsignedIntegersHaveAllTheirBits) {
  std::string ends = "%a = parplan.constant dense<[18446744073709551615, 5]> : "
                     "tensor<2xui64>\n"
                     "%b = parplan.constant dense<[3, 9223372036854775808]> : "
                     "tensor<2xui64>\n";
  std::string types = "tensor<2xui64>, tensor<2xui64>", type = "tensor<2xui64>";
  EXPECT_EQ(run(ends + "%r = parplan.div %a, %b : " + types, type),
            (Numbers{6148914691236517205.0, 0}));
  EXPECT_EQ(run(ends + "%r = parplan.mod %b, %a : " + types, type),
            (Numbers{3, 3}));
  EXPECT_EQ(run(ends + "%r = parplan.min %a, %b : " + types, type),
            (Numbers{3, 5}));
  EXPECT_EQ(
      run(ends + "%r = parplan.compare lt %a, %b : " + types, "tensor<2xi1>"),
      (Numbers{0, 1}));
  EXPECT_EQ(run(ends + "%r = parplan.reduce max %b dims [0] : " + type,
                "tensor<ui64>"),
            (Numbers{9223372036854775808.0}));
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[1.5e19, -3.0]> : tensor<2xf64>
      %r = parplan.cast %a : tensor<2xf64> to tensor<2xui64>)",
                type),
            (Numbers{1.5e19, 0}));
  EXPECT_EQ(run(ends + "%r = parplan.abs %a : " + type, type),
            (Numbers{18446744073709551615.0, 5}));
  EXPECT_EQ(run(ends + "%r = parplan.relu %b : " + type, type),
            (Numbers{3, 9223372036854775808.0}));
  EXPECT_EQ(run(ends + "%r = parplan.sign %a : " + type, type),
            (Numbers{1, 1}));
}

TEST_F(Interpreter, BitsOfNumbers) {
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[0, 5, 255]> : tensor<3xui8>
      %r = parplan.not %a : tensor<3xui8>)",
                "tensor<3xui8>"),
            (Numbers{255, 250, 0}));
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[true, false]> : tensor<2xi1>
      %r = parplan.not %a : tensor<2xi1>)",
                "tensor<2xi1>"),
            (Numbers{0, 1}));
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[1.0, -2.0]> : tensor<2xf32>
      %r = parplan.bitcast %a : tensor<2xf32> to tensor<2xi32>)",
                "tensor<2xi32>"),
            (Numbers{1065353216, -1073741824}));
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[16256, -32768]> : tensor<2xi16>
      %r = parplan.bitcast %a : tensor<2xi16> to tensor<2xbf16>)",
                "tensor<2xbf16>"),
            (Numbers{1, 0}));
}

TEST_F(Interpreter, ComparesAndSelects) {
  EXPECT_EQ(run(R"(%a = parplan.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      %b = parplan.constant dense<2.0> : tensor<f32>
      %c = parplan.compare ge %a, %b : tensor<3xf32>, tensor<f32>
      %r = parplan.select %c, %a, %b : tensor<3xi1>, tensor<3xf32>, tensor<f32>)",
                "tensor<3xf32>"),
            (Numbers{2, 2, 3}));
}

TEST_F(Interpreter, MovesElements) {
  std::string a =
      "%a = parplan.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>\n";
  EXPECT_EQ(run(a + "%r = parplan.transpose %a [1, 0] : tensor<2x3xi64>",
                "tensor<3x2xi64>"),
            (Numbers{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(run(a + "%r = parplan.slice %a dims [1] from [2] to [-1] step [-2] "
                    ": tensor<2x3xi64>",
                "tensor<2x2xi64>"),
            (Numbers{3, 1, 6, 4}));
  EXPECT_EQ(run(a + "%r = parplan.pad %a dims [0, 1] low [1, 0] high [0, 1] "
                    "value 9.0 : tensor<2x3xi64>",
                "tensor<3x4xi64>"),
            (Numbers{9, 9, 9, 9, 1, 2, 3, 9, 4, 5, 6, 9}));
  EXPECT_EQ(run(a + "%r = parplan.concat %a, %a dim 0 : tensor<2x3xi64>, "
                    "tensor<2x3xi64>",
                "tensor<4x3xi64>"),
            (Numbers{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(run("%r = parplan.affine_mask [-1, 1] + 0 : tensor<2x3xi1>",
                "tensor<2x3xi1>"),
            (Numbers{1, 0, 0, 1, 1, 0}));
}

TEST_F(Interpreter, ReadsAtIndices) {
  std::string table = "%t = parplan.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : "
                      "tensor<2x2xf32>\n";
  EXPECT_EQ(
      run(table + R"(%i = parplan.constant dense<[1, 2, -1, 0]> : tensor<4xi64>
      %r = parplan.embedding %i, %t : tensor<4xi64>, tensor<2x2xf32>)",
          "tensor<4x2xf32>"),
      (Numbers{3, 4, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(
      run(table + R"(%i = parplan.constant dense<[-1, 0, 1]> : tensor<3xi64>
      %r = parplan.gather %t, %i dim 1 : tensor<2x2xf32>, tensor<3xi64>)",
          "tensor<2x3xf32>"),
      (Numbers{2, 1, 2, 4, 3, 4}));
  EXPECT_EQ(
      run(table + R"(%i = parplan.constant dense<[[1, 0]]> : tensor<1x2xi64>
      %r = parplan.gather_elements %t, %i dim 0 : tensor<2x2xf32>, tensor<1x2xi64>)",
          "tensor<1x2xf32>"),
      (Numbers{3, 2}));
  EXPECT_EQ(
      run(table +
              R"(%i = parplan.constant dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>
      %r = parplan.gather_nd %t, %i batch_dims 0 : tensor<2x2xf32>, tensor<2x2xi64>)",
          "tensor<2xf32>"),
      (Numbers{3, 2}));
  EXPECT_EQ(
      run(table + R"(%i = parplan.constant dense<[[1], [0]]> : tensor<2x1xi64>
      %r = parplan.gather_nd %t, %i batch_dims 1 : tensor<2x2xf32>, tensor<2x1xi64>)",
          "tensor<2xf32>"),
      (Numbers{2, 3}));
}

TEST_F(Interpreter, SortsAndScans) {
  std::string a =
      "%a = parplan.constant dense<[2.0, 5.0, 2.0, 1.0]> : tensor<4xf32>\n";
  EXPECT_EQ(run(a + "%v, %r = parplan.topk %a k 3 dim 0 largest true : "
                    "tensor<4xf32>",
                "tensor<3xi64>"),
            (Numbers{1, 0, 2}));
  EXPECT_EQ(run(a + "%r = parplan.cumsum %a dim 0 {exclusive, reverse} : "
                    "tensor<4xf32>",
                "tensor<4xf32>"),
            (Numbers{8, 3, 1, 0}));
}

TEST_F(Interpreter, ReducesAndMultiplies) {
  std::string a = "%a = parplan.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : "
                  "tensor<2x2xf32>\n";
  EXPECT_EQ(run(a + "%r = parplan.reduce prod %a dims [1] : tensor<2x2xf32>",
                "tensor<2xf32>"),
            (Numbers{2, 12}));
  EXPECT_EQ(run(a + "%r = parplan.reduce max %a dims [0] keep_dims : "
                    "tensor<2x2xf32>",
                "tensor<1x2xf32>"),
            (Numbers{3, 4}));
  EXPECT_EQ(run(a + "%r = parplan.matmul \"mk,nk->nm\" %a, %a : "
                    "tensor<2x2xf32>, tensor<2x2xf32>",
                "tensor<2x2xf32>"),
            (Numbers{5, 11, 11, 25}));
}

TEST_F(Interpreter, SlidesWindows) {
  std::string a = "%a = parplan.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : "
                  "tensor<1x1x4xf32>\n";
  EXPECT_EQ(
      run(a + R"(%w = parplan.constant dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf32>
      %b = parplan.constant dense<[100.0]> : tensor<1xf32>
      %r = parplan.conv %a, %w, %b strides [2] pads [1, 1] dilations [2] groups 1
        : tensor<1x1x4xf32>, tensor<1x1x2xf32>, tensor<1xf32>)",
          "tensor<1x1x2xf32>"),
      (Numbers{120, 142}));
  EXPECT_EQ(run(a + "%r = parplan.max_pool %a window [2] strides [2] pads "
                    "[0, 0] dilations [1] : tensor<1x1x4xf32>",
                "tensor<1x1x2xf32>"),
            (Numbers{2, 4}));
  EXPECT_EQ(run(a + "%r = parplan.average_pool %a window [2] strides [2] pads "
                    "[1, 1] dilations [1] : tensor<1x1x4xf32>",
                "tensor<1x1x3xf32>"),
            (Numbers{1, 2.5, 4}));
  EXPECT_EQ(run(a + "%r = parplan.average_pool %a window [2] strides [2] pads "
                    "[1, 1] dilations [1] {count_include_pad} : "
                    "tensor<1x1x4xf32>",
                "tensor<1x1x3xf32>"),
            (Numbers{0.5, 2.5, 2}));
}

/// Composites have the values of their decompositions: two derivations.
TEST_F(Interpreter, AgreesWithDecompositions) {
  func::FuncOp function = parse(R"(
    func.func @f(%a: tensor<2x3x4xf64>, %c: tensor<4xf64>, %d: tensor<3xf64>,
                 %q: tensor<1x3x4x2xf64>, %k: tensor<1x5x2x2xf64>,
                 %v: tensor<1x5x2x3xf64>, %i: tensor<i64>,
                 %p: tensor<1x4x3x5xi1>, %s: tensor<3x1x1xf64>) {
      parplan.softmax %a dim 1 : tensor<2x3x4xf64>
      parplan.log_softmax %a dim 2 : tensor<2x3x4xf64>
      parplan.layer_norm %a scale %c : tensor<4xf64> bias %c : tensor<4xf64> dim 2 epsilon 0.1 : tensor<2x3x4xf64>
      parplan.rms_norm %a dim 1 epsilon 0.1 : tensor<2x3x4xf64>
      parplan.batch_norm %a, %d, %d, %d, %d epsilon 20.0 : tensor<2x3x4xf64>, tensor<3xf64>
      parplan.gelu %a : tensor<2x3x4xf64>
      parplan.gelu tanh %a : tensor<2x3x4xf64>
      parplan.silu %a : tensor<2x3x4xf64>
      parplan.rope %q cos %s sin %s : tensor<1x3x4x2xf64>, tensor<3x1x1xf64>, tensor<3x1x1xf64>
      parplan.rope %q cos %s sin %s {interleaved} : tensor<1x3x4x2xf64>, tensor<3x1x1xf64>, tensor<3x1x1xf64>
      parplan.attention %q, %k, %v mask %p : tensor<1x4x3x5xi1> offset %i : tensor<i64> scale 0.5 causal zero_masked_rows : tensor<1x3x4x2xf64>, tensor<1x5x2x2xf64>, tensor<1x5x2x3xf64>
      return
    })");
  std::vector<Tensor> arguments;
  for (Type type : function.getArgumentTypes()) {
    Tensor &value = arguments.emplace_back(cast<RankedTensorType>(type));
    for (int64_t i = 0; i < value.getSize(); ++i)
      value.setNumber(i, value.getType().getElementType().isInteger(1)
                             ? static_cast<double>(i % 3 != 0 && i > 5)
                             : static_cast<double>((i * 7 + 3) % 11) - 4);
  }
  SmallVector<Operation *> composites;
  for (Operation &op : function.getBody().front().without_terminator())
    composites.push_back(&op);
  SmallVector<Value> results;
  for (Operation *op : composites) {
    OpBuilder builder(op);
    results.push_back(op->getResult(0));
    results.push_back(
        cast<DecomposableOpInterface>(op).decompose(builder).front());
  }
  Operation *terminator = function.getBody().front().getTerminator();
  OpBuilder(terminator).create<func::ReturnOp>(function.getLoc(), results);
  terminator->erase();

  FailureOr<std::vector<Tensor>> values = interpret(function, arguments);
  ASSERT_TRUE(succeeded(values)) << messages;
  for (size_t i = 0; i < composites.size(); ++i)
    EXPECT_THAT(getNumbers((*values)[2 * i + 1]),
                Pointwise(DoubleNear(1e-12), getNumbers((*values)[2 * i])))
        << composites[i]->getName().getStringRef().str();
}

TEST_F(Interpreter, ReadsParametersThroughViews) {
  func::FuncOp function = parse(R"(
    parplan.initializer @w "w" : tensor<2x3xf32> in "" at 0 length 24
    func.func @f() -> tensor<2x2xf32> {
      %r = parplan.parameter @w view <offset = 1, strides = [1, 3]> : tensor<2x2xf32>
      return %r : tensor<2x2xf32>
    })");
  Tensor whole(RankedTensorType::get({2, 3}, Float32Type::get(&context)));
  for (int64_t i = 0; i < 6; ++i)
    whole[i].real = static_cast<double>(i);
  InitializerValues initializers;
  initializers["w"] = whole;
  auto results = interpret(function, {}, initializers);
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ(getNumbers(results->front()), (Numbers{1, 4, 2, 5}));

  EXPECT_TRUE(failed(interpret(function, {})));
  EXPECT_THAT(messages, HasSubstr("there is no value for @w"));
}

TEST_F(Interpreter, ReadsStatesOrZeros) {
  func::FuncOp function = parse(R"(
    parplan.initializer @w "w" : tensor<2xf16> in "" at 0 length 4
    func.func @f() -> tensor<2xf32> {
      %r = parplan.parameter @w slot "exp_avg" : tensor<2xf32>
      return %r : tensor<2xf32>
    })");
  auto results = interpret(function, {});
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ(getNumbers(results->front()), (Numbers{0, 0}));
  Tensor state(RankedTensorType::get({2}, Float32Type::get(&context)));
  state[1].real = 3;
  InitializerValues initializers;
  initializers[getSlotName("w", "exp_avg")] = state;
  results = interpret(function, {}, initializers);
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ(getNumbers(results->front()), (Numbers{0, 3}));
}

TEST_F(Interpreter, ReportsIndicesOutsideOfTheData) {
  run(R"(%t = parplan.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %i = parplan.constant dense<[2]> : tensor<1xi64>
      %r = parplan.gather %t, %i dim 0 : tensor<2xf32>, tensor<1xi64>)",
      "tensor<1xf32>");
  EXPECT_THAT(messages, HasSubstr("index 2 is outside of 2 elements"));
}

TEST_F(Interpreter, ReportsOpsWithoutValues) {
  func::FuncOp function = parse(R"(
    func.func @f() { return }
    func.func @g() { call @f() : () -> () return })");
  EXPECT_TRUE(failed(
      interpret(*std::next(module->getOps<func::FuncOp>().begin()), {})));
  EXPECT_THAT(messages, HasSubstr("cannot be interpreted"));
  EXPECT_TRUE(succeeded(interpret(function, {})));
}

//===----------------------------------------------------------------------===//
// N ranks
//===----------------------------------------------------------------------===//

/// What the ranks hold of a value of one element.
Numbers getHeld(llvm::ArrayRef<Tensor> blocks) {
  Numbers held;
  for (const Tensor &block : blocks)
    held.push_back(block.getNumber(0));
  return held;
}

TEST_F(Interpreter, ReducesToARoot) {
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
TEST_F(Interpreter, KnowsTheBlocksOfEveryRank) {
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
TEST_F(Interpreter, PaddingIsNoMaximumOfIntegers) {
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

TEST_F(Interpreter, ChecksWhatLeavesTheRanks) {
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

TEST_F(Interpreter, ReportsWhatLocalProgramsLack) {
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
