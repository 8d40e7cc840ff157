//===- KernelBuilder.cpp - Scalar code of fused elementwise ops -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/KernelBuilder.h"

#include "dialects/parplan/TensorTypes.h"
#include "parplan/Support/Check.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace parplan {

using exec::RankValueKind;
using exec::ScalarFunction;

//===----------------------------------------------------------------------===//
// Index maps
//===----------------------------------------------------------------------===//

static AffineIndex constantIndex(size_t rank, int64_t value) {
  AffineIndex index;
  index.constant = value;
  index.coefficients.assign(rank, 0);
  return index;
}

static AffineIndex scaled(AffineIndex index, int64_t factor, int64_t offset) {
  index.constant = index.constant * factor + offset;
  for (int64_t &coefficient : index.coefficients)
    coefficient *= factor;
  for (auto &[scalar, scale] : index.scalars)
    scale *= factor;
  return index;
}

static AffineIndex sum(AffineIndex left, const AffineIndex &right) {
  left.constant += right.constant;
  for (auto [own, other] :
       llvm::zip_equal(left.coefficients, right.coefficients))
    own += other;
  for (auto [scalar, scale] : right.scalars) {
    auto *found = llvm::find_if(
        left.scalars, [&](auto &entry) { return entry.first == scalar; });
    if (found != left.scalars.end())
      found->second += scale;
    else
      left.scalars.push_back({scalar, scale});
  }
  llvm::sort(left.scalars);
  return left;
}

static AffineIndex flatten(const IndexMap &map, ArrayRef<int64_t> shape,
                           size_t rank) {
  AffineIndex flat = constantIndex(rank, 0);
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    flat = sum(flat, scaled(map[dim], stride, 0));
    stride *= shape[dim];
  }
  return flat;
}

//===----------------------------------------------------------------------===//
// KernelBuilder: the frame
//===----------------------------------------------------------------------===//

KernelBuilder::KernelBuilder(OpBuilder &outer, Location location,
                             ArrayRef<int64_t> wanted,
                             const llvm::DenseSet<Operation *> &inlined)
    : builder(outer), location(location), inlined(inlined) {
  SmallVector<int64_t> space(wanted);
  if (space.empty())
    space.push_back(1);
  rank = space.size();
  kernel = builder.create<exec::KernelOp>(location, "kernel", space,
                                          builder.getArrayAttr({}),
                                          builder.getF32Type(), /*scalars=*/0);
  Block &body = kernel.getBody().emplaceBlock();
  for (size_t dim = 0; dim < space.size(); ++dim)
    body.addArgument(builder.getI64Type(), location);
  builder.setInsertionPointToStart(&body);
}

IndexMap KernelBuilder::getIdentity() const {
  IndexMap map(rank, constantIndex(rank, 0));
  for (size_t dim = 0; dim < rank; ++dim)
    map[dim].coefficients[dim] = 1;
  return map;
}

Value KernelBuilder::literal(TypedAttr value) {
  return builder.create<exec::LiteralOp>(location, value.getType(), value);
}

Value KernelBuilder::literal(Type type, double value) {
  if (isa<FloatType>(type))
    return literal(cast<TypedAttr>(builder.getFloatAttr(type, value)));
  auto integer = cast<IntegerType>(type);
  // The least number is what minus infinity is of floats.
  if (std::isinf(value) && value < 0)
    return literal(builder.getIntegerAttr(
        type, integer.isUnsigned() || integer.getWidth() == 1
                  ? APInt::getZero(integer.getWidth())
                  : APInt::getSignedMinValue(integer.getWidth())));
  if (type.isInteger(1))
    return literal(builder.getIntegerAttr(type, value != 0));
  return literal(builder.getIntegerAttr(type, static_cast<int64_t>(value)));
}

Value KernelBuilder::apply(ScalarFunction function, ValueRange operands,
                           Type result) {
  return builder.create<exec::ApplyOp>(location, result, function, operands);
}

Value KernelBuilder::conjunction(Value left, Value right) {
  if (!left || !right)
    return left ? left : right;
  return apply(ScalarFunction::and_, {left, right}, builder.getI1Type());
}

Value KernelBuilder::less(Value left, Value right) {
  return apply(ScalarFunction::lt, {left, right}, builder.getI1Type());
}

