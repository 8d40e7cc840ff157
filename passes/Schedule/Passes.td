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

def ToExec : Pass<"parplan-to-exec", "::mlir::ModuleOp"> {
  let summary = "Places buffers and orders launches, communication and events";
  let description = [{
    In: as parplan-fuse-elementwise leaves it.

    @main becomes an `exec.program`: statements in program order, collectives on
    the communication stream, loops over panels unrolled so that a panel travels
    while the one before it is multiplied, buffers packed into one arena by the best of several
    orders, and a record and a wait exactly where one stream touches what the
    other has written or still reads. Results with `parplan.variable` or
    `parplan.bucket` are written where the old values lie, and what is packed is
    made inside of its bucket, where nothing else reads the bytes by then.

    Out: a module of initializers, data and one verified program. Prints, as a
    remark on the program, the arena's size and its distance to the lower bound
    when `report` is set.
  }];
  let dependentDialects = ["::parplan::exec::ExecDialect"];
  let options = [
    Option<"report", "report", "bool", "false",
           "Remark on the size of the arena and the most bytes alive at once">
  ];
}

#endif // PARPLAN_PASSES_SCHEDULE_PASSES_TD
