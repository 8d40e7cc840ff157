//===- Selections.cpp - Operators that choose by content -------*- C++ -*-===//
//
// Part of parplan. How much they give depends on the data, and shapes are
// static: they are computed where the operands are known.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace parplan::importer {

/// Elements of an operand that must be known.
static std::vector<Cell> getKnownCells(NodeContext &node, size_t index,
                                       const char *what) {
  std::optional<std::vector<Cell>> cells =
      node.builder.getCells(node.getInput(index));
  if (!cells)
    failNode(codes::unknownValue, what,
             " is not known when the model is imported");
  return *cells;
}

//===----------------------------------------------------------------------===//
// Unique
//===----------------------------------------------------------------------===//

namespace {
/// By elements; all NaN are the same, and the greatest.
struct CellLess {
  ElementType type;

  bool isLess(Cell a, Cell b) const {
    if (isFloat(type))
      return std::isnan(b.real) ? !std::isnan(a.real) : a.real < b.real;
    if (type == ElementType::u64)
      return uint64_t(a.integer) < uint64_t(b.integer);
    return a.integer < b.integer;
  }
  bool operator()(const std::vector<Cell> &a,
                  const std::vector<Cell> &b) const {
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(),
        [&](Cell x, Cell y) { return isLess(x, y); });
  }
};

/// What is found several times, by the item.
struct Occurrences {
  int64_t first, count;
};
} // namespace

static void importUnique(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  std::vector<Cell> cells =
      getKnownCells(node, 0, "how many elements are different");
  ElementType type = builder.getType(input);
  Shape shape = builder.getShape(input);
  int64_t axis = 0;
  if (node.hasAttribute("axis"))
    axis = builder.normalizeDim(node.getRequiredInteger("axis"), shape.size());
  else
    shape = {countElements(shape)};
  int64_t size = shape[axis],
          inner = countElements(ShapeRef(shape).drop_front(axis + 1)),
          outer = countElements(ShapeRef(shape).take_front(axis));

  std::map<std::vector<Cell>, Occurrences, CellLess> found(CellLess{type});
  std::vector<decltype(found)::iterator> places;
  for (int64_t item = 0; item < size; ++item) {
    std::vector<Cell> key;
    for (int64_t i = 0; i < outer; ++i) {
      auto start = cells.begin() + (i * size + item) * inner;
      key.insert(key.end(), start, start + inner);
    }
    auto [place, isNew] =
        found.try_emplace(std::move(key), Occurrences{item, 0});
    ++place->second.count;
    places.push_back(place);
  }
  std::vector<decltype(found)::iterator> order;
  for (auto place = found.begin(); place != found.end(); ++place)
    order.push_back(place);
  if (node.getInteger("sorted", 1) == 0)
    llvm::sort(order, [](auto a, auto b) {
      return a->second.first < b->second.first;
    });

  int64_t count = order.size();
  std::vector<int64_t> firsts, counts, inverse;
  std::map<int64_t, int64_t> ranks;
  std::vector<Cell> kept(outer * count * inner);
  for (int64_t rank = 0; rank < count; ++rank) {
    const auto &[key, occurrences] = *order[rank];
    firsts.push_back(occurrences.first);
    counts.push_back(occurrences.count);
    ranks[occurrences.first] = rank;
    for (int64_t i = 0; i < outer; ++i)
      std::copy_n(key.begin() + i * inner, inner,
                  kept.begin() + (i * count + rank) * inner);
  }
  for (auto place : places)
    inverse.push_back(ranks[place->second.first]);
  shape[axis] = count;
  node.setOutput(0, builder.makeDense(type, shape, std::move(kept)));
  node.setOutput(1, builder.makeIntegers(firsts));
  node.setOutput(2, builder.makeIntegers(inverse));
  node.setOutput(3, builder.makeIntegers(counts));
}

//===----------------------------------------------------------------------===//
// NonMaxSuppression
//===----------------------------------------------------------------------===//

namespace {
struct Box {
  double low[2], high[2];

  double getArea() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};
} // namespace

