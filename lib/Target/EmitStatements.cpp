//===- EmitStatements.cpp - Statements as calls of the runtime ------------===//
//
// Part of parplan. One small function per op.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/StatementPrinter.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

#include <array>

using namespace mlir;

namespace parplan {

namespace {

constexpr llvm::StringLiteral nodesName = "exec.nodes";

StringRef getReduction(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::sum:
    return "Reduction::Sum";
  case ReduceKind::max:
    return "Reduction::Max";
  case ReduceKind::prod:
    return "Reduction::Product";
  }
  return "";
}

/// Names of the constants with the peers of an exchange.
std::string getPeersName(StringRef kind, size_t number) {
  return (kind + Twine(number)).str();
}

/// Prints statements; an overload of `emit` per op.
class StatementEmitter : public StatementPrinter {
public:
  using StatementPrinter::StatementPrinter;

  /// False where there is no rule.
  bool run(Operation *op) {
    static const auto table = makeRules<
        StatementEmitter, exec::LaunchOp, exec::MatmulOp, exec::ConvolutionOp,
        exec::PoolOp, exec::ReduceOp, exec::SoftmaxOp, exec::LayerNormOp,
        exec::RMSNormOp, exec::CumSumOp, exec::TopKOp, exec::EmbeddingOp,
        exec::GatherOp, exec::GatherElementsOp, exec::GatherNDOp, exec::CopyOp,
        exec::ZeroOp, exec::CollectiveOp, exec::ExchangeOp, exec::SendOp,
        exec::ReceiveOp, exec::TransferOp, exec::RecordOp, exec::WaitOp>();
    if (!hasKernel(op))
      return false;
    auto rule = table.find(op->getName().getTypeID());
    if (rule == table.end())
      return emitTrainingStatement(emitter, op) ||
             emitExpertStatement(emitter, op) ||
             emitAttentionStatement(emitter, op);
    rule->second(*this, op);
    return true;
  }

  /// Whether there is one where the operands are.
  static bool hasKernel(Operation *op) {
    auto statement = dyn_cast<exec::StatementOpInterface>(op);
    if (!statement || statement.getStreamKind() != exec::StreamKind::host)
      return true;
    if (auto copy = dyn_cast<exec::CopyOp>(op))
      return !copy.getOnly() && isContiguous(copy);
    return isa<exec::LaunchOp, exec::ZeroOp, exec::SquareSumOp, exec::UpdateOp>(
        op);
  }

