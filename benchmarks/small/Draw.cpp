//===- Draw.cpp - Small planning problems at random -----------------------===//

#include "Instance.h"

#include "test/Unit/Planner/TestProblems.h"

#include "parplan/Planner/Kernels.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace parplan;
using namespace parplan::small;
using test::ProblemBuilder;

namespace {

/// Factors of the sizes of a model, so that on a real device neither launches
/// nor bytes decide all of it.
struct Sizes {
  int64_t unit = 1;
  int64_t batch = 4;
};

/// A chain of products and of what is between them.
PlanningProblem drawChain(Random &random, Sizes sizes) {
  ProblemBuilder builder;
  int64_t width = random.pick({4, 5, 8}) * sizes.unit;
  int value = builder.addTokens({sizes.batch, 4, width});
  int64_t length = 1 + random.pickBelow(3);
  for (int64_t op = 0; op < length; ++op)
    switch (random.pickBelow(4)) {
    case 0:
      value = builder.addNorm(value, static_cast<int>(random.pickBelow(3)));
      break;
    case 1:
      value = builder.addElementwise(value);
      break;
    default: {
      int64_t columns = random.pick({4, 6, 7}) * sizes.unit;
      value = builder.addContraction(
          value, "bsk", builder.addParameter({width, columns}), "kn", "bsn");
      width = columns;
    }
    }
  builder.markOutput(value);
  return std::move(builder.problem);
}

PlanningProblem drawAttention(Random &random, Sizes sizes) {
  ProblemBuilder builder;
  int64_t keyHeads = random.pick({1, 2}), group = random.pick({1, 2});
  int64_t head = 2 * sizes.unit;
  int64_t sequence = random.pick({4, 5, 8}) * sizes.unit;
  int query =
      builder.addTokens({sizes.batch, sequence, keyHeads * group * head});
  int key = builder.addTokens({sizes.batch, sequence, keyHeads * head});
  if (random.flip())
    query = builder.addElementwise(query);
  int value = builder.addAttention(query, key, key, keyHeads);
  if (random.flip())
    value = builder.addElementwise(value);
  builder.markOutput(value);
  return std::move(builder.problem);
}

PlanningProblem drawMixture(Random &random, Sizes sizes) {
  ProblemBuilder builder;
  int64_t experts = random.pick({2, 3, 4}), width = 4 * sizes.unit;
  int value =
      builder.addDispatch(builder.addInput({sizes.batch, width}), experts);
  value = builder.addContraction(value, "etd",
                                 builder.addParameter({experts, width, width}),
                                 "edf", "etf");
  builder.problem.ops.back().expertFactor = 0;
  if (random.flip())
    value = builder.addCombine(value);
  builder.markOutput(value);
  return std::move(builder.problem);
}

/// Which layers read the weight of the first one with the same sizes.
enum class Ties { none, last, all };

/// What a training step is made of, the same for every number of
/// micro-batches.
struct StepShape {
  /// The last one reads what all of its kind do; where the width is another
  /// one it is an activation.
  static constexpr int64_t norm = 0, activation = -1, scaling = -2,
                           masking = -3;
  /// One of these, or a product with as many columns.
  std::vector<int64_t> layers;
  int64_t width = 4;
  int64_t states = 1;
  bool isAccumulated = true, meets = false;
  Ties ties = Ties::none;

  /// Per layer the first one whose weight has its sizes; -1: it has none.
  std::vector<int> getFirstAlike() const {
    std::vector<std::pair<int64_t, int64_t>> sizes;
    std::vector<int> firsts;
    int64_t input = width;
    for (int64_t columns : layers) {
      std::pair<int64_t, int64_t> own = {columns > 0 ? input : 0, columns};
      auto first = llvm::find(sizes, own) - sizes.begin();
      firsts.push_back(columns > 0 ? static_cast<int>(first) : -1);
      sizes.push_back(own);
      input = columns > 0 ? columns : input;
    }
    return firsts;
  }

