//===- EmitKernels.cpp - Kernels as functors ------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/Emitter.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace parplan {

using exec::ScalarFunction;

namespace {

/// The call of a function of scalar_math.h, or the operator. Null: by types.
const char *getPattern(ScalarFunction function) {
  switch (function) {
  case ScalarFunction::add:
    return "{0} + {1}";
  case ScalarFunction::sub:
    return "{0} - {1}";
  case ScalarFunction::mul:
    return "{0} * {1}";
  case ScalarFunction::div:
    return "divide({0}, {1})";
  case ScalarFunction::pow:
    return "power({0}, {1})";
  case ScalarFunction::mod:
    return "modulo({0}, {1})";
  case ScalarFunction::max:
    return "maximum({0}, {1})";
  case ScalarFunction::min:
    return "minimum({0}, {1})";
  case ScalarFunction::and_:
    return "{0} & {1}";
  case ScalarFunction::or_:
    return "{0} | {1}";
  case ScalarFunction::xor_:
    return "{0} ^ {1}";
  case ScalarFunction::eq:
    return "{0} == {1}";
  case ScalarFunction::ne:
    return "{0} != {1}";
  case ScalarFunction::lt:
    return "{0} < {1}";
  case ScalarFunction::le:
    return "{0} <= {1}";
  case ScalarFunction::gt:
    return "{0} > {1}";
  case ScalarFunction::ge:
    return "{0} >= {1}";
  case ScalarFunction::abs:
    return "absolute({0})";
  case ScalarFunction::neg:
    return "-{0}";
  case ScalarFunction::exp:
    return "exponential({0})";
  case ScalarFunction::log:
    return "logarithm({0})";
  case ScalarFunction::sqrt:
    return "squareRoot({0})";
  case ScalarFunction::rsqrt:
    return "reciprocalSquareRoot({0})";
  case ScalarFunction::reciprocal:
    return "1 / {0}";
  case ScalarFunction::sin:
    return "sine({0})";
  case ScalarFunction::cos:
    return "cosine({0})";
  case ScalarFunction::tan:
    return "tangent({0})";
  case ScalarFunction::asin:
    return "arcSine({0})";
  case ScalarFunction::acos:
    return "arcCosine({0})";
  case ScalarFunction::atan:
    return "arcTangent({0})";
  case ScalarFunction::sinh:
    return "hyperbolicSine({0})";
  case ScalarFunction::cosh:
    return "hyperbolicCosine({0})";
  case ScalarFunction::asinh:
    return "areaSine({0})";
  case ScalarFunction::acosh:
    return "areaCosine({0})";
  case ScalarFunction::atanh:
    return "areaTangent({0})";
  case ScalarFunction::tanh:
    return "hyperbolicTangent({0})";
  case ScalarFunction::sigmoid:
    return "sigmoid({0})";
  case ScalarFunction::erf:
    return "errorFunction({0})";
  case ScalarFunction::floor:
    return "floorOf({0})";
  case ScalarFunction::ceil:
    return "ceilOf({0})";
  case ScalarFunction::round:
    return "roundOf({0})";
  case ScalarFunction::sign:
    return "signOf({0})";
  case ScalarFunction::relu:
    return "relu({0})";
  case ScalarFunction::silu:
    return "silu({0})";
  case ScalarFunction::gelu:
    return "geluErf({0})";
  case ScalarFunction::gelu_tanh:
    return "geluTanh({0})";
  case ScalarFunction::is_nan:
    return "isNan({0})";
  case ScalarFunction::is_inf:
    return "isInfinite({0})";
  case ScalarFunction::select:
    return "{0} ? {1} : {2}";
  case ScalarFunction::not_:
  case ScalarFunction::cast:
  case ScalarFunction::bit_cast:
    return nullptr; // Differs between types.
  }
  return nullptr;
}

/// ONNX's rounding and saturation.
const char *getCastPattern(Type from, Type to) {
  // What is stored so is rounded where it is made so.
  if (exec::isNarrow(to))
    return "static_cast<float>({1}(static_cast<float>({0})))";
  if (to.isInteger(1))
    return "{0} != 0";
  // GCC does not vectorise loops that convert a comparison of another width.
  if (from.isInteger(1))
    return "{0} ? {1}(1) : {1}(0)";
  if (isa<FloatType>(from) && isa<IntegerType>(to))
    return "truncateTo<{1}>({0})";
  return "static_cast<{1}>({0})";
}

std::string printFloat(const llvm::APFloat &value, bool isSingle) {
  const char *suffix = isSingle ? "f" : "";
  if (value.isInfinity())
    return std::string(value.isNegative() ? "-" : "") + "__builtin_inf" +
           suffix + "()";
  if (value.isNaN())
    return std::string("__builtin_nan") + suffix + "(\"\")";
  std::string digits =
      llvm::formatv(isSingle ? "{0:e9}" : "{0:e17}", value.convertToDouble());
  // The shortest text that gives the same number, so that 0.5 reads as 0.5f.
  for (int precision = 1; precision < 18; ++precision) {
    char buffer[40];
    snprintf(buffer, sizeof buffer, "%.*g", precision, value.convertToDouble());
    double back = strtod(buffer, nullptr);
    bool same = isSingle ? static_cast<float>(back) ==
                               static_cast<float>(value.convertToDouble())
                         : back == value.convertToDouble();
    if (same) {
      digits = buffer;
      break;
    }
  }
  if (digits.find_first_of(".e") == std::string::npos)
    digits += ".0";
  return digits + suffix;
}

std::string printLiteral(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return printFloat(number.getValue(), !number.getType().isF64());
  auto number = cast<IntegerAttr>(value);
  if (number.getType().isInteger(1))
    return number.getValue().isZero() ? "false" : "true";
  llvm::SmallString<24> digits;
  number.getValue().toString(digits, 10, !number.getType().isUnsignedInteger());
  if (number.getValue().isMinSignedValue() &&
      number.getType().isSignlessInteger(64))
    return "INT64_MIN";
  if (number.getType().isUnsignedInteger())
    digits += "u";
  return digits.str().str();
}

} // namespace

