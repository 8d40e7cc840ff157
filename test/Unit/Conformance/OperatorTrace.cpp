//===- OperatorTrace.cpp - What a node test becomes ------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OperatorTrace.h"

#include "lib/Driver/IRDumper.h"
#include "lib/Driver/PlanModel.h"

#include "dialects/exec/ExecOps.h"
#include "dialects/parplan/ParplanOps.h"
#include "parplan/Support/DiagnosticCodes.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace parplan::test {

static bool hasFloatResult(Operation *op) {
  return llvm::any_of(op->getResultTypes(), [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  });
}

OperatorTrace traceModule(ModuleOp module) {
  OperatorTrace trace;
  module.walk([&](ShardingRuleOpInterface rule) {
    Operation *op = rule;
    if (isa<ParameterOp, ConstantOp, AffineMaskOp>(op))
      return;
    std::string name = op->getName().stripDialect().str();
    trace.ops.insert(name);
    if (hasFloatResult(op)) {
      trace.hasFloats = true;
      if (!isa<DifferentiableOpInterface>(op))
        trace.withoutGradient.insert(name);
    }
    for (const Factor &factor : rule.getShardingRule().factors)
      if (factor.size > 1)
        trace.factors.insert(stringifyFactorKind(factor.kind).str());
  });
  return trace;
}

void traceProgram(MLIRContext &context, const ImportOptions &import,
                  OperatorTrace &trace) {
  DiagnosticEngine engine;
  CompileOptions options;
  options.modelPath = import.path;
  options.gpus = 1;
  options.dimensions.insert(import.dims.begin(), import.dims.end());
  options.emit = EmitStage::plan;
  std::optional<Cluster> cluster = chooseCluster(options, engine);
  PARPLAN_CHECK(cluster, "no cluster of one host");
  FrontendOptions request{import, std::nullopt, /*microBatches=*/1};
  request.cluster = cluster->description;
  IRDumper dumper("", engine);
  std::optional<PlannedModel> planned =
      planModel(context, options, request, *cluster,
                cluster->getDevice().memoryBytes, dumper, engine);
  if (!planned) {
    trace.obstacle = engine.render({.program = ""});
    bool isOurs = llvm::any_of(
        engine.getDiagnostics(), [](const parplan::Diagnostic &one) {
          return one.code.number >= codes::internalError.number;
        });
    PARPLAN_CHECK(!isOurs && !trace.obstacle.empty(), trace.obstacle);
    return;
  }
  planned->lowered.module->walk([&](exec::StatementOpInterface statement) {
    trace.statements.insert(statement->getName().stripDialect().str());
  });
}

} // namespace parplan::test
