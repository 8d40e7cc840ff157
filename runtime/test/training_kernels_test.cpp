//===- training_kernels_test.cpp - Loss, norm and optimizers --------------===//

#include "test_rank.h"

#include <cmath>

namespace parplan {
namespace runtime {
namespace {

class TrainingTest : public KernelTest {
protected:
  template <typename Element>
  std::vector<Element> randomNumbers(int64_t count, double scale = 1) {
    std::vector<Element> values;
    for (float x : randomFloats(count))
      values.push_back(static_cast<Element>(x * scale));
    return values;
  }
  template <typename Element>
  std::vector<Element> randomSquares(int64_t count) {
    std::vector<Element> values = randomNumbers<Element>(count);
    for (Element &x : values)
      x *= x;
    return values;
  }

  /// One step in double against the kernel, old and new apart or the same.
  template <typename Element>
  void checkStep(OptimizerKind kind, int64_t count, bool inPlace, bool scaled) {
    OptimizerShape shape = {};
    shape.kind = kind;
    shape.beta1 = 0.9;
    shape.beta2 = 0.99;
    shape.epsilon = 1e-3;
    shape.weightDecay = 0.1;
    shape.momentum = 0.8;
    const double rate = 0.05, stepSize = 0.2, correction = 0.7, scale = 0.5;
    const bool adam =
        kind == OptimizerKind::Adam || kind == OptimizerKind::AdamW;
    auto p = randomNumbers<Element>(count), g = randomNumbers<Element>(count);
    auto m = randomNumbers<Element>(count);
    auto v = randomSquares<Element>(count);
    Element *parameter = place(p);
    Element *first = kind == OptimizerKind::Sgd ? nullptr : place(m);
    Element *second = adam ? place(v) : nullptr;
    OptimizerScalars<Element> scalars;
    if (kind != OptimizerKind::Adam)
      scalars.learningRate = place(std::vector<Element>{Element(rate)});
    if (adam) {
      scalars.stepSize = place(std::vector<Element>{Element(stepSize)});
      scalars.biasCorrection2Sqrt =
          place(std::vector<Element>{Element(correction)});
    }
    if (scaled)
      scalars.gradientScale = place(std::vector<Element>{Element(scale)});
    Element *newParameter = inPlace ? parameter : reserve<Element>(count);
    Element *newFirst = inPlace || !first ? first : reserve<Element>(count);
    Element *newSecond = inPlace || !second ? second : reserve<Element>(count);
    optimizerUpdate<Element>(stream(), {}, shape, scalars, parameter, place(g),
                             first, second, newParameter, newFirst, newSecond,
                             count);
    const auto gotP = read(newParameter, count);
    const auto gotM = first ? read(newFirst, count) : gotP;
    const auto gotV = second ? read(newSecond, count) : gotP;
    const double tolerance = sizeof(Element) == 8 ? 1e-14 : 2e-6;
    for (int64_t i = 0; i < count; ++i) {
      double parameter = p[i], gradient = g[i], first = m[i], second = v[i];
      if (scaled)
        gradient *= scale;
      if (kind == OptimizerKind::AdamW)
        parameter *= 1 - rate * shape.weightDecay;
      else
        gradient += shape.weightDecay * parameter;
      if (kind == OptimizerKind::Sgd) {
        parameter -= rate * gradient;
      } else if (kind == OptimizerKind::Momentum) {
        first = shape.momentum * first + gradient;
        parameter -= rate * first;
      } else {
        first += (gradient - first) * (1 - shape.beta1);
        second = shape.beta2 * second + (1 - shape.beta2) * gradient * gradient;
        parameter -=
            stepSize * first / (std::sqrt(second) / correction + shape.epsilon);
      }
      // The numbers of the step were rounded to the element type before.
      const double slack = tolerance * (1 + std::abs(parameter));
      ASSERT_NEAR(gotP[i], parameter, slack * (adam ? 10 : 1));
      if (kind != OptimizerKind::Sgd) {
        ASSERT_NEAR(gotM[i], first, tolerance * (1 + std::abs(first)));
      }
      if (adam) {
        ASSERT_NEAR(gotV[i], second, tolerance * (1 + second));
      }
    }
  }

