//===- EmitAttention.cpp - Attention and its gradient ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/StatementPrinter.h"

using namespace mlir;

namespace parplan {

namespace {

class AttentionEmitter : public StatementPrinter {
public:
  using StatementPrinter::StatementPrinter;

  bool run(Operation *op) {
    static const auto table = makeRules<AttentionEmitter, exec::AttentionOp,
                                        exec::AttentionGradientOp>();
    auto rule = table.find(op->getName().getTypeID());
    if (rule == table.end())
      return false;
    rule->second(*this, op);
    return true;
  }

  void emit(exec::AttentionOp op) {
    call("attention<" + types(op.getQuery(), op.getOutput()) + ">", op)
        << pointer(op.getQuery()) << ", " << pointer(op.getKey()) << ", "
        << pointer(op.getValue()) << ", " << pointer(op.getMask()) << ", "
        << pointer(op.getQueryOffset()) << ", " << pointer(op.getOutput())
        << ", " << pointer(op.getLogSumExp()) << ", ";
    printShape(op, op.getOutputStrides(), op.getZeroMaskedRows());
    out << ", " << workspace(op.getWorkspace()) << ");\n";
  }

  void emit(exec::AttentionGradientOp op) {
    call("attentionGradient<" + types(op.getQuery(), op.getQueryGradient()) +
             ">",
         op)
        << pointer(op.getQuery()) << ", " << pointer(op.getKey()) << ", "
        << pointer(op.getValue()) << ", " << pointer(op.getResult()) << ", "
        << pointer(op.getLogSumExp()) << ", " << pointer(op.getGradient())
        << ", " << pointer(op.getMask()) << ", " << pointer(op.getQueryOffset())
        << ", " << pointer(op.getQueryGradient()) << ", "
        << pointer(op.getKeyGradient()) << ", "
        << pointer(op.getValueGradient()) << ", ";
    printShape(op, op.getResultStrides(), /*zeroMaskedRows=*/false);
    out << ", " << list(op.getGradientStrides()) << ", "
        << workspace(op.getWorkspace()) << ");\n";
  }

private:
  /// The element types of operands and, where it differs, of the result.
  std::string types(Value input, Value output) {
    if (getElementType(input) == getElementType(output))
      return type(input);
    return type(input) + ", " + type(output);
  }

  template <typename Attention>
  void printShape(Attention op, ArrayRef<int64_t> resultStrides,
                  bool zeroMaskedRows) {
    StringRef maskKind = !op.getMask() ? "MaskKind::None"
                         : getElementType(op.getMask()).isInteger(1)
                             ? "MaskKind::Bool"
                             : "MaskKind::Float";
    out << "AttentionShape{";
    for (int64_t size : op.getShape())
      out << size << ", ";
    out << list(op.getQueryStrides()) << ", " << list(op.getKeyStrides())
        << ", " << list(op.getValueStrides()) << ", " << list(resultStrides)
        << ", " << maskKind << ", " << list(op.getMaskStrides()) << ", "
        << print(op.getScale()) << ", " << print(op.getCausal()) << ", "
        << print(zeroMaskedRows);
    if (op.getAccumulate() || op.getQueryStart() || op.getKeyStart())
      out << ", " << print(op.getAccumulate()) << ", "
          << print(op.getWholeMask()) << ", " << number(op.getQueryStart(), "0")
          << ", " << number(op.getKeyStart(), "0") << ", "
          << number(op.getValidKeys(), "-1");
    if (op.getZigzag())
      out << ", " << exec::getRuntimeShape(op).zigzag;
    out << "}";
  }

  std::string number(std::optional<exec::RankValueAttr> value,
                     StringRef otherwise) {
    return value ? rankValue(*value) : otherwise.str();
  }
};

} // namespace

bool emitAttentionStatement(Emitter &emitter, Operation *op) {
  return AttentionEmitter(emitter).run(op);
}

} // namespace parplan
