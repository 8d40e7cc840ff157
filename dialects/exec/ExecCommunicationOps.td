//===- ExecCommunicationOps.td - Calls, transfers and events -*- tablegen -*-===//
//
// What ranks, tiers and streams say to each other. Included by ExecOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_COMMUNICATION_OPS_TD
#define EXEC_COMMUNICATION_OPS_TD

def Exec_CollectiveOp : Exec_Statement<"collective",
    ["verifyGeometry", "getStreamKind", "getReaders", "getWriters"]> {
  let summary = "One call of a communicator";
  let description = [{
    `count` is what the call of the communicator takes, in elements: the buffer of
    all_reduce, broadcast and reduce; one block of the others. `bytes` is what the
    call counts: the buffer; the gathered output; the input of reduce_scatter.
    A broadcast reads its input, and a reduce writes its output, on the root only.
    Where its input and output are one array on the root, a broadcast writes
    nothing there.

    Constraints:
    * E13: the communicator exists; `count` and `bytes` agree with each other and
      with the buffers; reductions, and only they, have a kind; broadcast and
      reduce, and only they, have a root in the group.
  }];
  let arguments = (ins Exec_CollectiveEnum:$form, FlatSymbolRefAttr:$communicator,
      Exec_BufferType:$input, Exec_BufferType:$output, I64Attr:$count, I64Attr:$bytes,
      OptionalAttr<Parplan_ReduceKindAttr>:$kind, OptionalAttr<I64Attr>:$root);
  let assemblyFormat = [{
    $form $communicator (`kind` $kind^)? (`root` $root^)? $input `into` $output
    `count` $count `bytes` $bytes attr-dict `:` type($input) `,` type($output)
  }];
  let extraClassDeclaration = [{
    /// The root of a broadcast or reduce; null for others.
    MemberAttr getRootMember();
  }];
}
def Exec_ExchangeOp : Exec_Statement<"exchange",
    ["verifyGeometry", "getStreamKind"]> {
  let summary = "Each rank sends its buffer to one rank and receives from one";
  let description = [{
    `send_to[p]` and `receive_from[p]` are positions in the communicator for the
    rank at position p; p itself means that the block stays (a local copy).

    Constraints:
    * E14: both lists have one entry per position and are inverse permutations
      of each other.
  }];
  let arguments = (ins FlatSymbolRefAttr:$communicator, Exec_BufferType:$input,
      Exec_BufferType:$output, DenseI64ArrayAttr:$send_to,
      DenseI64ArrayAttr:$receive_from, I64Attr:$count, I64Attr:$bytes);
  let assemblyFormat = [{
    $communicator $input `into` $output `send` $send_to `receive` $receive_from
    `count` $count `bytes` $bytes attr-dict `:` type($input) `,` type($output)
  }];
}

class Exec_MessageOp<string mnemonic, string argument>
    : Exec_Statement<mnemonic, ["verifyGeometry", "getStreamKind",
                                "getWrittenCount"]> {
  let arguments = (ins FlatSymbolRefAttr:$communicator, I64Attr:$peer,
      Exec_BufferType:$buffer, I64Attr:$count, I64Attr:$bytes,
      UnitAttr:$with_next);
  let assemblyFormat = "$communicator " # argument #
      " $buffer `count` $count `bytes` $bytes (`with_next` $with_next^)?" #
      " attr-dict `:` type($buffer)";
}
def Exec_SendOp : Exec_MessageOp<"send", "`to` $peer"> {
  let summary = "Sends the buffer to the rank at a position of a communicator";
  let description = [{
    Messages from one rank to another are matched in the order of issue. One
    `with_next` and the next statement are one group of calls: each goes on
    while the other one waits, and both are done when both are.

    Constraints:
    * E18: the communicator exists; `peer` is a position in it, and not that of
      the program; count, bytes and buffer agree; behind one `with_next` stands
      a message of the same communicator and peer, the other way.
  }];
}
def Exec_ReceiveOp : Exec_MessageOp<"receive", "`from` $peer `into`"> {
  let summary = "Receives the buffer from the rank at a position of a communicator";
  let description = [{
    Constraints:
    * E18: as for `exec.send`.
  }];
}

def Exec_TransferOp : Exec_Statement<"transfer",
    ["verifyGeometry", "getStreamKind"]> {
  let summary = "Copies between two tiers of memory";
  let description = [{
    From the device on the stream `download`, to it on `upload`, from and to nvme on
    `storage`.

    Constraints:
    * E19: one of the two is on the host and the other is not; both have as many
      elements of one type.
  }];
  let arguments = (ins Exec_BufferType:$input, Exec_BufferType:$output);
  let assemblyFormat =
      "$input `into` $output attr-dict `:` type($input) `,` type($output)";
}

class Exec_EventOp<string mnemonic> : Exec_Op<mnemonic, [HasParent<"ProgramOp">]> {
  let arguments = (ins I64Attr:$event, Exec_StreamEnum:$stream);
  let assemblyFormat = "$event `on` $stream attr-dict";
}
def Exec_RecordOp : Exec_EventOp<"record"> {
  let summary = "The event completes when everything before it on the stream has";
}
def Exec_WaitOp : Exec_EventOp<"wait"> {
  let summary = "What follows on the stream starts after the last record of the event";
}

#endif // EXEC_COMMUNICATION_OPS_TD
