//===- Graph.h - The imported graph before it is MLIR -----------*- C++ -*-===//
//
// Part of parplan.
//
// Values and ops have numbers; ops are in topological order because an op is
// made after its operands. The vocabulary is that of the parplan dialect, so
// that writing the module maps ops one to one.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_GRAPH_GRAPH_H
#define PARPLAN_LIB_IMPORT_GRAPH_GRAPH_H

#include "lib/Import/Graph/Constant.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace parplan::importer {

using ValueId = uint32_t;
using OpId = uint32_t;
constexpr ValueId noValue = ~0u;
constexpr OpId noOp = ~0u;
/// Of ops that stand for an initializer; `assignNodes` finds them one.
constexpr uint32_t noNode = ~0u;

enum class OpKind : uint8_t {
  // Of one operand.
  abs,
  neg,
  sign,
  exp,
  log,
  sqrt,
  reciprocal,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  tanh,
  sigmoid,
  erf,
  floor,
  ceil,
  round,
  relu,
  silu,
  gelu,
  logicalNot,
  isNaN,
  isInf,
  bitcast,
  cast,
  // Of two operands that broadcast, then the comparison and the choice.
  add,
  sub,
  mul,
  div,
  pow,
  mod,
  max,
  min,
  logicalAnd,
  logicalOr,
  logicalXor,
  compare,
  select,
  // Of shape.
  iota,
  reshape,
  broadcast,
  transpose,
  slice,
  concat,
  pad,
  // Of indices.
  embedding,
  gather,
  gatherElements,
  gatherND,
  scatterElements,
  scatterND,
  topK,
  cumSum,
  // Of mathematics.
  reduce,
  matmul,
  conv,
  convTranspose,
  maxPool,
  averagePool,
  softmax,
  logSoftmax,
  layerNorm,
  rmsNorm,
  batchNorm,
  rope,
  attention,
};

/// As in the dialect, with equal numbers.
enum class Predicate : uint8_t { eq, ne, lt, le, gt, ge };
enum class ReduceKind : uint8_t { sum, max, prod };

enum class ValueKind : uint8_t {
  constant,
  input,
  parameter,
  result,
  /// A list of tensors; `leaf` numbers it.
  sequence,
  /// An optional without a value.
  nothing,
  /// An input of a kind or type that the dialect does not have; `leaf` numbers
  /// what to say about it to who reads it.
  foreign,
  /// Result of a node with an error: what uses it is not looked at.
  poison,
};

struct Value {
  ValueKind kind = ValueKind::result;
  ElementType type = ElementType::f32;
  Shape shape;
  ConstantId constant = noConstant;
  /// The op and which of its results, for `result`.
  OpId op = noOp;
  /// Number of the input or parameter, else of the result.
  uint32_t leaf = 0;
};

struct Op {
  OpKind kind;
  /// Node of the model's main graph that it came from.
  uint32_t node;
  ValueId firstResult;
  uint32_t resultCount = 1;
  llvm::SmallVector<ValueId, 3> operands;
  /// Attributes by position, as GraphBuilder says per kind.
  llvm::SmallVector<int64_t, 4> integers;
  /// The spec of a matmul.
  std::string text;
  OpId nextOfHash = noOp;
  /// Made for an initializer, not for a node.
  bool isLeaf = false;
};

/// Where the bytes of an initializer lie.
struct Parameter {
  std::string name;
  ElementType type;
  Shape shape;
  /// Empty: the model file itself.
  std::string file;
  int64_t offset = 0;
  int64_t length = 0;
};

struct GraphInput {
  std::string name;
  ValueId value = noValue;
  bool hasBatch = false;
};

struct GraphOutput {
  std::string name;
  ValueId value = noValue;
};

class Graph {
public:
  ConstantPool constants;
  std::vector<Parameter> parameters;
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;

  const Value &getValue(ValueId id) const { return values[id]; }
  const Op &getOp(OpId id) const { return ops[id]; }
  size_t getOpCount() const { return ops.size(); }
  size_t getValueCount() const { return values.size(); }

  /// The constant of a value, or null.
  const Constant *getConstant(ValueId id) const {
    ConstantId constant = values[id].constant;
    return constant == noConstant ? nullptr : &constants[constant];
  }
  /// The op that makes the value if it is of `kind`, or null.
  const Op *getDefinition(ValueId id, OpKind kind) const;

  /// One value per (constant, shape).
  ValueId addConstantValue(ConstantId constant, ShapeRef shape);
  ValueId addLeaf(ValueKind kind, ElementType type, ShapeRef shape,
                  uint32_t leaf);

  struct ResultType {
    ElementType type;
    ShapeRef shape;
  };
  /// Adds an op, or finds the equal one. Returns its first result.
  ValueId addOp(Op op, llvm::ArrayRef<ResultType> results);

  /// Gives ops without a node that of their first user in `order`.
  void assignNodes(llvm::ArrayRef<OpId> order);

private:
  std::deque<Value> values;
  std::deque<Op> ops;
  llvm::DenseMap<uint64_t, OpId> opByHash;
  llvm::DenseMap<ConstantId, llvm::SmallVector<ValueId, 2>> valueByConstant;
};

/// The ops in the order in which they are written: what no output needs is left
/// out, and what depends on no input but has several users comes first, so that
/// all layers of a model look alike.
std::vector<OpId> orderOps(const Graph &graph);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_GRAPH_GRAPH_H
