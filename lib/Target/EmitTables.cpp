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
  if (program.getMicroBatches())
    emitTraining();
  stream << "\n";
}

std::string Emitter::printParameter(exec::BufferOp buffer,
                                    exec::BlockAttr block,
                                    int64_t bucketOffset) {
  bool isState = buffer.getKind() == exec::BufferKind::state;
  std::optional<exec::BucketAttr> bucket = buffer.getBucket();
  // States have no bytes in the file.
  WeightPiece piece;
  if (isState)
    piece.name = block.getName().str();
  else
    piece = weights.get(block.getSource().getValue());
  std::string text =
      ("{" + cStringLiteral(piece.name) + ", " +
       getElementTypeName(buffer.getType().getElementType(), buffer.getLoc()) +
       ", " + Twine(piece.offset) + ", " + Twine(piece.bytes) + ", " +
       Twine(block.getOffset()) + ", " + getDimensionsTable(block) + ", " +
       Twine(buffer.getOffset()))
          .str();
  AxisListAttr storage = bucket ? bucket->getStorage() : block.getStorage();
  if (!storage.getNames().empty() || isState || buffer.getTrained() || bucket)
    text += ", nullptr, " + getAxesTable(storage);
  if (isState || buffer.getTrained() || bucket)
    text += std::string(isState ? ", true, " : ", false, ") +
            (isState ? cStringLiteral(block.getSlot().str()) : "nullptr") +
            (buffer.getTrained() ? ", true" : ", false");
  if (bucket)
    text += ", " + std::to_string(bucketOffset) + ", " +
            std::to_string(bucket->getElements());
  return text + "}";
}

void Emitter::emitParameters() {
  std::string entries;
  auto add = [&](exec::BufferOp buffer, exec::BlockAttr block, int64_t offset) {
    entries += "    " + printParameter(buffer, block, offset) + ",\n";
  };
  for (auto buffer : program.getBody().front().getOps<exec::BufferOp>()) {
    if (buffer.getKind() != exec::BufferKind::parameter &&
        buffer.getKind() != exec::BufferKind::state)
      continue;
    if (std::optional<exec::BucketAttr> bucket = buffer.getBucket())
      for (auto [offset, member] :
           llvm::zip_equal(bucket->getOffsets(), bucket->getMembers()))
        add(buffer, member, offset);
    else
      add(buffer, *buffer.getBlock(), 0);
  }
  if (!entries.empty())
    stream << "constexpr Parameter parameters[] = {\n" << entries << "};\n";
}

/// The name of the runtime's enumerator.
static StringRef getRoleName(exec::BufferRole role) {
  switch (role) {
  case exec::BufferRole::labels:
    return "TensorRole::Labels";
  case exec::BufferRole::learning_rate:
    return "TensorRole::LearningRate";
  case exec::BufferRole::step_size:
    return "TensorRole::StepSize";
  case exec::BufferRole::bias_correction2_sqrt:
    return "TensorRole::BiasCorrection2Sqrt";
  case exec::BufferRole::loss_scale:
    return "TensorRole::LossScale";
  case exec::BufferRole::inverse_loss_scale:
    return "TensorRole::InverseLossScale";
  case exec::BufferRole::loss:
    return "OutputRole::Loss";
  case exec::BufferRole::gradient_norm:
    return "OutputRole::GradientNorm";
  case exec::BufferRole::overflow:
    return "OutputRole::Overflow";
  }
  return "";
}

std::string Emitter::printTensor(exec::BufferOp buffer) {
  std::string text =
      ("{" + cStringLiteral(buffer.getBlock()->getName().str()) + ", " +
       getElementTypeName(buffer.getType().getElementType(), buffer.getLoc()) +
       ", " + getDimensionsTable(*buffer.getBlock()) + ", " +
       Twine(buffer.getOffset()))
          .str();
  std::optional<exec::BufferRole> role = buffer.getRole();
  bool isOutput = buffer.getKind() == exec::BufferKind::output;
  if (!role && !buffer.getBatched())
    return text + "}";
  text += ", ";
  text += role && !isOutput ? getRoleName(*role) : "TensorRole::Data";
  text += buffer.getBatched() ? ", true" : ", false";
  if (isOutput)
    text += (", 0, " + getRoleName(*role)).str();
  else if (role == exec::BufferRole::labels && options.training.classes)
    text += ", " + std::to_string(options.training.classes);
  return text + "}";
}

void Emitter::emitTensors(exec::BufferKind kind, StringRef table) {
  std::string entries;
  for (auto buffer : program.getBody().front().getOps<exec::BufferOp>())
    if (buffer.getKind() == kind)
      entries += "    " + printTensor(buffer) + ",\n";
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
         << nameIf(has(exec::BufferKind::parameter) ||
                       has(exec::BufferKind::state),
                   "parameters")
         << ",\n    " << nameIf(has(exec::BufferKind::input), "inputs")
         << ",\n    " << nameIf(has(exec::BufferKind::output), "outputs")
         << ",\n"
         << "    /*arenaBytes=*/" << program.getArena() << ",\n"
         << "    /*streamCount=*/2,\n"
         << "    /*eventCount=*/" << program.getEvents() << ",\n    "
         << nameIf(!options.orderDigests.empty(), "orderDigests") << ",\n"
         << "    step" << (program.getMicroBatches() ? ",\n    &training" : "")
         << "};\n";
}

} // namespace parplan
