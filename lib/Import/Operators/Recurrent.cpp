//===- Recurrent.cpp - RNN, GRU and LSTM, written out ----------*- C++ -*-===//
//
// Part of parplan. The length of the sequence is static: one step after the
// other becomes products and elementwise ops; the products with the input are
// one for all steps.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include <algorithm>

namespace parplan::importer {

/// Longer sequences would make more ops than are worth planning.
constexpr int64_t longestSequence = 4096;

namespace {

enum class CellKind { rnn, gru, lstm };

/// An activation with its parameters.
struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

/// Operands and attributes that all directions share, and how they are read.
class Recurrence {
public:
  Recurrence(NodeContext &node, CellKind kind)
      : node(node), builder(node.builder), kind(kind),
        isBatchFirst(node.version >= 14 && node.getInteger("layout", 0) != 0) {
    readShapes();
    readActivations();
  }

  void import() {
    std::vector<ValueId> outputs, hidden, cells;
    for (int64_t direction = 0; direction < directions; ++direction) {
      run(direction);
      outputs.push_back(builder.concat(steps, 0));
      hidden.push_back(state);
      cells.push_back(cell);
    }
    if (node.isOutputWanted(0)) // [time, directions, batch, hidden]
      node.setOutput(0, join(outputs, 1, {2, 0, 1, 3}));
    if (node.isOutputWanted(1)) // [directions, batch, hidden]
      node.setOutput(1, join(hidden, 0, {1, 0, 2}));
    if (node.isOutputWanted(2) && kind == CellKind::lstm)
      node.setOutput(2, join(cells, 0, {1, 0, 2}));
  }

private:
  int64_t getGateCount() const {
    return kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1;
  }

  void readShapes() {
    input = node.getInput(0);
    type = builder.getType(input);
    if (!isFloat(type) || builder.getRank(input) != 3)
      failNode(codes::badNode, "a sequence of shape ",
               printShape(builder.getShape(input)), " of ",
               printElementType(type));
    if (isBatchFirst)
      input = builder.transpose(input, {1, 0, 2});
    length = builder.getShape(input)[0];
    batch = builder.getShape(input)[1];
    std::string direction = node.getText("direction", "forward");
    if (direction != "forward" && direction != "reverse" &&
        direction != "bidirectional")
      failNode(codes::badNode, "direction is none of its values");
    startsReversed = direction == "reverse";
    directions = direction == "bidirectional" ? 2 : 1;
    ShapeRef weights = builder.getShape(node.getInput(2));
    if (weights.size() != 3)
      failNode(codes::badNode, "recurrent weights of shape ",
               printShape(weights));
    size = weights[2];
    int64_t gates = getGateCount() * size;
    require(1, {directions, gates, builder.getShape(input)[2]});
    require(2, {directions, gates, size});
    require(3, {directions, 2 * gates});
    require(4, {batch});
    Shape states = isBatchFirst ? Shape({batch, directions, size})
                                : Shape({directions, batch, size});
    require(5, states);
    if (kind == CellKind::lstm) {
      require(6, states);
      require(7, {directions, 3 * size});
    }
    if (length < 1 || length > longestSequence)
      failNode(codes::unsupportedForm, "a sequence of ", length,
               " steps; at most ", longestSequence, " are written out");
  }

  void require(size_t operand, ShapeRef shape) const {
    if (node.hasInput(operand) &&
        ShapeRef(builder.getShape(node.getInput(operand))) != shape)
      failNode(codes::badNode, "operand ", operand, " of shape ",
               printShape(builder.getShape(node.getInput(operand))), ", not ",
               printShape(shape));
  }

