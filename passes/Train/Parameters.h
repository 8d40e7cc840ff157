//===- Parameters.h - Which initializers are trained ------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_TRAIN_PARAMETERS_H
#define PARPLAN_PASSES_TRAIN_PARAMETERS_H

#include "dialects/parplan/ParplanOps.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>
#include <vector>

namespace parplan {

namespace attributes {
/// On an initializer: it is trained; the reason, a string.
inline constexpr llvm::StringLiteral trained = "parplan.trained";
/// On an initializer: it stays as it is; the reason, a string.
inline constexpr llvm::StringLiteral frozen = "parplan.frozen";
} // namespace attributes

/// What the exporter said about an initializer.
enum class InitializerMark : uint8_t { none, parameter, buffer };

/// The mark of an initializer, by its name in the model.
using InitializerMarks = std::function<InitializerMark(llvm::StringRef)>;

/// An initializer of the model, for reports.
struct TrainedParameter {
  std::string name;
  llvm::SmallVector<int64_t> shape;
  bool isTrained = false;
  /// Why it is trained, or why not.
  std::string reason;
};

/// Every initializer of the model that `parplan-select-parameters` has looked
/// at.
std::vector<TrainedParameter> listParameters(mlir::ModuleOp module);

/// The initializer that a parameter reads. A table, because looking a symbol up
/// in the module searches it.
InitializerOp getInitializer(ParameterOp parameter, mlir::SymbolTable &symbols);
bool isTrained(InitializerOp initializer);

} // namespace parplan

#endif // PARPLAN_PASSES_TRAIN_PARAMETERS_H
