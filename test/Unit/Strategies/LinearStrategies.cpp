//===- LinearStrategies.cpp - The table of strategies ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "LinearStrategies.h"

#include "parplan/Support/Check.h"

namespace parplan::test {

using N = Numbers;

constexpr CollectiveKind allReduce = CollectiveKind::allReduce;
constexpr CollectiveKind allGather = CollectiveKind::allGather;
constexpr CollectiveKind reduceScatter = CollectiveKind::reduceScatter;

static Calls none(const N &) { return {}; }
static Copies noCopies(const N &) { return {}; }

/// Elements of blocks that are not padded further: `a` rows over x ranks.
static int64_t block(int64_t a, int64_t x, int64_t b, int64_t y) {
  return ceilDivide(a, x) * ceilDivide(b, y);
}

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
// 2D: rows of the grid on x, columns on y
//===----------------------------------------------------------------------===//

static void addTwoDimensions(std::vector<LinearStrategy> &table) {
  // Y stays, X and W are gathered along rows and columns.
  LinearStrategy stationaryC = {
      .name = "Gather2d",
      .axes = "xy",
      .x = "m:x k:y",
      .w = "k:x n:y",
      .y = "m:x n:y",
      .factors = "m:x n:y",
      .gathersAgain = true,
      .forward =
          [](const N &s) {
            return Calls{{allGather, s.X / s.x}, {allGather, s.W / s.y}};
          },
      .backward =
          [](const N &s) {
            return Calls{{allGather, s.W / s.y},
                         {reduceScatter, s.X / s.x},
                         {allGather, s.X / s.x},
                         {reduceScatter, s.W / s.y}};
          },
      .ring =
          [](const N &s) {
            return Fraction(3 * (s.y - 1) * s.X, s.x * s.y) +
                   Fraction(3 * (s.x - 1) * s.W, s.x * s.y);
          },
      .atRest =
          [](const N &s) {
            int64_t p = s.x * s.y;
            return AtRest{s.X / p, s.W / p, s.Y / p};
          },
      .copies =
          [](const N &s) {
            int64_t x = block(s.m, s.x, s.k, 1), w = block(s.k, 1, s.n, s.y);
            return Copies{x + w, x + w};
          }};
  table.push_back(stationaryC);
  LinearStrategy kept = stationaryC;
  kept.name = "Gather2dKept";
  kept.gathersAgain = false;
  kept.backward = [](const N &s) {
    return Calls{{reduceScatter, s.X / s.x}, {reduceScatter, s.W / s.y}};
  };
  kept.ring = [](const N &s) {
    return Fraction(2 * (s.y - 1) * s.X, s.x * s.y) +
           Fraction(2 * (s.x - 1) * s.W, s.x * s.y);
  };
  // The pending gradient of X comes on top.
  kept.copies = [](const N &s) {
    int64_t x = block(s.m, s.x, s.k, 1), w = block(s.k, 1, s.n, s.y);
    return Copies{x + w, 2 * x + w};
  };
  table.push_back(kept);

  // X stays, W is gathered and Y reduced.
  LinearStrategy stationaryA = {
      .name = "Gather2dStationaryA",
      .axes = "xy",
      .x = "m:x k:y",
      .w = "n:x k:y",
      .y = "m:x n:y",
      .factors = "m:x k:y",
      .gathersAgain = true,
      .forward =
          [](const N &s) {
            return Calls{{allGather, s.W / s.y}, {reduceScatter, s.Y / s.x}};
          },
      .backward =
          [](const N &s) {
            return Calls{{allGather, s.Y / s.x},
                         {allGather, s.W / s.y},
                         {reduceScatter, s.W / s.y}};
          },
      .ring =
          [](const N &s) {
            return Fraction(3 * (s.x - 1) * s.W, s.x * s.y) +
                   Fraction(2 * (s.y - 1) * s.Y, s.x * s.y);
          },
      .atRest = stationaryC.atRest,
      .copies =
          [](const N &s) {
            int64_t w = block(s.k, s.y, s.n, 1), y = block(s.m, s.x, s.n, 1);
            return Copies{w + y, w + y};
          }};
  table.push_back(stationaryA);
}

//===----------------------------------------------------------------------===//
// 2.5D: the grid of 2D, z times over parts of the batch
//===----------------------------------------------------------------------===//

/// Where z cuts the rows of the block of W, a piece of it is a block of rows
/// (S6), and one call gathers over x and z.
static bool isGatheredTogether(const N &s) {
  return ceilDivide(s.k, s.x) % s.z == 0;
}

/// What gathers a weight that is kept in pieces over z.
static Calls getGathers(const N &s) {
  Calls calls = {{allGather, s.W / s.y}};
  if (!isGatheredTogether(s))
    calls.push_back({allGather, s.stored / (s.x * s.y)});
  return calls;
}

static void addDepth(std::vector<LinearStrategy> &table) {
  LinearStrategy replicated = {
      .name = "Gather25d",
      .axes = "zxy",
      .x = "m:z,x k:y",
      .w = "k:x n:y",
      .y = "m:z,x n:y",
      .factors = "m:z,x n:y",
      .gathersAgain = true,
      .forward =
          [](const N &s) {
            return Calls{{allGather, s.X / (s.z * s.x)},
                         {allGather, s.W / s.y}};
          },
      .backward =
          [](const N &s) {
            return Calls{{allGather, s.W / s.y},
                         {reduceScatter, s.X / (s.z * s.x)},
                         {allGather, s.X / (s.z * s.x)},
                         {reduceScatter, s.W / s.y},
                         {allReduce, s.W / (s.x * s.y)}};
          },
      .ring =
          [](const N &s) {
            int64_t p = s.x * s.y * s.z;
            return Fraction(3 * (s.y - 1) * s.X, p) +
                   Fraction(3 * (s.x - 1) * s.W, s.x * s.y) +
                   Fraction(2 * (s.z - 1) * s.W, p);
          },
      .atRest =
          [](const N &s) {
            int64_t p = s.x * s.y * s.z;
            return AtRest{s.X / p, s.W / (s.x * s.y), s.Y / p};
          },
      .copies =
          [](const N &s) {
            int64_t x = block(s.m, s.z * s.x, s.k, 1);
            int64_t w = block(s.k, 1, s.n, s.y);
            return Copies{x + w, x + w};
          }};
  table.push_back(replicated);

  LinearStrategy stored = replicated;
  stored.name = "Gather25dStored";
  stored.w = "k:x n:y /z";
  stored.forward = [](const N &s) {
    Calls calls = getGathers(s);
    calls.push_back({allGather, s.X / (s.z * s.x)});
    return calls;
  };
  stored.backward = [](const N &s) {
    Calls calls = getGathers(s);
    for (CollectiveKind kind : {allGather, reduceScatter})
      calls.push_back({kind, s.X / (s.z * s.x)});
    calls.push_back({reduceScatter, s.W / s.y});
    calls.push_back({reduceScatter, s.stored / (s.x * s.y)});
    return calls;
  };
  stored.ring = [](const N &s) {
    int64_t p = s.x * s.y * s.z;
    return Fraction(3 * (s.y - 1) * s.X, p) +
           Fraction(3 * (s.x - 1) * s.W, s.x * s.y) +
           Fraction(3 * (s.z - 1) * s.stored, p);
  };
  stored.atRest = [](const N &s) {
    int64_t p = s.x * s.y * s.z;
    return AtRest{s.X / p, s.stored / p, s.Y / p};
  };
  // Between two gathers the block of W that z shares is there too.
  stored.copies = [](const N &s) {
    int64_t x = block(s.m, s.z * s.x, s.k, 1);
    int64_t w = block(s.k, 1, s.n, s.y), shared = block(s.k, s.x, s.n, s.y);
    return Copies{x + w + (isGatheredTogether(s) ? 0 : shared),
                  w + std::max(x, shared)};
  };
  table.push_back(stored);
}

//===----------------------------------------------------------------------===//
// 3D: m on x, k on y, n on z
//===----------------------------------------------------------------------===//

static void addThreeDimensions(std::vector<LinearStrategy> &table) {
  LinearStrategy cube = {
      .name = "Tensor3d",
      .axes = "xyz",
      .x = "m:x,z k:y",
      .w = "k:y n:z /x",
      .y = "m:x,y n:z",
      .factors = "m:x k:y n:z",
      .gathersAgain = true,
      .forward =
          [](const N &s) {
            return Calls{{allGather, s.X / (s.x * s.y)},
                         {allGather, s.stored / (s.y * s.z)},
                         {reduceScatter, s.Y / (s.x * s.z)}};
          },
      .backward =
          [](const N &s) {
            return Calls{{allGather, s.Y / (s.x * s.z)},
                         {allGather, s.stored / (s.y * s.z)},
                         {reduceScatter, s.X / (s.x * s.y)},
                         {allGather, s.X / (s.x * s.y)},
                         {reduceScatter, s.stored / (s.y * s.z)}};
          },
      .ring =
          [](const N &s) {
            int64_t p = s.x * s.y * s.z;
            return Fraction(3 * (s.z - 1) * s.X, p) +
                   Fraction(3 * (s.x - 1) * s.stored, p) +
                   Fraction(2 * (s.y - 1) * s.Y, p);
          },
      .atRest =
          [](const N &s) {
            int64_t p = s.x * s.y * s.z;
            return AtRest{s.X / p, s.stored / p, s.Y / p};
          },
      .copies =
          [](const N &s) {
            int64_t sum = block(s.m, s.x, s.k, s.y) +
                          block(s.k, s.y, s.n, s.z) + block(s.m, s.x, s.n, s.z);
            return Copies{sum, sum};
          }};
  table.push_back(cube);

  // W split further instead of stored: the same bytes where x divides.
  LinearStrategy kept = cube;
  kept.name = "Tensor3dKept";
  kept.w = "k:y,x n:z";
  kept.gathersAgain = false;
  kept.forward = [](const N &s) {
    return Calls{{allGather, s.X / (s.x * s.y)},
                 {allGather, s.W / (s.y * s.z)},
                 {reduceScatter, s.Y / (s.x * s.z)}};
  };
  kept.backward = [](const N &s) {
    return Calls{{allGather, s.Y / (s.x * s.z)},
                 {reduceScatter, s.X / (s.x * s.y)},
                 {reduceScatter, s.W / (s.y * s.z)}};
  };
  kept.ring = [](const N &s) {
    int64_t p = s.x * s.y * s.z;
    return Fraction(2 * (s.z - 1) * s.X, p) + Fraction(2 * (s.x - 1) * s.W, p) +
           Fraction(2 * (s.y - 1) * s.Y, p);
  };
  kept.atRest = [](const N &s) {
    int64_t p = s.x * s.y * s.z;
    return AtRest{s.X / p, s.W / p, s.Y / p};
  };
  kept.copies = [](const N &s) {
    int64_t x = block(s.m, s.x, s.k, s.y);
    int64_t others = block(s.k, s.y, s.n, s.z) + block(s.m, s.x, s.n, s.z);
    return Copies{x + others, 2 * x + others};
  };
  table.push_back(kept);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::vector<LinearStrategy> getLinearStrategies() {
  std::vector<LinearStrategy> table;
  addOneAxis(table);
  addSequence(table);
  addTwoDimensions(table);
  addDepth(table);
  addThreeDimensions(table);
  return table;
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
