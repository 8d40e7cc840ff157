//===- BatchFollower.cpp - Where the batch is in every value --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/BatchFollower.h"

#include "parplan/Support/Check.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"

#include <cstring>

using namespace mlir;

namespace parplan::train {

/// The only axis.
static constexpr int batchAxis = 0;

BatchFollower::BatchFollower(func::FuncOp function, int64_t batch)
    : function(function), batch(batch),
      mesh({{"batch", batch, AxisRole::data}}) {}

std::optional<int64_t> BatchFollower::getDim(Value value) const {
  auto found = dims.find(value);
  if (found == dims.end())
    return std::nullopt;
  return found->second;
}

void BatchFollower::report(Operation *op, StringRef what) {
  if (reported.insert(op).second)
    op->emitError(what);
}

LogicalResult BatchFollower::run() {
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), attributes::batch))
      dims[argument] = 0;
  // Readers that came before one that wants the batch look again.
  do {
    hasChanged = false;
    walk();
  } while (hasChanged && reported.empty());
  return success(reported.empty());
}

Operation *BatchFollower::findMixing() {
  for (Value value : function.getBody().front().getTerminator()->getOperands())
    if (Operation *op = mixed.lookup(value))
      return op;
  return nullptr;
}

void BatchFollower::walk() {
  mixed.clear();
  for (Operation &op : function.getBody().front().without_terminator())
    if (isa<ShardingRuleOpInterface>(op))
      follow(&op);
}

void BatchFollower::follow(Operation *op) {
  bool hasBatch = false;
  Operation *mixing = nullptr;
  for (Value operand : op->getOperands()) {
    hasBatch |= getDim(operand).has_value();
    if (Operation *found = mixed.lookup(operand))
      mixing = found;
  }
  if (mixing && hasBatch)
    return report(mixing, "mixes the samples of a batch, which are in several "
                          "micro-batches");
  for (Value result : op->getResults())
    if (mixing)
      mixed[result] = mixing;
  if (!hasBatch)
    return;
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  SmallVector<Sharding> shardings;
  for (Value operand : op->getOperands()) {
    Sharding &sharding = shardings.emplace_back(
        Sharding::getReplicated(getTensorType(operand).getRank()));
    if (std::optional<int64_t> dim = getDim(operand))
      sharding.dims[*dim] = {batchAxis};
  }
  FactorAssignment assignment = inferAssignment(rule, shardings, mesh);
  for (auto [index, sharding] : llvm::enumerate(shardings)) {
    Sharding use = getUseSharding(rule, assignment, static_cast<int>(index));
    if (sharding.isSplit() && use != sharding)
      return report(op, "cannot be split along the batch: it reads samples at "
                        "fixed places, or mixes them");
  }
  for (auto [factor, axes] : llvm::enumerate(assignment.axes))
    if (!axes.empty())
      return followFactor(op, rule, static_cast<int>(factor));
}

void BatchFollower::followFactor(Operation *op, const ShardingRule &rule,
                                 int factor) {
  FactorAssignment assignment = FactorAssignment::getReplicated(rule);
  assignment.axes[factor] = {batchAxis};
  FactorKind kind = rule.factors[factor].kind;
  if (kind == FactorKind::coupled)
    return report(op, "mixes the samples of a batch, which are in several "
                      "micro-batches");
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    Sharding use = getUseSharding(rule, assignment, static_cast<int>(index));
    for (auto [dim, axes] : llvm::enumerate(use.dims))
      if (!axes.empty() && !spread(operand, static_cast<int64_t>(dim)))
        return report(op, "cannot be split along the batch: an operand has "
                          "its own value for every sample of the file's batch");
  }
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    Sharding made = getMadeSharding(rule, assignment, static_cast<int>(index));
    if (made.isPartial())
      mixed[result] = op;
    for (auto [dim, axes] : llvm::enumerate(made.dims)) {
      if (axes.empty())
        continue;
      auto [entry, isNew] = dims.try_emplace(result, static_cast<int64_t>(dim));
      if (!isNew && entry->second != static_cast<int64_t>(dim))
        return report(op, "cannot be split along the batch: two readers want "
                          "it in different dimensions");
    }
  }
}

/// The bytes of all elements of what is no splat. MLIR packs booleans.
static std::vector<char> getBytes(DenseElementsAttr value) {
  if (value.getElementType().isInteger(1)) {
    auto elements = value.getValues<bool>();
    return std::vector<char>(elements.begin(), elements.end());
  }
  ArrayRef<char> bytes = value.getRawData();
  return std::vector<char>(bytes.begin(), bytes.end());
}

