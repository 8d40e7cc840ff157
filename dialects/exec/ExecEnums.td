//===- ExecEnums.td - Enumerations of the exec dialect -*- tablegen -*-===//
//
// Apart from the dialect, so that only these are generated from this file.
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_ENUMS_TD
#define EXEC_ENUMS_TD

include "mlir/IR/EnumAttr.td"

class Exec_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::parplan::exec";
}
def Exec_BufferKindEnum : Exec_Enum<"BufferKind", "what a buffer holds", [
    I32EnumAttrCase<"parameter", 0>, I32EnumAttrCase<"input", 1>,
    I32EnumAttrCase<"output", 2>, I32EnumAttrCase<"activation", 3>,
    I32EnumAttrCase<"workspace", 4>, I32EnumAttrCase<"state", 5>]>;

/// What the loop around a training step does with an input or output.
def Exec_RoleEnum : Exec_Enum<"BufferRole", "part in a training step", [
    // Inputs; data where there is none.
    I32EnumAttrCase<"labels", 0>, I32EnumAttrCase<"learning_rate", 1>,
    I32EnumAttrCase<"step_size", 2>, I32EnumAttrCase<"bias_correction2_sqrt", 3>,
    I32EnumAttrCase<"loss_scale", 4>, I32EnumAttrCase<"inverse_loss_scale", 5>,
    // Outputs.
    I32EnumAttrCase<"loss", 6>, I32EnumAttrCase<"gradient_norm", 7>,
    I32EnumAttrCase<"overflow", 8>, I32EnumAttrCase<"label_count", 9>]>;

def Exec_StreamEnum : Exec_Enum<"StreamKind", "queue of work", [
    I32EnumAttrCase<"compute", 0>, I32EnumAttrCase<"communication", 1>,
    I32EnumAttrCase<"point_to_point", 2>, I32EnumAttrCase<"download", 3>,
    I32EnumAttrCase<"upload", 4>, I32EnumAttrCase<"host", 5>,
    I32EnumAttrCase<"storage", 6>]>;

def Exec_TierEnum : Exec_Enum<"Tier", "memory", [
    I32EnumAttrCase<"device", 0>, I32EnumAttrCase<"host", 1>,
    I32EnumAttrCase<"nvme", 2>]>;

def Exec_CollectiveEnum : Exec_Enum<"CollectiveForm", "call of a communicator", [
    I32EnumAttrCase<"all_reduce", 0>, I32EnumAttrCase<"all_gather", 1>,
    I32EnumAttrCase<"reduce_scatter", 2>, I32EnumAttrCase<"all_to_all", 3>,
    I32EnumAttrCase<"broadcast", 4>, I32EnumAttrCase<"reduce", 5>]>;

def Exec_RankValueEnum : Exec_Enum<"RankValueKind", "number that differs between ranks", [
    I32EnumAttrCase<"start", 0>, I32EnumAttrCase<"extent", 1>]>;

/// Functions of scalars, as the runtime's scalar_math.h defines them.
def Exec_FunctionEnum : Exec_Enum<"ScalarFunction", "function of scalars", [
    // Two operands and a result of one type.
    I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"sub", 1>,
    I32EnumAttrCase<"mul", 2>, I32EnumAttrCase<"div", 3>,
    I32EnumAttrCase<"pow", 4>, I32EnumAttrCase<"mod", 5>,
    I32EnumAttrCase<"max", 6>, I32EnumAttrCase<"min", 7>,
    I32EnumAttrCase<"and_", 8, "and">, I32EnumAttrCase<"or_", 9, "or">,
    I32EnumAttrCase<"xor_", 10, "xor">,
    // Two operands of one type, result i1.
    I32EnumAttrCase<"eq", 11>, I32EnumAttrCase<"ne", 12>,
    I32EnumAttrCase<"lt", 13>, I32EnumAttrCase<"le", 14>,
    I32EnumAttrCase<"gt", 15>, I32EnumAttrCase<"ge", 16>,
    // One operand, result of its type.
    I32EnumAttrCase<"abs", 17>, I32EnumAttrCase<"neg", 18>,
    I32EnumAttrCase<"exp", 19>, I32EnumAttrCase<"log", 20>,
    I32EnumAttrCase<"sqrt", 21>, I32EnumAttrCase<"rsqrt", 22>,
    I32EnumAttrCase<"reciprocal", 23>, I32EnumAttrCase<"sin", 24>,
    I32EnumAttrCase<"cos", 25>, I32EnumAttrCase<"tanh", 26>,
    I32EnumAttrCase<"sigmoid", 27>, I32EnumAttrCase<"erf", 28>,
    I32EnumAttrCase<"floor", 29>, I32EnumAttrCase<"ceil", 30>,
    I32EnumAttrCase<"round", 31>, I32EnumAttrCase<"sign", 32>,
    I32EnumAttrCase<"relu", 33>, I32EnumAttrCase<"silu", 34>,
    I32EnumAttrCase<"gelu", 35>, I32EnumAttrCase<"gelu_tanh", 36>,
    I32EnumAttrCase<"tan", 37>, I32EnumAttrCase<"asin", 38>,
    I32EnumAttrCase<"acos", 39>, I32EnumAttrCase<"atan", 40>,
    I32EnumAttrCase<"sinh", 41>, I32EnumAttrCase<"cosh", 42>,
    I32EnumAttrCase<"asinh", 43>, I32EnumAttrCase<"acosh", 44>,
    I32EnumAttrCase<"atanh", 45>,
    // One operand of integers or i1, result of its type.
    I32EnumAttrCase<"not_", 46, "not">,
    // One floating operand, result i1.
    I32EnumAttrCase<"is_nan", 47>, I32EnumAttrCase<"is_inf", 48>,
    // Any operand, any result; for bits, of one size.
    I32EnumAttrCase<"cast", 49>, I32EnumAttrCase<"bit_cast", 50>,
    // i1 and two operands of the type of the result.
    I32EnumAttrCase<"select", 51>]>;

#endif // EXEC_ENUMS_TD
