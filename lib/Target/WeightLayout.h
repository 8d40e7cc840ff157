//===- WeightLayout.h - Where weights lie in weights.bin --------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_TARGET_WEIGHTLAYOUT_H
#define PARPLAN_LIB_TARGET_WEIGHTLAYOUT_H

#include "dialects/exec/ExecOps.h"
#include "parplan/Support/Diagnostics.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace parplan {

/// One initializer of the model, or one constant of the program.
struct WeightPiece {
  /// As the model names it, for messages.
  std::string name;
  /// Where it is in weights.bin.
  int64_t offset = 0;
  int64_t bytes = 0;
  /// Where it comes from: a file (empty: the model itself) and an offset in it,
  /// or bytes of the program's own.
  std::string file;
  int64_t fileOffset = 0;
  mlir::ElementsAttr constant;
  /// Where the file has f32, and twice as many bytes: what they are rounded to.
  mlir::FloatType rounded;
};

/// What a parameter reads of weights.bin.
struct WeightSource {
  /// As the model names it, for messages.
  std::string name;
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// The initializers that programs read, each once and whole, in the order of
/// their first parameter, at multiples of 64 bytes; those of a stack lie one
/// behind the other.
struct WeightLayout {
  std::vector<WeightPiece> pieces;
  /// By the symbol of a parplan.initializer or exec.data.
  std::map<std::string, WeightSource> bySymbol;
  int64_t totalBytes = 0;

  const WeightSource &get(llvm::StringRef symbol) const;
};

/// `programs` are those of one module.
WeightLayout layoutWeights(llvm::ArrayRef<exec::ProgramOp> programs);
inline WeightLayout layoutWeights(mlir::ModuleOp module) {
  return layoutWeights(exec::getPrograms(module));
}

/// Writes weights.bin at `path`, sequentially, and returns its SHA-256.
/// `modelFile` is the model; external files are looked up beside it. Reports
/// files that are missing or cannot be read (E6103, exit code 66), files that
/// are too short (E6104), all of them, and failures to write.
std::optional<std::string> writeWeights(const WeightLayout &layout,
                                        const std::string &modelFile,
                                        const std::string &path,
                                        DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_LIB_TARGET_WEIGHTLAYOUT_H
