//===- RingMachine.cpp - Runs statements on all ranks ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RingMachine.h"

#include "parplan/Sharding/Zigzag.h"
#include "parplan/Support/Check.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <cstring>

using namespace mlir;

namespace parplan::test {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Positions of one attention's elements; strides as statements give them.
int64_t locate(ArrayRef<int64_t> strides, int64_t b, int64_t s, int64_t h) {
  return b * strides[0] + s * strides[1] + h * strides[2];
}

} // namespace

RingMachine::RingMachine(exec::ProgramOp program)
    : program(program), mesh(program.getMesh().getMesh()),
      // All bits set is a NaN.
      arenas(mesh.getRankCount(),
             std::vector<char>(program.getArena() + 8, '\xff')) {
  scores.resize(mesh.getRankCount());
}

exec::BufferOp RingMachine::getBuffer(exec::BufferKind kind, size_t number) {
  for (auto buffer : program.getBody().front().getOps<exec::BufferOp>())
    if (buffer.getKind() == kind && number-- == 0)
      return buffer;
  PARPLAN_UNREACHABLE("there is no such buffer");
}

char *RingMachine::at(int64_t rank, Value buffer) {
  return arenas[rank].data() + exec::getArenaOffset(buffer);
}

double RingMachine::read(int64_t rank, Value buffer, int64_t index) {
  Type type = exec::getBufferType(buffer).getElementType();
  const char *from = at(rank, buffer);
  if (type.isF64())
    return reinterpret_cast<const double *>(from)[index];
  if (type.isInteger(64))
    return static_cast<double>(reinterpret_cast<const int64_t *>(from)[index]);
  return from[index];
}

void RingMachine::write(int64_t rank, Value buffer, int64_t index,
                        double value) {
  Type type = exec::getBufferType(buffer).getElementType();
  char *to = at(rank, buffer);
  if (type.isF64())
    reinterpret_cast<double *>(to)[index] = value;
  else if (type.isInteger(64))
    reinterpret_cast<int64_t *>(to)[index] = static_cast<int64_t>(value);
  else
    to[index] = static_cast<char>(value);
}

void RingMachine::setInput(size_t number, ArrayRef<Tensor> blocks) {
  exec::BufferOp buffer = getBuffer(exec::BufferKind::input, number);
  for (auto [rank, block] : llvm::enumerate(blocks))
    for (int64_t i = 0; i < block.getSize(); ++i)
      write(rank, buffer, i, block.getNumber(i));
}

std::vector<Tensor> RingMachine::getOutput(size_t number) {
  exec::BufferOp buffer = getBuffer(exec::BufferKind::output, number);
  exec::BufferType type = buffer.getType();
  std::vector<Tensor> blocks;
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    Tensor &block = blocks.emplace_back(
        RankedTensorType::get(type.getShape(), type.getElementType()));
    for (int64_t i = 0; i < block.getSize(); ++i)
      block.setNumber(i, read(rank, buffer, i));
  }
  return blocks;
}

int64_t RingMachine::evaluate(int64_t rank, exec::RankValueAttr value) {
  AxisList axes = *value.getAxes().resolve(mesh);
  SmallVector<int64_t> group = mesh.getGroup(rank, axes);
  int64_t width = static_cast<int64_t>(group.size());
  int64_t place = mesh.getIndex(rank, axes) - value.getBack() % width;
  int64_t member = group[(place + width) % width];
  Interval interval = mesh.getInterval(value.getSize(), axes, member);
  return value.getKind() == exec::RankValueKind::start ? interval.start
                                                       : interval.size();
}

bool RingMachine::run() {
  return llvm::all_of(program.getBody().front(),
                      [&](Operation &op) { return run(op); });
}

