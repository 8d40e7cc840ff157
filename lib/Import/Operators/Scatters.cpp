//===- Scatters.cpp - Elements put at indices ------------------*- C++ -*-===//
//
// Part of parplan.
//
// Sums at indices are the adjoints of gathers. Where updates replace elements,
// no index may occur twice, so they are sums too, chosen where there is one.
// With few indices and elements all are compared with all, and the updates of
// each element are reduced.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Formula.h"
#include "lib/Import/Operators/Numbers.h"
#include "lib/Import/Operators/OperatorTable.h"

#include <functional>
#include <limits>

namespace parplan::importer {

ValueId compareWithNumbers(GraphBuilder &builder, ValueId indices, int64_t dim,
                           int64_t size) {
  ElementType type = builder.getType(indices);
  if (type != ElementType::i64)
    indices = builder.cast(indices, ElementType::i64);
  indices = builder.insertDims(indices, {dim});
  Shape numbers(builder.getRank(indices), 1);
  numbers[dim] = size;
  return builder.compare(
      Predicate::eq, indices,
      builder.makeRange(ElementType::i64, numbers, dim, 0, 1));
}

namespace {
/// Puts updates into data; `sum` adds floats of the updates' shape up in zeros
/// of the data's.
class Scatter {
public:
  using Sum = std::function<ValueId(ValueId updates)>;

  Scatter(GraphBuilder &builder, ValueId data, ValueId updates, Sum sum)
      : builder(builder), data(data), updates(updates),
        type(builder.getType(data)), sum(std::move(sum)) {}

  ValueId add();
  ValueId replace();

private:
  /// Sums of elements of any type, zero where there is nothing to add.
  ValueId addUp();

