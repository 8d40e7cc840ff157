//===- PositionsTest.cpp - Schedules of a chain of layers -----------------===//
//
// Part of parplan. Every schedule holds as many micro-batches as the table of
// schedules says, and gives the bits of a step without stages.
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/ShardingAccess.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/StageFlow.h"

#include "parplan/Interpreter/Interpreter.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

using namespace mlir;

namespace parplan {
namespace {

/// A step of a chain of layers, one per stage.
std::string makeChain(const ScheduleShape &shape, bool isCut) {
  std::string text;
  llvm::raw_string_ostream out(text);
  int64_t stages = shape.getStageCount();
  constexpr const char *whole = "#parplan.sharding<@mesh, [{}]>";
  out << "parplan.mesh @mesh <[\"pp0\"=" << shape.positions << " pipeline]>\n";
  for (int64_t stage = 0; stage < stages; ++stage)
    out << "parplan.initializer @w" << stage << " \"w\" : tensor<3xf64> in "
        << "\"\" at 0 length 24\n";
  out << "func.func @main(%y0: tensor<3xf64> {parplan.batch, "
         "parplan.global_type = tensor<3xf64>, parplan.sharding = "
      << whole << "}) -> (";
  for (int64_t stage = 0; stage < stages; ++stage)
    out << (stage > 0 ? ", " : "")
        << "tensor<3xf64> {parplan.variable = #parplan.variable<@w" << stage
        << ">, parplan.global_type = tensor<3xf64>, parplan.sharding = "
        << whole << "}";
  out << ") attributes {parplan.micro_batches = " << shape.microBatches
      << " : i64";
  if (isCut) {
    out << ", parplan.pipeline_schedule = \"" << printScheduleName(shape)
        << "\", parplan.pass_seconds = array<f64: ";
    for (int64_t i = 0; i < 3 * stages; ++i)
      out << (i > 0 ? ", 1.0" : "1.0");
    out << ">";
  }
  out << "} {\n";
  auto attributes = [&](int64_t stage, const char *role, bool isRepeated) {
    std::string list = "{parplan.global_type = tensor<3xf64>, "
                       "parplan.shardings = [" +
                       std::string(whole) + "], parplan.role = \"" + role +
                       "\", parplan.stage = " + std::to_string(stage) +
                       " : i64";
    return list + (isRepeated ? ", parplan.per_micro_batch}" : "}");
  };
  auto multiply = [&](const std::string &result, const std::string &left,
                      const std::string &right, const std::string &list) {
    out << "  " << result << " = parplan.mul " << left << ", " << right << " "
        << list << " : tensor<3xf64>, tensor<3xf64>\n";
  };
  for (int64_t stage = 0; stage < stages; ++stage) {
    std::string number = std::to_string(stage);
    out << "  %w" << stage << " = parplan.parameter @w" << stage
        << " {parplan.global_type = tensor<3xf64>, parplan.shardings = ["
        << whole << "]} : tensor<3xf64>\n";
    multiply("%y" + std::to_string(stage + 1), "%y" + number, "%w" + number,
             attributes(stage, "forward", true));
  }
  out << "  %d" << stages << " = parplan.sin %y" << stages << " "
      << attributes(stages - 1, "input_gradient", true) << " : tensor<3xf64>\n";
  for (int64_t stage = stages - 1; stage >= 0; --stage) {
    std::string number = std::to_string(stage),
                next = std::to_string(stage + 1);
    multiply("%d" + number, "%d" + next, "%w" + number,
             attributes(stage, "input_gradient", true));
    multiply("%g" + number, "%d" + next, "%y" + number,
             attributes(stage, "weight_gradient", true));
    out << "  %s" << stage << " = parplan.accumulate %g" << stage << " "
        << attributes(stage, "gradient_sum", false) << " : tensor<3xf64>\n"
        << "  %n" << stage << " = parplan.sub %w" << stage << ", %s" << stage
        << " " << attributes(stage, "optimizer", false)
        << " : tensor<3xf64>, tensor<3xf64>\n";
  }
  out << "  return ";
  for (int64_t stage = 0; stage < stages; ++stage)
    out << (stage > 0 ? ", %n" : "%n") << stage;
  out << " : ";
  for (int64_t stage = 0; stage < stages; ++stage)
    out << (stage > 0 ? ", " : "") << "tensor<3xf64>";
  out << "\n}\n";
  return text;
}

class Positions : public testing::Test {
protected:
  Positions() : context(registry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }

  static DialectRegistry registry() {
    DialectRegistry result;
    result.insert<ParplanDialect, func::FuncDialect>();
    return result;
  }

  OwningOpRef<ModuleOp> compile(const ScheduleShape &shape, bool isCut) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(makeChain(shape, isCut), &context);
    EXPECT_TRUE(module);
    PassManager manager(&context);
    buildPipelinePipeline(manager);
    EXPECT_TRUE(succeeded(manager.run(*module)));
    return module;
  }

  Tensor makeTensor(ArrayRef<int64_t> shape, double seed) {
    Tensor tensor(RankedTensorType::get(shape, Float64Type::get(&context)));
    for (int64_t i = 0; i < tensor.getSize(); ++i)
      tensor[i].real = std::sin(seed + static_cast<double>(i)) + 1.5;
    return tensor;
  }

