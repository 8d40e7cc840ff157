//===- StepBuilder.h - Functions with decisions, from short text -*- C++
//-*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_STRATEGIES_STEPBUILDER_H
#define PARPLAN_TEST_UNIT_STRATEGIES_STEPBUILDER_H

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Interpreter/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <random>

namespace parplan::test {

using Random = std::mt19937_64;

/// An integer in [low, high].
int64_t draw(Random &random, int64_t low, int64_t high);

/// A context with the dialects of this program.
mlir::MLIRContext &getContext();

/// Where a value lies, with a letter for every dimension: `{"mk", "m:x,z k:y"}`
/// has its rows split over x and then z, its columns over y. `/p` at the end
/// keeps the block in pieces over p, `+p` before that leaves it pending over p.
struct Layout {
  std::string letters, axes;
};

Sharding parseLayout(const Layout &layout, const Mesh &mesh);

/// A planned function, and values for what it reads.
struct Step {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Tensor> arguments;
  InitializerValues initializers;

  mlir::func::FuncOp getMain() const {
    return *module.get().getOps<mlir::func::FuncOp>().begin();
  }
};

/// Builds `@main` op by op, with a decision for every op. Inputs and parameters
/// are drawn.
class StepBuilder {
public:
  using Shape = llvm::ArrayRef<int64_t>;

  StepBuilder(const Mesh &mesh, Random &random);

  /// Numbers between -3 and 3 of type f32.
  mlir::Value addInput(Shape shape, const Layout &layout);
  mlir::Value addParameter(llvm::StringRef name, Shape shape,
                           const Layout &layout);
  /// Of any element type, with values between the bounds.
  mlir::Value addInput(mlir::RankedTensorType type, const Layout &layout,
                       int64_t low, int64_t high);
  mlir::Value addParameter(llvm::StringRef name, mlir::RankedTensorType type,
                           const Layout &layout, llvm::StringRef slot = "");

  /// An op under factors such as `m:x n:y`, with `+p` read pending, with `/p`
  /// in pieces, with `panels k:x,y` in a loop; its results rest as the layouts
  /// say.
  template <typename Op, typename... Arguments>
  Op add(llvm::StringRef factors, llvm::ArrayRef<Layout> atRest,
         llvm::StringRef role, Arguments &&...arguments) {
    auto op = builder.create<Op>(builder.getUnknownLoc(),
                                 std::forward<Arguments>(arguments)...);
    decide(op, factors, atRest, role);
    return op;
  }

  /// An input of which every one of so many micro-batches has its own.
  mlir::Value addBatch(Shape shape, const Layout &layout, int64_t microBatches);
  /// The learning rate.
  mlir::Value addLearningRate();
  void runPerMicroBatch(mlir::Operation *op);

  /// Copies of `value` in other layouts are made again for the backward pass.
  void gatherAgain(mlir::Value value);

  void addResult(mlir::Value value, const Layout &layout);
  /// The new value of a parameter or of a state of it.
  void addNewValue(mlir::Value value, llvm::StringRef name,
                   const Layout &layout, llvm::StringRef slot = "");

  Step finish();

  mlir::OpBuilder builder;

private:
  struct Result {
    mlir::Value value;
    ShardingAttr sharding;
    VariableAttr variable;
  };

  mlir::Value addArgument(Tensor content, mlir::RankedTensorType type,
                          const Layout &layout);
  Tensor makeContent(mlir::RankedTensorType type, int64_t low, int64_t high);
  ShardingAttr getAttr(const Layout &layout);
  void decide(mlir::Operation *op, llvm::StringRef factors,
              llvm::ArrayRef<Layout> atRest, llvm::StringRef role);

  Mesh mesh;
  Random &random;
  Step step;
  mlir::func::FuncOp function;
  mlir::FlatSymbolRefAttr symbol;
  std::vector<Result> results;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_STRATEGIES_STEPBUILDER_H