  static bool isContiguous(exec::CopyOp op) {
    int64_t stride = 1;
    for (size_t dim = op.getExtents().size(); dim-- > 0;) {
      if (op.getExtents()[dim] == 1)
        continue;
      if (op.getInputStrides()[dim] != stride ||
          op.getOutputStrides()[dim] != stride)
        return false;
      stride *= op.getExtents()[dim];
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Launches
  //===--------------------------------------------------------------------===//

  void emit(exec::LaunchOp op) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<exec::KernelOp>(
        op, op.getKernelAttr());
    call("map<" + Twine(kernel.getSpace().size()) + ">", op)
        << "{" << list(kernel.getSpace()) << "}, "
        << emitter.getKernelName(op.getKernelAttr()) << "{";
    for (Value input : op.getInputs())
      out << pointer(input) << ", ";
    out << pointer(op.getOutput());
    for (auto value : op.getScalars().getAsRange<exec::RankValueAttr>())
      out << ", " << rankValue(value);
    out << "});\n";
  }

  void emit(exec::MatmulOp op) {
    bool widens = getElementType(op.getLhs()) != getElementType(op.getOutput());
    call("matmul<" + type(op.getLhs()) + (widens ? ", float>" : ">"), op)
        << pointer(op.getLhs()) << ", " << pointer(op.getRhs()) << ", "
        << pointer(op.getOutput()) << ", "
        << matmulShape(op,
                       {op.getBatch(), op.getLhsBatchStrides(),
                        op.getRhsBatchStrides(), op.getOutputBatchStrides()})
        << ");\n";
  }

  void emit(exec::ConvolutionOp op) {
    call("convolution<" + type(op.getInput()) + ">", op)
        << pointer(op.getInput()) << ", " << pointer(op.getWeight()) << ", "
        << pointer(op.getBias()) << ", " << pointer(op.getOutput()) << ", "
        << convolutionShape(op) << ", " << workspace(op.getWorkspace())
        << ");\n";
  }

  void emit(exec::PoolOp op) {
    call((op.getMax() ? "maxPool<" : "averagePool<") + type(op.getInput()) +
             ">",
         op)
        << pointer(op.getInput()) << ", " << pointer(op.getOutput()) << ", "
        << poolShape(op, op.getCountIncludePad()) << ");\n";
  }

  void emit(exec::ReduceOp op) {
    call("reduce<" + type(op.getInput()) + ">", op)
        << getReduction(op.getKind()) << ", " << pointer(op.getInput()) << ", "
        << pointer(op.getOutput()) << ", " << op.getOuter() << ", "
        << op.getLength() << ", " << op.getInner() << ");\n";
  }

  void emit(exec::SoftmaxOp op) {
    call((op.getLog() ? "logSoftmax<" : "softmax<") + type(op.getInput()) + ">",
         op)
        << pointer(op.getInput()) << ", " << pointer(op.getOutput()) << ", "
        << op.getOuter() << ", " << op.getLength() << ", " << op.getInner()
        << ");\n";
  }

  void emit(exec::LayerNormOp op) {
    call("layerNorm<" + type(op.getInput()) + ">", op)
        << pointer(op.getInput()) << ", " << pointer(op.getScale()) << ", "
        << pointer(op.getBias()) << ", " << pointer(op.getOutput()) << ", "
        << op.getOuter() << ", " << op.getLength() << ", "
        << print(op.getEpsilon()) << ");\n";
  }

  void emit(exec::RMSNormOp op) {
    call("rmsNorm<" + type(op.getInput()) + ">", op)
        << pointer(op.getInput()) << ", " << pointer(op.getScale()) << ", "
        << pointer(op.getOutput()) << ", " << op.getOuter() << ", "
        << op.getLength() << ", " << print(op.getEpsilon()) << ");\n";
  }

  void emit(exec::CumSumOp op) {
    call("cumsum<" + type(op.getInput()) + ">", op)
        << pointer(op.getInput()) << ", " << pointer(op.getOutput()) << ", "
        << op.getOuter() << ", " << op.getLength() << ", " << op.getInner()
        << ", " << print(op.getExclusive()) << ", " << print(op.getReverse())
        << ");\n";
  }

  void emit(exec::TopKOp op) {
    call("topk<" + type(op.getInput()) + ">", op)
        << pointer(op.getInput()) << ", " << pointer(op.getValues()) << ", "
        << pointer(op.getIndices()) << ", " << op.getOuter() << ", "
        << op.getLength() << ", " << op.getInner() << ", " << op.getCount()
        << ", " << print(op.getLargest()) << ");\n";
  }

  void emit(exec::EmbeddingOp op) {
    call("embedding<" + type(op.getTable()) + ", " + type(op.getIds()) + ">",
         op)
        << pointer(op.getIds()) << ", " << pointer(op.getTable())
        << ", nullptr, " << pointer(op.getOutput()) << ", " << op.getShape()[0]
        << ", " << op.getShape()[1] << ", " << op.getShape()[2] << ");\n";
  }

  void emit(exec::GatherOp op) {
    call("gather<" + type(op.getData()) + ", " + type(op.getIndices()) + ">",
         op)
        << pointer(op.getData()) << ", " << pointer(op.getIndices()) << ", "
        << pointer(op.getOutput());
    for (int64_t size : op.getShape())
      out << ", " << size;
    out << ");\n";
  }

  void emit(exec::GatherElementsOp op) {
    call("gatherElements<" + type(op.getData()) + ", " + type(op.getIndices()) +
             ">",
         op)
        << pointer(op.getData()) << ", " << pointer(op.getIndices()) << ", "
        << pointer(op.getOutput()) << ", Shape" << list(op.getDataShape())
        << ", Shape" << list(op.getIndexShape()) << ", " << op.getDim()
        << ");\n";
  }

  void emit(exec::GatherNDOp op) {
    call("gatherNd<" + type(op.getData()) + ", " + type(op.getIndices()) + ">",
         op)
        << pointer(op.getData()) << ", " << pointer(op.getIndices()) << ", "
        << pointer(op.getOutput()) << ", " << op.getBatch() << ", "
        << op.getCount() << ", Shape" << list(op.getIndexed()) << ", "
        << op.getInner() << ");\n";
  }

  void emit(exec::CopyOp op) {
    if (cast<exec::StatementOpInterface>(op.getOperation()).getStreamKind() ==
        exec::StreamKind::host) {
      int64_t bytes = exec::getStorageBytes(getElementType(op.getInput()));
      for (int64_t extent : op.getExtents())
        bytes *= extent;
      call("copyBytes", op)
          << bytePointer(op.getInput(), op.getInputOffset()) << ", "
          << bytePointer(op.getOutput(), op.getOutputOffset()) << ", " << bytes
          << ");\n";
      return;
    }
    if (std::optional<exec::MemberAttr> member = op.getOnly())
      out << "if (" << isMember(*member) << ")\n    ";
    call("copy", op) << elementType(op.getInput()) << ", "
                     << bytePointer(op.getInput(), op.getInputOffset()) << ", "
                     << bytePointer(op.getOutput(), op.getOutputOffset())
                     << ", Shape" << list(op.getExtents()) << ", Shape"
                     << list(op.getInputStrides()) << ", Shape"
                     << list(op.getOutputStrides()) << ");\n";
  }

  void emit(exec::ZeroOp op) {
    call("zero", op) << bytePointer(op.getOutput()) << ", "
                     << exec::getBufferType(op.getOutput()).getByteSize()
                     << ");\n";
  }

  //===--------------------------------------------------------------------===//
  // Communication and events
  //===--------------------------------------------------------------------===//

  void emit(exec::CollectiveOp op) {
    static constexpr StringLiteral names[] = {"allReduce",     "allGather",
                                              "reduceScatter", "allToAll",
                                              "broadcast",     "reduce"};
    out << emitter.getCommunicatorName(op.getCommunicatorAttr()) << "."
        << names[static_cast<int>(op.getForm())] << "(communication, "
        << ranges(op) << ", ";
    if (op.getKind())
      out << getReduction(*op.getKind()) << ", ";
    out << elementType(op.getInput()) << ", ";
    if (op.getRoot())
      out << *op.getRoot() << ", ";
    out << bytePointer(op.getInput()) << ", " << bytePointer(op.getOutput())
        << ", " << op.getCount() << ");\n";
  }

  void emit(exec::ExchangeOp op) {
    out << "exchange(" << emitter.getCommunicatorName(op.getCommunicatorAttr())
        << ", communication, " << ranges(op) << ", "
        << elementType(op.getInput()) << ", "
        << getPeersName("sendTo", exchanges) << ", "
        << getPeersName("receiveFrom", exchanges) << ", "
        << bytePointer(op.getInput()) << ", " << bytePointer(op.getOutput())
        << ", " << op.getCount() << ");\n";
    ++exchanges;
  }

  /// -1 is the worker that a server serves at the moment.
  static std::string getPeer(int64_t peer) {
    return peer < 0 ? "rank.worker()" : std::to_string(peer);
  }
  void emit(exec::SendOp op) { emitMessage(op, "send"); }
  void emit(exec::ReceiveOp op) { emitMessage(op, "receive"); }
  template <typename Message> void emitMessage(Message op, StringRef name) {
    if (op.getWithNext()) {
      emitGroup(op, "beginGroup");
      out << "  ";
    }
    out << emitter.getCommunicatorName(op.getCommunicatorAttr()) << "." << name
        << "(" << getStreamName(exec::StreamKind::point_to_point) << ", "
        << ranges(op) << ", " << elementType(op.getBuffer()) << ", "
        << getPeer(op.getPeer()) << ", " << bytePointer(op.getBuffer()) << ", "
        << op.getCount() << ");\n";
    if (isInGroup) {
      out << "  ";
      emitGroup(op, "endGroup");
    }
    isInGroup = op.getWithNext();
  }
  /// The call before or behind that of a message.
  template <typename Message> void emitGroup(Message op, StringRef name) {
    out << emitter.getCommunicatorName(op.getCommunicatorAttr()) << "." << name
        << "(" << getStreamName(exec::StreamKind::point_to_point) << ");\n";
  }

  void emit(exec::TransferOp op) {
    out << "transfer(" << getStreamName(op.getStreamKind()) << ", "
        << range(op.getInput()) << ", " << range(op.getOutput()) << ");\n";
  }

  void emit(exec::RecordOp op) {
    out << "rank.record(" << op.getEvent() << ", "
        << getStreamName(op.getStream()) << ");\n";
  }
  void emit(exec::WaitOp op) {
    out << "rank.wait(" << op.getEvent() << ", "
        << getStreamName(op.getStream()) << ");\n";
  }

  /// Exchanges so far.
  size_t exchanges = 0;
  /// A group of messages has begun.
  bool isInGroup = false;
};

bool isDeclaration(Operation &op) {
  return isa<exec::KernelOp, exec::CommunicatorOp, exec::BufferOp, exec::ViewOp,
             exec::ChoiceOp>(op);
}

} // namespace

void Emitter::emitExchangeTables() {
  auto emitPeers = [&](StringRef kind, size_t number, ArrayRef<int64_t> peers) {
    stream << "constexpr int32_t " << getPeersName(kind, number)
           << "[] = " << printList(peers) << ";\n";
  };
  size_t number = 0;
  for (auto op : getBody().getOps<exec::ExchangeOp>()) {
    emitPeers("sendTo", number, op.getSendTo());
    emitPeers("receiveFrom", number, op.getReceiveFrom());
    ++number;
  }
  if (number)
    stream << "\n";
}

/// From the statement on with which a server that serves one worker at a time
/// replies: the first send, and what it waits for.
static Operation *findReply(exec::ProgramOp program) {
  if (!program.getStaleness())
    return nullptr;
  Operation *reply = nullptr;
  for (Operation &op : program.getBody().front()) {
    if (isa<exec::SendOp>(op))
      return reply ? reply : &op;
    auto wait = dyn_cast<exec::WaitOp>(op);
    if (!wait || wait.getStream() != exec::StreamKind::point_to_point)
      reply = nullptr;
    else if (!reply)
      reply = &op;
  }
  return nullptr;
}

void Emitter::emitStep() {
  Block &body = getBody();
  Operation *reply = findReply(current->program);
  StatementEmitter statements(*this);
  auto emit = [&](StringRef name, Block::iterator first, Block::iterator last) {
    auto range = llvm::make_range(first, last);
    stream << "void " << name << "(Rank &rank) {\n";
    std::array<bool, exec::streamCount> isUsed = {};
    llvm::DenseSet<Attribute> called;
    for (Operation &op : range) {
      if (auto statement = dyn_cast<exec::StatementOpInterface>(op))
        isUsed[static_cast<size_t>(statement.getStreamKind())] = true;
      if (auto communicator =
              op.getAttrOfType<FlatSymbolRefAttr>("communicator"))
        called.insert(communicator.getAttr());
      if (auto choice = dyn_cast<exec::ChoiceOp>(op))
        called.insert(choice.getMember().getCommunicator().getAttr());
    }
    for (auto [number, used] : llvm::enumerate(isUsed)) {
      if (!used)
        continue;
      StringRef queue = getStreamName(static_cast<exec::StreamKind>(number));
      stream << "  Stream &" << queue << " = rank.stream(" << number << ");\n";
    }
    for (auto &[symbol, number] : current->communicators)
      if (called.contains(symbol))
        stream << "  Communicator &communicator" << number
               << " = rank.communicator(" << number << ");\n";
    for (Operation &op : range) {
      if (isDeclaration(op))
        continue;
      if (auto nodes = op.getAttrOfType<DenseI64ArrayAttr>(nodesName))
        result.sourceMap.push_back({getLine(), nodes.asArrayRef().vec()});
      stream << "  ";
      if (!statements.run(&op)) {
        stream << "// no emission rule for "
               << sanitize(op.getName().getStringRef()) << "\n";
        reportNoRule(&op);
      }
    }
    stream << "}\n";
  };
  // Until the reply others may be served: no update may be left for it.
  if (reply)
    for (Operation &op : llvm::make_range(reply->getIterator(), body.end()))
      PARPLAN_CHECK(
          (isa<exec::SendOp, exec::WaitOp, exec::RecordOp, exec::ViewOp>(op)),
          "a server works behind its first reply");
  emit("step", body.begin(), reply ? reply->getIterator() : body.end());
  current->hasReply = reply != nullptr;
  if (!reply)
    return;
  stream << "\n";
  emit("reply", reply->getIterator(), body.end());
}

} // namespace parplan
