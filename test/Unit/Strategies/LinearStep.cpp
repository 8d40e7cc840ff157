//===- LinearStep.cpp - Chains of linears, forward and backward -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "LinearStep.h"

using namespace mlir;

namespace parplan::test {
namespace {

class ChainBuilder {
public:
  ChainBuilder(const Mesh &mesh, const ChainPlan &plan, const ChainSizes &sizes,
               Random &random)
      : plan(plan), sizes(sizes), step(mesh, random) {}

  Step build(bool withBackward) {
    Value input = step.addInput({sizes.rows, sizes.columns.front()}, x);
    Value gradient = step.addInput({sizes.rows, sizes.columns.back()}, getY());
    // Arguments have no op that says how they are copied.
    if (plan.gathersAgain)
      input = addElementwise<NegOp>(x, roles::forward, input);
    activations = {input};
    for (size_t index = 0; index < plan.linears.size(); ++index)
      addForward(index);
    Value output = activations.back();
    if (plan.hasResidual)
      output = addElementwise<AddOp>(getY(), roles::forward, output,
                                     activations.front());
    step.addResult(output, getY());
    if (withBackward)
      addBackward(gradient);
    return step.finish();
  }

private:
  static std::string getName(size_t index) {
    return "w" + std::to_string(index);
  }

  Layout getY() const { return {"mn", plan.linears.back().y}; }

  template <typename Op, typename... Operands>
  Value addElementwise(const Layout &layout, StringRef role,
                       Operands... operands) {
    std::string factors = layout.axes;
    for (size_t dim = 0; dim < layout.letters.size(); ++dim) {
      size_t at = factors.find(layout.letters.substr(dim, 1) + ":");
      if (at != std::string::npos)
        factors.replace(at, 1, "d" + std::to_string(dim));
    }
    return step.add<Op>(factors, {layout}, role, operands...).getResult();
  }

  void addForward(size_t index) {
    const LinearPlan &linear = plan.linears[index];
    Value w = step.addParameter(
        getName(index), {sizes.columns[index], sizes.columns[index + 1]},
        {"kn", linear.w});
    weights.push_back(w);
    if (plan.gathersAgain) {
      step.gatherAgain(w);
      step.gatherAgain(activations.back());
    }
    activations.push_back(step.add<MatmulOp>(linear.factors, {{"mn", linear.y}},
                                             roles::forward, activations.back(),
                                             w, "mk,kn->mn"));
  }

  void addBackward(Value gradient) {
    Value ofInput = gradient;
    std::vector<Value> ofWeights;
    for (size_t index = plan.linears.size(); index-- > 0;) {
      const LinearPlan &linear = plan.linears[index];
      // As the result of the linear before, whose columns are called n.
      std::string rest = index > 0 ? plan.linears[index - 1].y : plan.x;
      Layout atRest = {index > 0 ? "mn" : "mk", rest};
      Value ofOutput = ofInput;
      ofInput =
          step.add<MatmulOp>(linear.factors, {atRest}, roles::inputGradient,
                             ofOutput, weights[index], "mn,kn->mk");
      ofWeights.push_back(step.add<MatmulOp>(
          linear.factors, {{"kn", linear.w}}, roles::weightGradient,
          activations[index], ofOutput, "mk,mn->kn"));
    }
    if (plan.hasResidual)
      ofInput =
          addElementwise<AddOp>(x, roles::inputGradient, ofInput, gradient);
    step.addResult(ofInput, x);
    for (auto [number, made] : llvm::enumerate(ofWeights)) {
      size_t index = plan.linears.size() - 1 - number;
      Layout layout = {"kn", plan.linears[index].w};
      // Of what a function returns, only new values may lie in pieces.
      if (StringRef(layout.axes).contains('/'))
        step.addNewValue(made, getName(index), layout);
      else
        step.addResult(made, layout);
    }
  }

  const ChainPlan &plan;
  const ChainSizes &sizes;
  Layout x = {"mk", plan.x};
  StepBuilder step;
  std::vector<Value> activations, weights;
};

} // namespace

Step makeChain(const Mesh &mesh, const ChainPlan &plan, const ChainSizes &sizes,
               bool withBackward, Random &random) {
  return ChainBuilder(mesh, plan, sizes, random).build(withBackward);
}

Mesh drawMesh(const std::string &names, Random &random) {
  while (true) {
    std::vector<MeshAxis> axes;
    for (char name : names)
      axes.push_back(
          {std::string(1, name), draw(random, 2, names.size() == 1 ? 4 : 3)});
    Mesh mesh(axes);
    if (mesh.getRankCount() <= 12)
      return mesh;
  }
}

int64_t drawSize(const Mesh &mesh, bool dividing, Random &random) {
  int64_t ranks = mesh.getRankCount();
  if (dividing)
    return ranks * draw(random, 1, std::max<int64_t>(1, 12 / ranks));
  int64_t widest = 1;
  for (const MeshAxis &axis : mesh.getAxes())
    widest = std::max(widest, axis.size);
  int64_t least = std::max(ranks, widest * (widest - 2) + 1);
  return draw(random, least, least + 8);
}

} // namespace parplan::test
