//===- Emitter.cpp - Writes the graph as a module --------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Emit/Emitter.h"

#include "dialects/parplan/PaddingId.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace parplan::importer {

Emitter::Emitter(MLIRContext &context, const ImportedGraph &imported)
    : imported(imported), graph(imported.graph), builder(&context),
      location(UnknownLoc::get(&context)),
      file(builder.getStringAttr(imported.info->getPath())),
      nodeName(builder.getStringAttr(attributes::node)),
      operatorName(builder.getStringAttr(attributes::onnxOp)),
      indexType(builder.getI64Type()) {
  auto set = [&](ElementType type, Type to) {
    elementTypes[static_cast<size_t>(type)] = to;
  };
  set(ElementType::f64, builder.getF64Type());
  set(ElementType::f32, builder.getF32Type());
  set(ElementType::f16, builder.getF16Type());
  set(ElementType::bf16, builder.getBF16Type());
  set(ElementType::i64, builder.getI64Type());
  set(ElementType::i32, builder.getI32Type());
  set(ElementType::i16, builder.getIntegerType(16));
  set(ElementType::i8, builder.getIntegerType(8));
  set(ElementType::u64, builder.getIntegerType(64, /*isSigned=*/false));
  set(ElementType::u32, builder.getIntegerType(32, /*isSigned=*/false));
  set(ElementType::u16, builder.getIntegerType(16, /*isSigned=*/false));
  set(ElementType::u8, builder.getIntegerType(8, /*isSigned=*/false));
  set(ElementType::i1, builder.getI1Type());
}

Type Emitter::getElementType(ElementType type) {
  return elementTypes[static_cast<size_t>(getCarrier(type))];
}

RankedTensorType Emitter::getType(ElementType type, ShapeRef shape) {
  return RankedTensorType::get(shape, getElementType(type));
}

RankedTensorType Emitter::getType(ValueId id) {
  const importer::Value &value = graph.getValue(id);
  return getType(value.type, value.shape);
}

mlir::Location Emitter::getLocation(uint32_t node) {
  return FileLineColLoc::get(file, node, 1);
}

void Emitter::countUses() {
  uses.assign(graph.getValueCount(), 0);
  for (OpId id : imported.order)
    for (ValueId operand : graph.getOp(id).operands)
      ++uses[operand];
  for (const GraphOutput &output : graph.outputs)
    ++uses[output.value];
}

OwningOpRef<ModuleOp> Emitter::emit() {
  countUses();
  values.assign(graph.getValueCount(), nullptr);
  location = FileLineColLoc::get(file, 0, 0);
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  emitInitializers();

  SmallVector<Type> inputTypes, outputTypes;
  SmallVector<DictionaryAttr> inputAttributes, outputAttributes;
  for (const GraphInput &input : graph.inputs) {
    inputTypes.push_back(getType(input.value));
    SmallVector<NamedAttribute, 2> named = {builder.getNamedAttr(
        attributes::name, builder.getStringAttr(input.name))};
    if (input.hasBatch)
      named.push_back(
          builder.getNamedAttr(attributes::batch, builder.getUnitAttr()));
    inputAttributes.push_back(builder.getDictionaryAttr(named));
  }
  for (const GraphOutput &output : graph.outputs) {
    outputTypes.push_back(getType(output.value));
    outputAttributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        attributes::name, builder.getStringAttr(output.name))));
  }
  auto function = builder.create<func::FuncOp>(
      location, "main", builder.getFunctionType(inputTypes, outputTypes));
  function.setAllArgAttrs(inputAttributes);
  function.setAllResultAttrs(outputAttributes);
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  for (auto [input, argument] : llvm::zip(graph.inputs, body->getArguments()))
    values[input.value] = argument;

  // Leaves with several uses first: all layers then look alike.
  for (OpId id : imported.order)
    for (ValueId operand : graph.getOp(id).operands) {
      bool isShared = uses[operand] > 1 ||
                      graph.getValue(operand).kind == ValueKind::constant;
      if (!values[operand] && isShared &&
          graph.getValue(operand).kind != ValueKind::result) {
        location = getLocation(graph.getOp(id).node);
        emitLeaf(operand);
      }
    }
  for (OpId id : imported.order)
    emitOp(graph.getOp(id));
  SmallVector<mlir::Value> outputs;
  for (const GraphOutput &output : graph.outputs) {
    if (!values[output.value])
      emitLeaf(output.value);
    outputs.push_back(values[output.value]);
  }
  builder.create<func::ReturnOp>(location, outputs);
  return module;
}

void Emitter::emitOp(const Op &op) {
  location = getLocation(op.node);
  for (ValueId operand : op.operands)
    if (!values[operand])
      emitLeaf(operand);
  // Between a narrow type and its carrier.
  if (op.kind == OpKind::cast &&
      getType(op.firstResult) == getType(op.operands[0])) {
    values[op.firstResult] = values[op.operands[0]];
    return;
  }
  Operation *operation;
  if (op.kind <= OpKind::cast)
    operation = emitUnary(op);
  else if (op.kind <= OpKind::select)
    operation = emitBinary(op);
  else if (op.kind <= OpKind::pad)
    operation = emitShape(op);
  else if (op.kind <= OpKind::cumSum)
    operation = emitIndexing(op);
  else
    operation = emitMathematics(op);
  for (uint32_t index = 0; index < op.resultCount; ++index)
    values[op.firstResult + index] = operation->getResult(index);
  std::string type = imported.info->getNodeOperator(op.node);
  StringAttr &onnxOp = operators[type];
  if (!onnxOp)
    onnxOp = builder.getStringAttr(type);
  NamedAttribute named[] = {{nodeName, builder.getI64IntegerAttr(op.node)},
                            {operatorName, onnxOp}};
  operation->setDiscardableAttrs(named);
  if (isa<EmbeddingOp>(operation))
    if (std::optional<int64_t> id = imported.info->getPaddingId(op.node))
      operation->setAttr(attributes::paddingId, builder.getI64IntegerAttr(*id));
}

mlir::Value Emitter::operand(const Op &op, size_t index) {
  return values[op.operands[index]];
}

} // namespace parplan::importer