  GraphBuilder &builder;
  ValueId data, updates;
  ElementType type;
  Sum sum;
};
} // namespace

ValueId Scatter::addUp() {
  if (isFloat(type))
    return sum(updates);
  auto sumExactly = [&](ValueId values) {
    return builder.cast(sum(builder.cast(values, ElementType::f64)),
                        ElementType::i64);
  };
  if (type != ElementType::i64)
    return builder.cast(sumExactly(updates), type);
  // Halves of 32 bits, of which 2^20 have an exact sum.
  if (countElements(builder.getShape(updates)) > (int64_t(1) << 20))
    failNode(codes::unsupportedForm, "so many updates of type int64");
  ValueId base = builder.makeSplat(type, {}, Cell{.integer = int64_t(1) << 32});
  ValueId low = builder.binary(OpKind::mod, updates, base);
  ValueId high = builder.binary(
      OpKind::div, builder.binary(OpKind::sub, updates, low), base);
  return builder.binary(OpKind::add, sumExactly(low),
                        builder.binary(OpKind::mul, sumExactly(high), base));
}

ValueId Scatter::add() {
  if (isBool(type))
    failNode(codes::badNode, "sums of type bool");
  return builder.binary(OpKind::add, data, addUp());
}

ValueId Scatter::replace() {
  ValueId sums = addUp();
  if (builder.isSplatOf(data, 0))
    return sums;
  ValueId hits =
      sum(builder.makeNumber(ElementType::f32, 1, builder.getShape(updates)));
  ValueId isHit = builder.compare(Predicate::gt, hits,
                                  builder.makeNumber(ElementType::f32, 0));
  return builder.select(isHit, sums, data);
}

//===----------------------------------------------------------------------===//
// Products and extremes
//===----------------------------------------------------------------------===//

/// `data` reduced with those updates for which the mask is true; the mask is
/// [.., n, m, ..] for updates [.., n, ..] and data [.., m, ..], the n being
/// dimension `dim`.
static ValueId reduceWhere(GraphBuilder &builder, std::string_view reduction,
                           ValueId data, ValueId updates, ValueId mask,
                           int64_t dim) {
  ElementType type = builder.getType(data);
  if (isBool(type))
    failNode(codes::unsupportedForm, "reductions of type bool");
  updates = builder.insertDims(updates, {dim + 1});
  auto reduce = [&](ReduceKind kind, OpKind combine, ValueId data,
                    ValueId updates, double neutral) {
    ValueId chosen =
        builder.select(mask, updates, builder.makeNumber(type, neutral));
    return builder.binary(
        combine, data, builder.reduce(kind, chosen, {dim}, /*keepDims=*/false));
  };
  if (reduction == "add" || reduction == "none") {
    ValueId sum = builder.reduce(
        ReduceKind::sum,
        builder.select(mask, updates, builder.makeNumber(type, 0)), {dim},
        /*keepDims=*/false);
    if (builder.isSplatOf(data, 0))
      return sum;
    if (reduction == "add")
      return builder.binary(OpKind::add, data, sum);
    ValueId hits = builder.reduce(ReduceKind::sum,
                                  builder.cast(mask, ElementType::i64), {dim},
                                  /*keepDims=*/false);
    return builder.select(
        builder.compare(Predicate::gt, hits,
                        builder.makeNumber(ElementType::i64, 0)),
        sum, data);
  }
  if (reduction == "mul")
    return reduce(ReduceKind::prod, OpKind::mul, data, updates, 1);
  // The least of all integers is the nearest to minus infinity.
  double lowest = -std::numeric_limits<double>::infinity();
  if (reduction == "max")
    return reduce(ReduceKind::max, OpKind::max, data, updates, lowest);
  if (!isFloat(type))
    failNode(codes::unsupportedForm, "minima of ", printElementType(type));
  auto negate = [&](ValueId value) {
    return builder.unary(OpKind::neg, value);
  };
  return negate(reduce(ReduceKind::max, OpKind::max, negate(data),
                       negate(updates), lowest));
}

/// True if all indices may be compared with all numbers of elements.
static bool areFew(int64_t indices, int64_t elements) {
  constexpr int64_t most = 4096;
  return indices <= most && elements <= most && indices * elements <= most;
}

static std::string readScatterReduction(NodeContext &node) {
  std::string reduction = node.getText("reduction", "none");
  if (!llvm::is_contained({"none", "add", "mul", "max", "min"}, reduction))
    failNode(codes::badNode, "reduction is none of its values");
  return reduction;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static void importScatterElements(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId data = node.getInput(0), indices = node.getInput(1),
          updates = node.getInput(2);
  Shape shape = builder.getShape(data), from = builder.getShape(indices);
  int64_t dim = builder.normalizeDim(node.getInteger("axis", 0), shape.size());
  std::string reduction = readScatterReduction(node);
  bool fits = from.size() == shape.size() && builder.getShape(updates) == from;
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = int64_t(i) == dim || from[i] <= shape[i];
  if (!fits || builder.getType(updates) != builder.getType(data))
    failNode(codes::badNode, "indices of shape ", printShape(from),
             ", updates of shape ", printShape(builder.getShape(updates)),
             ", data of shape ", printShape(shape));
  if (countElements(from) == 0) {
    node.setOutput(0, data);
    return;
  }
  Shape whole = from;
  whole[dim] = shape[dim];
  bool isSum = reduction == "none" || reduction == "add";
  bool few = areFew(from[dim], shape[dim]) && !isBool(builder.getType(data));
  if (isSum && (!few || whole != shape)) {
    Scatter scatter(builder, data, updates, [&](ValueId values) {
      return builder.scatterElements(values, indices, shape, dim);
    });
    node.setOutput(0, reduction == "add" ? scatter.add() : scatter.replace());
    return;
  }
  if (!few || whole != shape)
    failNode(codes::unsupportedForm, "reduction '", reduction, "' with ",
             from[dim], " indices of shape ", printShape(from),
             " for data of shape ", printShape(shape));
  ValueId mask =
      compareWithNumbers(builder, builder.countFromStart(indices, shape[dim]),
                         dim + 1, shape[dim]);
  node.setOutput(0, reduceWhere(builder, reduction, data, updates, mask, dim));
}

static void importScatterND(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId data = node.getInput(0), indices = node.getInput(1),
          updates = node.getInput(2);
  ShapeRef from = builder.getShape(indices);
  Shape shape = builder.getShape(data), expected;
  bool fits =
      !from.empty() && from.back() >= 1 && from.back() <= int64_t(shape.size());
  if (fits) {
    expected.append(from.begin(), from.end() - 1);
    expected.append(shape.begin() + from.back(), shape.end());
  }
  if (!fits || builder.getShape(updates) != expected ||
      builder.getType(updates) != builder.getType(data))
    failNode(codes::badNode, "indices of shape ", printShape(from),
             " and updates of shape ", printShape(builder.getShape(updates)),
             " do not fit data of shape ", printShape(shape));
  std::string reduction = readScatterReduction(node);
  if (reduction == "add" && from.size() == 2)
    if (ValueId sum = builder.addByDigits(data, indices, updates);
        sum != noValue) {
      node.setOutput(0, sum);
      return;
    }
  if (countElements(expected) == 0) {
    node.setOutput(0, data);
    return;
  }
  Scatter scatter(builder, data, updates, [&](ValueId values) {
    return builder.scatterND(values, indices, shape);
  });
  if (reduction == "none" || reduction == "add") {
    node.setOutput(0, reduction == "add" ? scatter.add() : scatter.replace());
    return;
  }
  // Indexed dimensions as one, with one number for every index.
  int64_t depth = from.back();
  ShapeRef indexed = ShapeRef(shape).take_front(depth),
           rest = ShapeRef(shape).drop_front(depth);
  int64_t elements = countElements(indexed);
  int64_t count = countElements(from.drop_back());
  if (!areFew(count, elements))
    failNode(codes::unsupportedForm, "reduction '", reduction, "' with ", count,
             " indices of ", elements, " elements");
  ValueId number = noValue;
  for (int64_t column = 0; column < depth; ++column) {
    ValueId index = builder.reshape(
        builder.slice(indices,
                      SliceRange{int64_t(from.size()) - 1, column, column + 1}),
        {count});
    index = builder.cast(builder.countFromStart(index, indexed[column]),
                         ElementType::i64);
    int64_t stride = countElements(indexed.drop_front(column + 1));
    ValueId part =
        builder.binary(OpKind::mul, index,
                       builder.makeNumber(ElementType::i64, double(stride)));
    number =
        number == noValue ? part : builder.binary(OpKind::add, number, part);
  }
  Shape rows = {elements, countElements(rest)},
        updateRows = {count, countElements(rest)};
  ValueId mask =
      builder.insertDims(compareWithNumbers(builder, number, 1, elements), {2});
  ValueId result =
      reduceWhere(builder, reduction, builder.reshape(data, rows),
                  builder.reshape(updates, updateRows), mask, /*dim=*/0);
  node.setOutput(0, builder.reshape(result, shape));
}

/// Element s of the cache is element s - start of the update where there is
/// one; the start is of each sample.
static void importTensorScatter(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId cache = node.getInput(0), update = node.getInput(1);
  Shape shape = builder.getShape(cache), from = builder.getShape(update);
  int64_t rank = shape.size();
  int64_t dim = builder.normalizeDim(node.getInteger("axis", -2), rank);
  Shape expected = shape;
  if (from.size() == shape.size())
    expected[dim] = from[dim];
  std::string mode = node.getText("mode", "linear");
  if (from != expected || from[dim] < 1 || from[dim] > shape[dim] || dim == 0 ||
      (mode != "linear" && mode != "circular"))
    failNode(codes::badNode, "an update of shape ", printShape(from),
             " for a cache of shape ", printShape(shape), ", mode ", mode);
  if (!node.hasInput(2)) {
    ValueId rest = builder.slice(cache, SliceRange{dim, from[dim], shape[dim]});
    node.setOutput(0, builder.concat({update, rest}, dim));
    return;
  }
  ValueId starts = node.getInput(2);
  if (builder.getShape(starts) != Shape({shape[0]}))
    failNode(codes::badNode, "starts of shape ",
             printShape(builder.getShape(starts)));
  auto number = [&](int64_t value) {
    return builder.makeNumber(ElementType::i64, double(value));
  };
  // [samples, elements of the cache]
  ValueId source = builder.binary(
      OpKind::sub,
      builder.makeRange(ElementType::i64, {1, shape[dim]}, 1, 0, 1),
      builder.reshape(builder.cast(starts, ElementType::i64), {shape[0], 1}));
  if (mode == "circular")
    source = builder.binary(OpKind::mod, source, number(shape[dim]));
  ValueId isUpdated = builder.binary(
      OpKind::logicalAnd, builder.compare(Predicate::ge, source, number(0)),
      builder.compare(Predicate::lt, source, number(from[dim])));
  source = builder.select(isUpdated, source, number(0));
  // The updated dimension behind the samples, and back.
  llvm::SmallVector<int64_t, 6> order = {0, dim}, back = {0};
  for (int64_t other = 1; other < rank; ++other) {
    if (other != dim)
      order.push_back(other);
    back.push_back(other < dim ? other + 1 : other == dim ? 1 : other);
  }
  ValueId rows =
      builder.gatherND(builder.transpose(update, order),
                       builder.insertDims(source, {2}), /*batchDims=*/1);
  Shape mask(rank, 1);
  mask[0] = shape[0];
  mask[dim] = shape[dim];
  node.setOutput(0, builder.select(builder.reshape(isUpdated, mask),
                                   builder.transpose(rows, back), cache));
}

llvm::ArrayRef<OperatorEntry> getScatterOperators() {
  constexpr Support lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"ScatterElements",
       {11, 13, 16, 18},
       lowered,
       importScatterElements,
       "gather_elements_gradient; products and extremes of few elements"},
      {"Scatter",
       {9},
       lowered,
       importScatterElements,
       "gather_elements_gradient"},
      {"ScatterND",
       {11, 13, 16, 18},
       lowered,
       importScatterND,
       "gather_nd_gradient; products and extremes of few elements"},
      {"TensorScatter", {24}, lowered, importTensorScatter, "gather_nd"},
  };
  return entries;
}

} // namespace parplan::importer
