//===- EmitTables.cpp - The static tables of an emitted program -----------===//
//
// Part of parplan. Names of the model occur in these tables only, escaped.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/Emitter.h"

#include "parplan/Support/Text.h"

using namespace mlir;

namespace parplan {

/// Tables of one kind are numbered in the order in which they are declared.
static std::string getNextName(StringRef prefix, size_t count) {
  return (prefix + Twine(count)).str();
}

std::string Emitter::getAxesTable(AxisListAttr axes) {
  std::string positions = printAxes(axes);
  if (positions.empty())
    return "{}";
  auto [place, isNew] = axesTables.try_emplace(positions);
  if (isNew) {
    place->second = getNextName("axes", axesTables.size() - 1);
    stream << "constexpr int32_t " << place->second << "[] = {" << positions
           << "};\n";
  }
  return place->second;
}

std::string Emitter::getDimensionsTable(exec::BlockAttr block) {
  if (block.getDims().empty())
    return "{}";
  std::vector<std::string> dims;
  for (exec::DimensionAttr dim : block.getDims())
    dims.push_back("{" + std::to_string(dim.getSize()) + ", " +
                   getAxesTable(dim.getAxes()) + ", " +
                   std::to_string(dim.getStride()) + "}");
  std::string entries = joinText(dims, ", ");
  auto [place, isNew] = dimensionTables.try_emplace(entries);
  if (isNew) {
    place->second = getNextName("dimensions", dimensionTables.size() - 1);
    stream << "constexpr Dimension " << place->second << "[] = {" << entries
           << "};\n";
  }
  return place->second;
}

void Emitter::emitTables() {
  stream << "constexpr Axis mesh[] = {";
  llvm::interleaveComma(mesh.getAxes(), stream, [&](const MeshAxis &axis) {
    stream << "{" << cStringLiteral(axis.name) << ", " << axis.size << "}";
  });
  if (mesh.getAxes().empty())
    stream << "{\"all\", 1}";
  stream << "};\n";
  std::string communicators;
  for (auto communicator :
       program.getBody().front().getOps<exec::CommunicatorOp>())
    communicators += "    {" + cStringLiteral(communicator.getLabel()) + ", " +
                     getAxesTable(communicator.getAxes()) + "},\n";
  if (!communicators.empty())
    stream << "constexpr CommunicatorEntry communicators[] = {\n"
           << communicators << "};\n";
  stream << "\n// {global size, axes that split it, stride in the file}\n";
  emitParameters();
  emitTensors(exec::BufferKind::input, "inputs");
  emitTensors(exec::BufferKind::output, "outputs");
  emitOrderDigests();
  stream << "\n";
}

void Emitter::emitParameters() {
  std::string entries;
  for (auto buffer : program.getBody().front().getOps<exec::BufferOp>()) {
    if (buffer.getKind() != exec::BufferKind::parameter)
      continue;
    exec::BlockAttr block = *buffer.getBlock();
    const WeightPiece &piece = weights.get(block.getSource().getValue());
    entries += ("    {" + cStringLiteral(piece.name) + ", " +
                getElementTypeName(buffer.getType().getElementType(),
                                   buffer.getLoc()) +
                ", " + Twine(piece.offset) + ", " + Twine(piece.bytes) + ", " +
                Twine(block.getOffset()) + ", " + getDimensionsTable(block) +
                ", " + Twine(buffer.getOffset()))
                   .str();
    if (!block.getStorage().getNames().empty())
      entries += ", nullptr, " + getAxesTable(block.getStorage());
    entries += "},\n";
  }
  if (!entries.empty())
    stream << "constexpr Parameter parameters[] = {\n" << entries << "};\n";
}

void Emitter::emitTensors(exec::BufferKind kind, StringRef table) {
  std::string entries;
  for (auto buffer : program.getBody().front().getOps<exec::BufferOp>())
    if (buffer.getKind() == kind)
      entries +=
          ("    {" + cStringLiteral(buffer.getBlock()->getName().str()) + ", " +
           getElementTypeName(buffer.getType().getElementType(),
                              buffer.getLoc()) +
           ", " + getDimensionsTable(*buffer.getBlock()) + ", " +
           Twine(buffer.getOffset()) + "},\n")
              .str();
  if (!entries.empty())
    stream << "constexpr Tensor " << table << "[] = {\n" << entries << "};\n";
}

void Emitter::emitOrderDigests() {
  if (options.orderDigests.empty())
    return;
  stream << "constexpr const char *orderDigests[] = {\n";
  for (const std::string &digest : options.orderDigests)
    stream << "    " << cStringLiteral(digest) << ",\n";
  stream << "};\n";
}

void Emitter::emitProgramTable() {
  auto nameIf = [](bool exists, StringRef name) {
    return exists ? name : StringRef("{}");
  };
  auto has = [&](exec::BufferKind kind) {
    return llvm::any_of(program.getBody().front().getOps<exec::BufferOp>(),
                        [&](auto buffer) { return buffer.getKind() == kind; });
  };
  stream << "\nconstexpr Program program = {\n"
         << "    " << cStringLiteral(options.modelName) << ",\n"
         << "    mesh,\n    "
         << nameIf(!communicatorNames.empty(), "communicators") << ",\n    "
         << nameIf(has(exec::BufferKind::parameter), "parameters") << ",\n    "
         << nameIf(has(exec::BufferKind::input), "inputs") << ",\n    "
         << nameIf(has(exec::BufferKind::output), "outputs") << ",\n"
         << "    /*arenaBytes=*/" << program.getArena() << ",\n"
         << "    /*streamCount=*/2,\n"
         << "    /*eventCount=*/" << program.getEvents() << ",\n    "
         << nameIf(!options.orderDigests.empty(), "orderDigests") << ",\n"
         << "    step};\n";
}

} // namespace parplan
