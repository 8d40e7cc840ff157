//===- Products.cpp - MatMul, Gemm, Einsum ---------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

namespace parplan::importer {

static void requireNumbers(NodeContext &node, ValueId value) {
  if (isBool(node.builder.getType(value)))
    failNode(codes::badNode, "operand of type bool");
}

static void importMatMul(NodeContext &node) {
  requireNumbers(node, node.getInput(0));
  node.setOutput(0, node.builder.matmul(node.getInput(0), node.getInput(1)));
}

static void importGemm(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId lhs = node.getInput(0), rhs = node.getInput(1);
  requireNumbers(node, lhs);
  if (builder.getRank(lhs) != 2 || builder.getRank(rhs) != 2)
    failNode(codes::badNode, "operands of shapes ",
             printShape(builder.getShape(lhs)), " and ",
             printShape(builder.getShape(rhs)));
  ElementType type = builder.getType(lhs);
  std::string spec = node.getInteger("transA", 0) ? "km" : "mk";
  spec += node.getInteger("transB", 0) ? ",nk->mn" : ",kn->mn";
  ValueId result = builder.product(lhs, rhs, spec);
  double alpha = node.getReal("alpha", 1.0), beta = node.getReal("beta", 1.0);
  if (alpha != 1.0)
    result =
        builder.binary(OpKind::mul, result, builder.makeNumber(type, alpha));
  if (node.hasInput(2) && beta != 0.0) {
    ValueId addend = node.getInput(2);
    if (beta != 1.0)
      addend =
          builder.binary(OpKind::mul, addend, builder.makeNumber(type, beta));
    Shape shape = builder.getShape(result);
    if (builder.broadcastShapes({shape, builder.getShape(addend)}) != shape)
      failNode(codes::badNode, "C of shape ",
               printShape(builder.getShape(addend)), " for a product of shape ",
               printShape(shape));
    result = builder.binary(OpKind::add, result, addend);
  }
  node.setOutput(0, result);
}

static void importEinsum(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  if (node.getInputCount() != 2)
    failNode(codes::unsupportedForm, "an einsum of ", node.getInputCount(),
             " operands");
  std::string equation;
  for (char character : node.getText("equation", ""))
    if (character != ' ')
      equation += character;
  size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    failNode(codes::unsupportedForm,
             "an einsum equation without a comma and an explicit result");
  std::string terms[] = {equation.substr(0, comma),
                         equation.substr(comma + 1, arrow - comma - 1),
                         equation.substr(arrow + 2)};
  // Letters of either case are renamed in the order in which they occur.
  std::string known;
  for (std::string &term : terms)
    for (size_t i = 0; i < term.size(); ++i) {
      if (!std::isalpha(static_cast<unsigned char>(term[i])) ||
          term.find(term[i]) != i)
        failNode(codes::unsupportedForm,
                 "an einsum equation with an ellipsis, a diagonal or what is "
                 "not a letter");
    }
  for (std::string &term : terms)
    for (char &letter : term) {
      if (known.find(letter) == std::string::npos)
        known += letter;
      letter = char('a' + known.find(letter));
    }
  for (int operand : {0, 1})
    if (int64_t(terms[operand].size()) !=
        builder.getRank(node.getInput(operand)))
      failNode(codes::badNode, "operand ", operand, " has rank ",
               builder.getRank(node.getInput(operand)));
  if (known.size() > 26)
    failNode(codes::unsupportedForm, "an einsum over ", known.size(),
             " dimensions");
  for (char letter : terms[2])
    if (terms[0].find(letter) == std::string::npos &&
        terms[1].find(letter) == std::string::npos)
      failNode(codes::badNode, "a dimension of the result is in no operand");
  for (int operand : {0, 1})
    for (char letter : terms[operand])
      if (terms[2].find(letter) == std::string::npos &&
          terms[1 - operand].find(letter) == std::string::npos)
        failNode(codes::unsupportedForm,
                 "an einsum that sums a dimension of one operand only");
  node.setOutput(0,
                 builder.product(node.getInput(0), node.getInput(1),
                                 terms[0] + "," + terms[1] + "->" + terms[2]));
}

llvm::ArrayRef<OperatorEntry> getProductOperators() {
  static const OperatorEntry entries[] = {
      {"MatMul", {1, 9, 13}, Support::direct, importMatMul},
      {"Gemm",
       {7, 9, 11, 13},
       Support::lowered,
       importGemm,
       "matmul and addition"},
      {"Einsum",
       {12},
       Support::direct,
       importEinsum,
       "matmul, for two operands"},
  };
  return entries;
}

} // namespace parplan::importer
