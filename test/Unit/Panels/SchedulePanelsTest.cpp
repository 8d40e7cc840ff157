//===- SchedulePanelsTest.cpp - Loops over panels as statements -----------===//
//
// Part of parplan. What the statements compute, what they send, and what memory
// they take.
//
//===----------------------------------------------------------------------===//

#include "ExecMachine.h"
#include "PanelsFixture.h"

#include "dialects/parplan/Panels.h"
#include "parplan/Simulator/Simulator.h"
#include "passes/Schedule/ExtractProgram.h"
#include "passes/Schedule/Passes.h"
#include "test/Unit/Simulator/TestPrograms.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace parplan::test {
namespace {

constexpr int64_t elementBytes = 4;

exec::ProgramOp schedule(PanelCase &example) {
  PassManager manager(&getPanelContext());
  buildSchedulePipeline(manager);
  if (!example.partition() || failed(manager.run(*example.local)))
    return {};
  return *example.local->getOps<exec::ProgramOp>().begin();
}

/// Bytes that every rank counts: all panels of a tensor together are the whole
/// letter.
int64_t countMoved(const RandomProduct &product, bool isResult) {
  int64_t elements = isResult
                         ? product.countMovedRow(2)
                         : product.countMovedRow(0) + product.countMovedRow(1);
  return product.getPanelSize() * elements * elementBytes;
}

/// Whether a rank has two panels that follow each other in slots: each but the
/// one that it owns in one piece.
bool takesTurns(const RandomProduct &product, unsigned tensor,
                ArrayRef<Panel> panels) {
  int64_t ranks = product.mesh.getWidth(product.getAxes(tensor));
  for (int64_t rank = 0; rank < ranks; ++rank) {
    bool hasLast = false;
    for (const Panel &panel : panels) {
      bool has = panel.places[tensor].owner != rank ||
                 !product.isContiguous(tensor, panel.size);
      if (has && hasLast)
        return true;
      hasLast = has;
    }
  }
  return false;
}

/// Two slots for every tensor that moves, for the largest of the even panels
/// and the largest of the odd ones; one for all where that is enough.
int64_t countSlots(const RandomProduct &product, int &single) {
  SmallVector<AxisList> axes;
  for (unsigned tensor = 0; tensor < 3; ++tensor)
    axes.push_back(product.getAxes(tensor));
  auto panels = getPanels(product.getPanelSize(), axes, product.mesh);
  int64_t largest[2] = {0, 0};
  for (auto [number, panel] : llvm::enumerate(panels))
    largest[number % 2] = std::max(largest[number % 2], panel.size);
  int64_t elements = 0;
  for (unsigned tensor = 0; tensor < 3; ++tensor) {
    int64_t row = product.countMovedRow(tensor);
    bool turns = row > 0 && takesTurns(product, tensor, panels);
    single += row > 0 && panels.size() > 1 && !turns;
    elements += row * (turns ? largest[0] + largest[1]
                             : std::max(largest[0], largest[1]));
  }
  return elements * elementBytes;
}

TEST(SchedulePanels, StatementsComputeAndSendWhatIsPromised) {
  int ofRows = 0, packed = 0, kept = 0, accumulated = 0, single = 0,
      inPlace = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    PanelCase example(seed);
    exec::ProgramOp program = schedule(example);
    ASSERT_TRUE(program) << example.messages << example.print();

    const RandomProduct &product = example.product;
    ExecMachine machine(program);
    for (auto [operand, value] : llvm::enumerate(product.arguments))
      machine.setInput(operand,
                       shard(value,
                             getUseSharding(product.rule, product.assignment,
                                            static_cast<int>(operand)),
                             product.mesh));
    ASSERT_TRUE(machine.run()) << example.print();
    Sharding atRest = getMadeSharding(product.rule, product.assignment, 0);
    atRest.partial.clear();
    Tensor value;
    auto fault = unshard(machine.getOutput(0), example.expected.getType(),
                         atRest, product.mesh, value);
    ASSERT_FALSE(fault) << "seed " << seed << ": " << *fault << "\n"
                        << example.print();
    ASSERT_EQ(example.compare(value), "") << "seed " << seed << "\n"
                                          << example.print();

    Prediction prediction = predictResources(extractProgram(program));
    for (RankPrediction &rank : prediction.ranks) {
      ASSERT_EQ(rank.communication[CollectiveKind::broadcast].bytes,
                countMoved(product, /*isResult=*/false))
          << "seed " << seed << "\n"
          << example.print();
      ASSERT_EQ(rank.communication[CollectiveKind::reduce].bytes,
                countMoved(product, /*isResult=*/true))
          << "seed " << seed << "\n"
          << example.print();
    }
    int64_t slots = 0;
    for (auto buffer : program.getBody().front().getOps<exec::BufferOp>())
      if (buffer.getKind() == exec::BufferKind::activation)
        slots += buffer.getType().getByteSize();
    bool hasOthers =
        !program.getBody().front().getOps<exec::LaunchOp>().empty() ||
        getMadeSharding(product.rule, product.assignment, 0).isPartial();
    if (!hasOthers) {
      ASSERT_EQ(slots, countSlots(product, single)) << "seed " << seed << "\n"
                                                    << example.print();
    }

    for (auto copy : program.getBody().front().getOps<exec::CopyOp>()) {
      ASSERT_TRUE(copy.getOnly());
      auto target = exec::getBuffer(copy.getOutput());
      ++(target.getKind() == exec::BufferKind::output ? kept : packed);
    }
    for (auto statement : program.getBody().front().getOps<exec::MatmulOp>()) {
      accumulated += statement.getAccumulate();
      for (Value operand : statement->getOperands())
        inPlace += exec::getArrays(operand).size() > 1;
    }
    for (auto statement : program.getBody().front().getOps<exec::MoeMatmulOp>())
      ofRows += statement.getAccumulate();
  }
  EXPECT_GT(packed, 200);
  EXPECT_GT(kept, 40);
  EXPECT_GT(accumulated, 200);
  EXPECT_GT(ofRows, 20);
  EXPECT_GT(single, 40);
  EXPECT_GT(inPlace, 400);
}

