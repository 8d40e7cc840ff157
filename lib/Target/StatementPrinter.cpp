//===- StatementPrinter.cpp - Parts of calls of the runtime ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/StatementPrinter.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace parplan {

std::string printList(ArrayRef<int64_t> values) {
  std::string text = "{";
  for (auto [index, value] : llvm::enumerate(values))
    text += (index ? ", " : "") + std::to_string(value);
  return text + "}";
}

std::string printReal(double value) {
  char buffer[40];
  snprintf(buffer, sizeof buffer, "%.17g", value);
  return buffer;
}

std::string StatementPrinter::ranges(Operation *op) {
  llvm::SetVector<Value> touched;
  for (Value operand : op->getOperands())
    for (Value array : exec::getArrays(operand))
      touched.insert(array);
  std::string text = "{";
  for (auto [index, value] : llvm::enumerate(touched))
    text += (index ? ", " : "") + range(value);
  return text + "}";
}

std::string StatementPrinter::range(Value value) {
  std::string text = "{" + std::to_string(exec::getArenaOffset(value)) + ", " +
                     std::to_string(exec::getBufferType(value).getByteSize());
  switch (exec::getTier(value)) {
  case exec::Tier::device:
    return text + "}";
  case exec::Tier::host:
    return text + ", MemoryTier::Host}";
  case exec::Tier::nvme:
    return text + ", MemoryTier::Nvme}";
  }
  return text;
}

StringRef getStreamName(exec::StreamKind stream) {
  static constexpr StringLiteral names[] = {
      "compute", "communication", "pointToPoint", "download",
      "upload",  "processor",     "storage"};
  return names[static_cast<size_t>(stream)];
}

raw_ostream &StatementPrinter::call(const Twine &name, Operation *op) {
  auto statement = cast<exec::StatementOpInterface>(op);
  bool isOnHost = statement.getStreamKind() == exec::StreamKind::host;
  return out << (isOnHost ? "host::" : "") << name << "("
             << getStreamName(statement.getStreamKind()) << ", " << ranges(op)
             << ", ";
}

std::string StatementPrinter::offset(Value value, int64_t bytes) {
  auto choice = value.getDefiningOp<exec::ChoiceOp>();
  if (!choice)
    return std::to_string(exec::getArenaOffset(value) + bytes);
  return isMember(choice.getMember()) + " ? " + offset(choice.getOwn(), bytes) +
         " : " + offset(choice.getOther(), bytes);
}

std::string StatementPrinter::isMember(exec::MemberAttr member) {
  return emitter.getCommunicatorName(member.getCommunicator()) +
         ".rank() == " + std::to_string(member.getPosition());
}

/// The method of a rank that gives an address in the tier of a value.
static StringRef getAddress(Value value) {
  return exec::getTier(value) == exec::Tier::host ? "rank.hostAt" : "rank.at";
}

std::string StatementPrinter::pointer(Value value) {
  if (!value)
    return "nullptr";
  return (getAddress(value) + "<" +
          emitter.getTypeName(getElementType(value), value.getLoc()) + ">(" +
          offset(value) + ")")
      .str();
}

std::string StatementPrinter::rankValue(exec::RankValueAttr value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "rank."
         << (value.getKind() == exec::RankValueKind::start ? "blockStart"
                                                           : "blockExtent")
         << "(" << value.getSize() << ", {"
         << emitter.printAxes(value.getAxes()) << "}";
  if (value.getBack() != 0)
    stream << ", " << value.getBack();
  stream << ")";
  return text;
}

std::string StatementPrinter::bytePointer(Value value, int64_t elements) {
  int64_t bytes = elements * exec::getStorageBytes(getElementType(value));
  return getAddress(value).str() + "<char>(" + offset(value, bytes) + ")";
}

std::string StatementPrinter::workspace(Value value) {
  if (!value)
    return "Workspace{}";
  return "rank.workspace(" + offset(value) + ", " +
         std::to_string(exec::getBufferType(value).getByteSize()) + ")";
}

} // namespace parplan
