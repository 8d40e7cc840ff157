//===- Graph.cpp - The imported graph before it is MLIR --------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/Graph.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

namespace parplan::importer {

const Op *Graph::getDefinition(ValueId id, OpKind kind) const {
  const Value &value = values[id];
  if (value.kind != ValueKind::result || ops[value.op].kind != kind)
    return nullptr;
  return &ops[value.op];
}

ValueId Graph::addConstantValue(ConstantId constant, ShapeRef shape) {
  llvm::SmallVector<ValueId, 2> &known = valueByConstant[constant];
  for (ValueId id : known)
    if (ShapeRef(values[id].shape) == shape)
      return id;
  Value value;
  value.kind = ValueKind::constant;
  value.type = constants[constant].type;
  value.shape.assign(shape.begin(), shape.end());
  value.constant = constant;
  known.push_back(values.size());
  values.push_back(std::move(value));
  return values.size() - 1;
}

ValueId Graph::addLeaf(ValueKind kind, ElementType type, ShapeRef shape,
                       uint32_t leaf) {
  Value value;
  value.kind = kind;
  value.type = type;
  value.shape.assign(shape.begin(), shape.end());
  value.leaf = leaf;
  values.push_back(std::move(value));
  return values.size() - 1;
}

ValueId Graph::addOp(Op op, llvm::ArrayRef<ResultType> results) {
  uint64_t hash = llvm::hash_combine(
      int(op.kind), op.text,
      llvm::hash_combine_range(op.operands.begin(), op.operands.end()),
      llvm::hash_combine_range(op.integers.begin(), op.integers.end()),
      int(results[0].type),
      llvm::hash_combine_range(results[0].shape.begin(),
                               results[0].shape.end()));
  auto [slot, isNew] = opByHash.try_emplace(hash >> 1, noOp);
  for (OpId id = slot->second; id != noOp; id = ops[id].nextOfHash) {
    const Op &known = ops[id];
    const Value &first = values[known.firstResult];
    if (known.kind == op.kind && known.operands == op.operands &&
        known.integers == op.integers && known.text == op.text &&
        known.resultCount == results.size() && first.type == results[0].type &&
        ShapeRef(first.shape) == results[0].shape)
      return known.firstResult;
  }
  OpId id = ops.size();
  op.isLeaf = op.node == noNode;
  op.nextOfHash = slot->second;
  slot->second = id;
  op.firstResult = values.size();
  op.resultCount = results.size();
  for (uint32_t index = 0; index < results.size(); ++index) {
    Value value;
    value.type = results[index].type;
    value.shape.assign(results[index].shape.begin(),
                       results[index].shape.end());
    value.op = id;
    value.leaf = index;
    values.push_back(std::move(value));
  }
  ops.push_back(std::move(op));
  return ops.back().firstResult;
}

void Graph::assignNodes(llvm::ArrayRef<OpId> order) {
  for (OpId id : llvm::reverse(order)) {
    if (ops[id].node == noNode)
      ops[id].node = 0; // Only outputs use it.
    for (ValueId operand : ops[id].operands)
      if (values[operand].kind == ValueKind::result) {
        // Backwards, so that the first user has the last word.
        Op &definition = ops[values[operand].op];
        if (definition.isLeaf)
          definition.node = ops[id].node;
      }
  }
}

std::vector<OpId> orderOps(const Graph &graph) {
  size_t count = graph.getOpCount();
  std::vector<uint32_t> users(count, 0);
  std::vector<bool> isLive(count, false);
  auto use = [&](ValueId id) {
    const Value &value = graph.getValue(id);
    if (value.kind == ValueKind::result) {
      ++users[value.op];
      isLive[value.op] = true;
    }
  };
  for (const GraphOutput &output : graph.outputs)
    use(output.value);
  for (size_t id = count; id-- > 0;)
    if (isLive[id])
      for (ValueId operand : graph.getOp(id).operands)
        use(operand);

  // Forward: does an op depend on an input? Backward: what the hoisted need.
  std::vector<bool> varies(count, false), isHoisted(count, false);
  for (size_t id = 0; id < count; ++id)
    for (ValueId operand : graph.getOp(id).operands) {
      const Value &value = graph.getValue(operand);
      if (value.kind == ValueKind::input ||
          (value.kind == ValueKind::result && varies[value.op]))
        varies[id] = true;
    }
  for (size_t id = count; id-- > 0;) {
    if (!isLive[id] || varies[id])
      continue;
    if (users[id] > 1)
      isHoisted[id] = true;
    if (!isHoisted[id])
      continue;
    for (ValueId operand : graph.getOp(id).operands) {
      const Value &value = graph.getValue(operand);
      if (value.kind == ValueKind::result)
        isHoisted[value.op] = true;
    }
  }

  std::vector<OpId> order;
  order.reserve(count);
  for (bool hoisted : {true, false})
    for (size_t id = 0; id < count; ++id)
      if (isLive[id] && isHoisted[id] == hoisted)
        order.push_back(id);
  return order;
}

} // namespace parplan::importer
