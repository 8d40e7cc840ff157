//===- StepFixture.h - Training steps on the interpreter --------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_TRAIN_STEPFIXTURE_H
#define PARPLAN_TEST_UNIT_TRAIN_STEPFIXTURE_H

#include "parplan/Interpreter/Interpreter.h"
#include "passes/Train/Passes.h"

#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

#include <map>

namespace parplan::test {

using Numbers = std::vector<double>;

/// Numbers of the schedule, for one step.
using Schedule = std::map<std::string, double>;

/// A model as text, its training step, and the values of its variables. The
/// step of the batch is run with all micro-batches.
class Training {
public:
  Training(const std::string &model, const TrainingOptions &options);

  /// All elements of an initializer or, by `getSlotName`, of a state.
  void set(const std::string &name, const Numbers &values);
  Numbers get(const std::string &name) const;
  std::vector<std::string> getInitializers() const;

  /// Whole-batch values of an input, or of the labels.
  void setInput(const std::string &name, const Numbers &values);

  /// Runs one step; results by name, variables take their new values.
  std::map<std::string, double> run(const Schedule &schedule);

  /// The outputs of the model for the values as they are.
  Numbers forward();

  std::string messages;

private:
  mlir::func::FuncOp getMain(mlir::ModuleOp from);
  Tensor makeInput(mlir::RankedTensorType type, const std::string &name);
  void store(VariableAttr variable, const Tensor &value);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> model, step;
  InitializerValues values;
  std::map<std::string, Numbers> inputs;
};

/// Numbers between -1 and 1 that are always the same.
Numbers makeNumbers(size_t count, unsigned seed);

/// The gradient of `loss` by every element of an initializer, by central
/// differences.
Numbers differentiateNumerically(Training &training, const std::string &name,
                                 const std::function<double()> &loss);

/// Mean over labels that are not -100 of the cross-entropy of rows of logits.
double getCrossEntropy(const Numbers &logits, const Numbers &labels);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_TRAIN_STEPFIXTURE_H
