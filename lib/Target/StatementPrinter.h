//===- StatementPrinter.h - Parts of calls of the runtime -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_TARGET_STATEMENTPRINTER_H
#define PARPLAN_LIB_TARGET_STATEMENTPRINTER_H

#include "lib/Target/Emitter.h"

namespace parplan {

/// `{1, 2}`
std::string printList(llvm::ArrayRef<int64_t> values);
/// So many digits that the number is the same when it is read.
std::string printReal(double value);
inline std::string printReal(const llvm::APFloat &value) {
  return printReal(value.convertToDouble());
}

/// The variable of a step.
llvm::StringRef getStreamName(exec::StreamKind stream);

/// What printers of statements share.
class StatementPrinter {
public:
  explicit StatementPrinter(Emitter &emitter)
      : emitter(emitter), out(emitter.out()) {}

protected:
  static mlir::Type getElementType(mlir::Value value) {
    return exec::getBufferType(value).getElementType();
  }

  /// `{{0, 64}, {64, 32}}`: all bytes that the statement touches, each array
  /// once, of choices both.
  std::string ranges(mlir::Operation *op);
  /// `{0, 64}`, or with the tier where it is not the device.
  std::string range(mlir::Value value);
  /// `64`, or `communicator0.rank() == 1 ? 64 : 128` for a choice; `bytes`
  /// further on.
  std::string offset(mlir::Value value, int64_t bytes = 0);
  /// `communicator0.rank() == 1`
  std::string isMember(exec::MemberAttr member);
  /// `rank.at<float>(64)`, `rank.hostAt<..`, or `nullptr` for none.
  std::string pointer(mlir::Value value);
  /// `rank.blockStart(15, {1})`: a number that the rank knows.
  std::string rankValue(exec::RankValueAttr value);
  /// For calls that take an ElementType.
  std::string bytePointer(mlir::Value value, int64_t elements = 0);
  std::string workspace(mlir::Value value);

  std::string type(mlir::Value value) {
    return emitter.getTypeName(getElementType(value), value.getLoc()).str();
  }
  std::string elementType(mlir::Value value) {
    return emitter.getElementTypeName(getElementType(value), value.getLoc())
        .str();
  }

  /// Begins `name(compute, {ranges}, `, or `host::name(processor, ..`.
  llvm::raw_ostream &call(const llvm::Twine &name, mlir::Operation *op);

  template <typename Convolution> std::string convolutionShape(Convolution op) {
    return ("ConvolutionShape{" + llvm::Twine(op.getBatch()) + ", " +
            llvm::Twine(op.getInChannels()) + ", " +
            llvm::Twine(op.getOutChannels()) + ", " +
            llvm::Twine(op.getGroups()) + ", " +
            llvm::Twine(op.getIn().size()) + ", " + printList(op.getIn()) +
            ", " + printList(op.getOut()) + ", " + printList(op.getWindow()) +
            ", " + printList(op.getStrides()) + ", " +
            printList(op.getDilations()) + ", " + printList(op.getPadsLow()) +
            "}")
        .str();
  }

  /// `batch` lists sizes and strides of lhs, rhs and output.
  template <typename Product>
  std::string
  matmulShape(Product op,
              const std::array<llvm::ArrayRef<int64_t>, 4> &batch = {}) {
    llvm::SmallVector<int64_t> numbers(op.getShape());
    for (llvm::ArrayRef<int64_t> strides :
         {op.getLhsStrides(), op.getRhsStrides(), op.getOutputStrides()})
      numbers.append(strides.begin(), strides.end());
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "MatmulShape{";
    llvm::interleaveComma(numbers, stream);
    // Accumulation comes behind the batch dimensions.
    if (!batch[0].empty() || op.getAccumulate()) {
      stream << ", " << batch[0].size();
      for (llvm::ArrayRef<int64_t> list : batch)
        stream << ", " << printList(list);
    }
    stream << (op.getAccumulate() ? ", true}" : "}");
    return text;
  }

  template <typename Pool>
  std::string poolShape(Pool op, bool countIncludePad) {
    return ("PoolShape{" + llvm::Twine(op.getBatch()) + ", " +
            llvm::Twine(op.getChannels()) + ", " +
            llvm::Twine(op.getIn().size()) + ", " + printList(op.getIn()) +
            ", " + printList(op.getOut()) + ", " + printList(op.getWindow()) +
            ", " + printList(op.getStrides()) + ", " +
            printList(op.getDilations()) + ", " + printList(op.getPadsLow()) +
            ", " + printList(op.getPadsHigh()) + ", " + print(countIncludePad) +
            "}")
        .str();
  }

  static std::string list(llvm::ArrayRef<int64_t> values) {
    return printList(values);
  }
  static std::string print(const llvm::APFloat &value) {
    return printReal(value);
  }
  static llvm::StringRef print(bool value) { return value ? "true" : "false"; }

  Emitter &emitter;
  mlir::raw_indented_ostream &out;
};

/// A printer's rules: its overload of `emit` for each of `Ops`.
template <typename Printer, typename... Ops>
llvm::DenseMap<mlir::TypeID, void (*)(Printer &, mlir::Operation *)>
makeRules() {
  llvm::DenseMap<mlir::TypeID, void (*)(Printer &, mlir::Operation *)> rules;
  (rules.insert({mlir::TypeID::get<Ops>(),
                 [](Printer &self, mlir::Operation *op) {
                   self.emit(mlir::cast<Ops>(op));
                 }}),
   ...);
  return rules;
}

/// Prints an attention or its gradient; false where it is neither.
bool emitAttentionStatement(Emitter &emitter, mlir::Operation *op);

/// Prints a statement of a mixture of experts; false where there is no rule.
bool emitExpertStatement(Emitter &emitter, mlir::Operation *op);

/// Prints a statement that only training steps have; false where there is no
/// rule.
bool emitTrainingStatement(Emitter &emitter, mlir::Operation *op);

} // namespace parplan

#endif // PARPLAN_LIB_TARGET_STATEMENTPRINTER_H
