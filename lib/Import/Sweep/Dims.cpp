//===- Dims.cpp - Sizes for the symbols of a model -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Sweep/Dims.h"

#include "lib/Import/Graph/Element.h"

#include "parplan/Support/CheckedMath.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "onnx/onnx_pb.h"

#include <algorithm>

namespace parplan::importer {

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// Recursive descent; the steps come out in postfix order.
struct DimExpression::Parser {
  std::string_view text;
  DimExpression &result;
  size_t at = 0;
  int depth = 0;

  void skipSpace() {
    while (at < text.size() && text[at] == ' ')
      ++at;
  }
  bool take(std::string_view token) {
    skipSpace();
    if (text.substr(at, token.size()) != token)
      return false;
    at += token.size();
    return true;
  }
  static bool isName(char character) {
    return std::isalnum(static_cast<unsigned char>(character)) ||
           character == '_' || character == '.';
  }

  bool parseSum() {
    if (!parseProduct())
      return false;
    while (true) {
      char kind = take("+") ? '+' : take("-") ? '-' : 0;
      if (!kind)
        return true;
      if (!parseProduct())
        return false;
      result.steps.push_back({kind, 0});
    }
  }
  bool parseProduct() {
    if (!parseAtom())
      return false;
    while (true) {
      char kind = take("*")    ? '*'
                  : take("//") ? '/'
                  : take("/")  ? '/'
                  : take("%")  ? '%'
                               : 0;
      if (!kind)
        return true;
      if (!parseAtom())
        return false;
      result.steps.push_back({kind, 0});
    }
  }
  bool parseAtom() {
    skipSpace();
    if (at == text.size() || ++depth > 64)
      return false;
    bool isSound = parseAtomBody();
    --depth;
    return isSound;
  }
  bool parseAtomBody() {
    if (take("("))
      return parseSum() && take(")");
    size_t start = at;
    while (at < text.size() && isName(text[at]))
      ++at;
    std::string_view word = text.substr(start, at - start);
    if (word.empty())
      return false;
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      std::optional<int64_t> number = parseInteger(word);
      if (number)
        result.steps.push_back({'n', *number});
      return number.has_value();
    }
    auto known = std::find(result.symbols.begin(), result.symbols.end(), word);
    result.steps.push_back({'s', known - result.symbols.begin()});
    if (known == result.symbols.end())
      result.symbols.emplace_back(word);
    return true;
  }
};

std::optional<DimExpression> DimExpression::parse(std::string_view text) {
  DimExpression expression;
  Parser parser{text, expression};
  if (text.size() > 1000 || !parser.parseSum())
    return std::nullopt;
  parser.skipSpace();
  if (parser.at != text.size())
    return std::nullopt;
  return expression;
}

std::optional<int64_t>
DimExpression::evaluate(const DimBindings &bindings) const {
  std::vector<int64_t> stack;
  for (const Step &step : steps) {
    if (step.kind == 'n') {
      stack.push_back(step.number);
      continue;
    }
    if (step.kind == 's') {
      auto bound = bindings.find(symbols[step.number]);
      if (bound == bindings.end())
        return std::nullopt;
      stack.push_back(bound->second);
      continue;
    }
    int64_t right = stack.back();
    stack.pop_back();
    int64_t left = stack.back();
    std::optional<int64_t> value;
    if (step.kind == '+')
      value = checkedAdd(left, right);
    else if (step.kind == '-')
      value = checkedSubtract(left, right);
    else if (step.kind == '*')
      value = checkedMultiply(left, right);
    else if (right > 0 && left >= 0)
      value = step.kind == '/' ? left / right : left % right;
    if (!value)
      return std::nullopt;
    stack.back() = *value;
  }
  return stack.back();
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// The symbols of a dimension: those of its expression, or its name as a whole
/// where that is bound or is no expression.
static std::vector<std::string> getSymbols(const std::string &name,
                                           const DimBindings &bindings) {
  if (bindings.count(name))
    return {name};
  std::optional<DimExpression> expression = DimExpression::parse(name);
  if (!expression)
    return {name};
  return expression->getSymbols();
}

static std::optional<int64_t> evaluateName(const std::string &name,
                                           const DimBindings &bindings) {
  if (auto bound = bindings.find(name); bound != bindings.end())
    return bound->second;
  if (std::optional<DimExpression> expression = DimExpression::parse(name))
    return expression->evaluate(bindings);
  return std::nullopt;
}

std::optional<std::vector<int64_t>>
readDeclaredShape(const onnx::ValueInfoProto &info,
                  const DimBindings &bindings) {
  if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape())
    return std::nullopt;
  std::vector<int64_t> shape;
  for (const auto &dim : info.type().tensor_type().shape().dim()) {
    if (dim.has_dim_value())
      shape.push_back(dim.dim_value());
    else
      shape.push_back(dim.has_dim_param()
                          ? evaluateName(dim.dim_param(), bindings).value_or(-1)
                          : -1);
  }
  return shape;
}

