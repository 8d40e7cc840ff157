//===- ExpertLowering.cpp - Dispatch and combine as launches --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ExpertProduct.h"
#include "passes/Schedule/LaunchBuilder.h"

#include "parplan/Support/Sizes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace parplan {

namespace {

class ExpertLowering : public LaunchBuilder {
public:
  using LaunchBuilder::LaunchBuilder;

  LogicalResult run() {
    if (failed(requireAnyFloat(op->getResult(0))))
      return failure();
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<MatmulOp, MoeDispatchOp, MoeCombineOp, MoeWeightGradientOp>(
            [&](auto concrete) { return lower(concrete); });
  }

private:
  /// [rows, tokens, width, experts per token].
  DenseI64ArrayAttr getSizes(Value values, Value experts) {
    ArrayRef<int64_t> shape = getShape(values);
    return list({shape.front(), multiplySizes(shape.drop_front().drop_back()),
                 shape.back(), getShape(experts).back()});
  }

  LogicalResult lower(MoeDispatchOp dispatch) {
    Value tokens = get(dispatch.getTokens());
    Value output = placement.define(dispatch.getResult());
    return done(builder.create<exec::MoeDispatchOp>(
        location, tokens, get(dispatch.getExperts()),
        get(dispatch.getWeights()), get(dispatch.getFirstExpert()), output,
        getSizes(dispatch.getResult(), dispatch.getExperts()),
        dispatch.getGroupsAttr(), getCost()));
  }

  LogicalResult lower(MoeCombineOp combine) {
    Value values = get(combine.getValues());
    Value output = placement.define(combine.getResult());
    return done(builder.create<exec::MoeCombineOp>(
        location, values, get(combine.getExperts()), get(combine.getWeights()),
        get(combine.getFirstExpert()), output,
        getSizes(combine.getValues(), combine.getExperts()),
        combine.getGroupsAttr(), getCost()));
  }

  LogicalResult lower(MatmulOp product) {
    std::optional<MatmulForm> form = getMatmulForm(product);
    ExpertRows rows = *product.getRows();
    MatmulSpec spec = *MatmulSpec::parse(product.getSpec());
    int64_t experts = rows.countExperts(spec, getShape(product.getLhs()));
    if (!form || !isFormOfRows(*form, spec, rows, experts))
      return product.emitOpError("has no matmul form: it needs "
                                 "parplan-legalize-layouts");
    Value lhs = get(product.getLhs()), rhs = get(product.getRhs());
    Value chosen = get(rows.experts), first = get(rows.first);
    Value output = placement.define(product.getResult());
    return done(createExpertProduct(placement, location,
                                    {lhs, rhs, chosen, first, output, experts,
                                     getShape(rows.experts).back(), rows.groups,
                                     rows.areSummed(spec),
                                     /*accumulates=*/false},
                                    *form, getCost()));
  }

  LogicalResult lower(MoeWeightGradientOp adjoint) {
    Value values = get(adjoint.getValues());
    Value gradient = get(adjoint.getGradient());
    Value output = placement.define(adjoint.getResult());
    return done(builder.create<exec::MoeWeightGradientOp>(
        location, values, gradient, get(adjoint.getExperts()),
        get(adjoint.getFirstExpert()), output,
        getSizes(adjoint.getValues(), adjoint.getExperts()),
        adjoint.getGroupsAttr(), getCost()));
  }
};

} // namespace

LogicalResult lowerExperts(Operation *op, Placement &placement) {
  return ExpertLowering(op, placement).run();
}

} // namespace parplan
