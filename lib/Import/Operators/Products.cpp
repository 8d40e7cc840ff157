//===- Products.cpp - Products of matrices ---------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include "llvm/ADT/bit.h"

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

/// By expansion along the first row; minors of the last rows are shared.
static void importDet(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  Shape shape = builder.getShape(input);
  int64_t rank = shape.size();
  int64_t size = rank < 2 ? 0 : shape.back();
  if (size < 1 || shape[rank - 2] != size)
    failNode(codes::badNode, "matrices of shape ", printShape(shape));
  constexpr int64_t largest = 6;
  if (size > largest)
    failNode(codes::unsupportedForm, "determinants of more than ", largest,
             " rows");
  ShapeRef batch = ShapeRef(shape).drop_back(2);
  auto getElement = [&](int64_t row, int64_t column) {
    SliceRange ranges[] = {{rank - 2, row, row + 1},
                           {rank - 1, column, column + 1}};
    return builder.reshape(builder.slice(input, ranges), batch);
  };
  // By the set of columns, of as many last rows.
  std::vector<ValueId> minors(size_t(1) << size, noValue);
  for (unsigned columns = 1; columns < minors.size(); ++columns) {
    int64_t row = size - llvm::popcount(columns);
    bool isNegative = false;
    ValueId &sum = minors[columns];
    for (int64_t column = 0; column < size; ++column) {
      if (!(columns >> column & 1))
        continue;
      ValueId term = getElement(row, column);
      if (unsigned rest = columns & ~(1u << column))
        term = builder.binary(OpKind::mul, term, minors[rest]);
      sum = sum == noValue
                ? term
                : builder.binary(isNegative ? OpKind::sub : OpKind::add, sum,
                                 term);
      isNegative = !isNegative;
    }
  }
  node.setOutput(0, minors.back());
}

llvm::ArrayRef<OperatorEntry> getProductOperators() {
  static const OperatorEntry entries[] = {
      {"MatMul", {1, 9, 13}, Support::direct, importMatMul},
      {"Gemm",
       {7, 9, 11, 13},
       Support::lowered,
       importGemm,
       "matmul and addition"},
      {"Det",
       {11, 22},
       Support::lowered,
       importDet,
       "arithmetic, of up to 6 rows"},
  };
  return entries;
}

} // namespace parplan::importer
