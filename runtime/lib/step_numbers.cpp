//===- step_numbers.cpp - What a step says about itself -------------------===//

#include "step_numbers.h"
#include "failure.h"

#include <cmath>
#include <cstring>

namespace parplan {
namespace runtime {

namespace {

/// The value of a scalar output.
double readScalar(EngineRank &rank, const Tensor &output) {
  char bytes[8] = {};
  rank.download(output.arenaOffset, bytes, elementBytes(output.type),
                output.tier);
  if (output.type == ElementType::Float64) {
    double value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  if (output.type == ElementType::Float32) {
    float value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  if (output.type == ElementType::Int64) {
    int64_t value;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<double>(value);
  }
  return bytes[0] != 0;
}

} // namespace

void requireFinite(const char *what, double value, int64_t step) {
  if (!std::isfinite(value))
    fail(exitBadData, std::string(what) + " of step " +
                          std::to_string(step + 1) + " is " +
                          (std::isnan(value) ? "NaN" : "infinite") +
                          "; nothing is saved of this step");
}

StepNumbers::Number StepNumbers::find(const Program &program, OutputRole role) {
  for (const PlacedOutput &output : outputsOf(program)) {
    if (output.tensor->outputRole != role)
      continue;
    return {output.tensor, firstRankOf(program, output.stage)};
  }
  return {};
}

StepNumbers::StepNumbers(const Program &program)
    : isPipeline(program.stages.size > 1),
      loss(find(program, OutputRole::Loss)),
      gradientNorm(find(program, OutputRole::GradientNorm)),
      overflow(find(program, OutputRole::Overflow)),
      labelCount(find(program, OutputRole::LabelCount)) {
  if (!loss.tensor)
    fail(exitInternal, "the program computes no loss");
}

/// The value on rank 0; elsewhere anything.
double StepNumbers::bring(EngineRank &rank, World &world,
                          const Number &number) {
  double value = 0;
  if (world.rank() == number.holder)
    value = readScalar(rank, *number.tensor);
  if (world.rank() == number.holder || world.rank() == 0)
    world.sendToRoot(number.holder, &value, &value, sizeof value);
  return value;
}

OwnNumbers StepNumbers::readOwn(EngineRank &rank) const {
  OwnNumbers numbers;
  numbers.loss = readScalar(rank, *loss.tensor);
  if (gradientNorm.tensor)
    numbers.gradientNorm = readScalar(rank, *gradientNorm.tensor);
  if (labelCount.tensor)
    numbers.weight = readScalar(rank, *labelCount.tensor);
  return numbers;
}

StepResult StepNumbers::collect(EngineRank &rank, World &world,
                                bool scaled) const {
  StepResult result;
  result.loss = bring(rank, world, loss);
  if (gradientNorm.tensor)
    result.gradientNorm = bring(rank, world, gradientNorm);
  if (!scaled || !overflow.tensor)
    return result;
  if (!isPipeline) {
    result.overflow = readScalar(rank, *overflow.tensor) != 0;
    return result;
  }
  char flag = bring(rank, world, overflow) != 0;
  world.broadcastFromRoot(&flag, 1);
  result.overflow = flag != 0;
  return result;
}

} // namespace runtime
} // namespace parplan