  void readActivations() {
    static const char *const defaults[][3] = {
        {"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
    int64_t perDirection = 1 + int64_t(kind);
    for (int64_t i = 0; i < directions * perDirection; ++i)
      activations.push_back({defaults[int(kind)][i % perDirection]});
    std::vector<std::string> names = node.getTexts("activations");
    if (!names.empty() && names.size() != activations.size())
      failNode(codes::badNode, names.size(), " activations, not ",
               activations.size());
    std::vector<double> alphas =
        node.getReals("activation_alpha").value_or(std::vector<double>());
    std::vector<double> betas =
        node.getReals("activation_beta").value_or(std::vector<double>());
    // Activations with parameters take them in order.
    size_t alpha = 0, beta = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      Activation &one = activations[i];
      one.name = names[i];
      auto take = [](const std::vector<double> &list, size_t &next,
                     double otherwise) {
        return next < list.size() ? list[next++] : otherwise;
      };
      if (one.name == "LeakyRelu")
        one.alpha = take(alphas, alpha, double(0.01f));
      else if (one.name == "HardSigmoid") {
        one.alpha = take(alphas, alpha, double(0.2f));
        one.beta = take(betas, beta, 0.5);
      } else if (one.name == "Affine" || one.name == "ScaledTanh") {
        one.alpha = take(alphas, alpha, 1);
        one.beta = take(betas, beta, one.name == "Affine" ? 0 : 1);
      } else if (one.name != "Tanh" && one.name != "Sigmoid" &&
                 one.name != "Relu")
        failNode(codes::unsupportedForm, "the activation '", one.name, "'");
    }
  }

  //===--------------------------------------------------------------------===//
  // Formulas
  //===--------------------------------------------------------------------===//

  ValueId number(double value) const { return builder.makeNumber(type, value); }
  ValueId add(ValueId left, ValueId right) const {
    return builder.binary(OpKind::add, left, right);
  }
  ValueId multiply(ValueId left, ValueId right) const {
    return builder.binary(OpKind::mul, left, right);
  }
  ValueId oneMinus(ValueId value) const {
    return builder.binary(OpKind::sub, number(1), value);
  }

  ValueId activate(ValueId value, int64_t direction, int64_t which) const {
    if (node.hasAttribute("clip")) {
      double bound = node.getReal("clip", 0);
      value = builder.binary(OpKind::min,
                             builder.binary(OpKind::max, value, number(-bound)),
                             number(bound));
    }
    const Activation &one =
        activations[direction * (1 + int64_t(kind)) + which];
    if (one.name == "Tanh")
      return builder.unary(OpKind::tanh, value);
    if (one.name == "Sigmoid")
      return builder.unary(OpKind::sigmoid, value);
    if (one.name == "Relu")
      return builder.unary(OpKind::relu, value);
    ValueId scaled = multiply(value, number(one.alpha));
    if (one.name == "Affine")
      return add(scaled, number(one.beta));
    if (one.name == "LeakyRelu")
      return builder.select(builder.compare(Predicate::ge, value, number(0)),
                            value, scaled);
    ValueId shifted = add(scaled, number(one.beta));
    if (one.name == "HardSigmoid")
      return builder.binary(OpKind::min,
                            builder.binary(OpKind::max, shifted, number(0)),
                            number(1));
    // ScaledTanh: alpha tanh(beta x)
    return multiply(
        number(one.alpha),
        builder.unary(OpKind::tanh, multiply(value, number(one.beta))));
  }

  /// The gate number `index` along a dimension.
  ValueId take(ValueId value, int64_t index, int64_t dim) const {
    return builder.slice(value,
                         SliceRange{dim, index * size, (index + 1) * size});
  }

  /// Operand of one direction, without that dimension.
  ValueId ofDirection(ValueId operand, int64_t direction,
                      int64_t dim = 0) const {
    ValueId slice =
        builder.slice(operand, SliceRange{dim, direction, direction + 1});
    Shape shape = builder.getShape(slice);
    shape.erase(shape.begin() + dim);
    return builder.reshape(slice, shape);
  }

  ValueId getInitial(size_t operand, int64_t direction) const {
    if (!node.hasInput(operand))
      return builder.makeNumber(type, 0, {batch, size});
    return ofDirection(node.getInput(operand), direction, isBatchFirst ? 1 : 0);
  }

  /// h R^T for the gates from `first` on, of which there are `count`.
  ValueId recur(ValueId hidden, int64_t first, int64_t count) const {
    ValueId weights = builder.slice(
        recurrent, SliceRange{0, first * size, (first + count) * size});
    return builder.product(hidden, weights, "bh,gh->bg");
  }

  /// One direction over all steps, in the order of time.
  void run(int64_t direction) {
    ValueId weights = ofDirection(node.getInput(1), direction);
    recurrent = ofDirection(node.getInput(2), direction);
    int64_t gates = getGateCount() * size;
    ValueId projected = builder.product(input, weights, "tbi,gi->tbg");
    recurrentBias = noValue;
    if (node.hasInput(3)) {
      ValueId bias = ofDirection(node.getInput(3), direction);
      projected = add(projected, builder.slice(bias, SliceRange{0, 0, gates}));
      recurrentBias = builder.slice(bias, SliceRange{0, gates, 2 * gates});
    }
    peepholes = noValue;
    if (kind == CellKind::lstm && node.hasInput(7))
      peepholes = ofDirection(node.getInput(7), direction);
    state = getInitial(5, direction);
    cell = kind == CellKind::lstm ? getInitial(6, direction) : noValue;
    bool isReversed = startsReversed || direction == 1;
    steps.assign(length, noValue);
    for (int64_t step = 0; step < length; ++step) {
      int64_t time = isReversed ? length - 1 - step : step;
      ValueId x = builder.reshape(
          builder.slice(projected, SliceRange{0, time, time + 1}),
          {batch, gates});
      ValueId oldState = state, oldCell = cell;
      advance(x, direction);
      ValueId shown = state;
      if (node.hasInput(4)) {
        // Behind the end of a sequence states stay, and what is shown is zero.
        ValueId lengths = builder.reshape(node.getInput(4), {batch, 1});
        ValueId isInside = builder.compare(
            Predicate::gt, lengths,
            builder.makeNumber(builder.getType(lengths), double(time)));
        shown = builder.select(isInside, state, number(0));
        state = builder.select(isInside, state, oldState);
        if (cell != noValue)
          cell = builder.select(isInside, cell, oldCell);
      }
      steps[time] = builder.reshape(shown, {1, batch, size});
    }
  }

  ValueId addRecurrentBias(ValueId value, int64_t first, int64_t count) const {
    if (recurrentBias == noValue)
      return value;
    return add(value, builder.slice(
                          recurrentBias,
                          SliceRange{0, first * size, (first + count) * size}));
  }

  /// One step: from `state` and `cell` to the next.
  void advance(ValueId x, int64_t direction) {
    switch (kind) {
    case CellKind::rnn:
      state = activate(add(x, addRecurrentBias(recur(state, 0, 1), 0, 1)),
                       direction, 0);
      return;
    case CellKind::gru:
      return advanceGru(x, direction);
    case CellKind::lstm:
      return advanceLstm(x, direction);
    }
  }

  void advanceGru(ValueId x, int64_t direction) {
    // Gates: update, reset, hidden.
    ValueId both = add(builder.slice(x, SliceRange{1, 0, 2 * size}),
                       addRecurrentBias(recur(state, 0, 2), 0, 2));
    ValueId update = activate(take(both, 0, 1), direction, 0);
    ValueId reset = activate(take(both, 1, 1), direction, 0);
    ValueId recurred;
    if (node.getInteger("linear_before_reset", 0) != 0)
      recurred = multiply(reset, addRecurrentBias(recur(state, 2, 1), 2, 1));
    else
      recurred = addRecurrentBias(recur(multiply(reset, state), 2, 1), 2, 1);
    ValueId hidden = activate(add(take(x, 2, 1), recurred), direction, 1);
    state = add(multiply(oneMinus(update), hidden), multiply(update, state));
  }

  /// `value` plus the peephole of gate number `index` on a cell.
  ValueId peep(ValueId value, int64_t index, ValueId at) const {
    if (peepholes == noValue)
      return value;
    return add(value, multiply(take(peepholes, index, 0), at));
  }

  void advanceLstm(ValueId x, int64_t direction) {
    // Gates: input, output, forget, cell; peepholes: input, output, forget.
    ValueId all = add(x, addRecurrentBias(recur(state, 0, 4), 0, 4));
    ValueId in = activate(peep(take(all, 0, 1), 0, cell), direction, 0);
    ValueId forget =
        node.getInteger("input_forget", 0) != 0
            ? oneMinus(in)
            : activate(peep(take(all, 2, 1), 2, cell), direction, 0);
    ValueId fresh = activate(take(all, 3, 1), direction, 1);
    cell = add(multiply(forget, cell), multiply(in, fresh));
    ValueId out = activate(peep(take(all, 1, 1), 1, cell), direction, 0);
    state = multiply(out, activate(cell, direction, 2));
  }

  /// Values of all directions along a new dimension `dim`; `batchFirst` is the
  /// permutation for that layout.
  ValueId join(llvm::ArrayRef<ValueId> values, int64_t dim,
               llvm::ArrayRef<int64_t> batchFirst) const {
    llvm::SmallVector<ValueId, 2> slices;
    for (ValueId value : values)
      slices.push_back(builder.insertDims(value, {dim}));
    ValueId joined = builder.concat(slices, dim);
    return isBatchFirst ? builder.transpose(joined, batchFirst) : joined;
  }

  NodeContext &node;
  GraphBuilder &builder;
  CellKind kind;
  bool isBatchFirst, startsReversed = false;
  ElementType type = ElementType::f32;
  int64_t length = 0, batch = 0, size = 0, directions = 1;
  std::vector<Activation> activations;
  ValueId input = noValue;
  // Of the direction that runs.
  ValueId recurrent = noValue, recurrentBias = noValue, peepholes = noValue,
          state = noValue, cell = noValue;
  std::vector<ValueId> steps;
};

} // namespace

template <CellKind kind> static void importRecurrence(NodeContext &node) {
  Recurrence(node, kind).import();
}

llvm::ArrayRef<OperatorEntry> getRecurrentOperators() {
  constexpr Support lowered = Support::lowered;
  static const char note[] = "every step written out";
  static const OperatorEntry entries[] = {
      {"RNN", {7, 14, 22}, lowered, importRecurrence<CellKind::rnn>, note},
      {"GRU", {7, 14, 22}, lowered, importRecurrence<CellKind::gru>, note},
      {"LSTM", {7, 14, 22}, lowered, importRecurrence<CellKind::lstm>, note},
  };
  return entries;
}

} // namespace parplan::importer
