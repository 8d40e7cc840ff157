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
                   std::to_string(dim.getStride()) +
                   (dim.getZigzag() > 1 ? ", " + std::to_string(dim.getZigzag())
                                        : std::string()) +
                   "}");
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
  std::string entries;
  for (const CommunicatorNames &communicator : communicators) {
    // Workers and servers.
    FailureOr<AxisList> axes = communicator.axes.resolve(mesh);
    bool isEveryone = succeeded(axes) && mesh.getServerCount() > 0 &&
                      mesh.getWidth(*axes) == mesh.getRankCount();
    entries += ("    {" + cStringLiteral(communicator.label) + ", " +
                (isEveryone ? "{}" : getAxesTable(communicator.axes)) + ", " +
                Twine(static_cast<int>(communicator.stream)) +
                (isEveryone ? ", true},\n" : "},\n"))
                   .str();
  }
  if (!entries.empty())
    stream << "// {name, axes, stream}\n"
           << "constexpr CommunicatorEntry communicators[] = {\n"
           << entries << "};\n";
  stream << "\n// {global size, axes that split it, stride in the file}\n";
  for (StageNames &stage : stages) {
    current = &stage;
    emitStageTables(stage);
  }
  emitOrderDigests();
  if (stages.front().program.getMicroBatches())
    emitTraining();
  stream << "\n";
}

/// Axes and dimensions are shared: they come before the stage's own tables.
void Emitter::emitStageTables(StageNames &stage) {
  std::string parameters = printParameters();
  std::string inputs = printTensors(exec::BufferKind::input);
  std::string outputs = printTensors(exec::BufferKind::output);
  stage.hasParameters = !parameters.empty();
  stage.hasInputs = !inputs.empty();
  stage.hasOutputs = !outputs.empty();
  if (!stage.space.empty())
    stream << "namespace " << stage.space << " {\n";
  if (stage.hasParameters)
    stream << "constexpr Parameter parameters[] = {\n" << parameters << "};\n";
  if (stage.hasInputs)
    stream << "constexpr Tensor inputs[] = {\n" << inputs << "};\n";
  if (stage.hasOutputs)
    stream << "constexpr Tensor outputs[] = {\n" << outputs << "};\n";
  if (!stage.space.empty())
    stream << "} // namespace " << stage.space << "\n";
}

/// How the runtime calls a tier.
static StringRef getTierName(exec::Tier tier) {
  switch (tier) {
  case exec::Tier::device:
    return "MemoryTier::Device";
  case exec::Tier::host:
    return "MemoryTier::Host";
  case exec::Tier::nvme:
    return "MemoryTier::Nvme";
  }
  return "";
}

std::string Emitter::printParameter(exec::BufferOp buffer,
                                    exec::BlockAttr block,
                                    int64_t bucketOffset) {
  bool isState = buffer.getKind() == exec::BufferKind::state;
  std::optional<exec::BucketAttr> bucket = buffer.getBucket();
  // States have no bytes in the file.
  WeightSource piece;
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
  bool isElsewhere = buffer.getTier() != exec::Tier::device;
  bool isVariable =
      isState || buffer.getTrained() || bucket.has_value() || isElsewhere;
  if (!storage.getNames().empty() || isVariable)
    text += ", nullptr, " + getAxesTable(storage);
  if (isVariable)
    text += std::string(isState ? ", true, " : ", false, ") +
            (isState ? cStringLiteral(block.getSlot().str()) : "nullptr") +
            (buffer.getTrained() ? ", true" : ", false");
  if (bucket || isElsewhere)
    text += ", " + std::to_string(bucketOffset) + ", " +
            std::to_string(bucket ? bucket->getElements() : 0);
  if (isElsewhere)
    text += ", " + getTierName(buffer.getTier()).str();
  return text + "}";
}

