//===- Residual.h - A model of equal blocks to plan and train ---*- C++ -*-===//

#ifndef PARPLAN_TEST_UNIT_PLANNER_RESIDUAL_H
#define PARPLAN_TEST_UNIT_PLANNER_RESIDUAL_H

#include "TestProblems.h"

#include <map>
#include <vector>

namespace parplan::test {

struct ResidualShape {
  int blocks = 4;
  /// The hidden width of each block; empty: 32.
  std::vector<int64_t> hidden = {};
  /// All blocks read one matrix up; or the first one and the last one.
  bool isTied = false, isTiedAtEnds = false;
  /// All gradients have a norm.
  bool hasNorm = true;
  int64_t microBatches = 1;
  /// Of a micro-batch.
  int64_t samples = 8;
};

/// x -> [norm, product, norm, product, norm, sum with x] per block -> norm.
class Residual {
public:
  explicit Residual(ResidualShape given) : shape(std::move(given)) {
    builder.problem.microBatches = shape.microBatches;
    shape.hidden.resize(shape.blocks, 32);
    current = builder.addNorm({builder.addInput({shape.samples, 16})});
    for (int64_t hidden : shape.hidden)
      addBlock(hidden);
  }

  PlanningProblem makeForward() {
    builder.markOutput(builder.addNorm({current}));
    return std::move(builder.problem);
  }

  /// With backward pass, sums over micro-batches, the norm and updates.
  PlanningProblem makeTraining() {
    int gradient = builder.addNorm({current});
    builder.setRole(OpRole::inputGradient);
    std::map<int, int> gradients;
    for (size_t block = blocks.size(); block-- > 0;)
      gradient = addBackward(blocks[block], gradient, gradients);
    std::vector<int> squares;
    for (auto &[weight, sum] : gradients) {
      sum = builder.addAccumulate(sum);
      if (shape.hasNorm)
        squares.push_back(builder.addSquareSum(sum, -1));
    }
    if (shape.hasNorm) {
      builder.markOutput(builder.addElementwise(squares, Linearity::jointly));
      builder.setRole(OpRole::optimizer);
      builder.problem.ops.back().perMicroBatch = false;
    }
    for (auto [weight, sum] : gradients)
      builder.addUpdate(weight, sum);
    return std::move(builder.problem);
  }

private:
  struct Block {
    int up, down;
    std::vector<ProblemBuilder::Layer> layers;
  };

  void addBlock(int64_t hidden) {
    Block block;
    bool isLast = static_cast<int>(blocks.size()) + 1 == shape.blocks;
    bool isShared = shape.isTied || (shape.isTiedAtEnds && isLast);
    block.up = isShared && !blocks.empty() ? blocks.front().up
                                           : builder.addParameter({16, hidden});
    block.down = builder.addParameter({hidden, 16});
    int value = current;
    for (int weight : {-1, block.up, -1, block.down, -1}) {
      block.layers.push_back(weight < 0 ? builder.addNormLayer(value)
                                        : builder.addLayer(value, weight));
      value = block.layers.back().result;
    }
    current = builder.addElementwise({current, value}, Linearity::jointly);
    blocks.push_back(std::move(block));
  }

  int addSum(int one, int other) {
    int sum = builder.addElementwise({one, other}, Linearity::jointly);
    builder.setRole(OpRole::gradientSum);
    return sum;
  }

  int addBackward(const Block &block, int gradient,
                  std::map<int, int> &gradients) {
    int own = gradient;
    for (size_t layer = block.layers.size(); layer-- > 0;) {
      auto [ofInput, ofWeight] = block.layers[layer].addBackward(own);
      own = ofInput;
      if (ofWeight < 0)
        continue;
      int weight = layer == 1 ? block.up : block.down;
      auto [it, isNew] = gradients.try_emplace(weight, ofWeight);
      if (!isNew)
        it->second = addSum(it->second, ofWeight);
    }
    return addSum(gradient, own);
  }

  ResidualShape shape;
  ProblemBuilder builder;
  int current = 0;
  std::vector<Block> blocks;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PLANNER_RESIDUAL_H