unsigned KernelBuilder::getScalarNumber(RankValueKind kind, int64_t size,
                                        AxisListAttr axes) {
  auto attribute =
      exec::RankValueAttr::get(builder.getContext(), kind, size, axes,
                               /*back=*/0);
  if (scalars.insert(attribute))
    kernel.getBody().front().addArgument(builder.getI64Type(), location);
  return llvm::find(scalars, attribute) - scalars.begin();
}

Value KernelBuilder::getScalar(RankValueKind kind, int64_t size,
                               AxisListAttr axes) {
  unsigned number = getScalarNumber(kind, size, axes);
  return kernel.getBody().getArgument(rank + number);
}

Value KernelBuilder::materialise(const AffineIndex &index) {
  Block &body = kernel.getBody().front();
  Type type = builder.getI64Type();
  Value total;
  auto add = [&](Value argument, int64_t factor) {
    if (factor == 0)
      return;
    if (factor != 1)
      argument =
          apply(ScalarFunction::mul,
                {argument, literal(type, static_cast<double>(factor))}, type);
    total =
        total ? apply(ScalarFunction::add, {total, argument}, type) : argument;
  };
  for (auto [dim, coefficient] : llvm::enumerate(index.coefficients))
    add(body.getArgument(dim), coefficient);
  for (auto [scalar, scale] : index.scalars)
    add(body.getArgument(rank + scalar), scale);
  if (!total)
    return literal(builder.getI64IntegerAttr(index.constant));
  if (index.constant)
    total = apply(ScalarFunction::add,
                  {total, literal(builder.getI64IntegerAttr(index.constant))},
                  type);
  return total;
}

Value KernelBuilder::load(Value value, const IndexMap &map, Value guard) {
  RankedTensorType type = getTensorType(value);
  // A flat map addresses the elements of any shape.
  AffineIndex flat = map.size() == 1 && type.getRank() != 1
                         ? map[0]
                         : flatten(map, type.getShape(), rank);
  SmallVector<Value> dynamic;
  SmallVector<int64_t> scales;
  for (auto [scalar, scale] : flat.scalars) {
    dynamic.push_back(kernel.getBody().getArgument(rank + scalar));
    scales.push_back(scale);
  }
  inputs.insert(value);
  int64_t number = llvm::find(inputs, value) - inputs.begin();
  return builder.create<exec::LoadOp>(
      location, type.getElementType(), number, flat.constant, flat.coefficients,
      dynamic, builder.getDenseI64ArrayAttr(scales), guard);
}

Value KernelBuilder::evaluate(Value value, const IndexMap &map, Value guard) {
  std::vector<int64_t> key = {
      reinterpret_cast<int64_t>(value.getAsOpaquePointer()),
      guard ? reinterpret_cast<int64_t>(guard.getAsOpaquePointer()) : 0};
  for (const AffineIndex &index : map) {
    key.push_back(index.constant);
    key.insert(key.end(), index.coefficients.begin(), index.coefficients.end());
    key.push_back(static_cast<int64_t>(index.scalars.size()));
    for (auto [scalar, scale] : index.scalars) {
      key.push_back(scalar);
      key.push_back(scale);
    }
  }
  auto [place, isNew] = known.try_emplace(std::move(key));
  if (!isNew)
    return place->second;
  Operation *op = value.getDefiningOp();
  Value scalar = op && (inlined.contains(op) || isFree(op))
                     ? compute(op, map, guard)
                     : load(value, map, guard);
  return place->second = scalar;
}

void KernelBuilder::store(Value scalar, int64_t offset,
                          ArrayRef<int64_t> strides) {
  SmallVector<int64_t> padded(strides);
  if (padded.empty())
    padded.push_back(0);
  builder.create<exec::StoreOp>(location, scalar, offset, padded);
}

exec::KernelOp KernelBuilder::finish(Type output) {
  SmallVector<Attribute> types;
  for (Value input : inputs)
    types.push_back(TypeAttr::get(getTensorType(input).getElementType()));
  kernel.setInputsAttr(builder.getArrayAttr(types));
  kernel.setOutput(output);
  kernel.setScalars(scalars.size());
  simplifySpace(kernel);
  return kernel;
}

//===----------------------------------------------------------------------===//
// KernelBuilder: the ops
//===----------------------------------------------------------------------===//