/// From two corners, in any order, or from center and size, x before y.
static Box readBox(const Cell *cells, bool isCentered) {
  Box box;
  for (int dim = 0; dim < 2; ++dim) {
    double first = cells[dim].real, second = cells[dim + 2].real;
    box.low[dim] = isCentered ? first - second / 2 : std::min(first, second);
    box.high[dim] = isCentered ? first + second / 2 : std::max(first, second);
  }
  return box;
}

/// The area of the intersection over that of the union.
static double getOverlap(const Box &a, const Box &b) {
  Box common;
  for (int dim = 0; dim < 2; ++dim) {
    common.low[dim] = std::max(a.low[dim], b.low[dim]);
    common.high[dim] = std::min(a.high[dim], b.high[dim]);
    if (common.low[dim] >= common.high[dim])
      return 0;
  }
  double shared = common.getArea();
  return shared / (a.getArea() + b.getArea() - shared);
}

static double getThreshold(NodeContext &node, size_t index, const char *what,
                           double otherwise) {
  if (!node.hasInput(index))
    return otherwise;
  std::vector<double> numbers = node.getKnownReals(index, what);
  if (numbers.size() != 1)
    failNode(codes::badNode, what, " has ", numbers.size(), " elements");
  return numbers.front();
}

static void importNonMaxSuppression(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  const char *unknown = "how many boxes are selected";
  const Shape &boxShape = builder.getShape(node.getInput(0)),
              &scoreShape = builder.getShape(node.getInput(1));
  if (boxShape.size() != 3 || scoreShape.size() != 3 || boxShape[2] != 4 ||
      boxShape[0] != scoreShape[0] || boxShape[1] != scoreShape[2])
    failNode(codes::badNode, "boxes of shape ", printShape(boxShape),
             " and scores of shape ", printShape(scoreShape));
  int64_t batches = scoreShape[0], classes = scoreShape[1],
          count = scoreShape[2];
  std::vector<Cell> corners = getKnownCells(node, 0, unknown),
                    scores = getKnownCells(node, 1, unknown);
  int64_t limit = node.hasInput(2)
                      ? node.getKnownInteger(2, "max_output_boxes_per_class")
                      : 0;
  double overlap = getThreshold(node, 3, "iou_threshold", 0),
         threshold = getThreshold(node, 4, "score_threshold", -INFINITY);
  bool isCentered = node.getInteger("center_point_box", 0) != 0;
  // Each box is compared with those that are selected.
  constexpr int64_t mostComparisons = int64_t(1) << 24;
  int64_t chosen = std::clamp<int64_t>(limit, 1, count + 1);
  if (batches * classes * count > mostComparisons / chosen)
    failNode(codes::unsupportedForm, count, " boxes in ", batches * classes,
             " classes are more than are compared here");

  std::vector<Cell> selected;
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t kind = 0; kind < classes; ++kind) {
      const Cell *score = scores.data() + (batch * classes + kind) * count;
      std::vector<int64_t> order(count);
      std::iota(order.begin(), order.end(), 0);
      // What is no number is not selected.
      llvm::erase_if(order, [&](int64_t index) {
        return !(score[index].real > threshold);
      });
      llvm::stable_sort(order, [&](int64_t a, int64_t b) {
        return score[a].real > score[b].real;
      });
      std::vector<Box> kept;
      for (int64_t index : order) {
        Box box =
            readBox(corners.data() + (batch * count + index) * 4, isCentered);
        if (int64_t(kept.size()) >= limit)
          break;
        if (llvm::any_of(kept, [&](const Box &other) {
              return getOverlap(box, other) > overlap;
            }))
          continue;
        kept.push_back(box);
        for (int64_t number : {batch, kind, index})
          selected.push_back(Cell{.integer = number});
      }
    }
  Shape shape = {int64_t(selected.size()) / 3, 3};
  node.setOutput(
      0, builder.makeDense(ElementType::i64, shape, std::move(selected)));
}

llvm::ArrayRef<OperatorEntry> getSelectionOperators() {
  constexpr Support folded = Support::folded;
  static const OperatorEntry entries[] = {
      {"Unique", {11}, folded, importUnique, "of known elements"},
      {"NonMaxSuppression",
       {10, 11},
       folded,
       importNonMaxSuppression,
       "of known boxes and scores"},
  };
  return entries;
}

} // namespace parplan::importer
