//===- AttributeSyntax.cpp - Parsers and printers of attributes -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using Delimiter = AsmParser::Delimiter;

namespace parplan {

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

static FailureOr<AxisListAttr> parseAxes(AsmParser &parser,
                                         Delimiter delimiter) {
  SmallVector<StringAttr> names;
  auto parseName = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseCommaSeparatedList(delimiter, parseName))
    return failure();
  return AxisListAttr::get(parser.getContext(), names);
}

static void printAxes(AsmPrinter &printer, AxisListAttr axes, char open,
                      char close) {
  printer << open;
  llvm::interleaveComma(axes.getNames(), printer, [&](StringAttr name) {
    printer.printString(name.getValue());
  });
  printer << close;
}

static FailureOr<MeshAxisAttr> parseMeshAxis(AsmParser &parser) {
  std::string name;
  int64_t size;
  StringRef role;
  if (parser.parseString(&name) || parser.parseEqual() ||
      parser.parseInteger(size) || parser.parseKeyword(&role))
    return failure();
  return MeshAxisAttr::get(parser.getContext(), name, size, role);
}

static void printMeshAxis(AsmPrinter &printer, MeshAxisAttr axis) {
  printer.printString(axis.getName());
  printer << "=" << axis.getSize() << " " << axis.getRole();
}

static ParseResult parseMeshSymbol(AsmParser &parser,
                                   FlatSymbolRefAttr &symbol) {
  return parser.parseAttribute(symbol);
}

//===----------------------------------------------------------------------===//
// Mesh: <["x"=2 tensor, "y"=2 tensor]>
//===----------------------------------------------------------------------===//

Attribute MeshAxisAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<MeshAxisAttr> axis = parseMeshAxis(parser);
  if (failed(axis) || parser.parseGreater())
    return {};
  return *axis;
}

void MeshAxisAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printMeshAxis(printer, *this);
  printer << ">";
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  SmallVector<MeshAxisAttr> axes;
  auto parseAxis = [&]() -> ParseResult {
    FailureOr<MeshAxisAttr> axis = parseMeshAxis(parser);
    if (failed(axis))
      return failure();
    axes.push_back(*axis);
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(Delimiter::Square, parseAxis) ||
      parser.parseGreater())
    return {};
  if (failed(verify([&] { return parser.emitError(location); }, axes)))
    return {};
  return get(parser.getContext(), axes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer, [&](MeshAxisAttr axis) {
    printMeshAxis(printer, axis);
  });
  printer << "]>";
}

//===----------------------------------------------------------------------===//
// Axis list: <"x", "y">
//===----------------------------------------------------------------------===//

Attribute AxisListAttr::parse(AsmParser &parser, Type) {
  FailureOr<AxisListAttr> axes = parseAxes(parser, Delimiter::LessGreater);
  return failed(axes) ? AxisListAttr() : *axes;
}

void AxisListAttr::print(AsmPrinter &printer) const {
  printAxes(printer, *this, '<', '>');
}

