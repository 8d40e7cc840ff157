//===- ProgramWriter.cpp - Writes the program of one position -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline/ProgramWriter.h"

#include "parplan/Support/Check.h"
#include "passes/Pipeline/StepSegments.h"

using namespace mlir;

namespace parplan {

static RankedTensorType addLeading(RankedTensorType type, int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), size);
  return type.clone(shape);
}

static TypeAttr addLeading(TypeAttr type, int64_t size) {
  return TypeAttr::get(
      addLeading(cast<RankedTensorType>(type.getValue()), size));
}

/// `sharding` of a value that got a leading dimension, which is not split.
static ShardingAttr addLeading(ShardingAttr sharding) {
  MLIRContext *context = sharding.getContext();
  SmallVector<AxisListAttr> dims(sharding.getDims());
  dims.insert(dims.begin(), AxisListAttr::get(context, ArrayRef<StringAttr>()));
  return ShardingAttr::get(context, sharding.getMesh(), dims,
                           sharding.getPartial(), sharding.getReduction(),
                           sharding.getStorage());
}

/// `parplan.zigzag` of such a value.
static DenseI64ArrayAttr addLeading(DenseI64ArrayAttr zigzag) {
  SmallVector<int64_t> ranks(zigzag.asArrayRef());
  ranks.insert(ranks.begin(), 1);
  return DenseI64ArrayAttr::get(zigzag.getContext(), ranks);
}

static void annotate(Value value, TypeAttr globalType, ShardingAttr sharding) {
  Operation *op = value.getDefiningOp();
  if (globalType)
    op->setAttr(attributes::globalType, globalType);
  if (sharding)
    op->setAttr(attributes::shardings,
                ArrayAttr::get(op->getContext(), {sharding}));
}

