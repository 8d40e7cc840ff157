//===- NodeTestRun.cpp - A node test through import and interpreter -------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "NodeTestRun.h"

#include "../Partition/Outcomes.h"
#include "../Partition/RandomPlan.h"

#include "lib/Import/Graph/Element.h"
#include "lib/Import/Import.h"
#include "lib/Import/Operators/Tensors.h"

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Interpreter/Interpreter.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "passes/Partition/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <fstream>
#include <sstream>

using namespace mlir;

namespace parplan::test {

using importer::ElementType;

namespace {

/// What ONNX's own runner allows.
constexpr Tolerance onnxTolerance = {1e-3, 1e-7};

/// Random plans for several ranks that every test is run with.
constexpr uint64_t plansPerTest = 2;

std::string readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

Type getType(MLIRContext &context, ElementType type) {
  Builder builder(&context);
  type = importer::getCarrier(type);
  switch (type) {
  case ElementType::f64:
    return builder.getF64Type();
  case ElementType::f32:
    return builder.getF32Type();
  case ElementType::f16:
    return builder.getF16Type();
  case ElementType::bf16:
    return builder.getBF16Type();
  case ElementType::i1:
    return builder.getI1Type();
  default: {
    unsigned width = 8 * importer::getElementBytes(type);
    return importer::isUnsigned(type)
               ? builder.getIntegerType(width, /*isSigned=*/false)
               : builder.getIntegerType(width);
  }
  }
}

/// Elements as a file has them. Bytes that are missing are zero.
Tensor makeTensor(RankedTensorType tensorType, ElementType type,
                  llvm::StringRef bytes) {
  Tensor tensor(tensorType);
  for (int64_t i = 0; i < tensor.getSize(); ++i)
    if (size_t(importer::getTensorBytes(type, i + 1)) <= bytes.size()) {
      importer::Cell cell = importer::readElement(
          std::string_view(bytes.data(), bytes.size()), i, type);
      tensor[i].integer = cell.integer; // The other member lies there too.
    }
  return tensor;
}

/// None if the importer does not have the element type.
std::optional<Tensor> makeTensor(MLIRContext &context,
                                 const onnx::TensorProto &message) {
  std::optional<ElementType> type = importer::fromOnnxType(message.data_type());
  if (!type)
    return std::nullopt;
  SmallVector<int64_t> shape(message.dims().begin(), message.dims().end());
  return makeTensor(
      RankedTensorType::get(shape, getType(context, *type)), *type,
      message.has_raw_data() ? message.raw_data()
                             : importer::getRawBytes(message, *type));
}

std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// What differs from what ONNX expects; "" if nothing does.
std::string compareElements(const Tensor &actual, const Tensor &expected,
                            Tolerance tolerance) {
  if (actual.getType() != expected.getType())
    return concat("is ", print(actual.getType()), ", not ",
                  print(expected.getType()));
  for (int64_t i = 0; i < expected.getSize(); ++i) {
    double is = actual.getNumber(i), should = expected.getNumber(i);
    bool isEqual = !actual.isReal()
                       ? actual[i].integer == expected[i].integer
                       : is == should || (std::isnan(is) && std::isnan(should));
    if (!isEqual && actual.isReal() && std::isfinite(should))
      isEqual = std::fabs(is - should) <=
                tolerance.absolute + tolerance.relative * std::fabs(should);
    if (!isEqual)
      return concat("has ", is, ", not ", should, " at element ", i, " of ",
                    print(expected.getType()));
  }
  return "";
}

class NodeTestRun {
public:
  NodeTestRun(MLIRContext &context, const NodeTest &test,
              const std::string &scratch)
      : context(context), test(test), scratch(scratch) {}

  NodeTestResult run() {
    NodeTestResult result = runWith({});
    if (!isRefused(result))
      return result;
    // What is refused though all inputs are known is refused for good.
    std::vector<int> constants = findCandidates();
    if (constants.empty())
      return result;
    result = runWith(constants);
    if (isRefused(result))
      return result;
    dropNeedless(constants);
    result = runWith(constants);
    if (result.verdict != Verdict::passes)
      return result;
    result.constants = constants;
    size_t count = test.inputs.size();
    result.verdict = constants.size() == count ? Verdict::passesFolded
                                               : Verdict::passesWithConstants;
    for (int index : constants)
      result.reason += (result.reason.empty() ? "" : " ") +
                       test.model.graph().input(index).name();
    return result;
  }

private:
  static bool isRefused(const NodeTestResult &result) {
    return result.verdict == Verdict::refused ||
           result.verdict == Verdict::vague;
  }