  /// New values by variable.
  std::map<std::string, Tensor> run(ModuleOp module,
                                    const ScheduleShape &shape) {
    InitializerValues initializers;
    for (int64_t stage = 0; stage < shape.getStageCount(); ++stage)
      initializers["w" + std::to_string(stage)] =
          makeTensor({3}, static_cast<double>(stage));
    std::vector<func::FuncOp> functions(module.getOps<func::FuncOp>().begin(),
                                        module.getOps<func::FuncOp>().end());
    std::vector<std::vector<Tensor>> arguments;
    for (func::FuncOp function : functions)
      arguments.emplace_back(function.getNumArguments(),
                             makeTensor({shape.microBatches, 3}, 7));
    std::vector<std::vector<Tensor>> values;
    if (functions.size() == 1) {
      auto results = interpret(functions[0], arguments[0], initializers);
      EXPECT_TRUE(succeeded(results));
      values.push_back(*results);
    } else {
      auto results = interpretPositions(functions, arguments, initializers);
      EXPECT_TRUE(succeeded(results));
      values = *results;
    }
    std::map<std::string, Tensor> found;
    for (auto [function, own] : llvm::zip_equal(functions, values))
      for (auto [index, value] : llvm::enumerate(own)) {
        std::string name;
        llvm::raw_string_ostream(name)
            << function.getResultAttr(index, attributes::variable);
        EXPECT_TRUE(found.emplace(name, value).second);
      }
    return found;
  }

  /// Most micro-batches between the first and the last op of a chunk.
  static int64_t countInFlight(func::FuncOp function) {
    using Chunk = std::pair<int64_t, int64_t>;
    std::map<Chunk, Operation *> last;
    auto getChunkOf = [](Operation &op) -> std::optional<Chunk> {
      auto number = op.getAttrOfType<IntegerAttr>(attributes::microBatch);
      if (!number || !getStage(&op))
        return std::nullopt;
      return Chunk(number.getInt(), *getStage(&op));
    };
    for (Operation &op : function.getBody().front())
      if (auto chunk = getChunkOf(op))
        last[*chunk] = &op;
    std::set<Chunk> inFlight;
    size_t peak = 0;
    for (Operation &op : function.getBody().front())
      if (auto chunk = getChunkOf(op)) {
        inFlight.insert(*chunk);
        peak = std::max(peak, inFlight.size());
        if (last[*chunk] == &op)
          inFlight.erase(*chunk);
      }
    return static_cast<int64_t>(peak);
  }

  MLIRContext context;
};

/// The table of schedules; m is a multiple of p, and large.
int64_t getExpectedPeak(const ScheduleShape &shape, int64_t position) {
  int64_t p = shape.positions, m = shape.microBatches, v = shape.chunks;
  switch (shape.kind) {
  case ScheduleKind::gpipe:
    return m;
  case ScheduleKind::oneForwardOneBackward:
    return std::min(m, p - position);
  case ScheduleKind::oneForwardOneBackwardEager:
    return std::min(m, 2 * (p - position) - 1);
  case ScheduleKind::interleaved:
    return std::min(m * v, 2 * (p - 1 - position) + (v - 1) * p + 1);
  case ScheduleKind::zbH1:
    return std::min(m, p);
  case ScheduleKind::zbH2:
    return std::min(m, 2 * p - 1);
  case ScheduleKind::zbV:
    return 2 * p;
  case ScheduleKind::vHalf:
    return p % 2 == 0 ? p + 2 : p + 1;
  case ScheduleKind::vMin:
    return (2 * p + 2) / 3 + 2;
  case ScheduleKind::forwardOnly:
    return 0;
  }
  return 0;
}

TEST_F(Positions, HoldWhatTheScheduleSays) {
  for (int64_t positions : {2, 3, 4})
    for (ScheduleKind kind : getScheduleKinds()) {
      bool isPeriodic =
          kind == ScheduleKind::vHalf || kind == ScheduleKind::vMin;
      if (!hasBackward(kind) || (isPeriodic && positions < 3))
        continue;
      int64_t chunks = std::abs(getRequiredChunks(kind));
      ScheduleShape shape{kind, positions, 12, chunks == 0 ? 2 : chunks};
      OwningOpRef<ModuleOp> module = compile(shape, /*isCut=*/true);
      int64_t position = 0, highest = 0, highestExpected = 0;
      for (auto function : module->getOps<func::FuncOp>()) {
        int64_t expected = getExpectedPeak(shape, position);
        int64_t count = countInFlight(function);
        // The table has the worst position of the last two rows.
        EXPECT_TRUE(isPeriodic ? count <= expected : count == expected)
            << printScheduleName(shape) << ", position " << position << " of "
            << positions << ": " << count << ", not " << expected;
        highest = std::max(highest, count);
        highestExpected = std::max(highestExpected, expected);
        ++position;
      }
      EXPECT_EQ(highest, highestExpected) << printScheduleName(shape);
      EXPECT_EQ(position, positions);
    }
}

TEST_F(Positions, GiveTheSameBitsByAnySchedule) {
  for (int64_t positions : {2, 3})
    for (int64_t microBatches : {1, 5})
      for (ScheduleKind kind : getScheduleKinds()) {
        int64_t chunks = std::abs(getRequiredChunks(kind));
        ScheduleShape shape{kind, positions, microBatches,
                            chunks == 0 ? 3 : chunks};
        if (!hasBackward(kind) || getRefusal(shape))
          continue;
        auto expected = run(*compile(shape, /*isCut=*/false), shape);
        auto found = run(*compile(shape, /*isCut=*/true), shape);
        ASSERT_EQ(found.size(), expected.size());
        for (auto &[name, value] : expected)
          EXPECT_EQ(value.getBytes(), found.at(name).getBytes())
              << printScheduleName(shape) << ", " << name;
      }
}

} // namespace
} // namespace parplan