ProgramWriter::ProgramWriter(func::FuncOp step, int64_t count)
    : step(step), count(count), builder(step) {
  function = cast<func::FuncOp>(builder.cloneWithoutRegions(*step));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  microBatches.resize(count);
  addArguments();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void ProgramWriter::addArguments() {
  bool countsBatches = step->hasAttr(attributes::microBatches);
  for (auto [argument, own] :
       llvm::zip_equal(step.getArguments(), function.getArguments())) {
    unsigned number = argument.getArgNumber();
    if (!step.getArgAttr(number, attributes::batch)) {
      once.map(argument, own);
      continue;
    }
    if (!countsBatches) {
      microBatches[0].map(argument, own);
      continue;
    }
    own.setType(addLeading(cast<RankedTensorType>(argument.getType()), count));
    if (auto global =
            step.getArgAttrOfType<TypeAttr>(number, attributes::globalType))
      function.setArgAttr(number, attributes::globalType,
                          addLeading(global, count));
    if (auto sharding =
            step.getArgAttrOfType<ShardingAttr>(number, attributes::sharding))
      function.setArgAttr(number, attributes::sharding, addLeading(sharding));
    if (auto order = step.getArgAttrOfType<DenseI64ArrayAttr>(
            number, attributes::zigzag))
      function.setArgAttr(number, attributes::zigzag, addLeading(order));
  }
}

/// What micro-batch `index` has of a batched argument.
Value ProgramWriter::readBatch(Value argument, int64_t index) {
  unsigned number = cast<BlockArgument>(argument).getArgNumber();
  auto global = step.getArgAttrOfType<TypeAttr>(number, attributes::globalType);
  auto sharding =
      step.getArgAttrOfType<ShardingAttr>(number, attributes::sharding);
  Value read = function.getArgument(number);
  Location location = argument.getLoc();
  if (count > 1) {
    read = builder.create<SliceOp>(
        location, read, ArrayRef<int64_t>(0), ArrayRef<int64_t>(index),
        ArrayRef<int64_t>(index + 1), ArrayRef<int64_t>(1));
    if (global)
      annotate(read, addLeading(global, 1),
               sharding ? addLeading(sharding) : nullptr);
  }
  read = builder.create<ReshapeOp>(location, argument.getType(), read);
  annotate(read, global, sharding);
  microBatches[index].map(argument, read);
  return read;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool ProgramWriter::has(Value value, int64_t index) const {
  return isa<BlockArgument>(value) || once.contains(value) ||
         microBatches[index].contains(value);
}

Value ProgramWriter::lookup(Value value, int64_t index) {
  if (Value known = once.lookupOrNull(value))
    return known;
  if (Value known = microBatches[index].lookupOrNull(value))
    return known;
  PARPLAN_CHECK(
      isa<BlockArgument>(value), "micro-batch ", index,
      " reads what is not there yet: ",
      std::string_view(value.getDefiningOp()->getName().getStringRef()));
  return readBatch(value, index);
}

void ProgramWriter::define(Value value, Value made,
                           std::optional<int64_t> index) {
  (index ? microBatches[*index] : once).map(value, made);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Operation *ProgramWriter::clone(Operation *op, int64_t index, IRMapping &into) {
  IRMapping operands;
  for (Value operand : op->getOperands())
    operands.map(operand, lookup(operand, index));
  Operation *copy = builder.clone(*op, operands);
  copy->removeAttr(attributes::perMicroBatch);
  into.map(op->getResults(), copy->getResults());
  return copy;
}

void ProgramWriter::write(Operation *op, int64_t index) {
  if (!isa<AccumulateOp>(op)) {
    Operation *copy = clone(op, index, microBatches[index]);
    if (isNumbering)
      copy->setAttr(attributes::microBatch, builder.getI64IntegerAttr(index));
    return;
  }
  // The first contribution is no copy.
  Value contribution = lookup(op->getOperand(0), index);
  Value result = op->getResult(0);
  if (once.contains(result)) {
    auto sum =
        builder.create<AddOp>(op->getLoc(), once.lookup(result), contribution);
    sum->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    contribution = sum;
  }
  once.map(result, contribution);
}

void ProgramWriter::addUp(Value value, int64_t before, int64_t index) {
  Operation *maker = lookup(value, index).getDefiningOp();
  auto sum = builder.create<AddOp>(maker->getLoc(), lookup(value, before),
                                   maker->getResult(0));
  // Of one result, as every gradient of a weight that is added up here.
  PARPLAN_CHECK(maker->getNumResults() == 1, "an op with ",
                maker->getNumResults(), " results is added up in a visit");
  for (StringRef name : {attributes::node, attributes::block, attributes::stage,
                         attributes::microBatch, attributes::globalType})
    if (Attribute attribute = maker->getAttr(name))
      sum->setAttr(name, attribute);
  sum->setAttr(attributes::role, builder.getStringAttr(roles::gradientSum));
  // Moves say it as their own.
  if (ShardingAttr sharding = getSharding(maker->getResult(0)))
    sum->setAttr(attributes::shardings, builder.getArrayAttr({sharding}));
  microBatches[index].map(value, sum.getResult());
}

Operation *ProgramWriter::writeOnce(Operation *op, bool front) {
  OpBuilder::InsertionGuard guard(builder);
  if (front && lastInFront)
    builder.setInsertionPointAfter(lastInFront);
  else if (front)
    builder.setInsertionPointToStart(&function.getBody().front());
  Operation *copy = clone(op, count - 1, once);
  if (front)
    lastInFront = copy;
  return copy;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

Value ProgramWriter::collect(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<Value> parts;
  SmallVector<int64_t> offsets;
  for (int64_t index = 0; index < count; ++index) {
    offsets.push_back(index * type.getNumElements());
    parts.push_back(lookup(value, index));
  }
  Value all = builder.create<PackOp>(
      value.getLoc(),
      RankedTensorType::get({count * type.getNumElements()},
                            type.getElementType()),
      parts, offsets);
  return builder.create<ReshapeOp>(value.getLoc(), addLeading(type, count),
                                   all);
}

/// Attributes of a result that got a leading dimension.
static DictionaryAttr addLeading(DictionaryAttr attributes, int64_t count) {
  NamedAttrList list(attributes);
  if (auto global = attributes.getAs<TypeAttr>(attributes::globalType))
    list.set(attributes::globalType, addLeading(global, count));
  if (auto sharding = attributes.getAs<ShardingAttr>(attributes::sharding))
    list.set(attributes::sharding, addLeading(sharding));
  if (auto order = attributes.getAs<DenseI64ArrayAttr>(attributes::zigzag))
    list.set(attributes::zigzag, addLeading(order));
  return list.getDictionary(attributes.getContext());
}

void ProgramWriter::finish(ArrayRef<unsigned> results) {
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> dictionaries;
  Operation *terminator = step.getBody().front().getTerminator();
  for (unsigned index : results) {
    Value value = terminator->getOperand(index);
    bool isBatched = step.getResultAttr(index, attributes::batchDim) != nullptr;
    values.push_back(isBatched ? collect(value) : lookup(value, count - 1));
    DictionaryAttr own = step.getResultAttrDict(index);
    dictionaries.push_back(isBatched ? addLeading(own, count) : own);
  }
  builder.create<func::ReturnOp>(terminator->getLoc(), values);
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getBody().front().getArgumentTypes(),
      TypeRange(ValueRange(values))));
  function.setAllResultAttrs(dictionaries);
}

void ProgramWriter::eraseUnusedArguments() {
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  function.eraseArguments(unused);
}

} // namespace parplan
