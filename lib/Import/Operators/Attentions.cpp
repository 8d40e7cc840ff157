//===- Attentions.cpp - Attention and rotary embedding ---------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include <cmath>
#include <limits>

namespace parplan::importer {

constexpr int64_t swapHeads[] = {0, 2, 1, 3};

namespace {
/// The operands of an Attention node, in the dialect's layout: q [b, s, h, e],
/// k [b, t, g, e], v [b, t, g, f].
struct AttentionParts {
  ValueId query, key, value;
  ValueId mask = noValue;
  int64_t pastLength = 0;
  double scale;
  bool causal;
  /// The operands were [b, s, h e].
  bool isFlat;
};
} // namespace

/// [b, s, h e] or [b, h, s, e] as [b, s, h, e].
static ValueId splitHeads(NodeContext &node, ValueId input, int64_t heads) {
  GraphBuilder &builder = node.builder;
  ShapeRef shape = builder.getShape(input);
  if (shape.size() == 4)
    return builder.transpose(input, swapHeads);
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0)
    failNode(codes::badNode, "an operand of shape ", printShape(shape),
             " with ", heads, " heads");
  return builder.reshape(input, {shape[0], shape[1], heads, shape[2] / heads});
}

static ValueId readMask(NodeContext &node, const AttentionParts &parts) {
  GraphBuilder &builder = node.builder;
  int64_t total = builder.getShape(parts.key)[1];
  ValueId mask = node.getOptionalInput(3);
  if (mask != noValue && builder.getRank(mask) > 0 && node.version >= 24) {
    // What a short mask does not reach is excluded.
    int64_t rank = builder.getRank(mask);
    int64_t missing = total - builder.getShape(mask)[rank - 1];
    if (missing > 0 && builder.getShape(mask)[rank - 1] != 1) {
      Shape rest = builder.getShape(mask);
      rest[rank - 1] = missing;
      ElementType type = builder.getType(mask);
      ValueId excluded = builder.makeNumber(
          type, isBool(type) ? 0 : -std::numeric_limits<double>::infinity(),
          rest);
      mask = builder.concat({mask, excluded}, rank - 1);
    }
  }
  if (node.version < 24 || !node.hasInput(6))
    return mask;
  // Keys from the sample's length on are padding.
  ValueId lengths = builder.cast(node.getInput(6), ElementType::i64);
  int64_t batch = builder.getShape(parts.key)[0];
  if (ShapeRef(builder.getShape(lengths)) != ShapeRef({batch}))
    failNode(codes::badNode, "nonpad_kv_seqlen of shape ",
             printShape(builder.getShape(lengths)));
  ValueId inside = builder.compare(
      Predicate::lt, builder.makeRange(ElementType::i64, {total}, 0, 0, 1),
      builder.reshape(lengths, {batch, 1, 1, 1}));
  if (mask == noValue)
    return inside;
  ElementType type = builder.getType(mask);
  if (isBool(type))
    return builder.binary(OpKind::logicalAnd, mask, inside);
  return builder.select(
      inside, mask,
      builder.makeNumber(type, -std::numeric_limits<double>::infinity()));
}

static AttentionParts readAttention(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  AttentionParts parts;
  ValueId query = node.getInput(0);
  parts.isFlat = builder.getRank(query) == 3;
  int64_t heads = node.getInteger("q_num_heads", 0);
  int64_t keyHeads = node.getInteger("kv_num_heads", 0);
  for (size_t operand : {1, 2})
    if (builder.getRank(node.getInput(operand)) != builder.getRank(query))
      failNode(codes::badNode, "operands of different ranks");
  parts.query = splitHeads(node, query, heads);
  parts.key = splitHeads(node, node.getInput(1), keyHeads);
  parts.value = splitHeads(node, node.getInput(2), keyHeads);
  if (node.hasInput(4) != node.hasInput(5))
    failNode(codes::badNode, "past_key and past_value go together");
  if (node.hasInput(4)) {
    for (size_t operand : {4, 5})
      if (builder.getRank(node.getInput(operand)) != 4)
        failNode(codes::badNode, "past keys and values must have rank 4");
    parts.pastLength = builder.getShape(node.getInput(4))[2];
    ValueId pastKey = builder.transpose(node.getInput(4), swapHeads);
    ValueId pastValue = builder.transpose(node.getInput(5), swapHeads);
    parts.key = builder.concat({pastKey, parts.key}, 1);
    parts.value = builder.concat({pastValue, parts.value}, 1);
  }
  parts.mask = readMask(node, parts);
  parts.scale = node.getReal(
      "scale", 1.0 / std::sqrt(double(builder.getShape(parts.query)[3])));
  parts.causal = node.getInteger("is_causal", 0) != 0;
  return parts;
}

