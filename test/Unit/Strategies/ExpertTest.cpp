//===- ExpertTest.cpp - A layer of experts over the ranks of its data -----===//
//
// Part of parplan. Router's choice, dispatch, a product per expert of the rows
// of its tokens, combine; forward and backward. Tokens and the matrices of
// experts rest split over p. Every expert has a slot for every token, or every
// group of experts, those of a rank, as many as a token may have there; so
// nothing is dropped: the capacity of a pair of ranks is C = ceil(e / p) ceil(t
// / p) rows, or min(k, e / p) ceil(t / p).
//
//===----------------------------------------------------------------------===//

#include "LinearStep.h"
#include "Measure.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace parplan;
using namespace parplan::test;

namespace {

/// Tokens [t, d], of which each goes to k of e experts; matrices [e, d, f].
struct ExpertSizes {
  int64_t p, t, d, f, e, k;
  /// In a group for each rank, which all have equally many.
  bool isGrouped = false;

  ExpertGroups groups() const {
    return isGrouped ? ExpertGroups{e / p, std::min(k, e / p)} : ExpertGroups();
  }
  /// Of a token on one rank, and on all.
  int64_t rowsOfRank() const {
    return isGrouped ? groups().rows : ceilDivide(e, p);
  }
  int64_t rows() const { return isGrouped ? p * rowsOfRank() : e; }
  /// Rows that a rank exchanges with all others.
  int64_t slots() const { return p * rowsOfRank() * ceilDivide(t, p); }
  int64_t padded() const { return p * ceilDivide(t, p); }
};

using Elements = std::map<CollectiveKind, int64_t>;
constexpr CollectiveKind allGather = CollectiveKind::allGather;
constexpr CollectiveKind reduceScatter = CollectiveKind::reduceScatter;
constexpr CollectiveKind allToAll = CollectiveKind::allToAll;

struct ExpertForm {
  const char *name;
  /// Of dispatch and combine.
  const char *factors;
  /// In elements of four bytes; the number of an expert has eight.
  Elements (*forward)(const ExpertSizes &);
  Elements (*backward)(const ExpertSizes &);
  /// Of both together.
  Fraction (*ring)(const ExpertSizes &);
  /// Elements of what is exchanged, gathered or pending, at most at a time.
  int64_t (*copies)(const ExpertSizes &);
};

void PrintTo(const ExpertForm &form, std::ostream *stream) {
  *stream << form.name;
}

constexpr ExpertForm forms[] = {
    // Tokens out and answers back; the gradients of both the other way round.
    // Choices go to all ranks, once: products take the rows of tokens.
    {"AllToAll", "t:p",
     [](const ExpertSizes &s) {
       return Elements{{allToAll, s.slots() * (s.d + s.f)},
                       {allGather, s.padded() * 2 * s.k}};
     },
     [](const ExpertSizes &s) {
       return Elements{{allToAll, s.slots() * (s.d + s.f)}};
     },
     [](const ExpertSizes &s) {
       return Fraction(
           2 * (s.p - 1) * (s.slots() * (s.d + s.f) + s.padded() * s.k), s.p);
     },
     [](const ExpertSizes &s) {
       return std::max(s.rowsOfRank() * s.t * s.d + s.t * s.k,
                       s.rows() * ceilDivide(s.t, s.p) * s.f);
     }},
    // All tokens and the router's choices to all ranks.
    {"Gathered", "e:p",
     [](const ExpertSizes &s) {
       return Elements{{allGather, s.padded() * (s.d + 2 * s.k + s.k)},
                       {reduceScatter, s.padded() * s.f}};
     },
     [](const ExpertSizes &s) {
       return Elements{{allGather, s.padded() * s.f},
                       {reduceScatter, s.padded() * (s.d + s.k)}};
     },
     [](const ExpertSizes &s) {
       return Fraction(2 * (s.p - 1) * s.padded() * (s.d + s.f + 2 * s.k), s.p);
     },
     [](const ExpertSizes &s) {
       return std::max(s.t * (s.d + s.k), s.t * (s.f + 2 * s.k));
     }}};

Step makeStep(const ExpertForm &form, const ExpertSizes &sizes,
              bool withBackward, Random &random) {
  auto [p, t, d, f, e, k, isGrouped] = sizes;
  int64_t r = sizes.rows();
  StepBuilder step(Mesh({{"p", p, AxisRole::expert}}), random);
  Type real = step.builder.getF32Type();
  Layout tokens = {"td", "t:p"}, routing = {"tk", "t:p"};
  // Slots rest where the op that makes them is.
  Layout slots = {"etd", form.factors}, answers = {"etd", "e:p"};
  Value x = step.addInput({t, d}, tokens);
  Value gradient = step.addInput({t, f}, tokens);
  Value chosen =
      step.addInput(RankedTensorType::get({t, k}, step.builder.getI64Type()),
                    routing, 0, e - 1);
  Value weights = step.addInput({t, k}, routing);
  Value w = step.addParameter("w", {e, d, f}, {"edf", "e:p"});

  DenseI64ArrayAttr groups = sizes.groups().write(step.builder.getContext());
  std::optional<ExpertRows> rows =
      ExpertRows{chosen, /*first=*/Value(), "t", e, sizes.groups()};
  Value sent = step.add<MoeDispatchOp>(form.factors, {slots}, roles::forward,
                                       RankedTensorType::get({r, t, d}, real),
                                       x, chosen, Value(), Value(), groups);
  Value made = step.add<MatmulOp>("e:p", {answers}, roles::forward, sent, w,
                                  "etd,edf->etf", rows);
  Value y = step.add<MoeCombineOp>(form.factors, {tokens}, roles::forward, made,
                                   chosen, weights, Value(), groups);
  step.addResult(y, tokens);
  if (!withBackward)
    return step.finish();

  Value ofMade =
      step.add<MoeDispatchOp>(form.factors, {slots}, roles::inputGradient,
                              RankedTensorType::get({r, t, f}, real), gradient,
                              chosen, weights, Value(), groups);
  Value ofWeights = step.add<MoeWeightGradientOp>(
      form.factors, {routing}, roles::inputGradient, made, gradient, chosen,
      Value(), groups);
  Value ofMatrices =
      step.add<MatmulOp>("e:p", {{"edf", "e:p"}}, roles::weightGradient, sent,
                         ofMade, "etd,etf->edf", rows);
  Value ofSent = step.add<MatmulOp>("e:p", {answers}, roles::inputGradient,
                                    ofMade, w, "etf,edf->etd", rows);
  Value ofX =
      step.add<MoeCombineOp>(form.factors, {tokens}, roles::inputGradient,
                             ofSent, chosen, Value(), Value(), groups);
  step.addResult(ofX, tokens);
  step.addResult(ofWeights, routing);
  step.addNewValue(ofMatrices, "w", {"edf", "e:p"});
  return step.finish();
}

class Experts : public testing::TestWithParam<ExpertForm> {};

TEST_P(Experts, GetTheirTokens) {
  const ExpertForm &form = GetParam();
  Random random(9);
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    Mesh mesh = drawMesh("p", random);
    bool dividing = i % 2 == 0;
    ExpertSizes sizes = {mesh.getRankCount(),
                         drawSize(mesh, dividing, random),
                         draw(random, 1, 5),
                         draw(random, 1, 5),
                         drawSize(mesh, dividing, random),
                         draw(random, 1, 3),
                         dividing && i % 4 == 0};
    Step ahead = makeStep(form, sizes, false, random);
    Step whole = makeStep(form, sizes, true, random);
    std::string fault;
    LocalProgram forward(ahead, fault), program(whole, fault);
    ASSERT_EQ(fault, "");
    EXPECT_EQ(program.compare(whole, /*tolerance=*/0), "");

    Elements elements = form.forward(sizes);
    EXPECT_EQ(forward.schedule().traffic.elements, elements);
    for (auto [kind, size] : form.backward(sizes))
      elements[kind] += size;
    Traffic traffic = program.schedule().traffic;
    EXPECT_EQ(traffic.elements, elements);
    EXPECT_EQ(traffic.ring, form.ring(sizes)) << traffic;
    EXPECT_EQ(forward.getCopies().forward, form.copies(sizes));
    int64_t tokens = ceilDivide(sizes.t, sizes.p);
    EXPECT_EQ(program.getArgumentSize(0), tokens * sizes.d);
    EXPECT_EQ(program.getParameterSize("w"),
              ceilDivide(sizes.e, sizes.p) * sizes.d * sizes.f);
    EXPECT_EQ(program.getResultSize(3), program.getParameterSize("w"));
    if (HasFailure())
      FAIL() << program.print();
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Experts, testing::ValuesIn(forms),
                         [](const testing::TestParamInfo<ExpertForm> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