/// Seconds of a product of four panels on four ranks, predicted for ranks that
/// do 1 GFLOP and move 1 GB per second.
struct PredictedLoop {
  double end = 0, products = 0, calls = 0;
};

PredictedLoop predictLoop(StringRef factors, StringRef ofWeight) {
  std::string text = (R"(
    parplan.mesh @mesh <["y"=4 tensor]>
    func.func @main(
        %x: tensor<256x256xf32> {parplan.name = "x", parplan.sharding = #parplan.sharding<@mesh, [{}, {"y"}]>},
        %w: tensor<256x256xf32> {parplan.name = "w", parplan.sharding = #parplan.sharding<@mesh, )" +
                      ofWeight + R"(>})
        -> (tensor<256x256xf32> {parplan.name = "y", parplan.sharding = #parplan.sharding<@mesh, [{}, {"y"}]>}) {
      %y = parplan.matmul "mk,kn->mn" %x, %w {parplan.factors = #parplan.factors<@mesh, )" +
                      factors + R"(>,
        parplan.shardings = [#parplan.sharding<@mesh, [{}, {"y"}]>]} : tensor<256x256xf32>, tensor<256x256xf32>
      return %y : tensor<256x256xf32>
    })")
                         .str();
  auto module = parseSourceString<ModuleOp>(text, &getPanelContext());
  PassManager manager(&getPanelContext());
  buildPartitionPipeline(manager);
  buildSchedulePipeline(manager);
  if (!module || failed(manager.run(*module)))
    return {};
  Program program = extractProgram(*module->getOps<exec::ProgramOp>().begin());
  std::vector<TimelineSpan> timeline;
  CostModel costs = makeCosts();
  PredictedLoop loop;
  if (!simulate(program, costs, &timeline))
    return {};
  for (const TimelineSpan &span : timeline) {
    loop.end = std::max(loop.end, span.endSeconds);
    if (span.rank == 0)
      (span.stream == 0 ? loop.products : loop.calls) +=
          span.endSeconds - span.startSeconds;
  }
  return loop;
}

// But for the first panel, broadcasts hide behind products.
TEST(SchedulePanels, PanelsTravelWhileOthersAreMultiplied) {
  PredictedLoop loop =
      predictLoop(R"({n = ["y"]}, panels = {k = ["y"]})", R"([{}, {"y"}])");
  EXPECT_GT(loop.calls, 0);
  EXPECT_GT(loop.products, loop.calls);
  EXPECT_NEAR(loop.end, loop.products + loop.calls / 4, 1e-9);
}

// But for the last one, reductions do.
TEST(SchedulePanels, PanelsAreReducedWhileOthersAreMultiplied) {
  PredictedLoop loop =
      predictLoop(R"({k = ["y"]}, panels = {n = ["y"]})", R"([{"y"}, {}])");
  EXPECT_GT(loop.calls, 0);
  EXPECT_GT(loop.products, loop.calls);
  EXPECT_NEAR(loop.end, loop.products + loop.calls / 4, 1e-9);
}

} // namespace
} // namespace parplan::test
