//===- SelectOutput.cpp - Keeps the output that the loss reads ------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Passes.h"
#include "passes/Train/Step.h"

#include "parplan/Support/Text.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_SELECTOUTPUT
#include "passes/Train/Passes.h.inc"

namespace {

using namespace train;

struct SelectOutput : impl::SelectOutputBase<SelectOutput> {
  using SelectOutputBase::SelectOutputBase;

  void runOnOperation() override {
    func::FuncOp function = findMain(getOperation());
    if (!function || failed(select(function)))
      signalPassFailure();
  }

  LogicalResult select(func::FuncOp function) {
    SmallVector<StepResult> results = getResults(function);
    unsigned index = 0;
    while (index < results.size() && !output.empty() &&
           getResultName(function, index) != StringRef(output))
      ++index;
    if (index == results.size())
      return reportUnknown(function);
    RankedTensorType type = getTensorType(results[index].value);
    if (!isa<FloatType>(type.getElementType()))
      return function.emitError("the output ")
             << quoteName(getResultName(function, index).str())
             << " has elements of type " << type.getElementType()
             << ": a loss needs floats";
    setResults(function, results[index]);
    eraseUnused(function.getBody().front());
    return success();
  }

  LogicalResult reportUnknown(func::FuncOp function) {
    InFlightDiagnostic error = function.emitError("the model has no output");
    if (!output.empty())
      error << " " << quoteName(output);
    std::string names;
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      names +=
          (index ? ", " : "") + quoteName(getResultName(function, index).str());
    if (!names.empty())
      error << "; it has " << names;
    return error;
  }
};

} // namespace
} // namespace parplan