  /// The inputs that may be initializers.
  std::vector<int> findCandidates() const {
    std::vector<int> candidates;
    for (int i = 0; i < int(test.inputs.size()); ++i)
      if (std::holds_alternative<onnx::TensorProto>(test.inputs[i]))
        candidates.push_back(i);
    return candidates;
  }

  /// Leaves the inputs without which the import does not accept the model,
  /// looked at from the first on.
  void dropNeedless(std::vector<int> &constants) {
    for (int candidate : std::vector<int>(constants)) {
      std::vector<int> fewer = constants;
      fewer.erase(std::find(fewer.begin(), fewer.end(), candidate));
      if (isAccepted(fewer))
        constants = fewer;
    }
  }

  ImportOptions getOptions() const {
    ImportOptions options;
    options.path = scratch;
    // Symbols have the sizes of the data.
    const onnx::GraphProto &graph = test.model.graph();
    for (int i = 0; i < graph.input_size(); ++i)
      if (const auto *data = std::get_if<onnx::TensorProto>(&test.inputs[i])) {
        const auto &shape = graph.input(i).type().tensor_type().shape();
        for (int dim = 0; dim < std::min(shape.dim_size(), data->dims_size());
             ++dim)
          if (shape.dim(dim).has_dim_param())
            options.dims[shape.dim(dim).dim_param()] = data->dims(dim);
      }
    return options;
  }

  void writeModel(const std::vector<int> &constants) const {
    std::ofstream(scratch, std::ios::binary) << bindInputs(test, constants);
  }

  bool isAccepted(const std::vector<int> &constants) {
    writeModel(constants);
    DiagnosticEngine diagnostics;
    return bool(importModel(context, getOptions(), diagnostics));
  }

  NodeTestResult runWith(const std::vector<int> &constants) {
    writeModel(constants);
    return runModel();
  }

  /// True if the diagnostics name an operator of the model, or a version.
  bool isClear(const DiagnosticEngine &diagnostics) const {
    for (const parplan::Diagnostic &one : diagnostics.getDiagnostics()) {
      if (one.code.number == codes::unsupportedVersion.number)
        return true;
      for (const onnx::NodeProto &node : test.model.graph().node())
        if (one.location.opType == node.op_type())
          return true;
    }
    return false;
  }

  NodeTestResult runModel() {
    DiagnosticEngine diagnostics;
    ImportedModel imported = importModel(context, getOptions(), diagnostics);
    if (!imported)
      return {isClear(diagnostics) ? Verdict::refused : Verdict::vague,
              diagnostics.render({.program = ""})};
    std::string problem;
    ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &said) { problem += said.str(); });
    if (failed(verify(*imported.module)))
      return {Verdict::notInterpreted, problem};
    NodeTestResult result{Verdict::passes};
    result.trace = traceModule(*imported.module);
    arguments = makeArguments(getMain(*imported.module), result.arguments);
    initializers = readInitializers(*imported.module, readBytes(scratch));
    FailureOr<std::vector<Tensor>> outputs =
        interpret(getMain(*imported.module), arguments, initializers);
    if (failed(outputs))
      return {Verdict::notInterpreted, problem};
    result.reason = compareOutputs(*outputs, getTolerance(test.name));
    if (!result.reason.empty())
      result.verdict = Verdict::wrong;
    if (!isPass(result.verdict) || result.trace.ops.empty())
      return result;
    for (uint64_t seed = 0; seed < plansPerTest; ++seed) {
      result.reason = runOnRanks(*imported.module, seed, problem);
      if (!result.reason.empty()) {
        result.verdict = Verdict::wrongOnRanks;
        return result;
      }
    }
    traceProgram(context, getOptions(), result.trace);
    return result;
  }

  static func::FuncOp getMain(ModuleOp module) {
    return module.lookupSymbol<func::FuncOp>("main");
  }