//===----------------------------------------------------------------------===//
// Sharding: <@mesh, [{"x"}, {}], partial = sum{"y"}, stored = {"z"}>
//===----------------------------------------------------------------------===//

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  FlatSymbolRefAttr mesh;
  SmallVector<AxisListAttr> dims;
  auto parseDim = [&]() -> ParseResult {
    FailureOr<AxisListAttr> axes = parseAxes(parser, Delimiter::Braces);
    if (failed(axes))
      return failure();
    dims.push_back(*axes);
    return success();
  };
  if (parser.parseLess() || parseMeshSymbol(parser, mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(Delimiter::Square, parseDim))
    return {};
  AxisListAttr partial = AxisListAttr::get(context, {});
  AxisListAttr storage = partial;
  ReductionKind reduction = ReductionKind::sum;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc location = parser.getCurrentLocation();
    StringRef field;
    if (parser.parseKeyword(&field) || parser.parseEqual())
      return {};
    if (field == "partial") {
      StringRef kind;
      if (parser.parseKeyword(&kind))
        return {};
      if (kind != "sum" && kind != "max") {
        parser.emitError(location, "a pending reduction is a sum or a max, "
                                   "not ")
            << kind;
        return {};
      }
      reduction = kind == "max" ? ReductionKind::max : ReductionKind::sum;
    } else if (field != "stored") {
      parser.emitError(location, "a sharding has no field ") << field;
      return {};
    }
    FailureOr<AxisListAttr> axes = parseAxes(parser, Delimiter::Braces);
    if (failed(axes))
      return {};
    (field == "partial" ? partial : storage) = *axes;
  }
  if (parser.parseGreater())
    return {};
  return get(context, mesh, dims, partial, reduction, storage);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer, [&](AxisListAttr axes) {
    printAxes(printer, axes, '{', '}');
  });
  printer << "]";
  if (!getPartial().getNames().empty()) {
    printer << ", partial = "
            << (getReduction() == ReductionKind::max ? "max" : "sum");
    printAxes(printer, getPartial(), '{', '}');
  }
  if (!getStorage().getNames().empty()) {
    printer << ", stored = ";
    printAxes(printer, getStorage(), '{', '}');
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Factors: <@mesh, {m = ["x"], k = ["y"]}, pending = {"z"}, operand = 1,
// stored = {"q"}, panels = {n = ["x", "y"]}>
//===----------------------------------------------------------------------===//

Attribute FactorsAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  FlatSymbolRefAttr mesh;
  SmallVector<StringAttr> names;
  SmallVector<AxisListAttr> lists;
  auto parseFactor = [&](StringAttr &name, AxisListAttr &list) -> ParseResult {
    std::string text;
    if (parser.parseKeywordOrString(&text) || parser.parseEqual())
      return failure();
    FailureOr<AxisListAttr> axes = parseAxes(parser, Delimiter::Square);
    if (failed(axes))
      return failure();
    name = StringAttr::get(context, text);
    list = *axes;
    return success();
  };
  auto parseNextFactor = [&]() -> ParseResult {
    return parseFactor(names.emplace_back(), lists.emplace_back());
  };
  if (parser.parseLess() || parseMeshSymbol(parser, mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(Delimiter::Braces, parseNextFactor))
    return {};
  AxisListAttr pending = AxisListAttr::get(context, {});
  AxisListAttr storage = pending, panelAxes = pending;
  StringAttr panelFactor;
  int64_t operand = 0;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc location = parser.getCurrentLocation();
    StringRef field;
    if (parser.parseKeyword(&field) || parser.parseEqual())
      return {};
    if (field == "pending" || field == "stored") {
      FailureOr<AxisListAttr> axes = parseAxes(parser, Delimiter::Braces);
      if (failed(axes))
        return {};
      (field == "pending" ? pending : storage) = *axes;
    } else if (field == "panels") {
      if (parser.parseLBrace() || parseFactor(panelFactor, panelAxes) ||
          parser.parseRBrace())
        return {};
    } else if (field != "operand") {
      parser.emitError(location, "a factor assignment has no field ") << field;
      return {};
    } else if (parser.parseInteger(operand)) {
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return get(context, mesh, names, lists, pending, operand, storage,
             panelFactor, panelAxes);
}

void FactorsAttr::print(AsmPrinter &printer) const {
  auto printFactor = [&](StringAttr name, AxisListAttr axes) {
    printer.printKeywordOrString(name.getValue());
    printer << " = ";
    printAxes(printer, axes, '[', ']');
  };
  printer << "<" << getMesh() << ", {";
  llvm::interleaveComma(llvm::zip(getNames(), getAxes()), printer,
                        [&](auto factor) { std::apply(printFactor, factor); });
  printer << "}";
  if (!getPending().getNames().empty()) {
    printer << ", pending = ";
    printAxes(printer, getPending(), '{', '}');
  }
  if (getPendingOperand() != 0)
    printer << ", operand = " << getPendingOperand();
  if (!getStorage().getNames().empty()) {
    printer << ", stored = ";
    printAxes(printer, getStorage(), '{', '}');
  }
  if (getPanelFactor()) {
    printer << ", panels = {";
    printFactor(getPanelFactor(), getPanelAxes());
    printer << "}";
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// View: <offset = 8, strides = [24, 1]>
//===----------------------------------------------------------------------===//

Attribute ViewAttr::parse(AsmParser &parser, Type) {
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  auto parseStride = [&]() -> ParseResult {
    return parser.parseInteger(strides.emplace_back());
  };
  if (parser.parseLess() || parser.parseKeyword("offset") ||
      parser.parseEqual() || parser.parseInteger(offset) ||
      parser.parseComma() || parser.parseKeyword("strides") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(Delimiter::Square, parseStride) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), offset, strides);
}

void ViewAttr::print(AsmPrinter &printer) const {
  printer << "<offset = " << getOffset() << ", strides = [";
  llvm::interleaveComma(getStrides(), printer);
  printer << "]>";
}

//===----------------------------------------------------------------------===//
// Variable: <@w, slot = "exp_avg", view = <offset = 8, strides = [24, 1]>>
//===----------------------------------------------------------------------===//

Attribute VariableAttr::parse(AsmParser &parser, Type type) {
  FlatSymbolRefAttr initializer;
  StringAttr slot;
  ViewAttr view;
  if (parser.parseLess() || parser.parseAttribute(initializer))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc location = parser.getCurrentLocation();
    StringRef field;
    if (parser.parseKeyword(&field) || parser.parseEqual())
      return {};
    if (field == "slot") {
      if (parser.parseAttribute(slot))
        return {};
    } else if (field == "view") {
      view = llvm::dyn_cast_or_null<ViewAttr>(ViewAttr::parse(parser, type));
      if (!view)
        return {};
    } else {
      parser.emitError(location, "a variable has no field ") << field;
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), initializer, slot, view);
}

void VariableAttr::print(AsmPrinter &printer) const {
  printer << "<" << getInitializer();
  if (getSlot())
    printer << ", slot = " << getSlot();
  if (getView()) {
    printer << ", view = ";
    getView().print(printer);
  }
  printer << ">";
}

} // namespace parplan
