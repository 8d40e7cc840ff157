//===- Frontend.cpp - From a model file to a planning problem -------------===//

#include "lib/Driver/Frontend.h"

#include "dialects/exec/ExecDialect.h"
#include "dialects/parplan/ParplanOps.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/Phase.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "passes/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace parplan;

std::unique_ptr<mlir::MLIRContext> parplan::makeContext() {
  auto context = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  context->loadDialect<mlir::func::FuncDialect, ParplanDialect,
                       exec::ExecDialect>();
  return context;
}

mlir::func::FuncOp Frontend::getMain() const {
  auto function = model.module.get().lookupSymbol<mlir::func::FuncOp>("main");
  PARPLAN_CHECK(function, "an imported module has a function @main");
  return function;
}

/// Reports every op that needs a kernel which exists for f32 and f64 only.
static void checkElementTypes(mlir::func::FuncOp function,
                              const ModelInfo &info, DiagnosticEngine &engine) {
  function.walk([&](mlir::Operation *op) {
    if (!mlir::isa<MatmulOp, ConvOp, MaxPoolOp, AveragePoolOp, AttentionOp,
                   SoftmaxOp, LogSoftmaxOp, LayerNormOp, RMSNormOp>(op))
      return;
    mlir::Type type = mlir::getElementTypeOrSelf(op->getOperand(0));
    if (type.isF32() || type.isF64())
      return;
    std::string name;
    llvm::raw_string_ostream(name) << type;
    Location location = Location::inFile(info.getPath());
    if (auto node = op->getAttrOfType<mlir::IntegerAttr>(attributes::node))
      location = info.locateNode(static_cast<size_t>(node.getInt()));
    engine.error(codes::unsupportedElementType, std::move(location))
        << "there is no kernel for elements of type " << name
        << "; f32 and f64 have one";
  });
}

std::optional<Frontend> parplan::runFrontend(mlir::MLIRContext &context,
                                             const ImportOptions &options,
                                             IRDumper &dumper,
                                             DiagnosticEngine &engine) {
  Frontend frontend;
  frontend.model = importModel(context, options, engine);
  if (!frontend.model || engine.hasErrors())
    return std::nullopt;
  mlir::ModuleOp module = *frontend.model.module;
  dumper.dump(module, "import");
  if (!runPhase(module, "simplify", buildSimplifyPipeline, engine))
    return std::nullopt;
  dumper.dump(module, "simplify");
  const ModelInfo &info = *frontend.model.info;
  checkElementTypes(frontend.getMain(), info, engine);
  if (engine.hasErrors())
    return std::nullopt;
  frontend.graph = extractProblem(frontend.getMain(), [&](int64_t node) {
    return info.getNodeName(static_cast<size_t>(node));
  });
  std::optional<std::string> fault = verifyProblem(frontend.graph.problem);
  PARPLAN_CHECK(!fault, "the planning problem is incomplete: ", *fault);
  return frontend;
}
