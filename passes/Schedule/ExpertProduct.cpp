//===- ExpertProduct.cpp - Launches products of experts' rows -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ExpertProduct.h"

#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan {

exec::MoeMatmulOp createExpertProduct(Placement &placement, Location location,
                                      const ExpertProduct &product,
                                      const MatmulForm &form,
                                      exec::CostAttr cost) {
  OpBuilder &builder = placement.getStatements();
  PARPLAN_CHECK(form.batch.size() <= 1,
                "a product of experts' rows repeats more than experts");
  auto list = [&](ArrayRef<int64_t> values) {
    return builder.getDenseI64ArrayAttr(values);
  };
  auto flag = [&](bool value) {
    return value ? builder.getUnitAttr() : UnitAttr();
  };
  auto getStride = [](ArrayRef<int64_t> strides) {
    return strides.empty() ? 0 : strides[0];
  };
  auto statement = builder.create<exec::MoeMatmulOp>(
      location, product.lhs, product.rhs, product.chosen, product.first,
      /*workspace=*/Value(), product.output,
      list({product.experts, product.choices}), list({form.m, form.n, form.k}),
      list(form.lhs), list(form.rhs), list(form.result),
      list({getStride(form.lhsBatch), getStride(form.rhsBatch),
            getStride(form.resultBatch)}),
      product.groups.write(builder.getContext()), flag(product.sumsTokens),
      flag(product.accumulates), cost);
  Type element = exec::getBufferType(product.output).getElementType();
  runtime::ExpertProductWorkspace workspace(exec::getRuntimeShape(statement),
                                            exec::getStorageBytes(element));
  if (Value place = placement.createWorkspace(workspace.bytes))
    statement.getWorkspaceMutable().assign(place);
  return statement;
}

} // namespace parplan
