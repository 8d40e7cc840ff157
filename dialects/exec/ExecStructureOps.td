//===- ExecStructureOps.td - Programs and their memory -*- tablegen -*-===//
//
// Programs, communicators, and the arrays that statements take. Included by
// ExecOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_STRUCTURE_OPS_TD
#define EXEC_STRUCTURE_OPS_TD

def Exec_ProgramOp : Exec_Op<"program", [Symbol, SymbolTable, NoTerminator,
    SingleBlock, IsolatedFromAbove, RegionKindInterface,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "The program of every rank, or of those at one position";
  let description = [{
    Holds `exec.communicator` and `exec.kernel` symbols, buffers, then statements
    and events in the order of issue. A training step has `micro_batches`. Batched
    inputs have the dimensions [micro-batches, samples of one, ..]; a batched
    output has the micro-batches in front, and its samples in dimension
    `batch_dim` of what follows.
    `position` is the coordinate on the pipeline axis of the mesh of the ranks
    that run it, or, where the mesh has an axis of servers, 0 for the workers and
    1 for the servers. With `staleness` K servers have no common step with the
    workers: their program applies what one of them has pushed, the peer -1, and
    then replies to it; a worker begins a step when none is more than K steps
    behind it.

    Constraints:
    * E1: `arena`, `host_arena` and `nvme_arena` are the highest end of a buffer
      of their tier; the last two exist where a buffer does;
    * E2: buffers of one tier whose live ranges meet do not share bytes;
    * E3: every statement lies in the live ranges of its buffers, and the range
      is exactly from the first to the last; parameters, states, inputs and
      outputs live to the end, all but outputs of these from the start;
    * E4: on every rank a buffer is written before it is read, unless it is a
      parameter, a state or an input. Of these, the trained ones and no others
      are written; no later statement reads, or writes but by `copy`, bytes that
      were written: until then readers find the values of before the step;
    * E5: of two statements on different streams that touch the same bytes, one
      of them writing, the second waits for an event recorded after the first;
    * E6: a wait has an earlier record of its event on another stream; events
      are below `events`;
    * E17: all calls of a communicator are on one stream.

    Constraints of the programs of a module:
    * E21: there is one program without position, or one for every position of
      the only pipeline axis of a mesh that they share, or one for workers and
      one for servers;
    * E22: of two positions of a communicator, the sends from the first to the
      second and the receives that the second has from the first are equally many,
      and one by one of one element type and count; positions call what joins
      them with equal forms, kinds, roots, types and counts in one order;
    * E23: no statements wait for each other in a circle, even if every send
      waits for its receive.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<I64Attr>:$position,
      Parplan_MeshAttr:$mesh, I64Attr:$arena, OptionalAttr<I64Attr>:$host_arena,
      OptionalAttr<I64Attr>:$nvme_arena, I64Attr:$events,
      OptionalAttr<I64Attr>:$micro_batches, OptionalAttr<I64Attr>:$staleness);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`position` $position^)? `mesh` $mesh `arena` $arena
    (`host_arena` $host_arena^)? (`nvme_arena` $nvme_arena^)? `events` $events
    (`micro_batches` $micro_batches^)? (`staleness` $staleness^)?
    attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    static ::mlir::RegionKind getRegionKind(unsigned) {
      return ::mlir::RegionKind::SSACFG;
    }
    /// The only axis of the mesh with the role of a pipeline.
    std::optional<int> getPipelineAxis();
    /// How many programs the mesh needs: one per position of a pipeline, two
    /// with servers.
    int64_t getPositionCount();
    /// The position of the program that `rank` runs.
    int64_t getPositionOf(int64_t rank);
    /// The bytes of the arena of `tier`.
    int64_t getArenaBytes(Tier tier);
    void setArenaBytes(Tier tier, int64_t bytes);
  }];
}

def Exec_CommunicatorOp : Exec_Op<"communicator", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "A group of ranks that differ only on `axes`";
  let description = [{
    Inside the group ranks are numbered row-major over `axes`. The order of
    communication prints the axes joined by commas.

    Constraints:
    * E7: `axes` are axes of the mesh, each once, and their sizes multiply to
      more than one.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Parplan_AxisListAttr:$axes);
  let assemblyFormat = "$sym_name $axes attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The name in the order of communication.
    std::string getLabel();
    /// The number of ranks in the group.
    int64_t getSize();
  }];
}