  template <typename Element, typename Index>
  void checkCrossEntropy(int64_t rows, int64_t classes, double scale) {
    const auto logits = randomNumbers<Element>(rows * classes, scale);
    auto labels = randomIntegers<Index>(rows, 0, static_cast<int>(classes) - 1);
    if (rows > 1)
      labels[rows / 2] = -100;
    Element *loss = reserve<Element>(rows);
    Element *logSum = reserve<Element>(rows);
    crossEntropy<Element, Index>(stream(), {}, place(logits), place(labels),
                                 loss, logSum, rows, classes);
    const auto losses = read(loss, rows), logSums = read(logSum, rows);
    for (int64_t i = 0; i < rows; ++i) {
      double top = -INFINITY, sum = 0;
      for (int64_t c = 0; c < classes; ++c)
        top = std::max(top, double(logits[i * classes + c]));
      for (int64_t c = 0; c < classes; ++c)
        sum += std::exp(logits[i * classes + c] - top);
      const double expected = top + std::log(sum);
      const double slack =
          (sizeof(Element) == 8 ? 1e-14 : 1e-6) * (1 + std::abs(expected));
      EXPECT_NEAR(logSums[i], expected, slack);
      if (labels[i] == -100)
        EXPECT_EQ(losses[i], 0);
      else
        EXPECT_NEAR(losses[i], expected - logits[i * classes + labels[i]],
                    2 * slack);
    }
  }
};

TEST_F(TrainingTest, OptimizersOfEveryKind) {
  for (OptimizerKind kind : {OptimizerKind::Sgd, OptimizerKind::Momentum,
                             OptimizerKind::Adam, OptimizerKind::AdamW})
    for (int64_t count : {0, 1, 15, 333}) {
      checkStep<float>(kind, count, true, false);
      checkStep<float>(kind, count, false, true);
      checkStep<double>(kind, count, true, true);
    }
}

TEST_F(TrainingTest, UpdatesDoNotDependOnTheirPlace) {
  // Pieces of a stored parameter are updated like the whole.
  OptimizerShape shape = {OptimizerKind::AdamW, 0.9, 0.999, 1e-8, 0.01, 0};
  const int64_t count = 1000;
  const auto p = randomFloats(count), g = randomFloats(count),
             m = randomFloats(count), v = randomSquares<float>(count);
  OptimizerScalars<float> scalars;
  scalars.learningRate = place(std::vector<float>{1e-3f});
  scalars.stepSize = place(std::vector<float>{3e-3f});
  scalars.biasCorrection2Sqrt = place(std::vector<float>{0.4f});
  const float *gradient = place(g);
  float *whole = place(p), *wholeM = place(m), *wholeV = place(v);
  optimizerUpdate<float>(stream(), {}, shape, scalars, whole, gradient, wholeM,
                         wholeV, whole, wholeM, wholeV, count);
  float *parts = place(p), *partsM = place(m), *partsV = place(v);
  const int64_t cuts[] = {0, 7, 8, 300, 333, 1000};
  for (int i = 0; i < 5; ++i) {
    const int64_t at = cuts[i];
    optimizerUpdate<float>(stream(), {}, shape, scalars, parts + at,
                           gradient + at, partsM + at, partsV + at, parts + at,
                           partsM + at, partsV + at, cuts[i + 1] - at);
  }
  EXPECT_EQ(read(parts, count), read(whole, count));
  EXPECT_EQ(read(partsM, count), read(wholeM, count));
  EXPECT_EQ(read(partsV, count), read(wholeV, count));
}

TEST_F(TrainingTest, ASkippedStepChangesNothing) {
  OptimizerShape shape = {OptimizerKind::Adam, 0.9, 0.999, 1e-8, 0, 0};
  const auto p = randomFloats(50), m = randomFloats(50),
             v = randomSquares<float>(50);
  const std::vector<float> infinite(50, INFINITY);
  OptimizerScalars<float> scalars;
  scalars.stepSize = place(std::vector<float>{1});
  scalars.biasCorrection2Sqrt = place(std::vector<float>{1});
  for (uint8_t skip : {1, 0}) {
    scalars.skip = reinterpret_cast<bool *>(place(std::vector<uint8_t>{skip}));
    float *same = place(p), *other = reserve<float>(50);
    float *otherM = reserve<float>(50), *otherV = reserve<float>(50);
    optimizerUpdate<float>(stream(), {}, shape, scalars, same, place(infinite),
                           place(m), place(v), other, otherM, otherV, 50);
    EXPECT_EQ(read(same, 50), p);
    EXPECT_EQ(read(other, 50) == p, skip == 1);
    EXPECT_EQ(read(otherM, 50) == m, skip == 1);
    EXPECT_EQ(read(otherV, 50) == v, skip == 1);
  }
}

TEST_F(TrainingTest, SquareSums) {
  for (int64_t count : {0, 1, 17, 70000}) {
    const auto in = randomFloats(count);
    double expected = 0;
    for (float x : in)
      expected += double(x) * x;
    double *out = place(std::vector<double>{9});
    squareSum<float>(stream(), {}, place(in), out, count);
    EXPECT_NEAR(read(out, 1)[0], expected, 1e-13 * expected);
  }
  double *out = reserve<double>(1);
  squareSum<double>(stream(), {}, place(std::vector<double>{3, 4, 0.5}), out,
                    3);
  EXPECT_EQ(read(out, 1)[0], 25.25);
}

TEST_F(TrainingTest, CrossEntropyOfRows) {
  checkCrossEntropy<float, int64_t>(5, 3, 1);
  checkCrossEntropy<float, int32_t>(3, 50257, 4);
  checkCrossEntropy<float, int64_t>(7, 1000, 30);
  checkCrossEntropy<double, int64_t>(4, 2049, 10);
  checkCrossEntropy<float, int64_t>(1, 1, 1);
}

TEST_F(TrainingTest, CrossEntropyIsStable) {
  // Large logits, whole blocks of -infinity, labels outside.
  std::vector<float> logits(3 * 5000, -INFINITY);
  logits[4500] = 1e4f;
  logits[4600] = 1e4f;
  logits[5000] = -1e30f;
  for (int i = 0; i < 5000; ++i)
    logits[10000 + i] = 3e4f;
  float *loss = reserve<float>(3);
  crossEntropy<float, int64_t>(stream(), {}, place(logits),
                               place(std::vector<int64_t>{4500, 0, 7000}), loss,
                               nullptr, 3, 5000);
  const auto got = read(loss, 3);
  EXPECT_NEAR(got[0], std::log(2.0), 1e-3);
  EXPECT_EQ(got[1], 0);
  EXPECT_NEAR(got[2], 3e4, 10); // As if its logit were 0; never foreign memory.
}

} // namespace
} // namespace runtime
} // namespace parplan
