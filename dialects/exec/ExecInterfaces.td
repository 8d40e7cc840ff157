//===- ExecInterfaces.td - What a statement answers -*- tablegen -*-===//

#ifndef EXEC_INTERFACES_TD
#define EXEC_INTERFACES_TD

include "mlir/IR/OpBase.td"

def StatementOpInterface : OpInterface<"StatementOpInterface"> {
  let cppNamespace = "::parplan::exec";
  let description = [{
    A launch or a communication: reads its leading operands, writes its trailing
    ones. Statements are numbered from 0 in the order of the program; live ranges
    count in these numbers.
  }];
  let methods = [
    InterfaceMethod<"Returns how many trailing operands are written.",
      "unsigned", "getWrittenCount", (ins), "", "return 1;">,
    InterfaceMethod<[{
      Returns the stream on which the statement runs: that of the host where its
      buffers are there.
    }], "::parplan::exec::StreamKind", "getStreamKind", (ins), "",
      "return ::parplan::exec::getLaunchStream($_op);">,
    InterfaceMethod<[{
      Returns whether the rank may issue what follows, on all streams, only when
      the statement has ended: the processor needs its data to launch the rest.
    }], "bool", "holdsIssue", (ins), "", "return false;">,
    InterfaceMethod<"Returns whether it also reads what it writes.",
      "bool", "readsWritten", (ins), "", "return false;">,
    InterfaceMethod<"Returns which ranks read the leading operands.",
      "::parplan::exec::Ranks", "getReaders", (ins), "", "return {};">,
    InterfaceMethod<"Returns which ranks write the trailing operands.",
      "::parplan::exec::Ranks", "getWriters", (ins), "", "return {};">,
    InterfaceMethod<[{
      Checks that the geometry stays inside the operands (E9). Called by the
      verifier of every statement.
    }], "::llvm::LogicalResult", "verifyGeometry", (ins), "",
      "return ::mlir::success();">
  ];
  let extraSharedClassDeclaration = [{
    ::mlir::OperandRange getReadBuffers() {
      return $_op->getOperands().drop_back($_op.getWrittenCount());
    }
    ::mlir::OperandRange getWrittenBuffers() {
      return $_op->getOperands().take_back($_op.getWrittenCount());
    }
  }];
  let verify = [{
    if (::llvm::failed(::parplan::exec::verifyTiers($_op)) ||
        ::llvm::failed(::llvm::cast<ConcreteOp>($_op).verifyGeometry()))
      return ::mlir::failure();
    return ::parplan::exec::verifyChoices($_op);
  }];
}

#endif // EXEC_INTERFACES_TD
