//===- TrainingTest.cpp - Values of updates, losses and adjoints ----------===//
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
#include <random>

using namespace mlir;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

namespace parplan {
namespace {

using Numbers = std::vector<double>;

/// Runs one op on numbers.
class Training : public testing::Test {
protected:
  Training()
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

  /// All results of the op `text` on arguments %0, %1, .. of `types`.
  FailureOr<std::vector<Tensor>> evaluate(const std::string &text,
                                          llvm::ArrayRef<std::string> types,
                                          llvm::ArrayRef<Numbers> values) {
    std::string source = "func.func @f(";
    for (auto [index, type] : llvm::enumerate(types))
      source += (index ? ", %" : "%") + std::string("a") +
                std::to_string(index) + ": tensor<" + type + ">";
    source += ") {\n" + text + "\nreturn\n}";
    module = parseSourceString<ModuleOp>(source, &context);
    PARPLAN_CHECK(module, messages);
    func::FuncOp function = *module->getOps<func::FuncOp>().begin();
    Block &body = function.getBody().front();
    std::vector<Tensor> arguments;
    for (auto [argument, numbers] :
         llvm::zip_equal(body.getArguments(), values)) {
      Tensor tensor(cast<RankedTensorType>(argument.getType()));
      for (auto [position, number] : llvm::enumerate(numbers))
        tensor.setNumber(position, number);
      arguments.push_back(std::move(tensor));
    }
    body.getTerminator()->setOperands(body.front().getResults());
    return interpret(function, arguments);
  }

  /// The numbers of every result.
  std::vector<Numbers> run(const std::string &text,
                           llvm::ArrayRef<std::string> types,
                           llvm::ArrayRef<Numbers> values) {
    FailureOr<std::vector<Tensor>> results = evaluate(text, types, values);
    PARPLAN_CHECK(succeeded(results), messages);
    std::vector<Numbers> numbers;
    for (const Tensor &result : *results)
      for (int64_t i = 0, size = (numbers.emplace_back(), result.getSize());
           i < size; ++i)
        numbers.back().push_back(result.getNumber(i));
    return numbers;
  }

  Numbers makeRandom(int64_t count) {
    Numbers numbers;
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(static_cast<double>(engine() % 64) / 8 - 4);
    return numbers;
  }

  /// <op(x), g> = <x, adjoint(g)> for a linear op and its adjoint.
  /// `fixed` are the indices or the weight, in the place that ops read them.
  void expectAdjoint(const std::string &op, const std::string &adjoint,
                     const std::string &input, const std::string &output,
                     const std::string &fixedType, const Numbers &fixed,
                     bool isFixedFirst = false) {
    auto getSize = [](llvm::StringRef type) {
      int64_t size = 1;
      for (auto [dim, rest] = type.split('x'); !rest.empty();
           std::tie(dim, rest) = rest.split('x'))
        size *= std::stoll(dim.str());
      return size;
    };
    Numbers x = makeRandom(getSize(input)), g = makeRandom(getSize(output));
    auto apply = [&](const std::string &text, const std::string &type,
                     const Numbers &numbers) {
      if (fixedType.empty())
        return run(text, {type}, {numbers})[0];
      return isFixedFirst ? run(text, {fixedType, type}, {fixed, numbers})[0]
                          : run(text, {type, fixedType}, {numbers, fixed})[0];
    };
    auto multiply = [](const Numbers &lhs, const Numbers &rhs) {
      PARPLAN_CHECK(lhs.size() == rhs.size(), lhs.size(), " and ", rhs.size());
      double sum = 0;
      for (auto [left, right] : llvm::zip(lhs, rhs))
        sum += left * right;
      return sum;
    };
    EXPECT_NEAR(multiply(apply(op, input, x), g),
                multiply(x, apply(adjoint, output, g)), 1e-9)
        << adjoint;
  }

