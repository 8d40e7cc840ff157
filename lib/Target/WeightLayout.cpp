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
    auto type = cast<ShapedType>(initializer.getType());
    auto element = dyn_cast<FloatType>(type.getElementType());
    if (element && piece.bytes == 2 * getByteCount(type)) {
      piece.bytes /= 2;
      piece.rounded = element;
    }
  } else {
    auto data = cast<exec::DataOp>(source);
    piece.name = data.getSymName().str();
    piece.bytes = getByteCount(data.getValue().getShapedType());
    piece.constant = data.getValue();
  }
  return piece;
}

} // namespace

const WeightSource &WeightLayout::get(StringRef symbol) const {
  auto found = bySymbol.find(symbol.str());
  PARPLAN_CHECK(found != bySymbol.end(), "no weights for @", symbol.str());
  return found->second;
}

/// Appends the source of that symbol if the layout does not have it.
static void addSource(WeightLayout &layout, SymbolTable &symbols,
                      StringRef symbol) {
  auto [place, isNew] = layout.bySymbol.try_emplace(symbol.str());
  if (!isNew)
    return;
  Operation *source = symbols.lookup(symbol);
  PARPLAN_CHECK(source && (isa<InitializerOp, exec::DataOp>(source)),
                "a parameter reads @", symbol.str(), ", which does not exist");
  layout.totalBytes = (layout.totalBytes + weightAlignment - 1) /
                      weightAlignment * weightAlignment;
  WeightPiece whole = describe(source);
  place->second = {whole.name, layout.totalBytes, whole.bytes};
  auto append = [&](WeightPiece piece) {
    piece.offset = layout.totalBytes;
    layout.totalBytes += piece.bytes;
    layout.pieces.push_back(std::move(piece));
  };
  auto stack = dyn_cast<InitializerOp>(source);
  if (!stack || !stack.getMembers())
    return append(std::move(whole));
  for (auto member : stack.getMembers()->getAsRange<FlatSymbolRefAttr>())
    append(describe(symbols.lookup(member.getValue())));
}

WeightLayout layoutWeights(ArrayRef<exec::ProgramOp> programs) {
  WeightLayout layout;
  // Without the cache every parameter would search all symbols before it.
  SymbolTable symbols(exec::ProgramOp(programs.front())->getParentOp());
  for (exec::ProgramOp program : programs)
    for (auto buffer : program.getBody().front().getOps<exec::BufferOp>())
      if (buffer.getKind() == exec::BufferKind::parameter)
        for (exec::BlockAttr block : buffer.getBlocks())
          addSource(layout, symbols, block.getSource().getValue());
  return layout;
}

} // namespace parplan
