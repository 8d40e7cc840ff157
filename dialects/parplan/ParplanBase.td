//===- ParplanBase.td - The parplan dialect and its attributes -*- tablegen -*-===//

#ifndef PARPLAN_BASE_TD
#define PARPLAN_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Parplan_Dialect : Dialect {
  let name = "parplan";
  let cppNamespace = "::parplan";
  let summary = "Tensors, mathematics and how they are spread over a mesh";
  let description = [{
    Operations on statically shaped tensors. Types are global until
    localisation, the one pass in which local shapes appear. What the planner
    decides is written as attributes: `parplan.factors` on an op (the axes of
    every factor of its rule), `parplan.shardings` on an op (the sharding of each
    result) and `parplan.sharding` on function arguments and results.

    No attribute of an op mentions the size of a dimension that may be split, so
    localisation changes types and nothing else.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasConstantMaterializer = 1;
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

class Parplan_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::parplan";
  let genSpecializedAttr = 0;
}
class Parplan_EnumAttr<Parplan_Enum enum, string mnemonic>
    : EnumAttr<Parplan_Dialect, enum, mnemonic> {
  let assemblyFormat = "$value";
}

def Parplan_ReduceKindEnum : Parplan_Enum<"ReduceKind", "kind of a reduction", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>,
    I32EnumAttrCase<"prod", 2>]>;
def Parplan_ReduceKindAttr
    : Parplan_EnumAttr<Parplan_ReduceKindEnum, "reduce_kind">;

def Parplan_PredicateEnum : Parplan_Enum<"ComparePredicate", "comparison", [
    I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>,
    I32EnumAttrCase<"lt", 2>, I32EnumAttrCase<"le", 3>,
    I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]>;
def Parplan_PredicateAttr
    : Parplan_EnumAttr<Parplan_PredicateEnum, "predicate">;

def Parplan_OptimizerKindEnum : Parplan_Enum<"OptimizerKind", "update rule", [
    I32EnumAttrCase<"sgd", 0>, I32EnumAttrCase<"momentum", 1>,
    I32EnumAttrCase<"adam", 2>, I32EnumAttrCase<"adamw", 3>]>;
def Parplan_OptimizerKindAttr
    : Parplan_EnumAttr<Parplan_OptimizerKindEnum, "optimizer">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class Parplan_Attr<string name, string attributeMnemonic>
    : AttrDef<Parplan_Dialect, name> {
  let mnemonic = attributeMnemonic;
}

def Parplan_MeshAxisAttr : Parplan_Attr<"MeshAxis", "axis"> {
  let summary = "One named axis of a mesh: `\"tp0\"=2 tensor`";
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size,
      StringRefParameter<"data, tensor, sequence, context, expert, pipeline or server">
          :$role);
  let hasCustomAssemblyFormat = 1;
}

def Parplan_MeshAttr : Parplan_Attr<"Mesh", "mesh"> {
  let summary = "Named axes with sizes; the last varies fastest over the ranks";
  let description = [{
    Example: `#parplan.mesh<["dp0"=2 data, "tp0"=2 tensor]>`.

    Constraints:
    * there are at most 32 axes;
    * axis names are unique and not empty;
    * sizes are positive; their product fits 32 bits;
    * the role is one of data, tensor, sequence, context, expert, pipeline,
      server; only the last axis is one of servers, whose ranks stand behind
      those of the other axes.
  }];
  let parameters = (ins ArrayRefParameter<"::parplan::MeshAxisAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  // MeshAttrStorage.h.
  let genStorageClass = 0;
  let extraClassDeclaration = [{
    /// The mesh as a value of the sharding library; stays with the context.
    const ::parplan::Mesh &getMesh() const;
    static MeshAttr get(::mlir::MLIRContext *context, const ::parplan::Mesh &mesh);
  }];
}

def Parplan_AxisListAttr : Parplan_Attr<"AxisList", "axes"> {
  let summary = "Axis names, major to minor: `<\"x\", \"z\">`";
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The axes as positions in `mesh`; fails on an unknown axis.
    ::mlir::FailureOr<::parplan::AxisList> resolve(const ::parplan::Mesh &mesh) const;
    static AxisListAttr get(::mlir::MLIRContext *context, const ::parplan::Mesh &mesh,
                            ::llvm::ArrayRef<int> axes);
  }];
}

