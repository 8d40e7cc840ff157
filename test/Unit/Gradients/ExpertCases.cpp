//===- ExpertCases.cpp - Ops of experts to differentiate ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"

namespace parplan::test {

/// `tokens` is the shape [*t, d] without its type, `choices` [*t, k], `count`
/// rows, in `groups` of experts. Some choices repeat, some are no expert.
static GradientCase makeCase(const std::string &name, bool isDispatch,
                             bool isWeighted, const std::string &tokens,
                             const std::string &choices,
                             const std::string &count,
                             const std::string &groups = "") {
  std::string values = "tensor<" + count + "x" + tokens + "xf64>";
  std::string rows = "tensor<" + tokens + "xf64>";
  std::string experts = "tensor<" + choices + "xi64>";
  std::string op = "%y = parplan.";
  op += isDispatch ? "moe_dispatch" : "moe_combine";
  op += " %0, %1 ";
  if (isWeighted)
    op += "weights %2 : tensor<" + choices + "xf64> ";
  op += groups;
  op += ": " + (isDispatch ? rows : values) + ", " + experts;
  if (isDispatch)
    op += " to " + values;
  GradientCase one{
      name,
      op,
      {(isDispatch ? "" : count + "x") + tokens + "xf64", choices + "xi64"}};
  if (isWeighted)
    one.arguments.push_back(choices + "xf64");
  one.integers = {1, 4, 0, 0, 1, -1, 2, 7};
  return one;
}

/// A product of the rows of tokens with `experts` in all and in groups.
static GradientCase
makeProduct(const std::string &name, const std::string &spec,
            const std::string &tokens, const std::string &lhs,
            const std::string &rhs, const std::string &choices,
            const std::string &experts = "5", const std::string &groups = "") {
  return {name,
          "%y = parplan.matmul \"" + spec + "\" %0, %1 experts %2 : tensor<" +
              choices + "xi64> of " + experts + " tokens \"" + tokens + "\" " +
              groups + ": tensor<" + lhs + "xf64>, tensor<" + rhs + "xf64>",
          {lhs + "xf64", rhs + "xf64", choices + "xi64"},
          /*low=*/-2,
          /*high=*/2,
          /*distance=*/0,
          {1, 4, 0, 0, 1, -1, 2, 7}};
}

std::vector<GradientCase> getExpertCases() {
  return {makeCase("moe_dispatch", true, false, "4x3", "4x2", "5"),
          makeCase("moe_dispatch_weighted", true, true, "4x3", "4x2", "5"),
          makeCase("moe_dispatch_rows", true, true, "2x3x4", "2x3x1", "3"),
          makeCase("moe_combine", false, false, "4x3", "4x2", "5"),
          makeCase("moe_combine_weighted", false, true, "4x3", "4x2", "5"),
          makeCase("moe_combine_rows", false, true, "2x3x4", "2x3x3", "2"),
          makeProduct("product_of_rows", "ebsk,enk->ebsn", "bs", "5x2x3x4",
                      "5x2x4", "2x3x2"),
          makeProduct("product_over_tokens", "etk,etn->enk", "t", "5x4x3",
                      "5x4x2", "4x2"),
          makeCase("moe_dispatch_groups", true, true, "4x3", "4x2", "4",
                   "groups [3, 2] "),
          makeCase("moe_combine_groups", false, true, "4x3", "4x2", "4",
                   "groups [3, 2] "),
          makeProduct("product_of_rows_of_groups", "etk,enk->etn", "t", "4x4x3",
                      "6x2x3", "4x2", "6", "groups [3, 2] "),
          makeProduct("product_over_tokens_of_groups", "etk,etn->enk", "t",
                      "4x4x3", "4x4x2", "4x2", "6", "groups [3, 2] ")};
}

} // namespace parplan::test
