//===- Differentiated.h - A function with its gradients ---------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_GRADIENTS_DIFFERENTIATED_H
#define PARPLAN_TEST_UNIT_GRADIENTS_DIFFERENTIATED_H

#include "GradientCases.h"

#include "dialects/parplan/ReverseMode.h"
#include "parplan/Interpreter/Interpreter.h"
#include "test/Unit/Dialects/OpFixture.h"

#include <random>

namespace parplan::test {

bool isFloat(mlir::Value value);

/// Random values of a type as the case wants them.
Tensor makeRandom(mlir::RankedTensorType type, const GradientCase &from,
                  std::mt19937 &engine);

/// The function of a case with cotangents of its float results as further
/// arguments; its results are those of the op, then the gradients that exist.
class Differentiated {
public:
  struct Options {
    /// Differentiates the parts of a composite instead.
    bool decompose = false;
    /// The only argument whose gradient is wanted; -1: all float ones.
    int only = -1;
    ReverseMode mode = {};
  };

  explicit Differentiated(const GradientCase &from)
      : Differentiated(from, Options()) {}
  Differentiated(const GradientCase &from, const Options &options);

  /// Values of the op's results and gradients.
  std::vector<Tensor> run(llvm::ArrayRef<Tensor> arguments);
  /// Random arguments and cotangents.
  std::vector<Tensor> makeArguments(unsigned seed);

  OpFixture fixture;
  mlir::Operation *op;
  /// One per argument of the op, null where it has none.
  llvm::SmallVector<mlir::Value> gradients;
  /// Which result of `run` is the gradient of an argument, or -1.
  llvm::SmallVector<int> positions;
  /// What was built behind the op.
  llvm::SmallVector<mlir::Operation *> made;
  /// Results of the op and their cotangents, as positions in the results and
  /// the arguments of `run`.
  std::vector<std::pair<unsigned, unsigned>> cotangents;

private:
  GradientCase from;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_GRADIENTS_DIFFERENTIATED_H