  /// Per layer the one whose weight it reads.
  std::vector<int> getWeights() const {
    std::vector<int> firsts = getFirstAlike(), weights;
    for (auto [layer, first] : llvm::enumerate(firsts)) {
      bool isLast =
          !llvm::is_contained(llvm::drop_begin(firsts, layer + 1), first);
      bool isTied = ties == Ties::all || (ties == Ties::last && isLast);
      weights.push_back(isTied ? first : static_cast<int>(layer));
    }
    return weights;
  }
};

PlanningProblem makeStep(const StepShape &shape, int64_t samples,
                         int64_t microBatches) {
  ProblemBuilder builder;
  builder.problem.microBatches = microBatches;
  int64_t width = shape.width;
  int value = builder.addInput({samples, width});
  int mask = -1;
  if (llvm::is_contained(shape.layers, StepShape::masking))
    mask = builder.addSpread(builder.addInput({samples, 1}), value);
  auto addBetween = [&](int64_t kind) {
    if (kind == StepShape::norm)
      return builder.addNormLayer(value);
    if (kind == StepShape::masking && width == shape.width)
      return builder.addScaledLayer(value, mask);
    return builder.addElementwiseLayer(value, kind == StepShape::scaling);
  };
  std::vector<std::pair<ProblemBuilder::Layer, int>> layers;
  for (auto [columns, source] :
       llvm::zip_equal(shape.layers, shape.getWeights())) {
    int weight = -1;
    if (columns > 0)
      weight = source < static_cast<int>(layers.size())
                   ? layers[source].second
                   : builder.addParameter({width, columns});
    layers.emplace_back(weight >= 0 ? builder.addLayer(value, weight)
                                    : addBetween(columns),
                        weight);
    value = layers.back().first.result;
    width = columns > 0 ? columns : width;
  }
  int gradient = builder.addInput({samples, width});
  std::vector<int> readers(builder.problem.values.size(), 0);
  for (auto &[layer, weight] : layers)
    if (weight >= 0)
      ++readers[weight];
  // By weights; terms are added up before they are accumulated.
  std::map<int, int> terms;
  std::vector<std::pair<int, int>> sums;
  for (auto &[layer, weight] : llvm::reverse(layers)) {
    auto [ofInput, ofWeight] = layer.addBackward(gradient);
    gradient = ofInput;
    if (weight < 0)
      continue;
    auto [sum, isFirst] = terms.try_emplace(weight, ofWeight);
    if (!isFirst) {
      sum->second =
          builder.addElementwise({sum->second, ofWeight}, Linearity::jointly);
      builder.setRole(OpRole::gradientSum);
    }
    if (--readers[weight] == 0)
      sums.emplace_back(weight, shape.isAccumulated
                                    ? builder.addAccumulate(sum->second)
                                    : sum->second);
  }
  if (shape.meets) {
    std::vector<int> squares;
    for (auto [weight, sum] : sums)
      squares.push_back(builder.addSquareSum(sum, -1));
    builder.addElementwise(squares);
    builder.setRole(OpRole::optimizer);
    builder.problem.ops.back().perMicroBatch = false;
  }
  for (auto [weight, sum] : sums)
    builder.addUpdate(weight, sum, static_cast<int>(shape.states));
  return std::move(builder.problem);
}

/// What stands between products.
int64_t drawBetween(Random &random) {
  return random.pick({StepShape::norm, StepShape::activation,
                      StepShape::scaling, StepShape::masking});
}

StepShape drawStepShape(Random &random, int64_t mostLayers, int64_t unit) {
  StepShape shape;
  shape.width = random.pick({4, 6, 8}) * unit;
  shape.states = random.pickBelow(3);
  int64_t count = 1 + random.pickBelow(mostLayers);
  for (int64_t layer = 0; layer < count; ++layer)
    shape.layers.push_back(layer > 0 && random.pickBelow(3) == 0
                               ? drawBetween(random)
                               : random.pick({4, 6, 8}) * unit);
  shape.meets = random.flip();
  return shape;
}

/// Equal blocks of six ops, as a fold asks for them.
StepShape drawBlocks(Random &random, int64_t unit) {
  StepShape shape;
  shape.width = random.pick({4, 6, 8}) * unit;
  shape.states = random.pickBelow(3);
  shape.meets = random.flip();
  int64_t blocks = 2 + random.pickBelow(3);
  int64_t place = random.pickBelow(6), hidden = random.pick({4, 8, 16}) * unit;
  bool hasTwo = random.flip();
  std::vector<int64_t> block(6);
  for (int64_t &layer : block)
    layer = drawBetween(random);
  block[place] = hasTwo ? hidden : shape.width;
  if (hasTwo)
    block[(place + 1 + random.pickBelow(2)) % 6] = shape.width;
  if (hasTwo && block[0] == shape.width && place > 0)
    block = {block[2], hidden, block[3], block[4], shape.width, block[5]};
  for (int64_t number = 0; number < blocks; ++number)
    llvm::append_range(shape.layers, block);
  if (random.flip())
    shape.layers.insert(shape.layers.begin(), shape.width);
  if (random.flip())
    shape.layers.push_back(StepShape::norm);
  constexpr Ties ties[] = {Ties::none, Ties::none, Ties::last, Ties::all};
  shape.ties = ties[random.pickBelow(4)];
  return shape;
}

class Drawing {
public:
  explicit Drawing(uint64_t seed) : random(seed) {}

