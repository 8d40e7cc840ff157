//===- Attributes.cpp - Types and attributes of the exec dialect ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/ExecOps.h"

#include "parplan/Support/Sizes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/exec/ExecTypes.cpp.inc"

void ExecDialect::registerAttributesAndTypes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/exec/ExecAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/exec/ExecTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// BufferType
//===----------------------------------------------------------------------===//

int64_t exec::getStorageBytes(Type elementType) {
  return (elementType.getIntOrFloatBitWidth() + 7) / 8;
}

int64_t BufferType::getElementCount() const {
  return multiplySizes(getShape());
}

int64_t BufferType::getByteSize() const {
  return getElementCount() * getStorageBytes(getElementType());
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType) {
  for (int64_t size : shape)
    if (size < 0)
      return emitError() << "buffer has the negative size " << size;
  if (!elementType.isIntOrFloat())
    return emitError() << "buffer has the element type " << elementType;
  return success();
}

Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(location); },
                    parser.getContext(), shape, elementType);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t size : getShape())
    printer << size << 'x';
  printer << getElementType() << '>';
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static ParseResult parseAxes(AsmParser &parser, AxisListAttr &axes) {
  axes = llvm::dyn_cast_if_present<AxisListAttr>(
      AxisListAttr::parse(parser, Type()));
  return success(bool(axes));
}

Attribute RankValueAttr::parse(AsmParser &parser, Type) {
  StringRef keyword;
  int64_t size, back = 0;
  AxisListAttr axes;
  if (parser.parseLess() || parser.parseKeyword(&keyword) ||
      parser.parseKeyword("of") || parser.parseInteger(size) ||
      parser.parseKeyword("over") || parseAxes(parser, axes) ||
      (succeeded(parser.parseOptionalKeyword("back")) &&
       parser.parseInteger(back)) ||
      parser.parseGreater())
    return {};
  std::optional<RankValueKind> kind = symbolizeRankValueKind(keyword);
  if (!kind) {
    parser.emitError(parser.getNameLoc(), "expected 'start' or 'extent'");
    return {};
  }
  return get(parser.getContext(), *kind, size, axes, back);
}

void RankValueAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyRankValueKind(getKind()) << " of " << getSize()
          << " over ";
  getAxes().print(printer);
  if (getBack() != 0)
    printer << " back " << getBack();
  printer << '>';
}

static ParseResult parseDimension(AsmParser &parser, DimensionAttr &dimension) {
  int64_t size, stride, zigzag = 1;
  AxisListAttr axes;
  if (parser.parseInteger(size) || parser.parseKeyword("over") ||
      parseAxes(parser, axes) || parser.parseKeyword("stride") ||
      parser.parseInteger(stride))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("zigzag")) &&
      parser.parseInteger(zigzag))
    return failure();
  dimension =
      DimensionAttr::get(parser.getContext(), size, axes, stride, zigzag);
  return success();
}

static void printDimension(AsmPrinter &printer, DimensionAttr dimension) {
  printer << dimension.getSize() << " over ";
  dimension.getAxes().print(printer);
  printer << " stride " << dimension.getStride();
  if (dimension.getZigzag() > 1)
    printer << " zigzag " << dimension.getZigzag();
}

Attribute DimensionAttr::parse(AsmParser &parser, Type) {
  DimensionAttr dimension;
  if (parser.parseLess() || parseDimension(parser, dimension) ||
      parser.parseGreater())
    return {};
  return dimension;
}

void DimensionAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printDimension(printer, *this);
  printer << '>';
}

Attribute BlockAttr::parse(AsmParser &parser, Type) {
  std::string name, slot;
  FlatSymbolRefAttr source;
  int64_t offset = 0;
  SmallVector<DimensionAttr> dims;
  AxisListAttr storage = AxisListAttr::get(parser.getContext(), {});
  if (parser.parseLess() || parser.parseString(&name))
    return {};
  if (succeeded(parser.parseOptionalKeyword("slot")) &&
      parser.parseString(&slot))
    return {};
  if (succeeded(parser.parseOptionalKeyword("from")) &&
      (parser.parseAttribute(source) || parser.parseKeyword("at") ||
       parser.parseInteger(offset)))
    return {};
  auto parseOne = [&] { return parseDimension(parser, dims.emplace_back()); };
  if (parser.parseKeyword("dims") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return {};
  if (succeeded(parser.parseOptionalKeyword("storage")) &&
      parseAxes(parser, storage))
    return {};
  if (parser.parseGreater())
    return {};
  MLIRContext *context = parser.getContext();
  return get(context, StringAttr::get(context, name),
             slot.empty() ? StringAttr() : StringAttr::get(context, slot),
             source, offset, dims, storage);
}

void BlockAttr::print(AsmPrinter &printer) const {
  printer << '<' << getName();
  if (getSlot())
    printer << " slot " << getSlot();
  if (getSource())
    printer << " from " << getSource() << " at " << getOffset();
  printer << " dims [";
  llvm::interleaveComma(getDims(), printer, [&](DimensionAttr dimension) {
    printDimension(printer, dimension);
  });
  printer << ']';
  if (!getStorage().getNames().empty()) {
    printer << " storage ";
    getStorage().print(printer);
  }
  printer << '>';
}

Attribute BucketAttr::parse(AsmParser &parser, Type) {
  int64_t elements = 0;
  AxisListAttr storage = AxisListAttr::get(parser.getContext(), {});
  SmallVector<int64_t> offsets;
  SmallVector<BlockAttr> members;
  auto parseMember = [&]() -> ParseResult {
    if (parser.parseInteger(offsets.emplace_back()) || parser.parseColon())
      return failure();
    members.push_back(
        llvm::dyn_cast_if_present<BlockAttr>(BlockAttr::parse(parser, Type())));
    return success(bool(members.back()));
  };
  if (parser.parseLess() || parser.parseInteger(elements))
    return {};
  if (succeeded(parser.parseOptionalKeyword("storage")) &&
      parseAxes(parser, storage))
    return {};
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     parseMember) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), elements, storage, offsets, members);
}

