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
  llvm::SetVector<Value> touched(op->operand_begin(), op->operand_end());
  std::string text = "{";
  for (auto [index, value] : llvm::enumerate(touched))
    text += (index ? ", " : "") +
            printList({exec::getArenaOffset(value),
                       exec::getBufferType(value).getByteSize()});
  return text + "}";
}

std::string StatementPrinter::pointer(Value value) {
  if (!value)
    return "nullptr";
  return ("rank.at<" +
          emitter.getTypeName(getElementType(value), value.getLoc()) + ">(" +
          Twine(exec::getArenaOffset(value)) + ")")
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

std::string StatementPrinter::bytePointer(Value value, int64_t offset) {
  int64_t bytes = offset * exec::getStorageBytes(getElementType(value));
  return "rank.at<char>(" +
         std::to_string(exec::getArenaOffset(value) + bytes) + ")";
}

std::string StatementPrinter::workspace(Value value) {
  if (!value)
    return "Workspace{}";
  return "rank.workspace(" + std::to_string(exec::getArenaOffset(value)) +
         ", " + std::to_string(exec::getBufferType(value).getByteSize()) + ")";
}

} // namespace parplan
