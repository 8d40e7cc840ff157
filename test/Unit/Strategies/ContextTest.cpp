//===- ContextTest.cpp - Attention over a split sequence ------------------===//
//
// Part of parplan. Queries, keys and values rest split by the sequence over c.
// Attention gathers keys and values, or exchanges the sequence for heads, or
// lets keys and values go round a ring.
//
//===----------------------------------------------------------------------===//

#include "LinearStep.h"
#include "Measure.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace parplan;
using namespace parplan::test;

namespace {

/// Query [b, s, g r, e], key [b, s, g, e], value [b, s, g, f] over c ranks.
struct AttentionSizes {
  int64_t c, b, s, g, r, e, f;

  /// Elements of the block of a rank.
  int64_t rows() const { return b * ceilDivide(s, c); }
  int64_t query() const { return rows() * g * r * e; }
  int64_t key() const { return rows() * g * e; }
  int64_t value() const { return rows() * g * f; }
  int64_t output() const { return rows() * g * r * f; }
};

using Elements = std::map<CollectiveKind, int64_t>;

struct ContextForm {
  const char *name;
  const char *factors;
  /// Where the result of the attention itself rests.
  const char *output, *statistics;
  bool splitsHeads;
  Elements (*forward)(const AttentionSizes &);
  Elements (*backward)(const AttentionSizes &);
  /// Of both together.
  Fraction (*ring)(const AttentionSizes &);
  /// Copies of whole keys and values, or of queries, keys and values by heads.
  int64_t (*copies)(const AttentionSizes &);
  /// The sequence is in zig-zag order over c.
  bool isZigzag = false;
};

void PrintTo(const ContextForm &form, std::ostream *stream) {
  *stream << form.name;
}

constexpr ContextForm forms[] = {
    {"Gathered", "s:c", "s:c", "s:c", false,
     [](const AttentionSizes &s) {
       return Elements{
           {CollectiveKind::allGather, s.c * (s.key() + s.value())}};
     },
     [](const AttentionSizes &s) {
       return Elements{
           {CollectiveKind::reduceScatter, s.c * (s.key() + s.value())}};
     },
     [](const AttentionSizes &s) -> Fraction {
       return 2 * (s.c - 1) * (s.key() + s.value());
     },
     [](const AttentionSizes &s) { return s.b * s.s * s.g * (s.e + s.f); }},
    {"AllToAll", "g:c", "h:c", "h:c", true,
     [](const AttentionSizes &s) {
       return Elements{{CollectiveKind::allToAll,
                        s.query() + s.key() + s.value() + s.output()}};
     },
     [](const AttentionSizes &s) {
       return Elements{{CollectiveKind::allToAll,
                        s.query() + s.key() + s.value() + s.output()}};
     },
     [](const AttentionSizes &s) {
       int64_t all = s.query() + s.key() + s.value() + s.output();
       return Fraction(2 * (s.c - 1) * all, s.c);
     },
     [](const AttentionSizes &s) {
       return s.b * s.s * (s.g / s.c) * (s.r * s.e + s.e + s.f);
     }},
    {"Ring", "s:c panels t:c", "s:c", "s:c", false,
     [](const AttentionSizes &s) {
       int64_t sent = (s.c - 1) * (s.key() + s.value());
       return Elements{{CollectiveKind::send, sent},
                       {CollectiveKind::receive, sent}};
     },
     // Gradients of keys and values need c hops to come home.
     [](const AttentionSizes &s) {
       int64_t sent = (2 * s.c - 1) * (s.key() + s.value());
       return Elements{{CollectiveKind::send, sent},
                       {CollectiveKind::receive, sent}};
     },
     [](const AttentionSizes &s) -> Fraction {
       return (3 * s.c - 2) * (s.key() + s.value());
     },
     [](const AttentionSizes &) -> int64_t { return 0; }}};

/// Where other values rest, by the sequence; `forms` has the rest.
struct Rests {
  std::string query = "s:c", key = "t:c";
};

Step makeStep(const ContextForm &form, const Mesh &mesh,
              const AttentionSizes &sizes, bool causal, bool withBackward,
              Random &random, const Rests &rests = {}) {
  int64_t b = sizes.b, s = sizes.s, g = sizes.g, r = sizes.r, e = sizes.e,
          f = sizes.f;
  StepBuilder step(mesh, random);
  auto add = [&](ArrayRef<int64_t> shape, const Layout &layout) {
    return step.addInput(
        RankedTensorType::get(shape, step.builder.getF64Type()), layout, -3, 3);
  };
  Layout query = {"bshe", rests.query}, key = {"btge", rests.key};
  Value q = add({b, s, g * r, e}, query), k = add({b, s, g, e}, key);
  Value v = add({b, s, g, f}, key), gradient = add({b, s, g * r, f}, query);
  llvm::APFloat scale(0.25);
  int64_t zigzag = form.isZigzag ? sizes.c : 1;
  auto attention = step.add<AttentionOp>(
      form.factors, {{"bshf", form.output}, {"bhs", form.statistics}},
      roles::forward, q, k, v, /*mask=*/Value(), /*offset=*/Value(),
      /*sink=*/Value(), scale, causal, /*zero_masked_rows=*/false,
      /*statistics=*/true, zigzag);
  step.addResult(attention.getResult(), query);
  step.addResult(attention.getLogSumExp(), {"bhs", form.statistics});
  if (!withBackward)
    return step.finish();
  auto backward = step.add<AttentionGradientOp>(
      form.factors, {query, key, key}, roles::inputGradient, q, k, v,
      attention.getResult(), attention.getLogSumExp(), gradient,
      /*mask=*/Value(), /*offset=*/Value(), scale, causal, zigzag);
  for (auto [result, layout] :
       llvm::zip_equal(backward.getResults(), ArrayRef{query, key, key}))
    step.addResult(result, layout);
  return step.finish();
}

class Context : public testing::TestWithParam<ContextForm> {};

TEST_P(Context, MovesBlocksOfTheSequence) {
  const ContextForm &form = GetParam();
  Random random(7);
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    Mesh mesh = drawMesh("c", random);
    int64_t c = mesh.getRankCount();
    AttentionSizes sizes = {c,
                            draw(random, 1, 2),
                            drawSize(mesh, /*dividing=*/i % 2 == 0, random),
                            form.splitsHeads ? c * draw(random, 1, 2)
                                             : draw(random, 1, 3),
                            draw(random, 1, 2),
                            draw(random, 1, 3),
                            draw(random, 1, 3)};
    bool causal = draw(random, 0, 1) == 1;
    Step ahead = makeStep(form, mesh, sizes, causal, false, random);
    Step whole = makeStep(form, mesh, sizes, causal, true, random);
    std::string fault;
    LocalProgram forward(ahead, fault), program(whole, fault);
    ASSERT_EQ(fault, "");
    EXPECT_EQ(program.compare(whole, /*tolerance=*/1e-11), "");

    Elements elements = form.forward(sizes);
    EXPECT_EQ(forward.schedule(8).traffic.elements, elements);
    for (auto [kind, size] : form.backward(sizes))
      elements[kind] += size;
    Traffic traffic = program.schedule(8).traffic;
    EXPECT_EQ(traffic.elements, elements);
    EXPECT_EQ(traffic.ring, form.ring(sizes)) << traffic;
    EXPECT_EQ(program.getArgumentSize(0), sizes.query());
    EXPECT_EQ(program.getArgumentSize(1), sizes.key());
    EXPECT_EQ(program.getArgumentSize(2), sizes.value());
    EXPECT_EQ(program.getCopies().forward, form.copies(sizes));
    if (HasFailure())
      FAIL() << program.print();
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Context, testing::ValuesIn(forms),
                         [](const testing::TestParamInfo<ContextForm> &info) {
                           return std::string(info.param.name);
                         });

/// Another order of the sequence changes nothing of what moves.
TEST(Context, RingsInZigzagOrderMoveTheSame) {
  ContextForm form = forms[2];
  form.isZigzag = true;
  Random random(9);
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    Mesh mesh = drawMesh("c", random);
    int64_t c = mesh.getRankCount();
    AttentionSizes sizes = {c,
                            draw(random, 1, 2),
                            2 * c * draw(random, 1, 3),
                            draw(random, 1, 3),
                            draw(random, 1, 2),
                            draw(random, 1, 3),
                            draw(random, 1, 3)};
    Step step = makeStep(form, mesh, sizes, true, true, random);
    std::string fault;
    LocalProgram program(step, fault);
    ASSERT_EQ(fault, "");
    EXPECT_EQ(program.compare(step, /*tolerance=*/1e-11), "");
    Elements elements = form.forward(sizes);
    for (auto [kind, size] : form.backward(sizes))
      elements[kind] += size;
    EXPECT_EQ(program.schedule(8).traffic.elements, elements);
    if (HasFailure())
      FAIL() << program.print();
  }
}