std::string Emitter::printParameters() {
  std::string entries;
  auto add = [&](exec::BufferOp buffer, exec::BlockAttr block, int64_t offset) {
    entries += "    " + printParameter(buffer, block, offset) + ",\n";
  };
  for (auto buffer : getBody().getOps<exec::BufferOp>()) {
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
  return entries;
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
  case exec::BufferRole::label_count:
    return "OutputRole::LabelCount";
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
  bool isElsewhere = buffer.getTier() != exec::Tier::device;
  auto batchDim = static_cast<int64_t>(buffer.getBatchDim());
  if (!role && !buffer.getBatched() && !isElsewhere)
    return text + "}";
  text += ", ";
  text += role && !isOutput ? getRoleName(*role) : "TensorRole::Data";
  text += buffer.getBatched() ? ", true" : ", false";
  bool hasClasses =
      role == exec::BufferRole::labels && options.training.classes;
  if (isOutput || hasClasses || isElsewhere)
    text += ", " + std::to_string(hasClasses ? options.training.classes : 0);
  if (isOutput || isElsewhere)
    text += ", " + (isOutput && role ? getRoleName(*role)
                                     : StringRef("OutputRole::Output"))
                       .str();
  if (isElsewhere || batchDim > 0)
    text += ", " + getTierName(buffer.getTier()).str();
  if (batchDim > 0)
    text += ", " + std::to_string(batchDim);
  return text + "}";
}

std::string Emitter::printTensors(exec::BufferKind kind) {
  std::string entries;
  for (auto buffer : getBody().getOps<exec::BufferOp>())
    if (buffer.getKind() == kind)
      entries += "    " + printTensor(buffer) + ",\n";
  return entries;
}

void Emitter::emitOrderDigests() {
  if (options.orderDigests.empty())
    return;
  stream << "constexpr const char *orderDigests[] = {\n";
  for (const std::string &digest : options.orderDigests)
    stream << "    " << cStringLiteral(digest) << ",\n";
  stream << "};\n";
}

static StringRef nameIf(bool exists, StringRef name) {
  return exists ? name : StringRef("{}");
}

/// Streams below it are opened.
static int countStreams(exec::ProgramOp program) {
  int highest = 0;
  for (auto statement :
       program.getBody().front().getOps<exec::StatementOpInterface>())
    highest = std::max(highest, static_cast<int>(statement.getStreamKind()));
  return highest + 1;
}

void Emitter::emitStagesTable() {
  stream << "\nconstexpr Stage stages[] = {\n";
  for (StageNames &stage : stages) {
    std::string space = stage.space.empty() ? "" : stage.space + "::";
    exec::ProgramOp program = stage.program;
    stream << "    {" << nameIf(stage.hasParameters, space + "parameters")
           << ", " << nameIf(stage.hasInputs, space + "inputs") << ", "
           << nameIf(stage.hasOutputs, space + "outputs")
           << ",\n     /*arenaBytes=*/" << program.getArena()
           << ", /*hostArenaBytes=*/" << program.getArenaBytes(exec::Tier::host)
           << ", /*nvmeArenaBytes=*/" << program.getArenaBytes(exec::Tier::nvme)
           << ",\n     /*streamCount=*/" << countStreams(program)
           << ", /*eventCount=*/" << program.getEvents() << ", " << space
           << "step" << (stage.hasReply ? ", " + space + "reply" : "")
           << "},\n";
  }
  stream << "};\n";
}

void Emitter::emitProgramTable() {
  exec::ProgramOp first = stages.front().program;
  std::optional<int> pipeline = first.getPipelineAxis();
  bool isTraining = first.getMicroBatches().has_value();
  stream << "\nconstexpr Program program = {\n"
         << "    " << cStringLiteral(options.modelName) << ",\n"
         << "    mesh,\n    " << nameIf(!communicators.empty(), "communicators")
         << ",\n    stages,\n    "
         << nameIf(!options.orderDigests.empty(), "orderDigests");
  if (isTraining || stages.size() > 1)
    stream << ",\n    " << (isTraining ? "&training" : "nullptr");
  if (stages.size() > 1)
    stream << ",\n    /*pipelineAxis=*/" << pipeline.value_or(-1);
  if (int64_t servers = mesh.getServerCount()) {
    exec::ProgramOp server = stages.back().program;
    stream << ",\n    /*servers=*/" << servers << ", /*staleness=*/"
           << (server.getStaleness()
                   ? static_cast<int64_t>(*server.getStaleness())
                   : -1);
  }
  stream << "};\n";
}

} // namespace parplan
