//===- CutBlocks.h - A model with fewer of its equal blocks -----*- C++ -*-===//
//
// Part of parplan.
//
// What is planned of a model of 1,024 equal blocks follows from a few of them:
// steps of models that differ in the number of blocks differ in copies of one.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_CUTBLOCKS_H
#define PARPLAN_PASSES_SIMPLIFY_CUTBLOCKS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace parplan {

/// What a model had before blocks were left out.
struct CutBlocks {
  /// How many were left out.
  int64_t count = 0;
  /// Per block of the whole model the ONNX nodes of its ops, -1 for an op that
  /// has none, and the initializers that it alone reads: of equal blocks the
  /// same place by place.
  std::vector<std::vector<int64_t>> nodes;
  std::vector<std::vector<std::string>> initializers;
};

/// Leaves out equal blocks of a function whose blocks are numbered, all but
/// `kept`, so that the result is what the same model with `kept` blocks would
/// be. Those that are left are numbered anew and keep their nodes.
///
/// Returns nullopt, with everything as it was, where there are not more blocks;
/// where something reads a block that is not the one before it or the last one;
/// and where a parameter is shared by some of the blocks, or of two parameters
/// at one place `getKind` says different things.
std::optional<CutBlocks>
cutBlocks(mlir::func::FuncOp function, int64_t kept,
          llvm::function_ref<int64_t(llvm::StringRef initializer)> getKind);

} // namespace parplan

#endif // PARPLAN_PASSES_SIMPLIFY_CUTBLOCKS_H