  std::mt19937 engine{1};
  MLIRContext context;
  std::string messages;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
};

TEST_F(Training, Sums) {
  EXPECT_EQ(run("%r = parplan.sum %a0, %a1, %a0 : tensor<2xf32>",
                {"2xf32", "2xf32"}, {{1, 2}, {10, 20}})[0],
            (Numbers{12, 24}));
  EXPECT_EQ(run("%r = parplan.sum %a0 : tensor<i64>", {"i64"}, {{7}})[0],
            (Numbers{7}));
  EXPECT_EQ(run("%r = parplan.accumulate %a0 : tensor<2xf32>", {"2xf32"},
                {{1, 2}})[0],
            (Numbers{1, 2}));
  EXPECT_EQ(run("%r = parplan.square_sum %a0 : tensor<2x2xf16>", {"2x2xf16"},
                {{1, 2, 3, 4}})[0],
            (Numbers{30}));
}

/// The values of torch.optim in double precision, after one step.
TEST_F(Training, UpdatesAsTorchDoes) {
  auto makeOp = [](const std::string &kind, int states,
                   const std::string &extra, const std::string &numbers) {
    std::string text = "%r:" + std::to_string(states + 1) +
                       " = parplan.optimizer_update " + kind + " %a0, %a1";
    std::string types = "tensor<1xf64>, tensor<1xf64>";
    for (int state = 0; state < states; ++state) {
      text += (state == 0 ? " states %a" : ", %a") + std::to_string(2 + state);
      types += ", tensor<1xf64>";
    }
    text += " learning_rate %a" + std::to_string(2 + states);
    types += ", tensor<f64>";
    if (states == 2) {
      text += " step_size %a5 bias_correction2_sqrt %a6";
      types += ", tensor<f64>, tensor<f64>";
    }
    return text + extra + " " + numbers + " : " + types;
  };
  EXPECT_EQ(run(makeOp("sgd", 0, "",
                       "betas 0.0, 0.0 epsilon 0.0 weight_decay 0.5 momentum "
                       "0.0"),
                {"1xf64", "1xf64", "f64"}, {{2}, {3}, {0.25}}),
            (std::vector<Numbers>{{1}}));
  EXPECT_EQ(run(makeOp("momentum", 1, "",
                       "betas 0.0, 0.0 epsilon 0.0 weight_decay 0.5 momentum "
                       "0.5"),
                {"1xf64", "1xf64", "1xf64", "f64"}, {{2}, {3}, {8}, {0.25}}),
            (std::vector<Numbers>{{0}, {8}}));
  std::vector<std::string> types = {"1xf64", "1xf64", "1xf64", "1xf64",
                                    "f64",   "f64",   "f64"};
  // m = 1 + (4 - 1) / 2, v = 2 * 3/4 + 16 / 4, with g = 3 + 0.5 * 2.
  double adam = 2 - 0.5 * 2.5 / (std::sqrt(5.5) / 0.5 + 0.125);
  EXPECT_EQ(run(makeOp("adam", 2, "",
                       "betas 0.5, 0.75 epsilon 0.125 weight_decay 0.5 "
                       "momentum 0.0"),
                types, {{2}, {3}, {1}, {2}, {0.25}, {0.5}, {0.5}}),
            (std::vector<Numbers>{{adam}, {2.5}, {5.5}}));
  // m = 1 + (3 - 1) / 2, v = 2 * 3/4 + 9 / 4, p = 2 (1 - 0.25 * 0.5) first.
  double adamw = 1.75 - 0.5 * 2 / (std::sqrt(3.75) / 0.5 + 0.125);
  EXPECT_EQ(run(makeOp("adamw", 2, "",
                       "betas 0.5, 0.75 epsilon 0.125 weight_decay 0.5 "
                       "momentum 0.0"),
                types, {{2}, {3}, {1}, {2}, {0.25}, {0.5}, {0.5}}),
            (std::vector<Numbers>{{adamw}, {2}, {3.75}}));
}

TEST_F(Training, ScalesAndSkipsGradients) {
  std::string op = "%r = parplan.optimizer_update sgd %a0, %a1 learning_rate "
                   "%a2 scale %a3 skip %a4 betas 0.0, 0.0 epsilon 0.0 "
                   "weight_decay 0.0 momentum 0.0 : tensor<2xf32>, "
                   "tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<i1>";
  std::vector<std::string> types = {"2xf32", "2xf32", "f32", "f32", "i1"};
  EXPECT_EQ(run(op, types, {{1, 2}, {4, 8}, {0.5}, {0.25}, {0}})[0],
            (Numbers{0.5, 1}));
  EXPECT_EQ(run(op, types, {{1, 2}, {4, 8}, {0.5}, {0.25}, {1}})[0],
            (Numbers{1, 2}));
}

TEST_F(Training, CrossEntropyIgnoresPositions) {
  std::string op = "%r:2 = parplan.cross_entropy %a0, %a1 : tensor<3x2xf64>, "
                   "tensor<3xi64>";
  double near = std::log1p(std::exp(-1.0));
  std::vector<Numbers> values =
      run(op, {"3x2xf64", "3xi64"}, {{0, 1, 2, 1, 5, 5}, {1, 1, -100}});
  EXPECT_THAT(values[0],
              Pointwise(DoubleNear(1e-12), Numbers{near, near + 1, 0}));
  EXPECT_THAT(values[1],
              Pointwise(DoubleNear(1e-12),
                        Numbers{near + 1, near + 2, 5 + std::log(2)}));
  EXPECT_TRUE(failed(
      evaluate(op, {"3x2xf64", "3xi64"}, {{0, 1, 2, 1, 5, 5}, {1, 2, 0}})));
  EXPECT_THAT(messages, HasSubstr("label 2 is outside of 2 classes"));
}

TEST_F(Training, EmbeddingGradientAddsRows) {
  EXPECT_EQ(run("%r = parplan.embedding_gradient %a0, %a1 : tensor<4xi64>, "
                "tensor<4x2xf32> to tensor<3x2xf32>",
                {"4xi64", "4x2xf32"},
                {{2, 3, 2, -1}, {1, 2, 3, 4, 5, 6, 7, 8}})[0],
            (Numbers{0, 0, 0, 0, 6, 8}));
}

TEST_F(Training, AdjointsOfIndexing) {
  expectAdjoint("%r = parplan.embedding %a0, %a1 : tensor<2x3xi64>, "
                "tensor<5x4xf64>",
                "%r = parplan.embedding_gradient %a0, %a1 : tensor<2x3xi64>, "
                "tensor<2x3x4xf64> to tensor<5x4xf64>",
                "5x4xf64", "2x3x4xf64", "2x3xi64", {0, 4, 0, 7, -1, 2},
                /*isFixedFirst=*/true);
  expectAdjoint("%r = parplan.gather %a0, %a1 dim 1 : tensor<2x3x4xf64>, "
                "tensor<2x2xi64>",
                "%r = parplan.gather_gradient %a0, %a1 dim 1 : "
                "tensor<2x2x2x4xf64>, tensor<2x2xi64> to tensor<2x3x4xf64>",
                "2x3x4xf64", "2x2x2x4xf64", "2x2xi64", {0, 2, -1, 2});
  expectAdjoint("%r = parplan.gather_elements %a0, %a1 dim 1 : "
                "tensor<3x4xf64>, tensor<2x3xi64>",
                "%r = parplan.gather_elements_gradient %a0, %a1 dim 1 : "
                "tensor<2x3xf64>, tensor<2x3xi64> to tensor<3x4xf64>",
                "3x4xf64", "2x3xf64", "2x3xi64", {0, 3, -1, 2, 2, 0});
  expectAdjoint("%r = parplan.gather_nd %a0, %a1 batch_dims 1 : "
                "tensor<2x3x4x2xf64>, tensor<2x3x2xi64>",
                "%r = parplan.gather_nd_gradient %a0, %a1 batch_dims 1 : "
                "tensor<2x3x2xf64>, tensor<2x3x2xi64> to tensor<2x3x4x2xf64>",
                "2x3x4x2xf64", "2x3x2xf64", "2x3x2xi64",
                {0, 3, -1, 2, 2, 0, 1, 1, 1, 1, 0, -4});
}

TEST_F(Training, AdjointsOfConvolution) {
  const std::string window =
      " strides [2, 1] pads [1, 0, 0, 2] dilations [1, 2] groups 2 : ";
  const std::string x = "2x4x5x6xf64", w = "6x2x2x3xf64", y = "2x6x3x4xf64";
  auto makeTypes = [](const std::string &first, const std::string &second) {
    return "tensor<" + first + ">, tensor<" + second + ">";
  };
  const std::string conv =
      "%r = parplan.conv %a0, %a1" + window + makeTypes(x, w);
  expectAdjoint(conv,
                "%r = parplan.conv_input_gradient %a0, %a1" + window +
                    makeTypes(y, w) + " to tensor<" + x + ">",
                x, y, w, makeRandom(72));
  expectAdjoint(conv,
                "%r = parplan.conv_weight_gradient %a0, %a1" + window +
                    makeTypes(x, y) + " to tensor<" + w + ">",
                w, y, x, makeRandom(240), /*isFixedFirst=*/true);
}

TEST_F(Training, AdjointsOfPooling) {
  for (const char *padding : {"", " {count_include_pad}"}) {
    std::string window = std::string(" window [2, 3] strides [2, 2] pads [1, "
                                     "0, 0, 1] dilations [1, 1]") +
                         padding + " : ";
    expectAdjoint("%r = parplan.average_pool %a0" + window +
                      "tensor<1x2x5x4xf64>",
                  "%r = parplan.average_pool_gradient %a0" + window +
                      "tensor<1x2x3x2xf64> to tensor<1x2x5x4xf64>",
                  "1x2x5x4xf64", "1x2x3x2xf64", "", {});
  }
  // The first of equal maxima takes the gradient of both windows.
  EXPECT_EQ(run("%r = parplan.max_pool_gradient %a0, %a1 window [2] strides "
                "[1] pads [0, 1] dilations [1] : tensor<1x1x4xf32>, "
                "tensor<1x1x4xf32>",
                {"1x1x4xf32", "1x1x4xf32"},
                {{1, 3, 3, 2}, {1, 10, 100, 1000}})[0],
            (Numbers{0, 11, 100, 1000}));
}

} // namespace
} // namespace parplan
