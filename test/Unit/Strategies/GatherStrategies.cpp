//===- GatherStrategies.cpp - 2D, 2.5D and 3D by gathering ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "LinearStrategies.h"

namespace parplan::test {

using N = Numbers;

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

/// Elements of W, its rows padded over x, as after a gather over z.
static int64_t padOverRows(const N &s) {
  return s.x * s.y * block(s.k, s.x, s.n, s.y);
}

/// What moves X over y, and W, its rows split over x and z: in one call where
/// z adds no padding.
static Calls callSpread(const N &s, CollectiveKind kind) {
  Calls calls = {{kind, s.X / (s.z * s.x)}, {kind, padOverRows(s) / s.y}};
  if (padOverRows(s) != s.W)
    calls.push_back({kind, s.W / (s.x * s.y)});
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

  // Split further instead of kept in pieces.
  LinearStrategy spread = replicated;
  spread.name = "Gather25dSpreadKept";
  spread.w = "k:x,z n:y";
  spread.gathersAgain = false;
  spread.forward = [](const N &s) { return callSpread(s, allGather); };
  spread.backward = [](const N &s) { return callSpread(s, reduceScatter); };
  spread.ring = [](const N &s) {
    int64_t p = s.x * s.y * s.z;
    return Fraction(2 * (s.y - 1) * s.X, p) +
           Fraction(2 * (s.x - 1) * padOverRows(s), s.x * s.y) +
           Fraction(2 * (s.z - 1) * s.W, p);
  };
  spread.atRest = [](const N &s) {
    int64_t p = s.x * s.y * s.z;
    return AtRest{s.X / p, s.W / p, s.Y / p};
  };
  spread.copies = [](const N &s) {
    int64_t x = block(s.m, s.z * s.x, s.k, 1);
    int64_t w = block(s.k, 1, s.n, s.y);
    int64_t between = padOverRows(s) == s.W ? 0 : block(s.k, s.x, s.n, s.y);
    return Copies{x + between + w, w + std::max(2 * x, between)};
  };
  table.push_back(spread);
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

void addGathering(std::vector<LinearStrategy> &table) {
  addTwoDimensions(table);
  addDepth(table);
  addThreeDimensions(table);
}

} // namespace parplan::test