void BucketAttr::print(AsmPrinter &printer) const {
  printer << '<' << getElements();
  if (!getStorage().getNames().empty()) {
    printer << " storage ";
    getStorage().print(printer);
  }
  printer << " [";
  llvm::interleaveComma(llvm::zip_equal(getOffsets(), getMembers()), printer,
                        [&](auto member) {
                          printer << std::get<0>(member) << " : ";
                          std::get<1>(member).print(printer);
                        });
  printer << "]>";
}

static constexpr std::pair<WorkKind, StringLiteral> workKinds[] = {
    {WorkKind::matrix, "matrix"},
    {WorkKind::expertMatrix, "expert_matrix"},
    {WorkKind::attention, "attention"},
    {WorkKind::attentionGradient, "attention_gradient"},
    {WorkKind::elementwise, "elementwise"},
    {WorkKind::reduction, "reduction"},
    {WorkKind::copy, "copy"},
    {WorkKind::none, "none"},
};

Attribute CostAttr::parse(AsmParser &parser, Type) {
  StringRef keyword;
  int64_t flops, transcendentals, bytesRead, bytesWritten;
  SmallVector<int64_t> shape;
  auto parseSize = [&] { return parser.parseInteger(shape.emplace_back()); };
  if (parser.parseLess() || parser.parseKeyword(&keyword) ||
      parser.parseKeyword("flops") || parser.parseInteger(flops) ||
      parser.parseKeyword("transcendentals") ||
      parser.parseInteger(transcendentals) || parser.parseKeyword("read") ||
      parser.parseInteger(bytesRead) || parser.parseKeyword("written") ||
      parser.parseInteger(bytesWritten))
    return {};
  if (succeeded(parser.parseOptionalKeyword("shape")) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSize))
    return {};
  if (parser.parseGreater())
    return {};
  const auto *kind = llvm::find_if(
      workKinds, [&](auto &entry) { return entry.second == keyword; });
  if (kind == std::end(workKinds) || (!shape.empty() && shape.size() != 4)) {
    parser.emitError(parser.getNameLoc(), "malformed cost");
    return {};
  }
  return get(parser.getContext(), kind->first, flops, transcendentals,
             bytesRead, bytesWritten, shape);
}

void CostAttr::print(AsmPrinter &printer) const {
  const auto *kind = llvm::find_if(
      workKinds, [&](auto &entry) { return entry.first == getKind(); });
  printer << '<' << kind->second << " flops " << getFlops()
          << " transcendentals " << getTranscendentals() << " read "
          << getBytesRead() << " written " << getBytesWritten();
  if (!getShape().empty()) {
    printer << " shape [";
    llvm::interleaveComma(getShape(), printer);
    printer << ']';
  }
  printer << '>';
}

CostAttr CostAttr::get(MLIRContext *context, const OpCost &cost) {
  SmallVector<int64_t, 4> shape;
  if (isProduct(cost.kind) && cost.rows)
    shape = {cost.rows, cost.columns, cost.contracted, cost.batch};
  return get(context, cost.kind, static_cast<int64_t>(cost.flops),
             static_cast<int64_t>(cost.transcendentals), cost.bytesRead,
             cost.bytesWritten, shape);
}

OpCost CostAttr::getCost() const {
  OpCost cost;
  cost.kind = getKind();
  cost.flops = static_cast<double>(getFlops());
  cost.transcendentals = static_cast<double>(getTranscendentals());
  cost.bytesRead = getBytesRead();
  cost.bytesWritten = getBytesWritten();
  if (!getShape().empty()) {
    cost.rows = getShape()[0];
    cost.columns = getShape()[1];
    cost.contracted = getShape()[2];
    cost.batch = getShape()[3];
  }
  return cost;
}
