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

Emitter::Emitter(exec::ProgramOp program, const WeightLayout &weights,
                 const EmitOptions &options, DiagnosticEngine &engine)
    : program(program), mesh(program.getMesh().getMesh()), weights(weights),
      options(options), engine(engine), text(result.text), stream(text) {
  for (auto [number, kernel] :
       llvm::enumerate(program.getBody().front().getOps<exec::KernelOp>()))
    kernelNames[kernel.getSymNameAttr()] = "Kernel" + std::to_string(number);
  for (auto [number, communicator] : llvm::enumerate(
           program.getBody().front().getOps<exec::CommunicatorOp>()))
    communicatorNames[communicator.getSymNameAttr()] =
        "communicator" + std::to_string(number);
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
    for (StringRef name : {"Float64", "Float32", "Float16", "BFloat16", "UInt8",
                           "Int64", "Int32", "Int16", "Int8", "Bool"})
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
  return kernelNames.lookup(symbol.getAttr());
}

std::string Emitter::getCommunicatorName(FlatSymbolRefAttr symbol) const {
  return communicatorNames.lookup(symbol.getAttr());
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
  for (auto kernel : program.getBody().front().getOps<exec::KernelOp>())
    emitKernel(kernel);
  emitExchangeTables();
  emitStep();
  emitProgramTable();
  stream << "\n} // namespace\n\n"
            "int main(int argc, char **argv) {\n"
            "  return parplan::runtime::runProgram(program, argc, argv);\n"
            "}\n";
  return std::move(result);
}

EmittedProgram emitProgram(exec::ProgramOp program, const WeightLayout &weights,
                           const EmitOptions &options,
                           DiagnosticEngine &engine) {
  return Emitter(program, weights, options, engine).run();
}

} // namespace parplan
