//===- PanelsTest.cpp - The panels of a dimension -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestMeshes.h"

#include "parplan/Sharding/Blocks.h"
#include "parplan/Sharding/Panels.h"

#include "gtest/gtest.h"

using namespace parplan;
using namespace parplan::test;

namespace {

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

Ranges getRanges(int64_t size, llvm::ArrayRef<AxisList> axes,
                 const Mesh &mesh) {
  Ranges ranges;
  for (const Interval &panel : getPanelIntervals(size, axes, mesh))
    ranges.push_back({panel.start, panel.stop});
  return ranges;
}

TEST(PanelIntervals, EndWhereABlockOfATensorEnds) {
  Mesh mesh = makeMesh("x=2 y=3");
  EXPECT_EQ(getRanges(6, {{0}, {1}}, mesh),
            (Ranges{{0, 2}, {2, 3}, {3, 4}, {4, 6}}));
  EXPECT_EQ(getRanges(6, {{0}, {0}}, mesh), (Ranges{{0, 3}, {3, 6}}));
  EXPECT_EQ(getRanges(6, {{}, {1}}, mesh), (Ranges{{0, 2}, {2, 4}, {4, 6}}));
}

TEST(PanelIntervals, OfWholeTensorsAreOne) {
  Mesh mesh = makeMesh("x=2");
  EXPECT_EQ(getRanges(6, {}, mesh), (Ranges{{0, 6}}));
  EXPECT_EQ(getRanges(6, {{}}, mesh), (Ranges{{0, 6}}));
  EXPECT_EQ(getRanges(0, {{0}}, mesh), Ranges());
}

// Blocks of five over x, y: 0-1, 2, 3-4, nothing, by nested ceilings (S3).
TEST(PanelIntervals, HaveElements) {
  Mesh mesh = makeMesh("x=2 y=2 z=7");
  EXPECT_EQ(getRanges(5, {{0, 1}}, mesh), (Ranges{{0, 2}, {2, 3}, {3, 5}}));
  EXPECT_EQ(getRanges(3, {{2}}, mesh), (Ranges{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(PanelSlots, AreTwoUnlessTwoRanksOwnAPanelEachInPlace) {
  Mesh mesh = makeMesh("x=2 y=3");
  auto getSlots = [&](int64_t size, llvm::ArrayRef<AxisList> axes,
                      size_t tensor, bool inPlace) {
    auto panels = getPanels(size, axes, mesh);
    auto slots = getSlotSizes(panels, tensor, mesh.getWidth(axes[tensor]),
                              [&](const Panel &) { return inPlace; });
    return std::vector<int64_t>(slots.begin(), slots.end());
  };
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(getSlots(7, {{0}, {0}}, 0, true), Sizes({4}));
  EXPECT_EQ(getSlots(7, {{0}, {0}}, 0, false), Sizes({4, 3}));
  // Of 2, 1, 1 and 2 elements each rank of x owns two, and sends both.
  EXPECT_EQ(getSlots(6, {{0}, {1}}, 0, true), Sizes({2, 2}));
  // The third rank of y owns neither of the first two.
  EXPECT_EQ(getSlots(6, {{}, {1}}, 1, true), Sizes({2, 2}));
  // There is one panel, and nobody to send it to.
  EXPECT_EQ(getSlots(1, {{}, {1}}, 1, true), Sizes({1}));
  EXPECT_EQ(getSlots(6, {{}, {1}}, 0, true), Sizes());
}

// All sizes on a nested grid: panels follow each other to the end, and each
// lies in one block of each tensor.
TEST(PanelIntervals, LieInOneBlockOfEachTensor) {
  Mesh mesh = makeMesh("x=2 y=3 z=2");
  const std::vector<AxisList> tensors = {{0, 1}, {2}, {1, 2}};
  for (int64_t size = 0; size < 40; ++size) {
    int64_t end = 0;
    for (const Interval &panel : getPanelIntervals(size, tensors, mesh)) {
      EXPECT_EQ(panel.start, end);
      EXPECT_LT(panel.start, panel.stop);
      end = panel.stop;
      for (const AxisList &axes : tensors) {
        llvm::SmallVector<int64_t> widths;
        for (int axis : axes)
          widths.push_back(mesh.getAxis(axis).size);
        int owners = 0;
        for (int64_t index = 0; index < mesh.getWidth(axes); ++index) {
          Interval block = getNestedInterval(size, widths, index);
          owners += block.start <= panel.start && panel.stop <= block.stop;
        }
        EXPECT_EQ(owners, 1) << "size " << size;
      }
    }
    EXPECT_EQ(end, size);
  }
}

} // namespace