namespace {
class InputBinder {
public:
  InputBinder(const onnx::GraphProto &graph, const std::string &file,
              const std::vector<bool> &isInitializer,
              DiagnosticEngine &diagnostics)
      : graph(graph), location(Location::inFile(file)),
        isInitializer(isInitializer), diagnostics(diagnostics) {}

  std::optional<BoundInputs>
  bind(const DimBindings &dims, std::optional<int64_t> globalBatch,
       const std::function<int64_t(int64_t)> &chooseSamples) {
    size_t before = diagnostics.getErrorCount();
    result.bindings = dims;
    collectSymbols();
    checkBindings(dims);
    bindBatch(globalBatch);
    reportUnbound();
    if (diagnostics.getErrorCount() != before)
      return std::nullopt;
    if (!result.batchSymbol.empty() && chooseSamples) {
      int64_t &size = result.bindings[result.batchSymbol];
      size = chooseSamples(size);
    }
    for (int i = 0; i < int(isInitializer.size()); ++i)
      if (!isInitializer[i])
        bindInput(graph.input(i));
    checkBatchSize(globalBatch);
    if (diagnostics.getErrorCount() != before)
      return std::nullopt;
    return std::move(result);
  }

private:
  using Dim = onnx::TensorShapeProto::Dimension;

  void addSymbols(const onnx::ValueInfoProto &info, bool isInput) {
    for (const Dim &dim : info.type().tensor_type().shape().dim())
      if (dim.has_dim_param() && !dim.dim_param().empty())
        for (std::string &symbol :
             getSymbols(dim.dim_param(), result.bindings)) {
          auto add = [&](std::vector<std::string> &list) {
            if (llvm::find(list, symbol) == list.end())
              list.push_back(symbol);
          };
          if (isInput)
            add(inputSymbols);
          add(result.symbols);
        }
  }

  void collectSymbols() {
    for (int i = 0; i < int(isInitializer.size()); ++i)
      if (!isInitializer[i])
        addSymbols(graph.input(i), /*isInput=*/true);
    for (const onnx::ValueInfoProto &output : graph.output())
      addSymbols(output, /*isInput=*/false);
  }

  void checkBindings(const DimBindings &dims) {
    for (const auto &[name, size] : dims) {
      if (llvm::find(result.symbols, name) == result.symbols.end()) {
        std::string hint = suggest(name, result.symbols);
        diagnostics.error(codes::unknownDimension, location)
                .help(!hint.empty() ? hint
                      : result.symbols.empty()
                          ? "all its dimensions have sizes"
                          : "its symbols are " + joinText(result.symbols, ", "))
            << "--dim " << name << ": the model has no dimension "
            << quoteName(name);
      }
      if (size <= 0 || size > (int64_t(1) << 31))
        diagnostics.error(codes::badOptionValue, location)
            << "--dim " << name << "=" << size
            << ": a dimension has a size from 1 to 2^31";
    }
  }

  const onnx::ValueInfoProto *findBatchInput() const {
    for (int i = 0; i < int(isInitializer.size()); ++i)
      if (!isInitializer[i] &&
          graph.input(i).type().tensor_type().shape().dim_size() > 0)
        return &graph.input(i);
    return nullptr;
  }

