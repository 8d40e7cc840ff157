//===- LinearStrategies.cpp - The table of strategies ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "LinearStrategies.h"

#include "parplan/Support/Check.h"

namespace parplan::test {

using N = Numbers;

static Calls none(const N &) { return {}; }
static Copies noCopies(const N &) { return {}; }

//===----------------------------------------------------------------------===//
// One axis
//===----------------------------------------------------------------------===//

static void addOneAxis(std::vector<LinearStrategy> &table) {
  table.push_back(
      {.name = "Data",
       .axes = "p",
       .x = "m:p",
       .w = "",
       .y = "m:p",
       .factors = "m:p",
       .forward = none,
       .backward =
           [](const N &s) {
             return Calls{{allReduce, s.W}};
           },
       .ring = [](const N &s) { return Fraction(2 * (s.p - 1) * s.W, s.p); },
       .atRest =
           [](const N &s) {
             return AtRest{s.X / s.p, s.W, s.Y / s.p};
           },
       .copies = noCopies});
  table.push_back(
      {.name = "ZeroThree",
       .axes = "p",
       .x = "m:p",
       .w = "/p",
       .y = "m:p",
       .factors = "m:p",
       .forward =
           [](const N &s) {
             return Calls{{allGather, s.stored}};
           },
       .backward =
           [](const N &s) {
             return Calls{{allGather, s.stored}, {reduceScatter, s.stored}};
           },
       .ring =
           [](const N &s) { return Fraction(3 * (s.p - 1) * s.stored, s.p); },
       .atRest =
           [](const N &s) {
             return AtRest{s.X / s.p, s.stored / s.p, s.Y / s.p};
           },
       .copies =
           [](const N &s) {
             return Copies{s.W, s.W};
           }});
  // Kept in pieces over z only: pieces of the gradient are reduced over p.
  table.push_back({.name = "ZeroThreeHybrid",
                   .axes = "pz",
                   .x = "m:p,z",
                   .w = "/z",
                   .y = "m:p,z",
                   .factors = "m:p,z",
                   .forward =
                       [](const N &s) {
                         return Calls{{allGather, s.stored}};
                       },
                   .backward =
                       [](const N &s) {
                         return Calls{{allGather, s.stored},
                                      {reduceScatter, s.stored},
                                      {allReduce, s.stored / s.z}};
                       },
                   .ring =
                       [](const N &s) {
                         return Fraction(3 * (s.z - 1) * s.stored, s.z) +
                                Fraction(2 * (s.p - 1) * s.stored, s.p * s.z);
                       },
                   .atRest =
                       [](const N &s) {
                         int64_t p = s.p * s.z;
                         return AtRest{s.X / p, s.stored / s.z, s.Y / p};
                       },
                   .copies =
                       [](const N &s) {
                         return Copies{s.W, s.W};
                       }});
  table.push_back(
      {.name = "Column",
       .axes = "t",
       .x = "",
       .w = "n:t",
       .y = "n:t",
       .factors = "n:t",
       .forward = none,
       .backward =
           [](const N &s) {
             return Calls{{allReduce, s.X}};
           },
       .ring = [](const N &s) { return Fraction(2 * (s.t - 1) * s.X, s.t); },
       .atRest =
           [](const N &s) {
             return AtRest{s.X, s.W / s.t, s.Y / s.t};
           },
       .copies = noCopies});
  table.push_back(
      {.name = "Row",
       .axes = "t",
       .x = "k:t",
       .w = "k:t",
       .y = "",
       .factors = "k:t",
       .forward =
           [](const N &s) {
             return Calls{{allReduce, s.Y}};
           },
       .backward = none,
       .ring = [](const N &s) { return Fraction(2 * (s.t - 1) * s.Y, s.t); },
       .atRest =
           [](const N &s) {
             return AtRest{s.X / s.t, s.W / s.t, s.Y};
           },
       .copies = noCopies});
}

//===----------------------------------------------------------------------===//
// Sequence parallel: what is not in the product lies split by rows
//===----------------------------------------------------------------------===//

static void addSequence(std::vector<LinearStrategy> &table) {
  LinearStrategy column = {
      .name = "ColumnSequence",
      .axes = "t",
      .x = "m:t",
      .w = "n:t",
      .y = "n:t",
      .factors = "n:t",
      .gathersAgain = true,
      .forward =
          [](const N &s) {
            return Calls{{allGather, s.X}};
          },
      .backward =
          [](const N &s) {
            return Calls{{reduceScatter, s.X}, {allGather, s.X}};
          },
      .ring = [](const N &s) { return Fraction(3 * (s.t - 1) * s.X, s.t); },
      .atRest =
          [](const N &s) {
            return AtRest{s.X / s.t, s.W / s.t, s.Y / s.t};
          },
      .copies =
          [](const N &s) {
            return Copies{s.m * s.k, s.m * s.k};
          }};
  table.push_back(column);
  column.name = "ColumnSequenceKept";
  column.gathersAgain = false;
  column.backward = [](const N &s) { return Calls{{reduceScatter, s.X}}; };
  column.ring = [](const N &s) { return Fraction(2 * (s.t - 1) * s.X, s.t); };
  column.copies = [](const N &s) { return Copies{s.m * s.k, 2 * s.m * s.k}; };
  table.push_back(column);
  table.push_back(
      {.name = "RowSequence",
       .axes = "t",
       .x = "k:t",
       .w = "k:t",
       .y = "m:t",
       .factors = "k:t",
       .forward =
           [](const N &s) {
             return Calls{{reduceScatter, s.Y}};
           },
       .backward =
           [](const N &s) {
             return Calls{{allGather, s.Y}};
           },
       .ring = [](const N &s) { return Fraction(2 * (s.t - 1) * s.Y, s.t); },
       .atRest =
           [](const N &s) {
             return AtRest{s.X / s.t, s.W / s.t, s.Y / s.t};
           },
       .copies =
           [](const N &s) {
             return Copies{s.m * s.n, s.m * s.n};
           }});
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::vector<LinearStrategy> getLinearStrategies() {
  std::vector<LinearStrategy> table;
  addOneAxis(table);
  addSequence(table);
  addGathering(table);
  addPanels(table);
  return table;
}

LinearStrategy getLinearStrategy(llvm::StringRef name) {
  for (const LinearStrategy &strategy : getLinearStrategies())
    if (name == strategy.name)
      return strategy;
  PARPLAN_UNREACHABLE("no strategy ", std::string_view(name));
}

Step makeLinear(const LinearStrategy &strategy, const Mesh &mesh, int64_t m,
                int64_t k, int64_t n, bool withBackward, Random &random) {
  ChainPlan plan = {strategy.x,
                    {{strategy.w, strategy.y, strategy.factors}},
                    strategy.gathersAgain,
                    /*hasResidual=*/false};
  return makeChain(mesh, plan, {m, {k, n}}, withBackward, random);
}

/// Elements of a whole matrix when every dimension is padded to equal blocks.
static int64_t pad(const Mesh &mesh, const Sharding &sharding, int64_t rows,
                   int64_t columns) {
  int64_t product = 1;
  for (auto [size, axes] :
       {std::pair(rows, sharding.dims[0]), {columns, sharding.dims[1]}}) {
    int64_t width = mesh.getWidth(axes);
    product *= width * ceilDivide(size, width);
  }
  return product;
}

Numbers getNumbers(const Mesh &mesh, const LinearStrategy &strategy, int64_t m,
                   int64_t k, int64_t n) {
  auto getSize = [&](const char *name) {
    std::optional<int> axis = mesh.findAxis(name);
    return axis ? mesh.getAxis(*axis).size : 1;
  };
  Sharding w = parseLayout({"kn", strategy.w}, mesh);
  Numbers s = {.m = m,
               .k = k,
               .n = n,
               .p = getSize("p"),
               .t = getSize("t"),
               .x = getSize("x"),
               .y = getSize("y"),
               .z = getSize("z"),
               .X = pad(mesh, parseLayout({"mk", strategy.x}, mesh), m, k),
               .W = pad(mesh, w, k, n),
               .Y = pad(mesh, parseLayout({"mn", strategy.y}, mesh), m, n),
               .stored = 0};
  int64_t blocks = mesh.getWidth(w.dims[0]) * mesh.getWidth(w.dims[1]);
  int64_t pieces = mesh.getWidth(w.storage);
  s.stored = blocks * pieces * ceilDivide(s.W / blocks, pieces);
  return s;
}

std::map<CollectiveKind, int64_t> sumByKind(const Calls &calls) {
  std::map<CollectiveKind, int64_t> sums;
  for (const Call &call : calls)
    if (call.size > 0)
      sums[call.kind] += call.size;
  return sums;
}

} // namespace parplan::test
