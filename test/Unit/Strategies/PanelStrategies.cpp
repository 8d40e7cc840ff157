//===- PanelStrategies.cpp - 2D and 2.5D in loops over panels -------------===//
//
// Part of parplan. Panels end where a dimension ends: it is not padded in what
// is communicated. Nothing is gathered as a whole.
//
//===----------------------------------------------------------------------===//

#include "LinearStrategies.h"

namespace parplan::test {

using N = Numbers;

constexpr CollectiveKind broadcast = CollectiveKind::broadcast;
constexpr CollectiveKind reduce = CollectiveKind::reduce;

/// All panels of X along a row of the grid, and of W and Y.
static int64_t getX(const N &s) { return block(s.m, s.z * s.x, s.k, 1); }
static int64_t getW(const N &s) { return block(s.k, 1, s.n, s.y); }
static int64_t getY(const N &s) { return block(s.m, s.x, s.n, 1); }

static Calls callForward(const N &s) {
  return {{broadcast, getX(s)}, {broadcast, getW(s)}};
}

static Calls callBackward(const N &s) {
  return {{broadcast, getW(s)},
          {reduce, getX(s)},
          {broadcast, getX(s)},
          {reduce, getW(s)}};
}

/// Without the axis of depth: 3(y-1)/(xy) X + 3(x-1)/(xy) W where sizes divide.
static Fraction getRing(const N &s) {
  return Fraction(3 * (s.y - 1) * getX(s), s.y) +
         Fraction(3 * (s.x - 1) * getW(s), s.x);
}

static AtRest getAtRest(const N &s) {
  int64_t p = s.x * s.y * s.z;
  return {s.X / p, s.W / (s.x * s.y), s.Y / p};
}

void addPanels(std::vector<LinearStrategy> &table) {
  // Y stays: A B, then A B^T for the gradient of X, A^T B for that of W.
  table.push_back({.name = "Summa2d",
                   .axes = "xy",
                   .x = "m:x k:y",
                   .w = "k:x n:y",
                   .y = "m:x n:y",
                   .factors = "m:x n:y panels k:x,y",
                   .forward = callForward,
                   .backward = callBackward,
                   .ring = getRing,
                   .atRest = getAtRest,
                   .copies = [](const N &) { return Copies{}; }});

  // X stays: panels of n, of W, Y and the gradient of Y.
  table.push_back(
      {.name = "Summa2dStationaryA",
       .axes = "xy",
       .x = "m:x k:y",
       .w = "n:x k:y",
       .y = "m:x n:y",
       .factors = "m:x k:y panels n:x,y",
       .forward =
           [](const N &s) {
             return Calls{{broadcast, block(s.k, s.y, s.n, 1)},
                          {reduce, getY(s)}};
           },
       .backward =
           [](const N &s) {
             int64_t w = block(s.k, s.y, s.n, 1);
             return Calls{{broadcast, getY(s)},
                          {broadcast, w},
                          {broadcast, getY(s)},
                          {reduce, w}};
           },
       .ring =
           [](const N &s) {
             return Fraction(3 * (s.x - 1) * block(s.k, s.y, s.n, 1), s.x) +
                    Fraction(3 * (s.y - 1) * getY(s), s.y);
           },
       .atRest = getAtRest,
       .copies = [](const N &) { return Copies{}; }});

  LinearStrategy depth = {
      .name = "Summa25d",
      .axes = "zxy",
      .x = "m:z,x k:y",
      .w = "k:x n:y",
      .y = "m:z,x n:y",
      .factors = "m:z,x n:y panels k:x,y",
      .forward = callForward,
      .backward =
          [](const N &s) {
            Calls calls = callBackward(s);
            calls.push_back({allReduce, s.W / (s.x * s.y)});
            return calls;
          },
      .ring =
          [](const N &s) {
            return getRing(s) + Fraction(2 * (s.z - 1) * s.W, s.z * s.x * s.y);
          },
      .atRest = getAtRest,
      .copies = [](const N &) { return Copies{}; }};
  table.push_back(depth);

  depth.name = "Summa25dStored";
  depth.w = "k:x n:y /z";
  depth.forward = [](const N &s) {
    Calls calls = callForward(s);
    calls.push_back({allGather, s.stored / (s.x * s.y)});
    return calls;
  };
  depth.backward = [](const N &s) {
    Calls calls = callBackward(s);
    for (CollectiveKind kind : {allGather, reduceScatter})
      calls.push_back({kind, s.stored / (s.x * s.y)});
    return calls;
  };
  depth.ring = [](const N &s) {
    return getRing(s) + Fraction(3 * (s.z - 1) * s.stored, s.z * s.x * s.y);
  };
  depth.atRest = [](const N &s) {
    int64_t p = s.x * s.y * s.z;
    return AtRest{s.X / p, s.stored / p, s.Y / p};
  };
  depth.copies = [](const N &s) {
    int64_t shared = block(s.k, s.x, s.n, s.y);
    return Copies{shared, shared};
  };
  table.push_back(depth);

  // Split further instead of kept in pieces: the gathered block is kept.
  depth.name = "Summa25dSpread";
  depth.w = "k:x,z n:y";
  depth.forward = [](const N &s) {
    Calls calls = callForward(s);
    calls.push_back({allGather, s.W / (s.x * s.y)});
    return calls;
  };
  depth.backward = [](const N &s) {
    Calls calls = callBackward(s);
    calls.push_back({reduceScatter, s.W / (s.x * s.y)});
    return calls;
  };
  depth.ring = [](const N &s) {
    return getRing(s) + Fraction(2 * (s.z - 1) * s.W, s.z * s.x * s.y);
  };
  depth.atRest = [](const N &s) {
    int64_t p = s.x * s.y * s.z;
    return AtRest{s.X / p, s.W / p, s.Y / p};
  };
  table.push_back(depth);
}

} // namespace parplan::test
