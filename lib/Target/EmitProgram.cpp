//===- EmitProgram.cpp - The frame of the emitted text --------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/Emitter.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace parplan {

Emitter::Emitter(ArrayRef<exec::ProgramOp> programs,
                 const WeightLayout &weights, const EmitOptions &options,
                 DiagnosticEngine &engine)
    : stages(programs.size()),
      mesh(exec::ProgramOp(programs.front()).getMesh().getMesh()),
      weights(weights), options(options), engine(engine), text(result.text),
      stream(text) {
  for (auto [number, program] : llvm::enumerate(programs)) {
    StageNames &stage = stages[number];
    stage.program = program;
    if (programs.size() > 1)
      stage.space = "stage" + std::to_string(number);
    nameCommunicators(stage);
    nameKernels(stage);
  }
}

/// The stream of a program's calls of each communicator.
static llvm::DenseMap<Attribute, exec::StreamKind>
findStreams(exec::ProgramOp program) {
  llvm::DenseMap<Attribute, exec::StreamKind> streams;
  for (auto call :
       program.getBody().front().getOps<exec::StatementOpInterface>())
    if (auto name = call->getAttrOfType<FlatSymbolRefAttr>("communicator"))
      streams[name.getAttr()] = call.getStreamKind();
  return streams;
}

void Emitter::nameCommunicators(StageNames &stage) {
  llvm::DenseMap<Attribute, exec::StreamKind> streams =
      findStreams(stage.program);
  for (auto communicator :
       stage.program.getBody().front().getOps<exec::CommunicatorOp>()) {
    auto found = streams.find(communicator.getSymNameAttr());
    exec::StreamKind kind = found == streams.end()
                                ? exec::StreamKind::communication
                                : found->second;
    AxisListAttr axes = communicator.getAxes();
    auto place = llvm::find_if(communicators, [&](const auto &other) {
      return other.axes == axes && other.stream == kind;
    });
    stage.communicators[communicator.getSymNameAttr()] =
        place - communicators.begin();
    if (place == communicators.end())
      communicators.push_back({communicator.getLabel(), axes, kind});
  }
}

/// The text of a kernel without its name.
static std::string printAnonymous(exec::KernelOp kernel) {
  OwningOpRef<exec::KernelOp> copy = kernel.clone();
  copy->setSymName("kernel");
  std::string text;
  llvm::raw_string_ostream(text) << **copy;
  return text;
}

void Emitter::nameKernels(StageNames &stage) {
  for (auto kernel : stage.program.getBody().front().getOps<exec::KernelOp>()) {
    auto [place, isNew] = kernelNames.try_emplace(printAnonymous(kernel));
    if (isNew) {
      place->second = "Kernel" + std::to_string(kernels.size());
      kernels.push_back({&stage, kernel});
    }
    stage.kernels[kernel.getSymNameAttr()] = place->second;
  }
}

namespace {

struct TypeNames {
  StringRef type, element;
};

/// How C++ and the runtime call an element type; empty where they do not.
TypeNames getTypeNames(Type type) {
  if (type.isF64())
    return {"double", "Float64"};
  if (type.isF32())
    return {"float", "Float32"};
  if (type.isBF16())
    return {"BFloat16", "BFloat16"};
  if (type.isF16())
    return {"Float16", "Float16"};
  if (type.isUnsignedInteger(64))
    return {"uint64_t", "UInt64"};
  if (type.isUnsignedInteger(32))
    return {"uint32_t", "UInt32"};
  if (type.isUnsignedInteger(16))
    return {"uint16_t", "UInt16"};
  if (type.isUnsignedInteger(8))
    return {"uint8_t", "UInt8"};
  if (type.isSignlessInteger(64))
    return {"int64_t", "Int64"};
  if (type.isSignlessInteger(32))
    return {"int32_t", "Int32"};
  if (type.isSignlessInteger(16))
    return {"int16_t", "Int16"};
  if (type.isSignlessInteger(8))
    return {"int8_t", "Int8"};
  if (type.isSignlessInteger(1))
    return {"bool", "Bool"};
  return {};
}

/// `ElementType` followed by the name.
StringRef getQualifiedName(StringRef element) {
  static const llvm::StringMap<std::string> names = [] {
    llvm::StringMap<std::string> table;
    for (StringRef name :
         {"Float64", "Float32", "Float16", "BFloat16", "UInt64", "UInt32",
          "UInt16", "UInt8", "Int64", "Int32", "Int16", "Int8", "Bool"})
      table[name] = ("ElementType::" + name).str();
    return table;
  }();
  return names.find(element)->second;
}

std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

} // namespace

StringRef Emitter::getTypeName(Type type, mlir::Location) {
  TypeNames names = getTypeNames(type);
  if (!names.type.empty())
    return names.type;
  engine.error(codes::noElementType)
      << "programs do not compute with elements of type " << print(type);
  return "void";
}

StringRef Emitter::getElementTypeName(Type type, mlir::Location location) {
  TypeNames names = getTypeNames(type);
  if (names.element.empty()) {
    (void)getTypeName(type, location);
    return "ElementType()";
  }
  return getQualifiedName(names.element);
}

std::string Emitter::getKernelName(FlatSymbolRefAttr symbol) const {
  return current->kernels.lookup(symbol.getAttr());
}

std::string Emitter::getCommunicatorName(FlatSymbolRefAttr symbol) const {
  return "communicator" +
         std::to_string(current->communicators.lookup(symbol.getAttr()));
}

std::string Emitter::printAxes(AxisListAttr axes) const {
  std::vector<std::string> positions;
  for (StringAttr name : axes.getNames())
    if (std::optional<int> axis = mesh.findAxis(name.getValue()))
      positions.push_back(std::to_string(*axis));
  return joinText(positions, ", ");
}

void Emitter::reportNoRule(Operation *op) {
  engine.error(codes::noEmissionRule)
      << "there is no emission rule for "
      << quoteName(op->getName().getStringRef());
}

int64_t Emitter::getLine() {
  std::string_view fresh = std::string_view(result.text).substr(countedBytes);
  lines += std::count(fresh.begin(), fresh.end(), '\n');
  countedBytes = result.text.size();
  return lines;
}

EmittedProgram Emitter::run() {
  stream << "// Emitted by parplan. One text for g++ and nvcc.\n\n"
            "#include \"parplan_runtime/program.h\"\n\n"
            "using namespace parplan::runtime;\n\n"
            "namespace {\n\n";
  emitTables();
  for (auto [stage, kernel] : kernels) {
    current = stage;
    emitKernel(kernel);
  }
  for (StageNames &stage : stages) {
    current = &stage;
    if (!stage.space.empty())
      stream << "namespace " << stage.space << " {\n\n";
    emitExchangeTables();
    emitStep();
    if (!stage.space.empty())
      stream << "\n} // namespace " << stage.space << "\n\n";
  }
  emitStagesTable();
  emitProgramTable();
  stream << "\n} // namespace\n\n"
            "int main(int argc, char **argv) {\n"
            "  return parplan::runtime::runProgram(program, argc, argv);\n"
            "}\n";
  return std::move(result);
}

EmittedProgram emitProgram(ArrayRef<exec::ProgramOp> programs,
                           const WeightLayout &weights,
                           const EmitOptions &options,
                           DiagnosticEngine &engine) {
  return Emitter(programs, weights, options, engine).run();
}

} // namespace parplan