/// With batches over p and heads over t, each as wide as two ranks, the ranks
/// along c do with their parts what they do with the whole alone.
TEST(Context, GoesWithDataAndTensorParallelism) {
  const ContextForm mixed[] = {
      {"Gathered", "b:p s:c g:t", "b:p s:c h:t", "b:p s:c h:t", false,
       forms[0].forward, forms[0].backward, forms[0].ring, forms[0].copies},
      {"AllToAll", "b:p g:t,c", "b:p h:t,c", "b:p h:t,c", true,
       forms[1].forward, forms[1].backward, forms[1].ring, forms[1].copies},
      {"Ring", "b:p s:c g:t panels t:c", "b:p s:c h:t", "b:p s:c h:t", false,
       forms[2].forward, forms[2].backward, forms[2].ring, forms[2].copies}};
  Mesh mesh({{"p", 2}, {"t", 2}, {"c", 2}});
  Random random(12);
  for (const ContextForm &form : mixed)
    for (int64_t s : {4, 5, 7}) {
      AttentionSizes part = {/*c=*/2, /*b=*/1, s, /*g=*/2, 2, 3, 2};
      AttentionSizes whole = part;
      whole.b *= 2;
      whole.g *= 2;
      Step step = makeStep(form, mesh, whole, true, true, random,
                           {"b:p s:c h:t", "b:p t:c g:t"});
      std::string fault;
      LocalProgram program(step, fault);
      ASSERT_EQ(fault, "");
      EXPECT_EQ(program.compare(step, /*tolerance=*/1e-11), "");
      Elements elements = form.forward(part);
      for (auto [kind, size] : form.backward(part))
        elements[kind] += size;
      EXPECT_EQ(program.schedule(8).traffic.elements, elements) << form.name;
    }
}

/// Beside its own, a rank has the block that it works on and the one that
/// arrives.
TEST(Context, RingKeepsTwoBlocksOfKeysAndValues) {
  Random random(8);
  for (int64_t c : {2, 3, 4}) {
    AttentionSizes sizes = {c, 2, 3 * c, 2, 2, 3, 2};
    Step step =
        makeStep(forms[2], Mesh({{"c", c}}), sizes, true, false, random);
    std::string fault;
    LocalProgram program(step, fault);
    ASSERT_EQ(fault, "");
    EXPECT_EQ(program.schedule(8).activations,
              std::min<int64_t>(2, c - 1) * (sizes.key() + sizes.value()));
  }
}

} // namespace