IndexMap KernelBuilder::broadcastMap(const IndexMap &map, Value operand) const {
  ArrayRef<int64_t> shape = getTensorType(operand).getShape();
  size_t missing = map.size() - shape.size();
  IndexMap result(map.begin() + missing, map.end());
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size == 1)
      result[dim] = constantIndex(rank, 0);
  return result;
}

Value KernelBuilder::computeElementwise(Operation *op, const IndexMap &map,
                                        Value guard) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(evaluate(operand, broadcastMap(map, operand), guard));
  Type type = getTensorType(op->getResult(0)).getElementType();
  if (!isa<SumOp>(op))
    return apply(*getFunction(op), operands, type);
  Value total = operands.front();
  for (Value next : ArrayRef<Value>(operands).drop_front())
    total = apply(ScalarFunction::add, {total, next}, type);
  return total;
}

Value KernelBuilder::computeConstant(ConstantOp op) {
  Type type = getTensorType(op.getResult()).getElementType();
  ElementsAttr value = op.getValue();
  if (isa<FloatType>(type))
    return literal(cast<TypedAttr>(
        builder.getFloatAttr(type, value.getSplatValue<APFloat>())));
  return literal(
      cast<TypedAttr>(IntegerAttr::get(type, value.getSplatValue<APInt>())));
}

Value KernelBuilder::computeMask(AffineMaskOp op, const IndexMap &map) {
  AffineIndex total =
      constantIndex(rank, static_cast<int64_t>(op.getConstant()));
  for (auto [dim, coefficient] : llvm::enumerate(op.getCoefficients()))
    total = sum(total, scaled(map[dim], coefficient, 0));
  return apply(ScalarFunction::le,
               {materialise(total), literal(builder.getI64IntegerAttr(0))},
               builder.getI1Type());
}

Value KernelBuilder::computeSlice(SliceOp op, const IndexMap &map,
                                  Value guard) {
  IndexMap source = map;
  for (auto [position, dim] : llvm::enumerate(op.getDims()))
    source[dim] =
        scaled(map[dim], op.getSteps()[position], op.getStarts()[position]);
  return evaluate(op.getInput(), source, guard);
}

Value KernelBuilder::computePad(PadOp op, const IndexMap &map, Value guard) {
  IndexMap source = map;
  Value inside;
  ArrayRef<int64_t> shape = getTensorType(op.getInput()).getShape();
  for (auto [position, dim] : llvm::enumerate(op.getDims())) {
    source[dim] = scaled(map[dim], 1, -op.getLow()[position]);
    Value index = materialise(source[dim]);
    if (op.getLow()[position] > 0)
      inside = conjunction(inside,
                           apply(ScalarFunction::ge,
                                 {index, literal(builder.getI64IntegerAttr(0))},
                                 builder.getI1Type()));
    if (op.getHigh()[position] > 0)
      inside = conjunction(
          inside, less(index, literal(builder.getI64IntegerAttr(shape[dim]))));
  }
  Value element = evaluate(op.getInput(), source, conjunction(guard, inside));
  if (!inside)
    return element;
  Type type = element.getType();
  return apply(
      ScalarFunction::select,
      {inside, element, literal(type, op.getValue().convertToDouble())}, type);
}

Value KernelBuilder::computeClearPadding(ClearPaddingOp op, const IndexMap &map,
                                         Value guard) {
  Value element = evaluate(op.getInput(), map, guard);
  Value exists;
  for (auto [position, dim] : llvm::enumerate(op.getDims()))
    exists = conjunction(
        exists, less(materialise(map[dim]),
                     getScalar(RankValueKind::extent, op.getSizes()[position],
                               cast<AxisListAttr>(op.getAxes()[position]))));
  if (!exists)
    return element;
  Type type = element.getType();
  return apply(ScalarFunction::select,
               {exists, element, literal(type, op.getFill().convertToDouble())},
               type);
}

/// The number of ranks along the axes of `op`.
static int64_t getWidth(ShardSliceOp op) {
  const Mesh &mesh =
      findMesh(op, op.getOutSharding().getMesh()).getMesh().getMesh();
  FailureOr<AxisList> axes = op.getAxes().resolve(mesh);
  PARPLAN_CHECK(succeeded(axes), "a verified slice names axes of its mesh");
  return mesh.getWidth(*axes);
}