def Exec_DataOp : Exec_Op<"data", [Symbol]> {
  let summary = "Bytes of a constant that the program reads like a parameter";
  let arguments = (ins SymbolNameAttr:$sym_name, ElementsAttr:$value);
  let assemblyFormat = "$sym_name $value attr-dict";
}

def Exec_BufferOp : Exec_Op<"buffer", [HasParent<"ProgramOp">]> {
  let summary = "A dense array at an offset of the arena of its tier";
  let description = [{
    Example: `exec.buffer state on host at 0 live -1 to 7 trained ..`.

    `live` is the range of statements between which the buffer holds a value, both
    included; -1 is the start of the step, the number of statements its end. A
    state is zero at the start of a run. A `trained` parameter or state has a new
    value after the step.

    Constraints:
    * E8: `offset` is a multiple of 64, on nvme of 4096; parameters, states, inputs and outputs
      have a block whose local shape under the mesh has as many elements as the
      buffer; activations and workspaces have none. Parameters and states, and
      no others, name a source; states, and no others, a slot. Only these two
      are trained; inputs and outputs have roles of their own; only these two are
      batched, and only batched outputs have a `batch_dim` other than 0. In place
      of its block a parameter or state may have a bucket: the buffer is a piece
      of it, and its members lie inside, in ascending order, without overlap.
  }];
  let arguments = (ins Exec_BufferKindEnum:$kind,
      DefaultValuedAttr<Exec_TierEnum, "::parplan::exec::Tier::device">:$tier,
      I64Attr:$offset, I64Attr:$first,
      I64Attr:$last, UnitAttr:$trained, OptionalAttr<Exec_RoleEnum>:$role,
      UnitAttr:$batched, DefaultValuedAttr<I64Attr, "0">:$batch_dim,
      OptionalAttr<Exec_BlockAttr>:$block,
      OptionalAttr<Exec_BucketAttr>:$bucket);
  let results = (outs Exec_BufferType:$result);
  let assemblyFormat = [{
    $kind (`on` $tier^)? `at` $offset `live` $first `to` $last
    (`trained` $trained^)?
    (`role` $role^)? (`batched` $batched^)? (`along` $batch_dim^)?
    (`block` $block^)? (`bucket` $bucket^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Holds a value before the step: a parameter, a state or an input.
    bool isPermanent();
    /// The blocks of its bucket, or its one block, or none.
    ::llvm::SmallVector<BlockAttr> getBlocks();
    /// The first byte and the one after the last.
    int64_t getEnd() { return getOffset() + getType().getByteSize(); }
  }];
}

def Exec_ViewOp : Exec_Op<"view", [HasParent<"ProgramOp">]> {
  let summary = "An array inside of a buffer, `offset` bytes from its start";
  let description = [{
    Statements take views as they take buffers. It needs no memory and is no
    statement.

    Constraints:
    * E15: a view is of a buffer, lies inside of it, and `offset` is a multiple of
      the bytes of its elements.
  }];
  let arguments = (ins Exec_BufferType:$buffer, I64Attr:$offset);
  let results = (outs Exec_BufferType:$result);
  let assemblyFormat =
      "$buffer `at` $offset attr-dict `:` type($buffer) `to` type($result)";
  let hasVerifier = 1;
}

def Exec_ChoiceOp : Exec_Op<"choice", [HasParent<"ProgramOp">,
    AllTypesMatch<["own", "other", "result"]>]> {
  let summary = "An array that is `own` on one member of each group, `other` on the rest";
  let description = [{
    Statements take choices as they take buffers; each rank touches its array
    alone. It needs no memory and is no statement. Example: a product reads a
    panel where its owner has it, and elsewhere where it was received:

        %panel = exec.choice <1 of @c0> %block else %slot : <8x4xf32>

    Constraints:
    * E24: both arrays are buffers or views, on one tier; the member is of a
      communicator of the program. Transfers take no choice; what some members of
      a communicator alone read or write is none for a member of another one.
  }];
  let arguments = (ins Exec_MemberAttr:$member, Exec_BufferType:$own,
      Exec_BufferType:$other);
  let results = (outs Exec_BufferType:$result);
  let assemblyFormat = "$member $own `else` $other attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // EXEC_STRUCTURE_OPS_TD
