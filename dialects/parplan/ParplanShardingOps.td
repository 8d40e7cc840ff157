//===- ParplanShardingOps.td - Reshards and collectives -*- tablegen -*-===//
//
// From plan to local programs: `reshard` states the wish, local moves and
// collectives carry it out. Before localisation operand and result have the
// same global type; afterwards they have local types.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SHARDING_OPS_TD
#define PARPLAN_SHARDING_OPS_TD

include "dialects/parplan/ParplanBase.td"
include "dialects/parplan/ParplanInterfaces.td"

def Parplan_ReshardOp : Parplan_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "The same value in another sharding";
  let arguments = (ins Parplan_Tensor:$input, Parplan_ShardingAttr:$target);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = "$input `to` $target attr-dict `:` type($input)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Local moves: no communication
//===----------------------------------------------------------------------===//

class Parplan_MoveOp<string mnemonic, list<Trait> traits = []>
    : Parplan_Op<mnemonic, [Pure, SameOperandsAndResultElementType] # traits> {
  let results = (outs Parplan_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::parplan::verifyMove(getOperation());
    }
  }];
}

def Parplan_ShardSliceOp : Parplan_MoveOp<"shard_slice"> {
  let summary = "Keeps this rank's block along replicated axes";
  let description = [{
    `dim` gains `axes` at its minor end; -1 means the flattened block (storage).
    A dimension that the axes do not divide is padded with zeros (S3, S4).
  }];
  let arguments = (ins Parplan_Tensor:$input, Parplan_AxisListAttr:$axes,
      I64Attr:$dim, Parplan_ShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $input `axes` $axes `dim` $dim `to` $out_sharding attr-dict
    `:` type($input) `->` type($result)
  }];
}
def Parplan_PendOp : Parplan_MoveOp<"pend"> {
  let summary = "Keeps the value where the coordinates on `axes` are 0, zero elsewhere (S9)";
  let arguments = (ins Parplan_Tensor:$input, Parplan_AxisListAttr:$axes,
      Parplan_ShardingAttr:$out_sharding);
  let assemblyFormat =
      "$input `axes` $axes `to` $out_sharding attr-dict `:` type($input) `->` type($result)";
}
def Parplan_StorageViewOp : Parplan_MoveOp<"storage_view"> {
  let summary = "The same bytes as pieces of dimension 0 or of the flattened block (S6)";
  let arguments = (ins Parplan_Tensor:$input, Parplan_AxisListAttr:$axes,
      Parplan_ShardingAttr:$out_sharding);
  let assemblyFormat =
      "$input `axes` $axes `to` $out_sharding attr-dict `:` type($input) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// Collectives. `axes` is the communicator; `out_sharding` is redundant on
// purpose: the verifier recomputes it from the operand's sharding.
//===----------------------------------------------------------------------===//

class Parplan_CollectiveOp<string mnemonic, string kind>
    : Parplan_MoveOp<mnemonic, [DeclareOpInterfaceMethods<CollectiveOpInterface>]> {
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::parplan::verifyMove(getOperation());
    }
    ::parplan::AxisListAttr $cppClass::getCollectiveAxes() { return getAxes(); }
    ::parplan::CollectiveKind $cppClass::getCollectiveKind() {
      return ::parplan::CollectiveKind::}] # kind # [{;
    }
  }];
}

