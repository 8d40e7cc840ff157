//===- ParplanBucketOps.td - Many tensors in one flat buffer -*- tablegen -*-===//
//
// After localisation: gradients that are reduced, and variables that are
// updated and gathered, in one call each. A bucket of a rank is a flat array of
// its members' blocks at offsets, zero between them. It is `replicated`, pending
// or stored as a whole: storage cuts the bucket, not its members.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_BUCKET_OPS_TD
#define PARPLAN_BUCKET_OPS_TD

include "dialects/parplan/ParplanBase.td"
include "dialects/parplan/ParplanInterfaces.td"

def Parplan_MemberAttr : Parplan_Attr<"Member", "member"> {
  let summary = "A variable in a bucket";
  let description = [{
    The rank's block of `variable`, a value of the global `type` that lies in
    `sharding` (complete, not stored), flattened row-major, starts at element
    `offset` of the whole bucket. Example: `#parplan.member<variable = <@w>, type =
    tensor<8xf32>, sharding = <@mesh, [{"tp0"} ]>, offset = 64>`.
  }];
  let parameters = (ins "::parplan::VariableAttr":$variable,
      "::mlir::RankedTensorType":$type, "::parplan::ShardingAttr":$sharding,
      "int64_t":$offset);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Parplan_PackOp : Parplan_Op<"pack", [Pure]> {
  let summary = "Tensors in one flat array";
  let description = [{
    Element `offsets[i] + j` of the result is element j of input i, flattened
    row-major; what no input covers is zero.

    Constraints:
    * one element type; one offset per input;
    * inputs lie inside the result, in ascending order, without overlap.
  }];
  let arguments = (ins Variadic<Parplan_Tensor>:$inputs,
      DenseI64ArrayAttr:$offsets);
  let results = (outs 1DTensorOf<[AnyFloat, AnySignlessInteger]>:$result);
  let assemblyFormat =
      "$inputs `at` $offsets attr-dict `:` type($inputs) `to` type($result)";
  let hasVerifier = 1;
}

def Parplan_UnpackOp : Parplan_Op<"unpack", [Pure]> {
  let summary = "Tensors of one flat array: the inverse of `pack`";
  let description = "Constraints: as `pack`, with results in place of inputs.";
  let arguments = (ins 1DTensorOf<[AnyFloat]>:$bucket,
      DenseI64ArrayAttr:$offsets);
  let results = (outs Variadic<Parplan_Tensor>:$outputs);
  let assemblyFormat =
      "$bucket `at` $offsets attr-dict `:` type($bucket) `to` type($outputs)";
  let hasVerifier = 1;
}

def Parplan_BucketParameterOp : Parplan_Op<"bucket_parameter", [Pure]> {
  let summary = "The variables of a bucket, before the step";
  let description = [{
    Its sharding has no dimension but the flat one, with the axes that split
    members, and is stored where the bucket is kept in pieces. A result of the
    function with the same members as `parplan.bucket` replaces them.

    Constraints:
    * members have the element type of the result;
    * blocks of members lie inside the whole bucket, in ascending order, without
      overlap.
  }];
  let arguments = (ins TypedArrayAttrBase<Parplan_MemberAttr, "members of a bucket">:$members);
  let results = (outs 1DTensorOf<[AnyFloat]>:$result);
  let assemblyFormat = "$members attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // PARPLAN_BUCKET_OPS_TD