bool RingMachine::run(Operation &op) {
  if (!isa<exec::StatementOpInterface>(op))
    return true;
  if (auto exchange = dyn_cast<exec::ExchangeOp>(op)) {
    run(exchange);
    return true;
  }
  if (auto collective = dyn_cast<exec::CollectiveOp>(op))
    return run(collective);
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    bool known =
        llvm::TypeSwitch<Operation *, bool>(&op)
            .Case<exec::AttentionOp, exec::AttentionGradientOp, exec::CopyOp>(
                [&](auto statement) {
                  run(statement, rank);
                  return true;
                })
            .Case([&](exec::LaunchOp launch) { return run(launch, rank); })
            .Default([](Operation *) { return false; });
    if (!known)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

void RingMachine::run(exec::CopyOp op, int64_t rank) {
  forEachIndex(op.getExtents(), [&](ArrayRef<int64_t> index, int64_t) {
    write(rank, op.getOutput(),
          op.getOutputOffset() + getPosition(index, op.getOutputStrides()),
          read(rank, op.getInput(),
               op.getInputOffset() + getPosition(index, op.getInputStrides())));
  });
}

void RingMachine::run(exec::ExchangeOp op) {
  AxisList axes = getAxes(op.getCommunicatorAttr());
  int64_t bytes = exec::getBufferType(op.getInput()).getByteSize();
  std::vector<std::vector<char>> messages;
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
    messages.emplace_back(at(rank, op.getInput()),
                          at(rank, op.getInput()) + bytes);
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    int64_t from = op.getReceiveFrom()[mesh.getIndex(rank, axes)];
    const std::vector<char> &message =
        messages[mesh.getGroup(rank, axes)[from]];
    std::memcpy(at(rank, op.getOutput()), message.data(), bytes);
  }
  sentBytes += bytes;
}

/// Sums over groups: of gradients where the width of values is split.
bool RingMachine::run(exec::CollectiveOp op) {
  if (op.getForm() != exec::CollectiveForm::all_reduce)
    return false;
  AxisList axes = getAxes(op.getCommunicatorAttr());
  int64_t count = exec::getBufferType(op.getInput()).getElementCount();
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    if (mesh.getIndex(rank, axes) != 0)
      continue;
    for (int64_t i = 0; i < count; ++i) {
      double sum = 0;
      for (int64_t member : mesh.getGroup(rank, axes))
        sum += read(member, op.getInput(), i);
      for (int64_t member : mesh.getGroup(rank, axes))
        write(member, op.getOutput(), i, sum);
    }
  }
  return true;
}