/// The node spelled out, where its scores are an output or are capped.
static ValueId expandAttention(NodeContext &node, const AttentionParts &parts) {
  GraphBuilder &builder = node.builder;
  ShapeRef q = builder.getShape(parts.query), k = builder.getShape(parts.key),
           v = builder.getShape(parts.value);
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || k[2] < 1 ||
      q[2] % k[2] != 0 || v[2] != k[2])
    failNode(codes::badNode, "query, key and value of shapes ", printShape(q),
             ", ", printShape(k), " and ", printShape(v));
  ElementType type = builder.getType(parts.query);
  int64_t repeats = q[2] / k[2];
  auto repeatHeads = [&](ValueId value) {
    ShapeRef from = builder.getShape(value);
    ValueId spread =
        builder.broadcast(builder.insertDims(value, 3),
                          {from[0], from[1], from[2], repeats, from[3]});
    return builder.reshape(spread,
                           {from[0], from[1], from[2] * repeats, from[3]});
  };
  ValueId scores =
      builder.product(parts.query, repeatHeads(parts.key), "bshe,bthe->bhst");
  scores = builder.binary(OpKind::mul, scores,
                          builder.makeNumber(type, parts.scale));
  int64_t mode = node.getInteger("qk_matmul_output_mode", 0);
  ValueId shown = scores;
  if (double cap = node.getReal("softcap", 0); cap > 0) {
    ValueId number = builder.makeNumber(type, cap);
    scores = builder.unary(OpKind::tanh,
                           builder.binary(OpKind::div, scores, number));
    scores = builder.binary(OpKind::mul, scores, number);
  }
  if (mode == 1)
    shown = scores;
  ValueId minusInfinity =
      builder.makeNumber(type, -std::numeric_limits<double>::infinity());
  if (parts.mask != noValue)
    scores = isBool(builder.getType(parts.mask))
                 ? builder.select(parts.mask, scores, minusInfinity)
                 : builder.binary(OpKind::add, scores, parts.mask);
  if (parts.causal) {
    ValueId rows =
        builder.makeRange(ElementType::i64, {q[1], 1}, 0, parts.pastLength, 1);
    ValueId columns = builder.makeRange(ElementType::i64, {1, k[1]}, 1, 0, 1);
    scores = builder.select(builder.compare(Predicate::le, columns, rows),
                            scores, minusInfinity);
  }
  if (mode == 2)
    shown = scores;
  ValueId weights = builder.softmax(OpKind::softmax, scores, 3);
  if (mode == 3)
    shown = weights;
  if (node.isOutputWanted(3))
    node.setOutput(3, shown);
  return builder.product(weights, repeatHeads(parts.value), "bhst,bthf->bshf");
}

static void importAttention(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  AttentionParts parts = readAttention(node);
  ValueId result;
  if (node.isOutputWanted(3) || node.getReal("softcap", 0) > 0) {
    result = expandAttention(node, parts);
  } else {
    ValueId offset = parts.causal && parts.pastLength > 0
                         ? builder.makeInteger(parts.pastLength)
                         : noValue;
    result = builder.attention(parts.query, parts.key, parts.value, parts.mask,
                               offset, parts.scale, parts.causal);
  }
  ShapeRef shape = builder.getShape(result);
  node.setOutput(0, parts.isFlat
                        ? builder.reshape(
                              result, {shape[0], shape[1], shape[2] * shape[3]})
                        : builder.transpose(result, swapHeads));
  if (node.isOutputWanted(1))
    node.setOutput(1, builder.transpose(parts.key, swapHeads));
  if (node.isOutputWanted(2))
    node.setOutput(2, builder.transpose(parts.value, swapHeads));
}

static void importRotaryEmbedding(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  Shape outer = builder.getShape(input);
  bool isFlat = outer.size() == 3;
  ValueId heads = splitHeads(node, input, node.getInteger("num_heads", 0));
  ShapeRef shape = builder.getShape(heads); // [b, s, h, e]
  int64_t width = node.getInteger("rotary_embedding_dim", 0);
  if (width == 0)
    width = shape[3];
  if (width < 2 || width > shape[3] || width % 2 != 0)
    failNode(codes::badNode, "rotation of ", width, " of ", shape[3],
             " elements");
  llvm::SmallVector<ValueId, 2> tables;
  for (size_t operand : {1, 2}) {
    ValueId table = node.getInput(operand);
    if (node.hasInput(3))
      table = builder.gather(table, node.getInput(3), 0);
    Shape expected = {shape[0], shape[1], width / 2};
    if (ShapeRef(builder.getShape(table)) != ShapeRef(expected))
      failNode(codes::badNode, "tables of shape ",
               printShape(builder.getShape(node.getInput(operand))),
               " for operands of shape ", printShape(outer));
    tables.push_back(builder.insertDims(table, 2));
  }
  ValueId turned = builder.slice(heads, SliceRange{3, 0, width});
  turned = builder.rope(turned, tables[0], tables[1],
                        node.getInteger("interleaved", 0) != 0);
  if (width < shape[3])
    turned = builder.concat(
        {turned, builder.slice(heads, SliceRange{3, width, shape[3]})}, 3);
  node.setOutput(0, isFlat ? builder.reshape(turned, outer)
                           : builder.transpose(turned, swapHeads));
}

llvm::ArrayRef<OperatorEntry> getAttentionOperators() {
  static const OperatorEntry entries[] = {
      {"Attention",
       {23, 24},
       Support::direct,
       importAttention,
       "spelled out with softcap or scores as output"},
      {"RotaryEmbedding", {23}, Support::direct, importRotaryEmbedding},
  };
  return entries;
}

} // namespace parplan::importer