  Instance run() {
    request.memoryLimitBytes = int64_t(1) << 50;
    request.hostLimitBytes = int64_t(1) << 50;
    // Neither launches nor bytes decide all where both sizes occur.
    sizes.unit = random.pick({1, 16, 128});
    sizes.batch = random.pick({1, 2, 4, 6});
    switch (random.pickBelow(10)) {
    case 0:
      drawForward("products", {2, 3, 4, 6, 8}, drawChain);
      break;
    case 1:
      drawForward("attention", {2, 3, 4, 6, 8}, drawAttention);
      if (random.flip())
        request.contextSize = request.deviceCount % 2 == 0 ? 2 : 3;
      break;
    case 2:
      drawForward("experts", {2, 3, 4, 6, 8}, drawMixture);
      if (random.flip() && request.deviceCount % 2 == 0)
        request.expertSize = 2;
      break;
    case 3:
      drawGrid();
      break;
    case 4:
    case 5:
      drawTraining();
      break;
    case 6:
    case 7:
      drawPipeline();
      break;
    case 8:
      drawJoint();
      break;
    default:
      drawLastResort();
    }
    for (auto &[count, step] : instance.steps)
      markFusion(step);
    drawCosts(random, instance);
    return std::move(instance);
  }

private:
  void add(const char *feature) { instance.features.emplace_back(feature); }

  void drawForward(const char *feature, llvm::ArrayRef<int64_t> devices,
                   PlanningProblem (*draw)(Random &, Sizes)) {
    add(feature);
    request.deviceCount = random.pick(devices);
    instance.steps[1] = draw(random, sizes);
  }

  void drawGrid() {
    drawForward("grids", {4, 8}, drawChain);
    if (request.deviceCount == 4)
      request.grid = ForcedGrid{GridKind::grid2d, {2, 2}};
    else if (random.flip())
      request.grid = ForcedGrid{GridKind::grid2_5d, {2, 2, 2}};
    else
      request.grid = ForcedGrid{GridKind::grid3d, {2, 2, 2}};
  }

  void forceZero() {
    if (random.flip())
      return;
    request.zeroStage = static_cast<int>(random.pickBelow(4));
    request.dataSize = request.deviceCount;
    add("ZeRO forced");
  }

  void drawTraining() {
    add("training");
    request.deviceCount = random.pick({2, 3, 4, 6, 8});
    forceZero();
    StepShape shape = drawStepShape(random, /*mostLayers=*/2, sizes.unit);
    int64_t count = random.pick({1, 2, 4});
    shape.isAccumulated = count > 1 || random.flip();
    if (count > 1)
      add("micro-batches");
    instance.steps[1] = makeStep(shape, 2 * sizes.batch, count);
  }

  /// Steps of 1, 2 and 4 micro-batches.
  void addSteps(const StepShape &shape) {
    int64_t samples = random.pick({4, 8});
    for (int64_t count : {1, 2, 4})
      instance.steps[count] = makeStep(shape, samples / count, count);
  }

  /// Forced nothing in a third of all, so that more is open elsewhere.
  void drawRecompute() {
    if (random.pickBelow(3) == 0)
      request.recompute = RecomputeKind::none;
    else
      add("recomputation");
  }

  void drawUpdates() {
    request.updatesMayMove = random.pickBelow(3) == 0;
    if (request.updatesMayMove)
      add("updates on the host");
  }

  void drawPipeline() {
    instance.searched = Searched::jointly;
    add("pipeline");
    int64_t positions = random.pick({2, 2, 3, 4});
    int64_t data = random.pick({1, 1, 2});
    request.deviceCount = positions * data;
    request.pipelineSize = positions;
    request.dataSize = data;
    if (data > 1 && random.flip()) {
      request.zeroStage = static_cast<int>(random.pickBelow(4));
      add("ZeRO forced");
    }
    drawRecompute();
    drawUpdates();
    StepShape shape = drawBlocks(random, sizes.unit);
    if (shape.ties != Ties::none)
      add("tied weights");
    addSteps(shape);
  }

  void drawJoint() {
    instance.searched = Searched::jointly;
    add("joint, one position");
    request.deviceCount = random.pick({1, 2, 3, 4});
    if (request.deviceCount > 1)
      forceZero();
    drawRecompute();
    drawUpdates();
    addSteps(drawStepShape(random, /*mostLayers=*/3, sizes.unit));
  }

  void drawLastResort() {
    instance.searched = Searched::lastResorts;
    add("last resorts");
    request.deviceCount = random.pick({1, 1, 2, 3});
    if (request.deviceCount > 1 && random.flip())
      request.dataSize = 1;
    drawRecompute();
    if (random.pickBelow(3) == 0)
      request.offload = OffloadChoice();
    else
      add("offload");
    StepShape shape = drawStepShape(random, /*mostLayers=*/3, sizes.unit);
    instance.steps[1] = makeStep(shape, sizes.batch, random.pick({1, 2, 4}));
  }

  Random random;
  Sizes sizes;
  Instance instance;
  PlanRequest &request = instance.request;
};

} // namespace

Instance small::drawInstance(uint64_t seed) { return Drawing(seed).run(); }
