//===- TestPaths.cpp - Paths of reshards as text --------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestPaths.h"

#include "gtest/gtest.h"

using namespace parplan;

std::string test::print(const ReshardPath &path, const Mesh &mesh) {
  if (!path.found)
    return "no path";
  std::string text;
  for (const Move &move : path.moves) {
    text += (text.empty() ? "" : "; ") + toString(move, mesh);
    if (move.sizeElements == 0)
      continue;
    EXPECT_EQ(move.ringElementsAllRanks % mesh.getRankCount(), 0);
    text += " size " + std::to_string(move.sizeElements) + " ring " +
            std::to_string(move.ringElementsAllRanks / mesh.getRankCount());
  }
  return text;
}
