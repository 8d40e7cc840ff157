//===- WeightLayout.cpp - Where weights lie in weights.bin ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/WeightLayout.h"

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan {

namespace {

constexpr int64_t weightAlignment = 64;

int64_t getByteCount(ShapedType type) {
  return type.getNumElements() * exec::getStorageBytes(type.getElementType());
}

WeightPiece describe(Operation *source) {
  WeightPiece piece;
  if (auto initializer = dyn_cast<InitializerOp>(source)) {
    piece.name = initializer.getName().str();
    piece.file = initializer.getFile().str();
    piece.fileOffset = initializer.getOffset();
    piece.bytes = initializer.getLength();
  } else {
    auto data = cast<exec::DataOp>(source);
    piece.name = data.getSymName().str();
    piece.bytes = getByteCount(data.getValue().getShapedType());
    piece.constant = data.getValue();
  }
  return piece;
}

} // namespace

const WeightPiece &WeightLayout::get(StringRef symbol) const {
  auto found = bySymbol.find(symbol.str());
  PARPLAN_CHECK(found != bySymbol.end(), "no weights for @", symbol.str());
  return pieces[found->second];
}

/// Appends the source of that symbol if the layout does not have it.
static void addSource(WeightLayout &layout, SymbolTable &symbols,
                      StringRef symbol) {
  auto [place, isNew] =
      layout.bySymbol.try_emplace(symbol.str(), layout.pieces.size());
  if (!isNew)
    return;
  Operation *source = symbols.lookup(symbol);
  PARPLAN_CHECK(source && (isa<InitializerOp, exec::DataOp>(source)),
                "a parameter reads @", symbol.str(), ", which does not exist");
  WeightPiece piece = describe(source);
  piece.offset = (layout.totalBytes + weightAlignment - 1) / weightAlignment *
                 weightAlignment;
  layout.totalBytes = piece.offset + piece.bytes;
  layout.pieces.push_back(std::move(piece));
}

WeightLayout layoutWeights(exec::ProgramOp program) {
  WeightLayout layout;
  // Without the cache every parameter would search all symbols before it.
  SymbolTable symbols(program->getParentOp());
  for (auto buffer : program.getBody().front().getOps<exec::BufferOp>()) {
    if (buffer.getKind() == exec::BufferKind::parameter)
      for (exec::BlockAttr block : buffer.getBlocks())
        addSource(layout, symbols, block.getSource().getValue());
  }
  return layout;
}

} // namespace parplan