/// True if the elements of all samples are equal: the batch is the major part
/// of `dim`.
static bool isEqualForSamples(DenseElementsAttr value, int64_t dim,
                              int64_t batch) {
  if (value.isSplat() || value.empty())
    return true;
  ArrayRef<int64_t> shape = value.getType().getShape();
  int64_t inner = 1, outer = 1;
  for (int64_t index = 0; index < dim; ++index)
    outer *= shape[index];
  for (size_t index = dim; index < shape.size(); ++index)
    inner *= shape[index];
  int64_t sample = inner / batch;
  std::vector<char> elements = getBytes(value);
  size_t bytes = elements.size() / value.getNumElements();
  // Every sample equals the one before.
  for (int64_t block = 0; block < outer; ++block) {
    const char *first = elements.data() + block * inner * bytes;
    if (std::memcmp(first, first + sample * bytes, (inner - sample) * bytes))
      return false;
  }
  return true;
}

bool BatchFollower::spread(Value value, int64_t dim) {
  if (std::optional<int64_t> known = getDim(value))
    return *known == dim;
  Operation *op = value.getDefiningOp();
  if (!op || mixed.contains(value))
    return false;
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled || op->getNumResults() != 1)
    return false;
  auto accept = [&] {
    dims[value] = dim;
    hasChanged = true;
    return true;
  };
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    return elements && isEqualForSamples(elements, dim, batch) && accept();
  }
  if (auto iota = dyn_cast<IotaOp>(op))
    return static_cast<int64_t>(iota.getDim()) != dim && accept();
  if (auto mask = dyn_cast<AffineMaskOp>(op))
    return mask.getCoefficients()[dim] == 0 && accept();
  if (isa<ParameterOp>(op))
    return false;
  ShardingRule rule = ruled.getShardingRule();
  for (int factor : rule.results[0][dim]) {
    FactorAssignment assignment = FactorAssignment::getReplicated(rule);
    assignment.axes[factor] = {batchAxis};
    if (rule.factors[factor].kind != FactorKind::parallel ||
        verifyAssignment(rule, assignment, mesh))
      continue;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      Sharding use = getUseSharding(rule, assignment, static_cast<int>(index));
      for (auto [operandDim, axes] : llvm::enumerate(use.dims))
        if (!axes.empty() && !spread(operand, static_cast<int64_t>(operandDim)))
          return false;
    }
    return accept();
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Another size
//===----------------------------------------------------------------------===//

RankedTensorType BatchFollower::getResized(Value value,
                                           int64_t newBatch) const {
  RankedTensorType type = getTensorType(value);
  SmallVector<int64_t> shape(type.getShape());
  int64_t &size = shape[dims.at(value)];
  size = size / batch * newBatch;
  return type.clone(shape);
}

/// All samples have the same elements.
static DenseElementsAttr resizeElements(DenseElementsAttr value, int64_t dim,
                                        RankedTensorType type) {
  if (value.isSplat())
    return value.resizeSplat(type);
  if (value.empty())
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  int64_t oldSize = value.getType().getDimSize(dim), inner = 1;
  int64_t newSize = type.getDimSize(dim);
  for (int64_t size : type.getShape().drop_front(dim + 1))
    inner *= size;
  std::vector<char> elements = getBytes(value);
  size_t bytes = elements.size() / value.getNumElements();
  std::vector<char> kept(type.getNumElements() * bytes);
  for (int64_t index = 0; index < type.getNumElements(); ++index) {
    int64_t block = index / (newSize * inner);
    int64_t position = index % (newSize * inner) % (oldSize * inner);
    std::memcpy(kept.data() + index * bytes,
                elements.data() + (block * oldSize * inner + position) * bytes,
                bytes);
  }
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, kept);
  SmallVector<bool> truths(kept.begin(), kept.end());
  return DenseElementsAttr::get(type, truths);
}

void BatchFollower::resize(int64_t newBatch) {
  SmallVector<Type> arguments;
  for (BlockArgument argument : function.getArguments()) {
    if (dims.contains(argument))
      argument.setType(getResized(argument, newBatch));
    arguments.push_back(argument.getType());
  }
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    for (Value result : op.getResults()) {
      if (!dims.contains(result))
        continue;
      RankedTensorType type = getResized(result, newBatch);
      if (auto constant = dyn_cast<ConstantOp>(op))
        constant.setValueAttr(
            resizeElements(cast<DenseElementsAttr>(constant.getValue()),
                           dims.at(result), type));
      result.setType(type);
    }
    auto inferable = dyn_cast<InferTypeOpInterface>(op);
    if (!inferable)
      continue;
    SmallVector<Type> inferred;
    LogicalResult isInferred = inferable.inferReturnTypes(
        op.getContext(), op.getLoc(), op.getOperands(), op.getAttrDictionary(),
        op.getPropertiesStorage(), op.getRegions(), inferred);
    PARPLAN_CHECK(succeeded(isInferred) &&
                      TypeRange(inferred) == op.getResultTypes(),
                  "the batch of another size gives other types: ",
                  std::string_view(op.getName().getStringRef()));
  }
  function.setType(FunctionType::get(function.getContext(), arguments,
                                     body.getTerminator()->getOperandTypes()));
}

} // namespace parplan::train
