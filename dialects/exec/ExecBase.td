//===- ExecBase.td - The exec dialect, its types and attributes -*- tablegen -*-===//

#ifndef EXEC_BASE_TD
#define EXEC_BASE_TD

include "dialects/exec/ExecEnums.td"
include "dialects/parplan/ParplanBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::parplan::exec";
  let summary = "What one rank does: one op per emitted statement";
  let description = [{
    A program is a mesh, an arena per tier of memory, buffers at offsets in them,
    kernels, and a list of statements: launches on the compute stream, or on that
    of the host where their buffers are, collectives on the communication stream,
    sends and receives on that of point-to-point, transfers between tiers on
    theirs, events between all of them. Every decision is taken; the emitter
    prints one statement per op. A module has one program, or one for every
    position of a pipeline.

    Constraints of the dialect are numbered E1 to E24 (docs/spec.md).
  }];
  let dependentDialects = ["::parplan::ParplanDialect"];
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
  private:
    void registerAttributesAndTypes();
  }];
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

def Exec_BufferType : TypeDef<Exec_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "A dense row-major array in the arena: `!exec.buffer<6x8xf32>`";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getElementCount() const;
    int64_t getByteSize() const;
  }];
}

class Exec_Attr<string name, string attributeMnemonic>
    : AttrDef<Exec_Dialect, name> {
  let mnemonic = attributeMnemonic;
}

def Exec_RankValueAttr : Exec_Attr<"RankValue", "rank_value"> {
  let summary = "A number that each rank computes from its coordinates";
  let description = [{
    `start` is the first index, `extent` the number of existing elements, of the
    block of a dimension of `size` elements that `axes` split by nested ceilings
    (S3). With `back` it is that of the rank so many positions before this one in
    the ring of `axes`: whose block has come so many hops. The start of a size
    that the ranks divide is also that of a piece of a flat block (S6). Examples:
    `#exec.rank_value<extent of 15 over <"tp0">>`, `<start of 15 over <"tp0"> back 1>`.
  }];
  let parameters = (ins "::parplan::exec::RankValueKind":$kind, "int64_t":$size,
      "::parplan::AxisListAttr":$axes, "int64_t":$back);
  let hasCustomAssemblyFormat = 1;
}

def Exec_MemberAttr : Exec_Attr<"Member", "member"> {
  let summary = "The rank at a position of a communicator: `#exec.member<1 of @c0>`";
  let parameters = (ins "int64_t":$position,
      "::mlir::FlatSymbolRefAttr":$communicator);
  let assemblyFormat = "`<` $position `of` $communicator `>`";
}

def Exec_DimensionAttr : Exec_Attr<"Dimension", "dimension"> {
  let summary = "A dimension of a global tensor: `15 over <\"tp0\"> stride 1`";
  let description = [{
    With `zigzag n` the program has the dimension in zig-zag order over n ranks,
    and not in the model's: `16 over <"cp0"> stride 1 zigzag 4`.
  }];
  let parameters = (ins "int64_t":$size, "::parplan::AxisListAttr":$axes,
      "int64_t":$stride, "int64_t":$zigzag);
  let hasCustomAssemblyFormat = 1;
}

def Exec_BlockAttr : Exec_Attr<"Block", "block"> {
  let summary = "Which block of which global tensor a buffer holds";
  let description = [{
    Inputs and outputs name the tensor of the model; parameters name the
    `parplan.initializer` or `exec.data` that they read, and the element
    (i0, i1, ..) of the global view is element `offset + sum stride_d * i_d` of it.
    States name the initializer of their parameter, whose shape they have, and
    their `slot`. Example:
    `#exec.block<"fc1.weight" slot "exp_avg" from @w0 at 0 dims [8 over <> stride
    15, 15 over <"tp0"> stride 1] storage <>>`.
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
      "::mlir::StringAttr":$slot, "::mlir::FlatSymbolRefAttr":$source, "int64_t":$offset,
      ArrayRefParameter<"::parplan::exec::DimensionAttr">:$dims,
      "::parplan::AxisListAttr":$storage);
  let hasCustomAssemblyFormat = 1;
}

def Exec_BucketAttr : Exec_Attr<"Bucket", "bucket"> {
  let summary = "Blocks of variables in one flat buffer";
  let description = [{
    Member i lies, flattened, at element `offsets[i]` of `elements`, of which
    `storage` keeps pieces (S6). Between members are zeros. Example:
    `#exec.bucket<1024 storage <"dp0"> [0 : <"w" from @w0 at 0 dims [8 over <>
    stride 1]>, 64 : ..]>`.
  }];
  let parameters = (ins "int64_t":$elements, "::parplan::AxisListAttr":$storage,
      ArrayRefParameter<"int64_t">:$offsets,
      ArrayRefParameter<"::parplan::exec::BlockAttr">:$members);
  let hasCustomAssemblyFormat = 1;
}

def Exec_CostAttr : Exec_Attr<"Cost", "cost"> {
  let summary = "The work of a launch on one rank (OpCost)";
  let description = [{
    `shape` is [rows, columns, contracted, batch] of a matrix product, else empty.
  }];
  let parameters = (ins "::parplan::WorkKind":$kind, "int64_t":$flops,
      "int64_t":$transcendentals, "int64_t":$bytesRead, "int64_t":$bytesWritten,
      ArrayRefParameter<"int64_t">:$shape);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static CostAttr get(::mlir::MLIRContext *context, const ::parplan::OpCost &cost);
    ::parplan::OpCost getCost() const;
  }];
}

#endif // EXEC_BASE_TD