/// Prints the body of one kernel: a constant per op.
class KernelEmitter {
public:
  KernelEmitter(Emitter &emitter, exec::KernelOp kernel)
      : emitter(emitter), out(emitter.out()), kernel(kernel),
        rank(kernel.getSpace().size()) {}

  void run() {
    std::string name =
        emitter.getKernelName(FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
    out << "struct " << name << " {\n";
    for (auto [number, type] :
         llvm::enumerate(kernel.getInputs().getAsValueRange<TypeAttr>()))
      out << "  const " << emitter.getTypeName(type, kernel.getLoc()) << " *in"
          << number << ";\n";
    out << "  " << emitter.getTypeName(kernel.getOutput(), kernel.getLoc())
        << " *out;\n";
    for (size_t number = 0; number < kernel.getScalars(); ++number)
      out << "  int64_t scalar" << number << ";\n";
    out << "  PARPLAN_DEVICE void operator()(";
    for (size_t dim = 0; dim < rank; ++dim)
      out << (dim ? ", " : "") << "int64_t i" << dim;
    out << ") const {\n";
    for (BlockArgument argument : kernel.getBody().getArguments()) {
      size_t number = argument.getArgNumber();
      names[argument] = number < rank
                            ? "i" + std::to_string(number)
                            : "scalar" + std::to_string(number - rank);
    }
    for (Operation &op : kernel.getBody().front())
      emit(&op);
    out << "  }\n};\n\n";
  }

private:
  StringRef getStoredName(Type type) {
    return emitter.getTypeName(type, kernel.getLoc());
  }
  /// Numbers of 16 bits are widened where they are loaded.
  StringRef getScalarName(Type type) {
    return exec::isNarrow(type) ? "float" : getStoredName(type);
  }

  void emit(Operation *op) {
    if (auto store = dyn_cast<exec::StoreOp>(op)) {
      out << "    out[" << printIndex(store.getOffset(), store.getStrides())
          << "] = ";
      if (exec::isNarrow(kernel.getOutput()))
        out << getStoredName(kernel.getOutput()) << "("
            << names[store.getValue()] << ");\n";
      else
        out << names[store.getValue()] << ";\n";
      return;
    }
    std::string name = "v" + std::to_string(nextName++);
    Value result = op->getResult(0);
    out << "    const " << getScalarName(result.getType()) << " " << name
        << " = ";
    if (auto load = dyn_cast<exec::LoadOp>(op))
      out << printLoad(load);
    else if (auto literal = dyn_cast<exec::LiteralOp>(op))
      out << printLiteral(literal.getValue());
    else if (auto apply = dyn_cast<exec::ApplyOp>(op))
      out << printApply(apply);
    else
      emitter.reportNoRule(op);
    out << ";\n";
    names[result] = name;
  }

  /// `offset + i0 * 8 + i1`, without what is zero or one.
  std::string printIndex(int64_t offset, ArrayRef<int64_t> strides) {
    std::string sum;
    for (auto [dim, stride] : llvm::enumerate(strides))
      addTerm(sum, "i" + std::to_string(dim), stride);
    if (offset != 0 || sum.empty())
      sum += (sum.empty() ? "" : " + ") + std::to_string(offset);
    return sum;
  }

  static void addTerm(std::string &sum, const std::string &name,
                      int64_t factor) {
    if (factor == 0)
      return;
    if (!sum.empty())
      sum += " + ";
    sum += name;
    if (factor != 1)
      sum += " * " + std::to_string(factor);
  }

  std::string printLoad(exec::LoadOp load) {
    std::string index = printIndex(load.getOffset(), load.getStrides());
    for (auto [value, scale] :
         llvm::zip_equal(load.getDynamic(), load.getScales()))
      addTerm(index, names[value], scale);
    std::string element =
        "in" + std::to_string(load.getInput()) + "[" + index + "]";
    if (!load.getCondition())
      return element;
    return names[load.getCondition()] + " ? " + element + " : " +
           getScalarName(load.getType()).str() + "(0)";
  }

  /// Numbers of 16 bits are floats in between.
  std::string printBitCast(exec::ApplyOp apply, const std::string &operand) {
    Type from = apply.getOperands()[0].getType();
    std::string stored = exec::isNarrow(from)
                             ? getStoredName(from).str() + "(" + operand + ")"
                             : operand;
    std::string cast =
        "bitCast<" + getStoredName(apply.getType()).str() + ">(" + stored + ")";
    return exec::isNarrow(apply.getType()) ? "static_cast<float>(" + cast + ")"
                                           : cast;
  }

  std::string printApply(exec::ApplyOp apply) {
    SmallVector<std::string, 3> operands;
    for (Value operand : apply.getOperands())
      operands.push_back(names[operand]);
    if (apply.getFunction() == ScalarFunction::cast)
      return llvm::formatv(
          getCastPattern(apply.getOperands()[0].getType(), apply.getType()),
          operands[0], getStoredName(apply.getType()));
    if (apply.getFunction() == ScalarFunction::bit_cast)
      return printBitCast(apply, operands[0]);
    if (apply.getFunction() == ScalarFunction::not_)
      return (apply.getType().isInteger(1) ? "!" : "~") + operands[0];
    const char *pattern = getPattern(apply.getFunction());
    if (operands.size() == 1)
      return llvm::formatv(pattern, operands[0]);
    if (operands.size() == 2)
      return llvm::formatv(pattern, operands[0], operands[1]);
    return llvm::formatv(pattern, operands[0], operands[1], operands[2]);
  }

  Emitter &emitter;
  raw_indented_ostream &out;
  exec::KernelOp kernel;
  size_t rank;
  llvm::DenseMap<Value, std::string> names;
  int nextName = 0;
};

void Emitter::emitKernel(exec::KernelOp kernel) {
  KernelEmitter(*this, kernel).run();
}

} // namespace parplan