  void bindBatch(std::optional<int64_t> globalBatch) {
    const onnx::ValueInfoProto *input = findBatchInput();
    if (!input)
      return;
    const Dim &dim = input->type().tensor_type().shape().dim(0);
    if (!dim.has_dim_param() || dim.dim_param().empty())
      return;
    result.batchSymbol = dim.dim_param();
    if (!globalBatch)
      return;
    auto [bound, isNew] =
        result.bindings.try_emplace(result.batchSymbol, *globalBatch);
    if (!isNew && bound->second != *globalBatch)
      diagnostics.error(codes::conflictingOptions, location)
          << "--dim " << result.batchSymbol << "=" << bound->second
          << " is the batch, but --global-batch is " << *globalBatch;
  }

  void reportUnbound() {
    for (const std::string &symbol : inputSymbols) {
      if (result.bindings.count(symbol))
        continue;
      std::string help = "give it a size: --dim " + escapeName(symbol) + "=N";
      if (symbol == result.batchSymbol)
        help += ", or --global-batch N";
      diagnostics.error(codes::unboundDimension, location).help(help)
          << "the dimension " << quoteName(symbol)
          << " of the model's inputs has no size";
    }
  }

  void bindInput(const onnx::ValueInfoProto &info) {
    BoundInputs::Input input;
    input.name = info.name();
    auto fail = [&](const DiagnosticCode &code, const std::string &message) {
      diagnostics.error(code, location)
          << "input " << quoteName(info.name()) << " " << message;
    };
    const auto &type = info.type().tensor_type();
    input.onnxType = type.elem_type();
    if (info.type().has_sequence_type())
      input.foreign = "is a sequence of unknown length";
    else if (info.type().has_optional_type())
      input.foreign = "is an optional that the model is given";
    else if (!info.type().has_tensor_type())
      input.foreign = "is not a tensor";
    else if (!fromOnnxType(type.elem_type()))
      input.foreign = "has elements of type " + printOnnxType(type.elem_type());
    if (!input.foreign.empty()) {
      result.inputs.push_back(std::move(input));
      return;
    }
    if (!type.has_shape())
      return fail(codes::badDimension, "has no rank");
    for (int i = 0; i < type.shape().dim_size(); ++i) {
      const Dim &dim = type.shape().dim(i);
      std::optional<int64_t> size;
      if (dim.has_dim_value())
        size = dim.dim_value();
      else if (dim.has_dim_param())
        size = evaluateName(dim.dim_param(), result.bindings);
      if (!size && !dim.has_dim_param())
        return fail(codes::badDimension,
                    concat("has neither size nor name for dimension ", i));
      int64_t least = dim.has_dim_value() ? 0 : 1;
      if (!size || *size < least || *size > (int64_t(1) << 31))
        return fail(
            codes::badDimension,
            concat("has the size ", size.value_or(0), " for dimension ", i));
      input.shape.push_back(*size);
    }
    if (!isWithinLimits(input.shape))
      return fail(codes::tooLarge, "has the shape " + printShape(input.shape));
    if (!input.shape.empty() && countElements(input.shape) > 0) {
      const Dim &dim = type.shape().dim(0);
      if (!result.batch)
        result.batch = input.shape[0];
      // One that shares the symbol or, without one, the size.
      input.hasBatch =
          result.batchSymbol.empty()
              ? !dim.has_dim_param() && input.shape[0] == *result.batch
              : dim.dim_param() == result.batchSymbol;
    }
    result.inputs.push_back(std::move(input));
  }

  void checkBatchSize(std::optional<int64_t> globalBatch) {
    if (!globalBatch || !result.batch || !result.batchSymbol.empty())
      return;
    if (*globalBatch % *result.batch != 0)
      diagnostics.error(codes::badOptionValue, location)
          << "--global-batch " << *globalBatch
          << " is no multiple of the model's fixed batch " << *result.batch;
  }

  const onnx::GraphProto &graph;
  Location location;
  const std::vector<bool> &isInitializer;
  DiagnosticEngine &diagnostics;
  BoundInputs result;
  std::vector<std::string> inputSymbols;
};
} // namespace

std::optional<BoundInputs>
bindInputs(const onnx::GraphProto &graph, const std::string &file,
           const DimBindings &dims, std::optional<int64_t> globalBatch,
           const std::function<int64_t(int64_t)> &chooseSamples,
           const std::vector<bool> &isInitializer,
           DiagnosticEngine &diagnostics) {
  return InputBinder(graph, file, isInitializer, diagnostics)
      .bind(dims, globalBatch, chooseSamples);
}

} // namespace parplan::importer