Value KernelBuilder::computeShardSlice(ShardSliceOp op, const IndexMap &map,
                                       Value guard) {
  RankedTensorType inputType = getTensorType(op.getInput());
  int64_t dim = static_cast<int64_t>(op.getDim());
  bool isFlat = dim < 0;
  IndexMap source = map;
  if (isFlat)
    dim = 0;
  int64_t size =
      isFlat ? inputType.getNumElements() : inputType.getDimSize(dim);
  int64_t width = getWidth(op);
  // All pieces of a flat block but the last ones are full, whatever the axes
  // (S6); blocks of a dimension are cut axis by axis (S3).
  unsigned start =
      getScalarNumber(RankValueKind::start,
                      isFlat ? llvm::alignTo(size, width) : size, op.getAxes());
  AffineIndex shift = constantIndex(rank, 0);
  shift.scalars.push_back({start, 1});
  source[dim] = sum(map[dim], shift);
  Value exists;
  if (size % width != 0)
    exists = isFlat
                 ? less(materialise(source[dim]),
                        literal(builder.getI64IntegerAttr(size)))
                 : less(materialise(map[dim]),
                        getScalar(RankValueKind::extent, size, op.getAxes()));
  Value element =
      isFlat ? load(op.getInput(), source, conjunction(guard, exists))
             : evaluate(op.getInput(), source, conjunction(guard, exists));
  if (!exists)
    return element;
  return apply(ScalarFunction::select,
               {exists, element, literal(element.getType(), 0)},
               element.getType());
}

Value KernelBuilder::computePend(PendOp op, const IndexMap &map, Value guard) {
  Value element = evaluate(op.getInput(), map, guard);
  // Of a single element, the rank at the start of all axes holds one.
  Value owns = less(literal(builder.getI64IntegerAttr(0)),
                    getScalar(RankValueKind::extent, 1, op.getAxes()));
  return apply(ScalarFunction::select,
               {owns, element, literal(element.getType(), 0)},
               element.getType());
}

Value KernelBuilder::computeReshape(ReshapeOp op, const IndexMap &map,
                                    Value guard) {
  RankedTensorType inputType = getTensorType(op.getInput());
  ArrayRef<int64_t> shape = getTensorType(op.getResult()).getShape();
  IndexMap source(inputType.getRank(), constantIndex(rank, 0));
  size_t dim = 0;
  for (auto [position, size] : llvm::enumerate(inputType.getShape())) {
    if (size == 1)
      continue;
    while (shape[dim] == 1)
      ++dim;
    source[position] = map[dim++];
  }
  return evaluate(op.getInput(), source, guard);
}

Value KernelBuilder::compute(Operation *op, const IndexMap &map, Value guard) {
  origins.insert(op);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ConstantOp constant) { return computeConstant(constant); })
      .Case([&](IotaOp iota) {
        Value index = materialise(map[iota.getDim()]);
        Type type = getTensorType(iota.getResult()).getElementType();
        return type == index.getType()
                   ? index
                   : apply(ScalarFunction::cast, index, type);
      })
      .Case([&](AffineMaskOp mask) { return computeMask(mask, map); })
      .Case([&](BlockStartOp start) {
        return getScalar(RankValueKind::start,
                         static_cast<int64_t>(start.getSize()),
                         start.getAxes());
      })
      .Case([&](BroadcastOp broadcast) {
        return evaluate(broadcast.getInput(),
                        broadcastMap(map, broadcast.getInput()), guard);
      })
      .Case([&](TransposeOp transpose) {
        IndexMap source(map.size());
        for (auto [dim, input] : llvm::enumerate(transpose.getPermutation()))
          source[input] = map[dim];
        return evaluate(transpose.getInput(), source, guard);
      })
      .Case([&](SliceOp slice) { return computeSlice(slice, map, guard); })
      .Case([&](PadOp pad) { return computePad(pad, map, guard); })
      .Case([&](ClearPaddingOp clear) {
        return computeClearPadding(clear, map, guard);
      })
      .Case([&](ShardSliceOp slice) {
        return computeShardSlice(slice, map, guard);
      })
      .Case([&](PendOp pend) { return computePend(pend, map, guard); })
      .Case([&](ReshapeOp reshape) {
        return computeReshape(reshape, map, guard);
      })
      .Default([&](Operation *other) {
        return computeElementwise(other, map, guard);
      });
}

} // namespace parplan
