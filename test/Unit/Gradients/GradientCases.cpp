//===- GradientCases.cpp - Ops to differentiate ---------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"

namespace parplan::test {

using Cases = std::vector<GradientCase>;

static GradientCase makeUnary(const std::string &op, double low = -2,
                              double high = 2) {
  return {op,
          "%y = parplan." + op + " %0 : tensor<3x4xf64>",
          {"3x4xf64"},
          low,
          high};
}

static GradientCase makeBinary(const std::string &op, const std::string &name,
                               const std::string &lhs, const std::string &rhs,
                               double low = -2, double high = 2) {
  return {op + "_" + name,
          "%y = parplan." + op + " %0, %1 : tensor<" + lhs + ">, tensor<" +
              rhs + ">",
          {lhs, rhs},
          low,
          high};
}

Cases getElementwiseCases() {
  Cases cases;
  for (const char *op :
       {"abs", "neg", "sign", "exp", "sin", "cos", "tanh", "sigmoid", "erf",
        "floor", "ceil", "round", "relu", "silu", "gelu"})
    cases.push_back(makeUnary(op));
  for (const char *op : {"log", "sqrt", "rsqrt", "reciprocal"})
    cases.push_back(makeUnary(op, 0.25, 3));
  for (const char *op : {"atan", "sinh", "cosh", "asinh"})
    cases.push_back(makeUnary(op));
  for (const char *op : {"tan", "asin", "acos", "atanh"})
    cases.push_back(makeUnary(op, -0.75, 0.75));
  cases.push_back(makeUnary("acosh", 1.25, 3));
  cases.push_back({"gelu_tanh",
                   "%y = parplan.gelu tanh %0 : tensor<3x4xf64>",
                   {"3x4xf64"}});
  for (const char *op : {"add", "sub", "mul", "max", "min"}) {
    cases.push_back(makeBinary(op, "same", "3x4xf64", "3x4xf64"));
    cases.push_back(makeBinary(op, "row", "2x3x4xf64", "4xf64"));
    cases.push_back(makeBinary(op, "both", "2x1x4xf64", "3x1xf64"));
    cases.push_back(makeBinary(op, "scalar", "f64", "2x3xf64"));
  }
  for (const char *op : {"div", "pow", "mod"}) {
    cases.push_back(makeBinary(op, "same", "3x4xf64", "3x4xf64", 0.25, 3));
    cases.push_back(makeBinary(op, "column", "2x3x4xf64", "3x1xf64", 0.25, 3));
    cases.push_back(makeBinary(op, "stretched", "4xf64", "2x1x4xf64", 0.25, 3));
  }
  for (const char *op : {"div", "mod"}) {
    cases.push_back(makeBinary(op, "signs", "3x4xf64", "4xf64"));
    cases.back().distance = 0.5;
  }
  cases.push_back({"select",
                   "%y = parplan.select %0, %1, %2 : tensor<3x4xi1>, "
                   "tensor<3x4xf64>, tensor<3x4xf64>",
                   {"3x4xi1", "3x4xf64", "3x4xf64"}});
  cases.back().integers = {1, 0, 1, 1, 0};
  cases.push_back({"select_stretched",
                   "%y = parplan.select %0, %1, %2 : tensor<3x1xi1>, "
                   "tensor<4xf64>, tensor<2x1x1xf64>",
                   {"3x1xi1", "4xf64", "2x1x1xf64"}});
  cases.back().integers = {1, 0, 1};
  cases.push_back({"cast",
                   "%y = parplan.cast %0 : tensor<3x4xf64> to tensor<3x4xf64>",
                   {"3x4xf64"}});
  return cases;
}

Cases getShapeCases() {
  auto slice = [](const char *name, const char *cut) -> GradientCase {
    return {std::string("slice_") + name,
            std::string("%y = parplan.slice %0 ") + cut +
                " : tensor<3x7x4xf64>",
            {"3x7x4xf64"}};
  };
  auto gather = [](const char *name, const char *text, const char *data,
                   const char *indices,
                   std::vector<int64_t> integers) -> GradientCase {
    GradientCase one{name,
                     std::string("%y = parplan.") + text + " : tensor<" + data +
                         ">, tensor<" + indices + ">",
                     {data, indices}};
    one.integers = std::move(integers);
    return one;
  };
  auto add = [](const char *name, const char *text, const char *updates,
                const char *indices, const char *data,
                std::vector<int64_t> integers) -> GradientCase {
    GradientCase one{name,
                     std::string("%y = parplan.") + text + " : tensor<" +
                         updates + ">, tensor<" + indices + "> to tensor<" +
                         data + ">",
                     {updates, indices}};
    one.integers = std::move(integers);
    return one;
  };
  auto cumsum = [](const char *name, const char *attributes) -> GradientCase {
    return {name,
            std::string("%y = parplan.cumsum %0 dim 1 ") + attributes +
                " : tensor<2x5x3xf64>",
            {"2x5x3xf64"}};
  };
  Cases cases = {
      {"reshape",
       "%y = parplan.reshape %0 : tensor<2x6xf64> to tensor<3x4xf64>",
       {"2x6xf64"}},
      {"broadcast",
       "%y = parplan.broadcast %0 : tensor<3x1xf64> to tensor<2x3x4xf64>",
       {"3x1xf64"}},
      {"transpose",
       "%y = parplan.transpose %0 [2, 0, 1] : tensor<2x3x4xf64>",
       {"2x3x4xf64"}},
      slice("step", "dims [1] from [1] to [7] step [3]"),
      slice("exact_step", "dims [1] from [0] to [7] step [2]"),
      slice("single", "dims [1] from [5] to [6] step [4]"),
      slice("two_dims", "dims [0, 2] from [1, 0] to [3, 3] step [1, 2]"),
      slice("reverse", "dims [1] from [6] to [-1] step [-1]"),
      slice("reverse_step", "dims [1, 2] from [5, 3] to [0, -1] step [-2, -3]"),
      slice("empty", "dims [1] from [3] to [3] step [1]"),
      {"concat",
       "%y = parplan.concat %0, %1, %2 dim 1 : tensor<2x3xf64>, "
       "tensor<2x1xf64>, tensor<2x4xf64>",
       {"2x3xf64", "2x1xf64", "2x4xf64"}},
      {"pad",
       "%y = parplan.pad %0 dims [0, 2] low [1, 0] high [0, 2] value 3.0 : "
       "tensor<2x3x4xf64>",
       {"2x3x4xf64"}},
      {"embedding",
       "%y = parplan.embedding %0, %1 : tensor<2x3xi64>, tensor<5x4xf64>",
       {"2x3xi64", "5x4xf64"}},
      gather("gather", "gather %0, %1 dim 1", "2x5x3xf64", "2x2xi64",
             {1, -1, 4, 1}),
      gather("gather_scalar", "gather %0, %1 dim 0", "5x3xf64", "i64", {-2}),
      gather("gather_elements", "gather_elements %0, %1 dim 1", "3x4xf64",
             "3x2xi64", {1, -1, 3, 3, 0, 2}),
      gather("gather_elements_part", "gather_elements %0, %1 dim 0", "3x4xf64",
             "5x2xi64", {1, -1, 2}),
      gather("gather_nd", "gather_nd %0, %1 batch_dims 0", "3x4x2xf64",
             "2x2xi64", {1, -1, 1, 3}),
      gather("gather_nd_batch", "gather_nd %0, %1 batch_dims 1", "3x4x2xf64",
             "3x2x1xi64", {1, -1, 1, 1}),
      add("gather_gradient", "gather_gradient %0, %1 dim 1", "2x2x2x3xf64",
          "2x2xi64", "2x5x3xf64", {1, -1, 4, 1}),
      add("gather_elements_gradient", "gather_elements_gradient %0, %1 dim 1",
          "3x2xf64", "3x2xi64", "3x4xf64", {1, -1, 3, 3, 0, 2}),
      add("gather_nd_gradient", "gather_nd_gradient %0, %1 batch_dims 1",
          "3x2x2xf64", "3x2x1xi64", "3x4x2xf64", {1, -1, 1, 1}),
      {"topk",
       "%y, %z = parplan.topk %0 k 2 dim 1 largest true : tensor<3x5x2xf64>",
       {"3x5x2xf64"}},
      {"topk_smallest",
       "%y, %z = parplan.topk %0 k 3 dim 0 largest false : tensor<4x2xf64>",
       {"4x2xf64"}},
      cumsum("cumsum", ""),
      cumsum("cumsum_exclusive", "{exclusive}"),
      cumsum("cumsum_reverse", "{reverse}"),
      cumsum("cumsum_exclusive_reverse", "{exclusive, reverse}"),
  };
  for (GradientCase &one : cases)
    if (one.name == "embedding")
      one.integers = {1, 4, 1, -1, 0, 7};
  return cases;
}

static GradientCase makeReduce(const std::string &kind, const std::string &name,
                               const std::string &dims, int64_t zeros = 0) {
  GradientCase one{"reduce_" + kind + "_" + name,
                   "%y = parplan.reduce " + kind + " %0 dims " + dims +
                       " : tensor<2x3x4xf64>",
                   {"2x3x4xf64"}};
  one.zeros = zeros;
  return one;
}

static GradientCase makeMatmul(const std::string &name, const std::string &spec,
                               const std::string &lhs, const std::string &rhs) {
  return {"matmul_" + name,
          "%y = parplan.matmul \"" + spec + "\" %0, %1 : tensor<" + lhs +
              ">, tensor<" + rhs + ">",
          {lhs, rhs}};
}

static GradientCase makeConv(const std::string &name, const std::string &input,
                             const std::string &weight, const std::string &bias,
                             const std::string &attributes) {
  bool hasBias = !bias.empty();
  std::string op = "%y = parplan.conv %0, %1";
  op += (hasBias ? ", %2 " : " ") + attributes + " : tensor<" + input +
        ">, tensor<" + weight + ">";
  std::vector<std::string> arguments = {input, weight};
  if (hasBias) {
    op += ", tensor<" + bias + ">";
    arguments.push_back(bias);
  }
  return {"conv_" + name, op, arguments};
}

/// The adjoint of a convolution of `input` by `weight` that `gradient` is of.
static GradientCase makeConvAdjoint(const std::string &op,
                                    const std::string &lhs,
                                    const std::string &rhs,
                                    const std::string &result) {
  return {op,
          "%y = parplan." + op +
              " %0, %1 strides [2, 1] pads [1, 0, 0, 1] dilations [1, 2] "
              "groups 2 : tensor<" +
              lhs + ">, tensor<" + rhs + "> to tensor<" + result + ">",
          {lhs, rhs}};
}

static GradientCase makePool(const std::string &name, const std::string &input,
                             const std::string &text) {
  return {name, "%y = parplan." + text + " : tensor<" + input + ">", {input}};
}

Cases getProductCases() {
  Cases cases;
  for (const char *kind : {"sum", "max", "prod"}) {
    cases.push_back(makeReduce(kind, "inner", "[2]"));
    cases.push_back(makeReduce(kind, "kept", "[0, 2] keep_dims"));
    cases.push_back(makeReduce(kind, "all", "[0, 1, 2]"));
  }
  cases.push_back(makeReduce("prod", "one_zero", "[1, 2]", 1));
  cases.push_back(makeReduce("prod", "two_zeros", "[1, 2]", 2));
  cases.push_back(makeMatmul("plain", "bsk,kn->bsn", "2x3x4xf64", "4x5xf64"));
  cases.push_back(
      makeMatmul("transposed", "bsk,nk->bsn", "2x3x4xf64", "5x4xf64"));
  cases.push_back(
      makeMatmul("batched", "bhse,bhte->bhst", "2x2x3x4xf64", "2x2x5x4xf64"));
  cases.push_back(makeMatmul("grouped", "bsgre,btge->bgrst", "1x3x2x2x4xf64",
                             "1x5x2x4xf64"));
  cases.push_back(
      makeMatmul("two_sums", "skl,lkn->ns", "3x2x4xf64", "4x2x5xf64"));
  cases.push_back(makeMatmul("outer", "m,n->nm", "3xf64", "4xf64"));
  cases.push_back(makeMatmul("vector", "k,k->", "3xf64", "3xf64"));
  cases.push_back(makeConv("line", "2x2x7xf64", "3x2x3xf64", "3xf64",
                           "strides [2] pads [1, 0] dilations [1] groups 1"));
  cases.push_back(makeConv("groups", "1x4x5x6xf64", "6x2x3x2xf64", "6xf64",
                           "strides [1, 2] pads [1, 1, 0, 1] dilations [1, 2] "
                           "groups 2"));
  cases.push_back(makeConv("depthwise", "2x3x4x4xf64", "3x1x2x2xf64", "",
                           "strides [1, 1] pads [0, 0, 0, 0] dilations [2, 1] "
                           "groups 3"));
  cases.push_back(makeConv("overhang", "1x2x6xf64", "2x2x2xf64", "",
                           "strides [3] pads [0, 0] dilations [1] groups 1"));
  cases.push_back(makeConv("cube", "1x1x3x3x3xf64", "2x1x2x2x2xf64", "2xf64",
                           "strides [1, 1, 1] pads [0, 0, 1, 0, 0, 1] "
                           "dilations [1, 1, 1] groups 1"));
  cases.push_back(makeConvAdjoint("conv_input_gradient", "1x6x2x4xf64",
                                  "6x2x3x2xf64", "1x4x5x5xf64"));
  cases.push_back(makeConvAdjoint("conv_weight_gradient", "1x4x5x5xf64",
                                  "1x6x2x4xf64", "6x2x3x2xf64"));
  cases.push_back(makePool("max_pool", "2x2x5x6xf64",
                           "max_pool %0 window [2, 3] strides [2, 1] pads "
                           "[0, 1, 1, 1] dilations [1, 2]"));
  cases.push_back(makePool("max_pool_line", "1x2x6xf64",
                           "max_pool %0 window [3] strides [2] pads [1, 1] "
                           "dilations [1]"));
  cases.push_back(makePool("average_pool", "2x2x5x6xf64",
                           "average_pool %0 window [2, 3] strides [2, 1] pads "
                           "[0, 1, 1, 1] dilations [1, 2]"));
  cases.push_back(
      makePool("average_pool_padding", "1x2x6xf64",
               "average_pool %0 window [3] strides [2] pads [1, 1] dilations "
               "[1] {count_include_pad}"));
  return cases;
}

static GradientCase makeAttention(const std::string &name,
                                  const std::string &mask,
                                  const std::string &attributes,
                                  std::vector<int64_t> integers = {},
                                  bool isGrouped = true) {
  std::string query = "2x3x4x3xf64";
  std::string heads = isGrouped ? "2" : "4";
  std::string key = "2x5x" + heads + "x3xf64",
              value = "2x5x" + heads + "x2xf64";
  GradientCase one{"attention_" + name,
                   "%y = parplan.attention %0, %1, %2 ",
                   {query, key, value}};
  if (!mask.empty()) {
    one.op += "mask %3 : tensor<" + mask + "> ";
    one.arguments.push_back(mask);
  }
  if (attributes.starts_with("offset"))
    one.arguments.push_back("i64");
  if (attributes.starts_with("sink"))
    one.arguments.push_back("4xf64");
  one.op += attributes + " : tensor<" + query + ">, tensor<" + key +
            ">, tensor<" + value + ">";
  if (!integers.empty())
    one.integers = std::move(integers);
  return one;
}

/// The same with statistics, whose backward is one op.
static GradientCase withStatistics(GradientCase one, bool onlyFirst = true) {
  one.name += onlyFirst ? "_with_statistics" : "_and_its_statistics";
  one.op.replace(one.op.find("%y"), 2, "%y, %l");
  one.op.replace(one.op.rfind(" : tensor<2x3x4x3xf64>"), 0, " statistics");
  one.onlyFirst = onlyFirst;
  return one;
}

static Cases getAttentionCases() {
  Cases cases = {
      makeAttention("plain", "", "scale 0.5", {}, /*isGrouped=*/false),
      makeAttention("grouped", "", "scale 0.5"),
      makeAttention("causal", "", "scale 0.5 causal"),
      makeAttention("offset", "", "offset %3 : tensor<i64> scale 0.7 causal",
                    {2}),
      makeAttention("term", "2x4x3x5xf64", "scale 0.5"),
      makeAttention("shared_term", "1x3x5xf64", "scale 0.5 causal"),
      makeAttention("term_of_keys", "5xf64", "scale 0.5"),
      makeAttention("term_of_heads", "4x1x1xf64", "scale 0.5", {}, false),
      makeAttention("mask", "2x1x3x5xi1", "scale 0.5", {1, 1, 0, 1, 1, 0, 1}),
      makeAttention("masked_rows", "2x1x3x1xi1", "scale 0.5 zero_masked_rows",
                    {1, 0, 1, 1}),
      makeAttention("masked_causal", "5xi1",
                    "scale 0.5 causal zero_masked_rows", {0, 1}),
      makeAttention("sink", "", "sink %3 : tensor<4xf64> scale 0.5 causal"),
      makeAttention("masked_sink", "2x1x3x5xi1",
                    "sink %4 : tensor<4xf64> scale 0.5", {1, 1, 0, 1, 1, 0, 1}),
  };
  Cases kept;
  for (const GradientCase &one : cases)
    kept.push_back(withStatistics(one));
  kept.push_back(withStatistics(cases[1], /*onlyFirst=*/false));
  kept.push_back(withStatistics(cases[3], /*onlyFirst=*/false));
  cases.insert(cases.end(), kept.begin(), kept.end());
  return cases;
}

Cases getCompositeCases() {
  Cases cases = {
      {"softmax",
       "%y = parplan.softmax %0 dim 1 : tensor<2x3x4xf64>",
       {"2x3x4xf64"}},
      {"log_softmax",
       "%y = parplan.log_softmax %0 dim 2 : tensor<2x3x4xf64>",
       {"2x3x4xf64"}},
      {"layer_norm",
       "%y = parplan.layer_norm %0 scale %1 : tensor<3x4xf64> bias %2 : "
       "tensor<3x4xf64> dim 1 epsilon 1.0e-3 : tensor<2x3x4xf64>",
       {"2x3x4xf64", "3x4xf64", "3x4xf64"}},
      {"layer_norm_bias",
       "%y = parplan.layer_norm %0 bias %1 : tensor<4xf64> dim 2 epsilon "
       "1.0e-3 : tensor<2x3x4xf64>",
       {"2x3x4xf64", "4xf64"}},
      {"layer_norm_plain",
       "%y = parplan.layer_norm %0 dim 2 epsilon 1.0e-3 : tensor<2x3x4xf64>",
       {"2x3x4xf64"}},
      {"rms_norm",
       "%y = parplan.rms_norm %0 scale %1 : tensor<4xf64> dim 2 epsilon "
       "1.0e-3 : tensor<2x3x4xf64>",
       {"2x3x4xf64", "4xf64"}},
      {"rms_norm_plain",
       "%y = parplan.rms_norm %0 dim 1 epsilon 1.0e-3 : tensor<2x3x4xf64>",
       {"2x3x4xf64"}},
      {"batch_norm",
       "%y = parplan.batch_norm %0, %1, %2, %3, %4 epsilon 1.0e-3 : "
       "tensor<2x3x4xf64>, tensor<3xf64>",
       {"2x3x4xf64", "3xf64", "3xf64", "3xf64", "3xf64"},
       0.25,
       2},
      {"rope",
       "%y = parplan.rope %0 cos %1 sin %2 : tensor<2x3x2x8xf64>, "
       "tensor<3x1x4xf64>, tensor<3x1x4xf64>",
       {"2x3x2x8xf64", "3x1x4xf64", "3x1x4xf64"}},
      {"rope_interleaved",
       "%y = parplan.rope %0 cos %1 sin %2 {interleaved} : "
       "tensor<2x3x2x8xf64>, tensor<3x1x4xf64>, tensor<3x1x4xf64>",
       {"2x3x2x8xf64", "3x1x4xf64", "3x1x4xf64"}},
  };
  for (GradientCase &one : getAttentionCases())
    cases.push_back(std::move(one));
  return cases;
}

Cases getTrainingCases() {
  Cases cases = {
      {"accumulate", "%y = parplan.accumulate %0 : tensor<3xf64>", {"3xf64"}},
      {"sum",
       "%y = parplan.sum %0, %1, %2 : tensor<3xf64>",
       {"3xf64", "3xf64", "3xf64"}},
      {"square_sum",
       "%y = parplan.square_sum %0 : tensor<3x4xf64>",
       {"3x4xf64"}},
      {"cross_entropy",
       "%y, %z = parplan.cross_entropy %0, %1 : tensor<2x3x5xf64>, "
       "tensor<2x3xi64>",
       {"2x3x5xf64", "2x3xi64"}},
      {"cross_entropy_of_rows",
       "%y, %z = parplan.cross_entropy %0, %1 : tensor<4x3xf64>, tensor<4xi32>",
       {"4x3xf64", "4xi32"}},
  };
  cases[3].integers = {1, 4, -100, 0};
  cases[4].integers = {-100, 2, 0};
  return cases;
}

Cases getAllCases() {
  Cases all;
  for (const Cases &cases :
       {getElementwiseCases(), getShapeCases(), getProductCases(),
        getCompositeCases(), getTrainingCases(), getExpertCases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

} // namespace parplan::test