  /// What is wrong with the outputs of all ranks under a random plan; "" if
  /// nothing is.
  std::string runOnRanks(ModuleOp module, uint64_t seed,
                         const std::string &problem) {
    OwningOpRef<ModuleOp> clone = module.clone();
    for (char letter : test.name)
      seed = seed * 31 + uint64_t(letter);
    Random random(seed);
    writeRandomPlan(*clone, random);
    PassManager manager(&context);
    buildPartitionPipeline(manager);
    if (failed(manager.run(*clone)))
      return "it cannot be partitioned: " + problem;
    FailureOr<std::vector<Tensor>> outputs =
        interpretRanks(getMain(*clone), arguments, initializers, checkBlocks);
    if (failed(outputs))
      return problem;
    return compareOutputs(*outputs, ranksTolerance);
  }

  int findInput(llvm::StringRef name) const {
    const onnx::GraphProto &graph = test.model.graph();
    for (int i = 0; i < graph.input_size(); ++i)
      if (graph.input(i).name() == name)
        return i;
    throw std::runtime_error("no input " + name.str());
  }

  std::vector<Tensor> makeArguments(func::FuncOp main,
                                    std::vector<int> &numbers) {
    std::vector<Tensor> arguments;
    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      auto name = main.getArgAttrOfType<StringAttr>(i, attributes::name);
      numbers.push_back(findInput(name));
      const auto &data =
          std::get<onnx::TensorProto>(test.inputs[numbers.back()]);
      std::optional<Tensor> value = makeTensor(context, data);
      if (!value || value->getType() != main.getArgumentTypes()[i])
        throw std::runtime_error("data of another type than " +
                                 print(main.getArgumentTypes()[i]));
      arguments.push_back(std::move(*value));
    }
    return arguments;
  }

  InitializerValues readInitializers(ModuleOp module,
                                     llvm::StringRef model) const {
    InitializerValues values;
    for (InitializerOp op : module.getOps<InitializerOp>()) {
      auto type = cast<RankedTensorType>(op.getType());
      for (int i = 0; i <= int(ElementType::i1); ++i)
        if (!importer::isNarrow(ElementType(i)) &&
            getType(context, ElementType(i)) == type.getElementType())
          values[op.getSymName()] =
              makeTensor(type, ElementType(i), model.substr(op.getOffset()));
    }
    return values;
  }

  std::string compareOutputs(llvm::ArrayRef<Tensor> results,
                             Tolerance tolerance) const {
    if (results.size() != test.outputs.size())
      return concat("there are ", results.size(), " outputs, not ",
                    test.outputs.size());
    for (unsigned i = 0; i < results.size(); ++i) {
      const auto *data = std::get_if<onnx::TensorProto>(&test.outputs[i]);
      std::optional<Tensor> expected =
          data ? makeTensor(context, *data) : std::nullopt;
      std::string difference =
          expected ? compareElements(results[i], *expected, tolerance)
                   : "is no tensor of such elements";
      if (!difference.empty())
        return concat("output ", i, " ", difference);
    }
    return "";
  }

  MLIRContext &context;
  const NodeTest &test;
  const std::string &scratch;
  std::vector<Tensor> arguments;
  InitializerValues initializers;
};

} // namespace

Tolerance getTolerance(const std::string &test) {
  // The expected outputs of these have rounding errors, larger than that, where
  // the exact ones are zero.
  return test.starts_with("test_dft_inverse") ? Tolerance{1e-3, 1e-6}
                                              : onnxTolerance;
}

static std::string getSoleOperator(const onnx::GraphProto &graph) {
  if (graph.node_size() != 1)
    return "";
  const onnx::NodeProto &node = graph.node(0);
  bool isDefault = node.domain().empty() || node.domain() == "ai.onnx";
  return isDefault ? node.op_type() : node.domain() + "." + node.op_type();
}

NodeTestResult runNodeTest(MLIRContext &context, const NodeTest &test,
                           const std::string &scratch) {
  NodeTestResult result = NodeTestRun(context, test, scratch).run();
  std::optional<NodeTest> flat = flattenNodeTest(test);
  if (flat && !isPass(result.verdict)) {
    // How many tensors a sequence has is then known like a constant is.
    result = NodeTestRun(context, *flat, scratch).run();
    result.isFlattened = true;
    if (result.verdict == Verdict::passes)
      result.verdict = Verdict::passesWithConstants;
  }
  result.soleOperator = getSoleOperator(test.model.graph());
  return result;
}

} // namespace parplan::test