def Parplan_ShardingAttr : Parplan_Attr<"Sharding", "sharding"> {
  let summary = "How one value is spread over a mesh";
  let description = [{
    Example: `#parplan.sharding<@mesh, [{"x","z"}, {} ], partial = sum{"p"},
    stored = {"q"}>`. Empty fields are omitted. Checked against the mesh and the
    type by S1 and S2.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh,
      ArrayRefParameter<"::parplan::AxisListAttr">:$dims,
      "::parplan::AxisListAttr":$partial, "::parplan::ReductionKind":$reduction,
      "::parplan::AxisListAttr":$storage);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool isPartial() const { return !getPartial().getNames().empty(); }
    bool isStored() const { return !getStorage().getNames().empty(); }
    /// The sharding with axes as positions in `mesh`; fails on an unknown axis.
    ::mlir::FailureOr<::parplan::Sharding> resolve(const ::parplan::Mesh &mesh) const;
    static ShardingAttr get(::mlir::FlatSymbolRefAttr symbol, const ::parplan::Mesh &mesh,
                            const ::parplan::Sharding &sharding);
  }];
}

def Parplan_FactorsAttr : Parplan_Attr<"Factors", "factors"> {
  let summary = "The decision for one op: the axes of every factor of its rule";
  let description = [{
    Example: `#parplan.factors<@mesh, {m = ["x"], k = ["y"]}>`; factors without
    axes are omitted. `pending = {"p"}` names axes over which linear operands are
    read pending; `operand = 1` says which operand, where the op is linear in each
    separately. `stored = {"q"}` names axes over which a flat op runs on pieces.
    `panels = {k = ["x", "y"]}` is a loop over panels of k that move over x and y
    (S21); the name of the factor is null where there is none.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh,
      ArrayRefParameter<"::mlir::StringAttr">:$names,
      ArrayRefParameter<"::parplan::AxisListAttr">:$axes,
      "::parplan::AxisListAttr":$pending, "int64_t":$pendingOperand,
      "::parplan::AxisListAttr":$storage, "::mlir::StringAttr":$panelFactor,
      "::parplan::AxisListAttr":$panelAxes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The assignment for `rule`; fails on an unknown factor or axis.
    ::mlir::FailureOr<::parplan::FactorAssignment> resolve(
        const ::parplan::ShardingRule &rule, const ::parplan::Mesh &mesh) const;
    static FactorsAttr get(::mlir::FlatSymbolRefAttr symbol, const ::parplan::Mesh &mesh,
                           const ::parplan::ShardingRule &rule,
                           const ::parplan::FactorAssignment &assignment);
  }];
}

def Parplan_ViewAttr : Parplan_Attr<"View", "view"> {
  let summary = "Affine view of an initializer: element offset and strides";
  let description = [{
    Element (i0, i1, ..) of the view lies at `offset + sum strides[d] * i_d` of the
    row-major initializer. Example: `#parplan.view<offset = 768, strides = [2304, 1]>`.
  }];
  let parameters = (ins "int64_t":$offset, ArrayRefParameter<"int64_t">:$strides);
  let hasCustomAssemblyFormat = 1;
}

def Parplan_VariableAttr : Parplan_Attr<"Variable", "variable"> {
  let summary = "What a result of a training step replaces";
  let description = [{
    The parameter or optimizer state that the `parplan.parameter` of the same
    initializer, slot and view reads. Examples: `#parplan.variable<@w0>`,
    `#parplan.variable<@w0, slot = "exp_avg", view = <offset = 0, strides = [1]>>`.
    `slot` and `view` are null where they are absent.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$initializer,
      "::mlir::StringAttr":$slot, "::parplan::ViewAttr":$view);
  let hasCustomAssemblyFormat = 1;
}

#endif // PARPLAN_BASE_TD