AxisList RingMachine::getAxes(FlatSymbolRefAttr communicator) {
  auto op = SymbolTable::lookupNearestSymbolFrom<exec::CommunicatorOp>(
      program.getBody().front().getParentOp(), communicator);
  return *op.getAxes().resolve(mesh);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {

/// Sizes of a statement, and which keys it sees.
struct Geometry {
  template <typename Statement>
  explicit Geometry(Statement op)
      : sizes(op.getShape()), b(sizes[0]), s(sizes[1]), t(sizes[2]),
        h(sizes[3]), g(sizes[4]), e(sizes[5]), f(sizes[6]) {}

  ArrayRef<int64_t> sizes;
  int64_t b, s, t, h, g, e, f;
};

} // namespace

/// Whether a query comes before a key, in the model's order.
template <typename Statement, typename Read, typename Evaluate>
static bool isExcluded(Statement op, const Read &read, const Evaluate &evaluate,
                       int64_t s, int64_t t) {
  int64_t query = s, key = t;
  if (op.getKeyStart())
    key += evaluate(*op.getKeyStart());
  if (op.getQueryStart())
    query += evaluate(*op.getQueryStart());
  if (op.getQueryOffset())
    query += static_cast<int64_t>(read(op.getQueryOffset(), 0));
  if (op.getZigzag()) {
    int64_t all = op.getKeyStart()->getSize();
    int64_t ranks = all / op.getShape()[2];
    query = getZigzagPosition(query, all, ranks);
    key = getZigzagPosition(key, all, ranks);
  }
  return op.getCausal() && key > query;
}

/// The score of a key, or -infinity; `read` reads element i of a buffer.
template <typename Statement, typename Read, typename Evaluate>
static double getScore(Statement op, const Read &read, const Evaluate &evaluate,
                       int64_t b, int64_t h, int64_t s, int64_t t) {
  Geometry sizes(op);
  int64_t start = op.getKeyStart() ? evaluate(*op.getKeyStart()) : 0;
  if (op.getValidKeys() && t >= evaluate(*op.getValidKeys()))
    return -infinity;
  if (isExcluded(op, read, evaluate, s, t))
    return -infinity;
  int64_t group = h / (sizes.h / sizes.g);
  double score = 0;
  for (int64_t e = 0; e < sizes.e; ++e)
    score += read(op.getQuery(), locate(op.getQueryStrides(), b, s, h) + e) *
             read(op.getKey(), locate(op.getKeyStrides(), b, t, group) + e);
  score *= op.getScale().convertToDouble();
  if (Value mask = op.getMask()) {
    int64_t column = t + (op.getWholeMask() ? start : 0);
    double value =
        read(mask, getPosition({b, h, s, column}, op.getMaskStrides()));
    if (!exec::getBufferType(mask).getElementType().isInteger(1))
      score += value;
    else if (value == 0)
      return -infinity;
  }
  return score;
}

void RingMachine::run(exec::AttentionOp op, int64_t rank) {
  Geometry sizes(op);
  auto get = [&](Value buffer, int64_t i) { return read(rank, buffer, i); };
  auto evaluated = [&](exec::RankValueAttr value) {
    return evaluate(rank, value);
  };
  SmallVector<int64_t> space = {sizes.b, sizes.h, sizes.s};
  forEachIndex(space, [&](ArrayRef<int64_t> index, int64_t row) {
    int64_t b = index[0], h = index[1], s = index[2];
    int64_t out = locate(op.getOutputStrides(), b, s, h);
    std::vector<double> sums(sizes.f, 0);
    double total = 0;
    if (op.getAccumulate()) {
      total = std::exp(get(op.getLogSumExp(), row));
      for (int64_t f = 0; f < sizes.f; ++f)
        sums[f] = total * get(op.getOutput(), out + f);
    }
    for (int64_t t = 0; t < sizes.t; ++t) {
      scores[rank] += !isExcluded(op, get, evaluated, s, t);
      double weight = std::exp(getScore(op, get, evaluated, b, h, s, t));
      if (weight == 0)
        continue;
      total += weight;
      for (int64_t f = 0; f < sizes.f; ++f)
        sums[f] +=
            weight * get(op.getValue(), locate(op.getValueStrides(), b, t,
                                               h / (sizes.h / sizes.g)) +
                                            f);
    }
    for (int64_t f = 0; f < sizes.f; ++f)
      write(rank, op.getOutput(), out + f, total == 0 ? 0 : sums[f] / total);
    if (op.getLogSumExp())
      write(rank, op.getLogSumExp(), row, std::log(total));
  });
}

void RingMachine::run(exec::AttentionGradientOp op, int64_t rank) {
  Geometry sizes(op);
  auto get = [&](Value buffer, int64_t i) { return read(rank, buffer, i); };
  auto evaluated = [&](exec::RankValueAttr value) {
    return evaluate(rank, value);
  };
  auto add = [&](Value buffer, int64_t i, double value) {
    write(rank, buffer, i, get(buffer, i) + value);
  };
  auto clear = [&](Value buffer) {
    std::memset(at(rank, buffer), 0, exec::getBufferType(buffer).getByteSize());
  };
  clear(op.getKeyGradient());
  clear(op.getValueGradient());
  if (!op.getAccumulate())
    clear(op.getQueryGradient());
  double scale = op.getScale().convertToDouble();
  SmallVector<int64_t> space = {sizes.b, sizes.h, sizes.s};
  forEachIndex(space, [&](ArrayRef<int64_t> index, int64_t row) {
    int64_t b = index[0], h = index[1], s = index[2];
    int64_t group = h / (sizes.h / sizes.g);
    int64_t result = locate(op.getResultStrides(), b, s, h);
    int64_t gradient = locate(op.getGradientStrides(), b, s, h);
    double mean = 0;
    for (int64_t f = 0; f < sizes.f; ++f)
      mean +=
          get(op.getResult(), result + f) * get(op.getGradient(), gradient + f);
    for (int64_t t = 0; t < sizes.t; ++t) {
      double score = getScore(op, get, evaluated, b, h, s, t);
      if (score == -infinity)
        continue;
      double weight = std::exp(score - get(op.getLogSumExp(), row));
      int64_t value = locate(op.getValueStrides(), b, t, group);
      double product = 0;
      for (int64_t f = 0; f < sizes.f; ++f) {
        double each = get(op.getGradient(), gradient + f);
        product += each * get(op.getValue(), value + f);
        add(op.getValueGradient(),
            ((b * sizes.t + t) * sizes.g + group) * sizes.f + f, weight * each);
      }
      double change = weight * (product - mean) * scale;
      for (int64_t e = 0; e < sizes.e; ++e) {
        add(op.getQueryGradient(),
            ((b * sizes.s + s) * sizes.h + h) * sizes.e + e,
            change *
                get(op.getKey(), locate(op.getKeyStrides(), b, t, group) + e));
        add(op.getKeyGradient(),
            ((b * sizes.t + t) * sizes.g + group) * sizes.e + e,
            change *
                get(op.getQuery(), locate(op.getQueryStrides(), b, s, h) + e));
      }
    }
  });
}

//===----------------------------------------------------------------------===//
// Fused kernels
//===----------------------------------------------------------------------===//

static std::optional<double> applyFunction(exec::ScalarFunction function,
                                           ArrayRef<double> operands) {
  using Function = exec::ScalarFunction;
  switch (function) {
  case Function::add:
    return operands[0] + operands[1];
  case Function::sub:
    return operands[0] - operands[1];
  case Function::mul:
    return operands[0] * operands[1];
  case Function::lt:
    return operands[0] < operands[1];
  case Function::and_:
    return operands[0] != 0 && operands[1] != 0;
  case Function::select:
    return operands[0] != 0 ? operands[1] : operands[2];
  case Function::cast:
    return operands[0];
  default:
    return std::nullopt;
  }
}

bool RingMachine::run(exec::LaunchOp op, int64_t rank) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<exec::KernelOp>(
      program.getBody().front().getParentOp(), op.getKernelAttr());
  Block &body = kernel.getBody().front();
  bool known = true;
  forEachIndex(kernel.getSpace(), [&](ArrayRef<int64_t> index, int64_t) {
    DenseMap<Value, double> values;
    for (auto [dim, position] : llvm::enumerate(index))
      values[body.getArgument(dim)] = static_cast<double>(position);
    for (auto [number, scalar] : llvm::enumerate(op.getScalars()))
      values[body.getArgument(index.size() + number)] = static_cast<double>(
          evaluate(rank, cast<exec::RankValueAttr>(scalar)));
    for (Operation &part : body) {
      if (auto load = dyn_cast<exec::LoadOp>(part)) {
        int64_t from = load.getOffset() + getPosition(index, load.getStrides());
        for (auto [dynamic, scale] :
             llvm::zip(load.getDynamic(), load.getScales()))
          from += static_cast<int64_t>(values[dynamic]) * scale;
        bool reads = !load.getCondition() || values[load.getCondition()] != 0;
        values[load.getResult()] =
            reads ? read(rank, op.getInputs()[load.getInput()], from) : 0;
      } else if (auto store = dyn_cast<exec::StoreOp>(part)) {
        write(rank, op.getOutput(),
              store.getOffset() + getPosition(index, store.getStrides()),
              values[store.getValue()]);
      } else if (auto literal = dyn_cast<exec::LiteralOp>(part)) {
        auto real = dyn_cast<FloatAttr>(literal.getValue());
        values[literal.getResult()] =
            real ? real.getValueAsDouble()
                 : static_cast<double>(
                       cast<IntegerAttr>(literal.getValue()).getInt());
      } else {
        auto apply = cast<exec::ApplyOp>(part);
        SmallVector<double> operands;
        for (Value operand : apply.getOperands())
          operands.push_back(values[operand]);
        std::optional<double> value =
            applyFunction(apply.getFunction(), operands);
        known &= value.has_value();
        values[apply.getResult()] = value.value_or(0);
      }
    }
  });
  return known;
}

} // namespace parplan::test
