//===- NarrowTest.cpp - Types narrower than the dialect's ------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/GraphBuilder.h"
#include "lib/Import/Graph/NarrowFloat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace parplan;
using namespace parplan::importer;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The builder folds what it is asked for when operands are constants.
class Narrow : public testing::Test {
protected:
  std::vector<double> cast(std::vector<double> numbers, ElementType from,
                           ElementType to, NarrowRounding rounding = {}) {
    std::vector<Cell> cells(numbers.size());
    for (size_t i = 0; i < cells.size(); ++i)
      cells[i].real = numbers[i];
    Shape shape = {int64_t(cells.size())};
    ValueId input = builder.makeDense(from, shape, std::move(cells));
    return read(builder.cast(input, to, rounding));
  }

  std::vector<double> read(ValueId id) {
    std::optional<std::vector<Cell>> cells = builder.getCells(id);
    EXPECT_TRUE(cells);
    std::vector<double> numbers;
    for (Cell cell : *cells)
      numbers.push_back(isFloat(builder.getType(id)) ? cell.real
                                                     : double(cell.integer));
    return numbers;
  }

  Graph graph;
  GraphBuilder builder{graph};
};

/// By looking at all numbers of the type: the nearest; of two, the one with the
/// even code. `codes` are those without a sign.
double findNearest(double number, ElementType type, unsigned codes) {
  double greatest = getNarrowFormat(type).greatest, nearest = 0;
  double magnitude = std::min(std::fabs(number), greatest);
  for (unsigned code = 0; code < codes; ++code) {
    double candidate = decodeNarrowFloat(code, type);
    if (!std::isfinite(candidate))
      continue;
    double distance = std::fabs(candidate - magnitude),
           least = std::fabs(nearest - magnitude);
    if (distance < least || (distance == least && code % 2 == 0))
      nearest = candidate;
  }
  return std::signbit(number) ? -nearest : nearest;
}

TEST_F(Narrow, FloatsAreRoundedToTheNearest) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponents(-20, 17), signs(-1, 1);
  for (ElementType type :
       {ElementType::f8e4m3fn, ElementType::f8e4m3fnuz, ElementType::f8e5m2,
        ElementType::f8e5m2fnuz, ElementType::f4e2m1}) {
    unsigned codes = 1u << (getElementBits(type) - 1);
    std::vector<double> numbers = {0, infinity, -infinity};
    for (int i = 0; i < 2000; ++i)
      numbers.push_back(
          std::copysign(std::exp2(exponents(random)), signs(random)));
    // Between neighbours.
    for (unsigned code = 0; code + 1 < codes; ++code) {
      double middle =
          (decodeNarrowFloat(code, type) + decodeNarrowFloat(code + 1, type)) /
          2;
      if (std::isfinite(middle))
        numbers.insert(numbers.end(), {middle, -middle});
    }
    for (double &number : numbers)
      number = float(number);
    for (ElementType from : {ElementType::f32, ElementType::f64}) {
      std::vector<double> rounded = cast(numbers, from, type);
      for (size_t i = 0; i < numbers.size(); ++i)
        EXPECT_EQ(rounded[i], findNearest(numbers[i], type, codes))
            << numbers[i] << " as " << printElementType(type);
    }
  }
}

TEST_F(Narrow, WhatIsTooLargeForEightBits) {
  NarrowRounding open{.saturates = false};
  // 464 lies between 448 and what would be 480.
  std::vector<double> numbers = {448, 464, 465, -infinity};
  std::vector<double> e4m3 =
      cast(numbers, ElementType::f32, ElementType::f8e4m3fn, open);
  EXPECT_EQ(e4m3[0], 448);
  EXPECT_EQ(e4m3[1], 448);
  EXPECT_TRUE(std::isnan(e4m3[2]));
  EXPECT_TRUE(std::isnan(e4m3[3]));
  EXPECT_EQ(
      cast({57344, 61439, 61440, -1e9, -infinity}, ElementType::f32,
           ElementType::f8e5m2, open),
      (std::vector<double>{57344, 57344, infinity, -infinity, -infinity}));
  std::vector<double> zero =
      cast({-1e-9}, ElementType::f32, ElementType::f8e5m2fnuz, open);
  EXPECT_FALSE(std::signbit(zero[0]));
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(
      std::isnan(cast({nan}, ElementType::f32, ElementType::f8e4m3fn)[0]));
  EXPECT_EQ(cast({nan}, ElementType::f32, ElementType::f4e2m1)[0], 0);
}

TEST_F(Narrow, PowersOfTwo) {
  using Mode = NarrowRounding::Mode;
  std::vector<double> numbers = {1, 1.25, 1.5, 1.75, 0, infinity};
  double least = std::ldexp(1.0, -127), greatest = std::ldexp(1.0, 127);
  auto castWith = [&](bool saturates, Mode mode) {
    return cast(numbers, ElementType::f32, ElementType::f8e8m0,
                {saturates, mode});
  };
  EXPECT_EQ(castWith(true, Mode::up),
            (std::vector<double>{1, 2, 2, 2, least, greatest}));
  EXPECT_EQ(castWith(true, Mode::down),
            (std::vector<double>{1, 1, 1, 1, least, greatest}));
  EXPECT_EQ(castWith(true, Mode::nearest),
            (std::vector<double>{1, 1, 2, 2, least, greatest}));
  std::vector<double> open = castWith(false, Mode::nearest);
  EXPECT_EQ(open[3], 2);
  EXPECT_TRUE(std::isnan(open[4]));
  EXPECT_TRUE(std::isnan(open[5]));
}

TEST_F(Narrow, IntegersKeepTheirLowestBits) {
  std::vector<double> numbers = {-9, -8, -1, 0, 1, 2, 7, 8, 15};
  EXPECT_EQ(cast(numbers, ElementType::f32, ElementType::i4),
            (std::vector<double>{7, -8, -1, 0, 1, 2, 7, -8, -1}));
  EXPECT_EQ(cast(numbers, ElementType::f32, ElementType::u4),
            (std::vector<double>{7, 8, 15, 0, 1, 2, 7, 8, 15}));
  EXPECT_EQ(cast(numbers, ElementType::f32, ElementType::i2),
            (std::vector<double>{-1, 0, -1, 0, 1, -2, -1, 0, -1}));
}

/// As addPacked reads weights, but of constants.
TEST_F(Narrow, BytesAreDecoded) {
  auto makeBytes = [&](std::initializer_list<int64_t> bytes, ShapeRef shape) {
    std::vector<Cell> cells;
    for (int64_t byte : bytes)
      cells.push_back(Cell{.integer = byte});
    return builder.makeDense(ElementType::u8, shape, std::move(cells));
  };
  ValueId rows = makeBytes({0x81, 0x7f, 0x20, 0xe3}, {2, 2});
  EXPECT_EQ(read(builder.decode(rows, ElementType::i4, {2, 4})),
            (std::vector<double>{1, -8, -1, 7, 0, 2, 3, -2}));
  ValueId flat = makeBytes({0x81, 0x0f}, {2});
  EXPECT_EQ(read(builder.decode(flat, ElementType::u4, {3, 1})),
            (std::vector<double>{1, 8, 15}));
  EXPECT_EQ(read(builder.decode(flat, ElementType::i2, {5})),
            (std::vector<double>{1, 0, 0, -2, -1}));
  EXPECT_EQ(read(builder.decode(makeBytes({0x38, 0xc0, 0x01}, {3}),
                                ElementType::f8e4m3fn, {3})),
            (std::vector<double>{1, -2, std::ldexp(1.0, -9)}));
}

} // namespace
