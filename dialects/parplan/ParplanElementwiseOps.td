//===- ParplanElementwiseOps.td - Ops on one element each -*- tablegen -*-===//
//
// Operands broadcast like numpy: right-aligned, size 1 stretches.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_ELEMENTWISE_OPS_TD
#define PARPLAN_ELEMENTWISE_OPS_TD

include "dialects/parplan/ParplanBase.td"
include "dialects/parplan/ParplanInterfaces.td"

/// Rule, cost and padding come from the broadcast shapes.
class Parplan_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Parplan_TensorOp<mnemonic, [Parplan_Differentiable] # traits> {
  let extraClassDefinition = [{
    ::parplan::ShardingRule $cppClass::getShardingRule() {
      return ::parplan::getElementwiseRule(getOperation());
    }
    ::parplan::OpWork $cppClass::getWork() {
      return ::parplan::getElementwiseWork(getOperation());
    }
    bool $cppClass::keepsZeroPadding(int factor) {
      return ::parplan::elementwiseKeepsZeroPadding(getOperation(), factor);
    }
  }];
}

class Parplan_UnaryOp<string mnemonic, TypeConstraint type = Parplan_Tensor,
                      list<Trait> traits = []>
    : Parplan_ElementwiseOp<mnemonic, [SameOperandsAndResultType] # traits> {
  let arguments = (ins type:$input);
  let results = (outs type:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

/// f(0) = 0 for these; the others declare that padding must be cleared.
def Parplan_MapsZeroToZero : NativeOpTrait<"MapsZeroToZero"> {
  let cppNamespace = "::parplan";
}

def Parplan_AbsOp : Parplan_UnaryOp<"abs", Parplan_Tensor, [Parplan_MapsZeroToZero]>;
def Parplan_NegOp : Parplan_UnaryOp<"neg", Parplan_Tensor, [Parplan_MapsZeroToZero]>;
def Parplan_SignOp : Parplan_UnaryOp<"sign", Parplan_Tensor, [Parplan_MapsZeroToZero]>;
def Parplan_ExpOp : Parplan_UnaryOp<"exp", Parplan_FloatTensor>;
def Parplan_LogOp : Parplan_UnaryOp<"log", Parplan_FloatTensor>;
def Parplan_SqrtOp : Parplan_UnaryOp<"sqrt", Parplan_FloatTensor, [Parplan_MapsZeroToZero]>;
def Parplan_RsqrtOp : Parplan_UnaryOp<"rsqrt", Parplan_FloatTensor>;
def Parplan_ReciprocalOp : Parplan_UnaryOp<"reciprocal", Parplan_FloatTensor>;
def Parplan_SinOp : Parplan_UnaryOp<"sin", Parplan_FloatTensor, [Parplan_MapsZeroToZero]>;
def Parplan_CosOp : Parplan_UnaryOp<"cos", Parplan_FloatTensor>;
def Parplan_TanOp : Parplan_UnaryOp<"tan", Parplan_FloatTensor, [Parplan_MapsZeroToZero]>;
def Parplan_AsinOp : Parplan_UnaryOp<"asin", Parplan_FloatTensor, [Parplan_MapsZeroToZero]>;
def Parplan_AcosOp : Parplan_UnaryOp<"acos", Parplan_FloatTensor>;
def Parplan_AtanOp : Parplan_UnaryOp<"atan", Parplan_FloatTensor, [Parplan_MapsZeroToZero]>;
def Parplan_SinhOp : Parplan_UnaryOp<"sinh", Parplan_FloatTensor, [Parplan_MapsZeroToZero]>;
def Parplan_CoshOp : Parplan_UnaryOp<"cosh", Parplan_FloatTensor>;
def Parplan_AsinhOp : Parplan_UnaryOp<"asinh", Parplan_FloatTensor, [Parplan_MapsZeroToZero]>;
def Parplan_AcoshOp : Parplan_UnaryOp<"acosh", Parplan_FloatTensor>;
def Parplan_AtanhOp : Parplan_UnaryOp<"atanh", Parplan_FloatTensor, [Parplan_MapsZeroToZero]>;
def Parplan_TanhOp : Parplan_UnaryOp<"tanh", Parplan_FloatTensor, [Parplan_MapsZeroToZero]>;
def Parplan_SigmoidOp : Parplan_UnaryOp<"sigmoid", Parplan_FloatTensor>;
def Parplan_ErfOp : Parplan_UnaryOp<"erf", Parplan_FloatTensor, [Parplan_MapsZeroToZero]>;
def Parplan_FloorOp : Parplan_UnaryOp<"floor", Parplan_FloatTensor, [Parplan_MapsZeroToZero]>;
def Parplan_CeilOp : Parplan_UnaryOp<"ceil", Parplan_FloatTensor, [Parplan_MapsZeroToZero]>;
def Parplan_RoundOp : Parplan_UnaryOp<"round", Parplan_FloatTensor, [Parplan_MapsZeroToZero]> {
  let summary = "Rounds halves to even";
}
def Parplan_ReluOp : Parplan_UnaryOp<"relu", Parplan_Tensor, [Parplan_MapsZeroToZero]>;
def Parplan_SiluOp : Parplan_UnaryOp<"silu", Parplan_FloatTensor,
    [Parplan_MapsZeroToZero, DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "x * sigmoid(x)";
}
def Parplan_GeluOp : Parplan_UnaryOp<"gelu", Parplan_FloatTensor,
    [Parplan_MapsZeroToZero, DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "Gaussian error linear unit, exact (erf) or by tanh";
  let description = [{
    Exact: x/2 (1 + erf(x/sqrt 2)). With `tanh`: x/2 (1 + tanh(sqrt(2/pi)
    (x + 0.044715 x^3))). They differ by up to 5e-4.
  }];
  let arguments = (ins Parplan_FloatTensor:$input, UnitAttr:$tanh);
  let assemblyFormat = "(`tanh` $tanh^)? $input attr-dict `:` type($result)";
}
def Parplan_NotOp : Parplan_UnaryOp<"not", Parplan_IntegerTensor> {
  let summary = "Negation of bools, of every bit of integers";
}

class Parplan_PredicateOp<string mnemonic>
    : Parplan_ElementwiseOp<mnemonic, [InferTypeOpAdaptor, Parplan_MapsZeroToZero]> {
  let arguments = (ins Parplan_FloatTensor:$input);
  let results = (outs Parplan_BoolTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}
def Parplan_IsNaNOp : Parplan_PredicateOp<"is_nan">;
def Parplan_IsInfOp : Parplan_PredicateOp<"is_inf">;

def Parplan_CastOp : Parplan_ElementwiseOp<"cast", [Parplan_MapsZeroToZero, SameOperandsAndResultShape]> {
  let summary = "Converts the element type, with ONNX's rounding";
  let arguments = (ins Parplan_Tensor:$input);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
}

def Parplan_BitcastOp : Parplan_ElementwiseOp<"bitcast", [Parplan_MapsZeroToZero, SameOperandsAndResultShape]> {
  let summary = "Reads the bits of elements as another type of the same size";
  let description = "Bools are bytes of 0 and 1, and become no bools.";
  let arguments = (ins Parplan_Tensor:$input);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

class Parplan_BinaryOp<string mnemonic, TypeConstraint type = Parplan_Tensor,
                       list<Trait> traits = []>
    : Parplan_ElementwiseOp<mnemonic,
        [InferTypeOpAdaptor, SameOperandsAndResultElementType] # traits> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat =
      "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}
def Parplan_AddOp : Parplan_BinaryOp<"add", Parplan_Tensor, [Commutative]>;
def Parplan_SubOp : Parplan_BinaryOp<"sub">;
def Parplan_MulOp : Parplan_BinaryOp<"mul", Parplan_Tensor, [Commutative]>;
def Parplan_DivOp : Parplan_BinaryOp<"div">;
def Parplan_PowOp : Parplan_BinaryOp<"pow">;
def Parplan_ModOp : Parplan_BinaryOp<"mod"> {
  let summary = "Remainder with the sign of the divisor (integers), fmod (floats)";
}
def Parplan_MaxOp : Parplan_BinaryOp<"max", Parplan_Tensor, [Commutative]>;
def Parplan_MinOp : Parplan_BinaryOp<"min", Parplan_Tensor, [Commutative]>;
def Parplan_AndOp : Parplan_BinaryOp<"and", Parplan_IntegerTensor, [Commutative]>;
def Parplan_OrOp : Parplan_BinaryOp<"or", Parplan_IntegerTensor, [Commutative]>;
def Parplan_XorOp : Parplan_BinaryOp<"xor", Parplan_IntegerTensor, [Commutative]>;

def Parplan_CompareOp : Parplan_ElementwiseOp<"compare",
    [InferTypeOpAdaptor, SameOperandsElementType]> {
  let summary = "Elementwise comparison";
  let arguments = (ins Parplan_PredicateAttr:$predicate, Parplan_Tensor:$lhs,
      Parplan_Tensor:$rhs);
  let results = (outs Parplan_BoolTensor:$result);
  let assemblyFormat =
      "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}

def Parplan_SelectOp : Parplan_ElementwiseOp<"select", [InferTypeOpAdaptor]> {
  let summary = "condition ? onTrue : onFalse, elementwise with broadcasting";
  let arguments = (ins Parplan_BoolTensor:$condition, Parplan_Tensor:$onTrue,
      Parplan_Tensor:$onFalse);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = [{
    $condition `,` $onTrue `,` $onFalse attr-dict
    `:` type($condition) `,` type($onTrue) `,` type($onFalse)
  }];
}

#endif // PARPLAN_ELEMENTWISE_OPS_TD
