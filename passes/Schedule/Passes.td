//===- Passes.td - From local programs to statements -*- tablegen -*-===//

#ifndef PARPLAN_PASSES_SCHEDULE_PASSES_TD
#define PARPLAN_PASSES_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def LegalizeLayouts : Pass<"parplan-legalize-layouts", "::mlir::ModuleOp"> {
  let summary = "Gives every op a form that a kernel of the runtime takes";
  let description = [{
    In: a local program, as parplan-verify-local accepts it.

    * Products, in panels too, absorb transposes of operands and results; those
      that no strided, batched product covers get transposes of their own, of as
      little as they can.
    * Reductions over several groups of neighbouring dimensions become one
      reduction per group.
    * Sums of many tensors become sums of a few.
    * Softmax, norms, running sums and topk of 16-bit floats become those of f32
      between casts.
    * Batch norms are decomposed: they are elementwise.

    Out: every product has a matmul form, every reduction is one of
    [outer][length][inner].
  }];
  let dependentDialects = ["::parplan::ParplanDialect"];
}

def FuseElementwise : Pass<"parplan-fuse-elementwise", "::mlir::ModuleOp"> {
  let summary = "Turns chains of elementwise ops into kernels";
  let description = [{
    In: as parplan-legalize-layouts leaves it.

    Elementwise ops, casts, selects, masks, cleared padding and blocks cut from a
    tensor become `exec.map` of `exec.kernel`. Broadcasts, transposes, slices and
    pads inside a chain are index maps on loads; the parts of a concatenation
    write into regions of one tensor. A producer joins its consumer when that is
    its only use and nothing costly is computed again; what reads no tensor joins
    every consumer. Equal kernels exist once. Slices of arguments and parameters
    whose elements lie side by side stay, as views.

    Out: no elementwise op is left but such views and transposes that only
    attention reads.
  }];
  let dependentDialects = ["::parplan::exec::ExecDialect"];
}

def DelayKernels : Pass<"parplan-delay-kernels", "::mlir::ModuleOp"> {
  let summary = "Moves kernels to their first reader where that keeps fewer bytes";
  let description = [{
    In: as parplan-fuse-elementwise leaves it.

    A kernel that only later ops read runs right before the first of them if what
    it reads takes no more bytes on the way than what it makes, and fewer at
    first: others read that too, in whose place it can write as the last one.
    Nothing moves over what communicates or goes to another tier.

    Out: the same ops in another order.
  }];
}

def HoistLastReaders : Pass<"parplan-hoist-last-readers", "::mlir::ModuleOp"> {
  let summary = "Moves products that free bytes before others that take them";
  let description = [{
    In: as parplan-delay-kernels leaves it.

    A product that is the last to read an activation (a weight's gradient mostly)
    runs before the products in front of it that it does not need, if at no
    moment more is alive, and less at some, or if the most that is alive while
    they run becomes less; with convolutions, whose workspaces are not known
    yet, only the former. Nothing moves before what is communicated, which would
    start later.

    Out: the same ops in another order.
  }];
}

def ToExec : Pass<"parplan-to-exec", "::mlir::ModuleOp"> {
  let summary = "Places buffers and orders launches, communication and events";
  let description = [{
    In: as parplan-hoist-last-readers leaves it.

    @main, or the function of every pipeline position, becomes an `exec.program`:
    statements in program order, collectives on the communication stream, sends and
    receives on that of point-to-point with communicators of their own, copies
    between tiers on theirs, loops over panels unrolled so that a panel travels
    while the one before it is multiplied, buffers packed into one arena per tier by
    the best of several orders, and a record and a wait exactly where one stream
    touches what the other has written or still reads. The bytes of a collective are
    used again when twice the time has passed that it takes by the cost model.
    Results with `parplan.variable` or `parplan.bucket` are written where the old
    values lie, and what is packed is made inside of its bucket, where nothing else
    reads the bytes by then.

    What is computed from values in host memory is computed there and stays
    there; the numbers of the schedule that it reads come to the host themselves.

    Out: a module of initializers, data and verified programs. Prints, as a
    remark on the program, the arena's size and its distance to the lower bound
    when `report` is set.
  }];
  let dependentDialects = ["::parplan::exec::ExecDialect"];
  let options = [
    Option<"report", "report", "bool", "false",
           "Remark on the size of the arena and the most bytes alive at once">,
    Option<"cluster", "cluster", "std::string", "\"host\"",
           "Preset of the cluster, where no costs are handed down">
  ];
}

def VerifyPrograms : Pass<"parplan-verify-programs", "::mlir::ModuleOp"> {
  let summary = "Checks that the programs of pipeline positions fit together";
  let description = [{
    In: as parplan-to-exec leaves it. Checks what no program can check alone: E21
    (positions), E22 (messages meet their receives, and calls that join positions
    each other) and E23 (nothing waits in a circle). Closes the phase.
  }];
}

#endif // PARPLAN_PASSES_SCHEDULE_PASSES_TD
