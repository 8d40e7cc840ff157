//===- ConstantTest.cpp - Constants that know where they vary --*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/CellArithmetic.h"
#include "lib/Import/Graph/GraphBuilder.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace parplan;
using namespace parplan::importer;

namespace {

std::vector<Cell> cells(std::initializer_list<int64_t> integers) {
  std::vector<Cell> result;
  for (int64_t integer : integers)
    result.push_back(Cell{.integer = integer});
  return result;
}

TEST(Constant, RepetitionIsFoundAndContentIsShared) {
  ConstantPool pool;
  ConstantId rows =
      pool.addDense(ElementType::i64, {2, 3}, cells({1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(ShapeRef(pool[rows].core), ShapeRef({1, 3}));
  EXPECT_EQ(rows, pool.addDense(ElementType::i64, {1, 3}, cells({1, 2, 3})));
  ConstantId zero = pool.addDense(ElementType::i64, {4}, cells({0, 0, 0, 0}));
  EXPECT_TRUE(pool[zero].isSplat());
  EXPECT_NE(zero, pool.addDense(ElementType::i32, {1}, cells({0})));
}

TEST(Constant, AffineFunctionsAreRecognised) {
  ConstantPool pool;
  ConstantId id =
      pool.addDense(ElementType::i64, {2, 3}, cells({5, 7, 9, 4, 6, 8}));
  std::optional<AffineFunction> function = fitAffine(pool[id]);
  ASSERT_TRUE(function);
  EXPECT_EQ(function->coefficients, (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(function->offset, 5);
  EXPECT_FALSE(
      fitAffine(pool[pool.addDense(ElementType::i64, {3}, cells({0, 1, 3}))]));
  EXPECT_FALSE(fitAffine(pool[pool.addDense(ElementType::i64, {2},
                                            cells({INT64_MIN, INT64_MAX}))]));
}

TEST(Constant, DiagonalMasksAreRecognised) {
  ConstantPool pool;
  ConstantId causal = pool.addDense(ElementType::i1, {3, 3},
                                    cells({1, 0, 0, 1, 1, 0, 1, 1, 1}));
  std::optional<AffineFunction> function = fitMask(pool[causal]);
  ASSERT_TRUE(function);
  EXPECT_EQ(function->coefficients, (std::vector<int64_t>{-1, 1}));
  EXPECT_EQ(function->offset, 0);
  EXPECT_FALSE(fitMask(pool[pool.addDense(
      ElementType::i1, {3, 3}, cells({1, 0, 1, 0, 1, 0, 1, 0, 1}))]));
}

TEST(Element, HalfFloatsRoundToNearestEven) {
  EXPECT_EQ(roundToType(65519.0, ElementType::f16), 65504.0);
  EXPECT_TRUE(std::isinf(roundToType(65520.0, ElementType::f16)));
  EXPECT_EQ(roundToType(2049.0, ElementType::f16), 2048.0);
  EXPECT_EQ(roundToType(2051.0, ElementType::f16), 2052.0);
  EXPECT_EQ(roundToType(std::ldexp(1.0, -24), ElementType::f16),
            std::ldexp(1.0, -24));
  EXPECT_EQ(roundToType(std::ldexp(1.0, -26), ElementType::f16), 0.0);
  EXPECT_EQ(roundToType(257.0, ElementType::bf16), 256.0);
  EXPECT_EQ(roundToType(259.0, ElementType::bf16), 260.0);
  for (int bits = 0; bits < 0x7c00; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    Cell cell =
        readCell(reinterpret_cast<const char *>(&half), ElementType::f16);
    uint16_t back;
    writeCell(cell, ElementType::f16, reinterpret_cast<char *>(&back));
    ASSERT_EQ(back, half);
  }
}

TEST(Element, CastsOutOfRangeSaturate) {
  Cell large{.integer = 0};
  large.real = 1e30;
  EXPECT_EQ(convertCell(large, ElementType::f32, ElementType::i32).integer,
            INT32_MAX);
  large.real = NAN;
  EXPECT_EQ(convertCell(large, ElementType::f32, ElementType::i64).integer, 0);
  EXPECT_EQ(convertCell(Cell{.integer = 300}, ElementType::i64, ElementType::u8)
                .integer,
            44);
}

TEST(Element, UnsignedIntegersHaveAllTheirBits) {
  constexpr ElementType u64 = ElementType::u64;
  Cell all{.integer = -1}, one{.integer = 1};
  EXPECT_EQ(convertCell(all, u64, ElementType::f64).real, 0x1p64);
  EXPECT_EQ(convertCell(all, u64, ElementType::u16).integer, 65535);
  Cell large{.integer = 0};
  large.real = 0x1p63;
  EXPECT_EQ(convertCell(large, ElementType::f32, u64).integer, INT64_MIN);
  EXPECT_EQ(convertCell(large, ElementType::f32, ElementType::u32).integer,
            UINT32_MAX);
  auto apply = [&](OpKind kind) {
    return evaluateBinary(kind, Predicate::gt, all, one, u64).integer;
  };
  EXPECT_EQ(apply(OpKind::div), -1);
  EXPECT_EQ(apply(OpKind::mod), 0);
  EXPECT_EQ(apply(OpKind::max), -1);
  EXPECT_EQ(apply(OpKind::min), 1);
  EXPECT_EQ(apply(OpKind::compare), 1);
}

TEST(Element, TypesHaveTheNumbersOfOnnx) {
  for (int i = 0; i <= int(ElementType::i1); ++i) {
    auto type = ElementType(i);
    EXPECT_EQ(fromOnnxType(toOnnxType(type)), type);
    EXPECT_EQ(printOnnxType(toOnnxType(type)), printElementType(type));
  }
}

TEST(Element, BitsOfConstants) {
  Cell number{.integer = 0};
  number.real = 1;
  EXPECT_EQ(
      evaluateUnary(OpKind::bitcast, number, ElementType::f32, ElementType::i32)
          .integer,
      0x3f800000);
  EXPECT_EQ(evaluateUnary(OpKind::logicalNot, Cell{.integer = 5},
                          ElementType::u8, ElementType::u8)
                .integer,
            250);
  EXPECT_EQ(evaluateUnary(OpKind::logicalNot, Cell{.integer = 1},
                          ElementType::i1, ElementType::i1)
                .integer,
            0);
}

TEST(Element, ShapesWithinLimits) {
  EXPECT_TRUE(isWithinLimits({int64_t(1) << 24, int64_t(1) << 24}));
  EXPECT_FALSE(isWithinLimits({int64_t(1) << 24, int64_t(1) << 25}));
  // An empty tensor must not hide an overflow of the others.
  EXPECT_FALSE(isWithinLimits({0, INT64_MAX, INT64_MAX}));
  EXPECT_FALSE(isWithinLimits({-1}));
}

} // namespace