def Parplan_AllReduceOp : Parplan_CollectiveOp<"all_reduce", "allReduce"> {
  let summary = "Completes a pending reduction over `axes` on all of them";
  let arguments = (ins Parplan_Tensor:$input, Parplan_AxisListAttr:$axes,
      Parplan_ReduceKindAttr:$kind, Parplan_ShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $kind $input `axes` $axes `to` $out_sharding attr-dict
    `:` type($input) `->` type($result)
  }];
}
def Parplan_AllGatherOp : Parplan_CollectiveOp<"all_gather", "allGather"> {
  let summary = "Joins the blocks of `dim` (-1: storage) along its minor axes";
  let arguments = (ins Parplan_Tensor:$input, Parplan_AxisListAttr:$axes,
      I64Attr:$dim, Parplan_ShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $input `axes` $axes `dim` $dim `to` $out_sharding attr-dict
    `:` type($input) `->` type($result)
  }];
}
def Parplan_ReduceScatterOp : Parplan_CollectiveOp<"reduce_scatter", "reduceScatter"> {
  let summary = "Completes a pending reduction; each rank keeps its block of `dim` (-1: storage)";
  let arguments = (ins Parplan_Tensor:$input, Parplan_AxisListAttr:$axes,
      Parplan_ReduceKindAttr:$kind, I64Attr:$dim,
      Parplan_ShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $kind $input `axes` $axes `dim` $dim `to` $out_sharding attr-dict
    `:` type($input) `->` type($result)
  }];
}
def Parplan_AllToAllOp : Parplan_CollectiveOp<"all_to_all", "allToAll"> {
  let summary = "Moves minor axes of dimension `from_dim` to the minor end of `to_dim`";
  let arguments = (ins Parplan_Tensor:$input, Parplan_AxisListAttr:$axes,
      I64Attr:$from_dim, I64Attr:$to_dim, Parplan_ShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $input `axes` $axes `from` $from_dim `to_dim` $to_dim `to` $out_sharding
    attr-dict `:` type($input) `->` type($result)
  }];
}
def Parplan_BroadcastFromOp : Parplan_CollectiveOp<"broadcast_from", "broadcast"> {
  let summary = "The value of the rank at position `root` along `axes`, on all of them";
  let arguments = (ins Parplan_Tensor:$input, Parplan_AxisListAttr:$axes,
      I64Attr:$root, Parplan_ShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $input `axes` $axes `root` $root `to` $out_sharding attr-dict
    `:` type($input) `->` type($result)
  }];
}
def Parplan_ReduceToOp : Parplan_CollectiveOp<"reduce_to", "reduce"> {
  let summary = "Reduction over `axes` on the rank at position `root`; zero elsewhere";
  let description = "The result is still pending: its sum over `axes` is what `root` holds.";
  let arguments = (ins Parplan_Tensor:$input, Parplan_AxisListAttr:$axes,
      Parplan_ReduceKindAttr:$kind, I64Attr:$root,
      Parplan_ShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $kind $input `axes` $axes `root` $root `to` $out_sharding attr-dict
    `:` type($input) `->` type($result)
  }];
}
def Parplan_SendReceiveOp : Parplan_CollectiveOp<"send_receive", "send"> {
  let summary = "The same blocks on other ranks: one message out and one in per rank (S12)";
  let description = [{
    Each rank sends its block to the rank that holds it in `out_sharding` and
    receives its own new block. A rank whose block stays sends nothing.
  }];
  let arguments = (ins Parplan_Tensor:$input, Parplan_AxisListAttr:$axes,
      Parplan_ShardingAttr:$in_sharding, Parplan_ShardingAttr:$out_sharding);
  let assemblyFormat = [{
    $input `axes` $axes `from` $in_sharding `to` $out_sharding attr-dict
    `:` type($input) `->` type($result)
  }];
}

//===----------------------------------------------------------------------===//
// Values that differ between ranks; only after localisation
//===----------------------------------------------------------------------===//

def Parplan_BlockStartOp : Parplan_Op<"block_start", [Pure]> {
  let summary = "First global index of this rank's block of a dimension";
  let description = [{
    Nested ceilings (S3): `size` elements split by `axes` of the module's only
    mesh, major to minor.
  }];
  let arguments = (ins I64Attr:$size, Parplan_AxisListAttr:$axes);
  let results = (outs Parplan_OffsetTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$size `axes` $axes attr-dict `:` type($result)";
}

def Parplan_ClearPaddingOp
    : Parplan_Op<"clear_padding", [Pure, SameOperandsAndResultType]> {
  let summary = "Overwrites elements past the global extent of the listed dimensions";
  let description = [{
    Dimension dims[i] of the local block belongs to a global dimension of
    `sizes[i]` elements split by `axes[i]`; elements of the block that lie past its
    end become `fill` (0, or -infinity before a maximum; the least value of an
    integer type).
  }];
  let arguments = (ins Parplan_Tensor:$input, DenseI64ArrayAttr:$dims,
      DenseI64ArrayAttr:$sizes, ArrayAttr:$axes, F64Attr:$fill);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = [{
    $input `dims` $dims `sizes` $sizes `axes` $axes `fill` $fill attr-dict
    `:` type($input)
  }];
  let hasVerifier = 1;
}

#endif // PARPLAN_SHARDING_OPS_TD
