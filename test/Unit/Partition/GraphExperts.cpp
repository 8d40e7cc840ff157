//===- GraphExperts.cpp - Random mixtures of experts ----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "GraphExperts.h"

#include "GraphGrower.h"

using namespace mlir;

namespace parplan::test {

namespace {

/// A mixture: tokens [*t, d] to k of e experts each, through a product, back.
class Mixture {
public:
  explicit Mixture(GraphGrower &grower)
      : grower(grower), tokens(grower.pickReal(grower.random.between(2, 3))),
        count(grower.random.between(1, 6)) {
    ArrayRef<int64_t> shape = GraphGrower::getShape(tokens);
    Shape choices(shape.drop_back());
    choices.push_back(grower.random.between(1, 3));
    // Some choices are no expert, some are made twice.
    int64_t beyond = grower.random.chance(30);
    experts = grower.makeIndices(choices, -beyond, count - 1 + beyond);
    perToken = static_cast<double>(choices.back());
    if (grower.random.chance(50))
      drawGroups(choices.back());
    if (grower.random.chance(60))
      weights = grower.makeReal(choices);
  }

  void grow() {
    auto [bound, isExact] = grower.getRange(tokens);
    bool isWeighted = grower.random.chance(20);
    Value rows = dispatch(tokens, isWeighted);
    bound *= scale(isWeighted);
    note(rows, bound, isExact);
    int64_t width = GraphGrower::getShape(tokens).back();
    int64_t outWidth = grower.random.between(1, 5);
    Value matrices = grower.makeReal({count, width, outWidth});
    std::string letters =
        GraphGrower::getShape(tokens).size() == 3 ? "bs" : "t";
    Value answers = multiply(
        rows, matrices, "e" + letters + "k,ekn->e" + letters + "n", letters);
    bound *= grower.getRange(matrices).bound * static_cast<double>(width);
    note(answers, bound, isExact);
    Value sums = combine(answers);
    grower.add(sums, bound * scale(/*isWeighted=*/true), isExact);
    if (grower.random.chance(50))
      growGradients(answers, matrices, rows, letters, bound, isExact);
  }

private:
  /// Groups of equally many experts, with a row for each that a token may have
  /// there, and perhaps one for none.
  void drawGroups(int64_t choices) {
    do
      groups.experts = grower.random.between(1, count);
    while (count % groups.experts != 0);
    groups.rows = std::min(groups.experts, choices);
    if (grower.random.chance(20))
      ++groups.rows;
  }

  DenseI64ArrayAttr getGroups() const {
    return groups.write(grower.builder.getContext());
  }

  double scale(bool isWeighted) const {
    return perToken *
           (isWeighted && weights ? grower.getRange(weights).bound : 1);
  }

  void note(Value, double bound, bool isExact) { grower.note(bound, isExact); }

  Value dispatch(Value rows, bool isWeighted) {
    Shape shape(GraphGrower::getShape(rows));
    shape.insert(shape.begin(), count / groups.experts * groups.rows);
    return grower.create<MoeDispatchOp>(
        RankedTensorType::get(shape, grower.getReal()), rows, experts,
        isWeighted ? weights : Value(), /*first_expert=*/Value(), getGroups());
  }

  /// A product of all rows, or of those that count.
  Value multiply(Value lhs, Value rhs, const std::string &spec,
                 const std::string &letters) {
    std::optional<ExpertRows> counting;
    if (getGroups() || grower.random.chance(60))
      counting = ExpertRows{experts, /*first=*/Value(), letters, count, groups};
    return grower.create<MatmulOp>(lhs, rhs, spec, counting);
  }

  Value combine(Value answers) {
    return grower.create<MoeCombineOp>(answers, experts, weights,
                                       /*first_expert=*/Value(), getGroups());
  }

  /// What differentiation builds.
  void growGradients(Value answers, Value matrices, Value rows,
                     const std::string &letters, double bound, bool isExact) {
    Shape shape(GraphGrower::getShape(answers).drop_front());
    Value gradient = grower.makeReal(shape);
    double gradientBound = grower.getRange(gradient).bound;
    if (weights)
      grower.add(grower.create<MoeWeightGradientOp>(answers, gradient, experts,
                                                    /*first_expert=*/Value(),
                                                    getGroups()),
                 bound * gradientBound * static_cast<double>(shape.back()),
                 isExact);
    Value back = dispatch(gradient, /*isWeighted=*/true);
    gradientBound *= scale(/*isWeighted=*/true);
    int64_t tokenCount = 1;
    for (int64_t size : ArrayRef<int64_t>(shape).drop_back())
      tokenCount *= size;
    grower.add(multiply(rows, back, "e" + letters + "k,e" + letters + "n->ekn",
                        letters),
               bound * gradientBound * static_cast<double>(tokenCount),
               isExact);
    Value inner = multiply(back, matrices,
                           "e" + letters + "n,ekn->e" + letters + "k", letters);
    gradientBound *=
        grower.getRange(matrices).bound * static_cast<double>(shape.back());
    note(inner, gradientBound, true);
    grower.add(grower.create<MoeCombineOp>(inner, experts, /*weights=*/Value(),
                                           /*first_expert=*/Value(),
                                           getGroups()),
               gradientBound * perToken, true);
  }

  GraphGrower &grower;
  Value tokens;
  int64_t count;
  ExpertGroups groups;
  Value experts, weights;
  double perToken;
};

} // namespace

Graph makeRandomExperts(MLIRContext &context, Random &random) {
  GraphGrower grower(context, random);
  using Grow = void (*)(GraphGrower &);
  constexpr Grow families[] = {growElementwise, growShape, growMatmul};
  for (int64_t i = random.between(1, 2); i > 0; --i) {
    if (random.chance(50))
      random.pick(families)(grower);
    Mixture(grower).grow();
    if (random.chance(30))
      random.pick(families)(grower);
  }
  return grower.finish();
}

} // namespace parplan::test
