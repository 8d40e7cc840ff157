//===- Experts.cpp - Values of dispatch and combine -----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace parplan {
namespace {

/// The row of the token with the choices [begin, begin + count) for `expert`,
/// both counted from `first`; -1 where it has not the expert.
int64_t findRow(const ExpertGroups &groups, const Tensor &choices,
                int64_t begin, int64_t count, int64_t first, int64_t expert) {
  SmallVector<int64_t> ofGroup;
  int64_t group = expert / groups.experts;
  for (int64_t choice = begin; choice < begin + count; ++choice) {
    int64_t other = choices[choice].integer - first;
    if (other == expert)
      return group * groups.rows + static_cast<int64_t>(ofGroup.size());
    if (other >= 0 && other / groups.experts == group &&
        !llvm::is_contained(ofGroup, other))
      ofGroup.push_back(other);
  }
  return -1;
}

/// The choices of all tokens, seen as [t, k], and the block of experts that
/// this rank has.
class Routing {
public:
  Routing(const Tensor &experts, const Tensor *weights, const Tensor *first,
          ArrayRef<int64_t> values, ExpertGroups groups)
      : width(values.back()), experts(experts), weights(weights),
        first(first ? (*first)[0].integer : 0), groups(groups),
        count(groups.countExperts(values.front())),
        choices(experts.getShape().back()) {}

  /// Calls `body` with the first elements of the row in [r, *t, d] and in
  /// [*t, d], the position in [*t, k] and the weight there, for every choice of
  /// an expert of the block.
  void forEachChoice(llvm::function_ref<void(int64_t value, int64_t token,
                                             int64_t choice, double weight)>
                         body) const {
    int64_t tokens = choices ? experts.getSize() / choices : 0;
    for (int64_t choice = 0; choice < experts.getSize(); ++choice) {
      int64_t expert = experts[choice].integer - first;
      int64_t token = choice / choices;
      if (expert < 0 || expert >= count)
        continue;
      int64_t begin = token * choices;
      int64_t row = findRow(groups, experts, begin, choices, first, expert);
      body((row * tokens + token) * width, token * width, choice,
           weights ? (*weights)[choice].real : isNew(begin, choice));
    }
  }

  int64_t width;

private:
  /// Whether no choice from `begin` on is that of the same expert.
  bool isNew(int64_t begin, int64_t choice) const {
    for (int64_t other = begin; other < choice; ++other)
      if (experts[other].integer == experts[choice].integer)
        return false;
    return true;
  }

  const Tensor &experts;
  const Tensor *weights;
  int64_t first;
  ExpertGroups groups;
  int64_t count, choices;
};

const Tensor *find(const Evaluation &evaluation, Value value) {
  for (OpOperand &operand : evaluation.op->getOpOperands())
    if (value && operand.get() == value)
      return evaluation.operands[operand.getOperandNumber()];
  return nullptr;
}

Values evaluateDispatch(const Evaluation &evaluation, MoeDispatchOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &tokens = evaluation.operand(0);
  Routing routing(evaluation.operand(1), find(evaluation, op.getWeights()),
                  find(evaluation, op.getFirstExpert()), result.getShape(),
                  op.getRowGroups());
  routing.forEachChoice(
      [&](int64_t value, int64_t token, int64_t, double weight) {
        for (int64_t d = 0; d < routing.width; ++d)
          result[value + d].real += weight * tokens[token + d].real;
      });
  return {result};
}

Values evaluateCombine(const Evaluation &evaluation, MoeCombineOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &values = evaluation.operand(0);
  Routing routing(evaluation.operand(1), find(evaluation, op.getWeights()),
                  find(evaluation, op.getFirstExpert()), values.getShape(),
                  op.getRowGroups());
  routing.forEachChoice(
      [&](int64_t value, int64_t token, int64_t, double weight) {
        for (int64_t d = 0; d < routing.width; ++d)
          result[token + d].real += weight * values[value + d].real;
      });
  return {result};
}

Values evaluateWeightGradient(const Evaluation &evaluation,
                              MoeWeightGradientOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &values = evaluation.operand(0);
  const Tensor &gradient = evaluation.operand(1);
  Routing routing(evaluation.operand(2), /*weights=*/nullptr,
                  find(evaluation, op.getFirstExpert()), values.getShape(),
                  op.getRowGroups());
  routing.forEachChoice([&](int64_t value, int64_t token, int64_t choice,
                            double) {
    for (int64_t d = 0; d < routing.width; ++d)
      result[choice].real += values[value + d].real * gradient[token + d].real;
  });
  return {result};
}

Values evaluateRows(const Evaluation &evaluation, MatmulOp op) {
  ExpertRows rows = *op.getRows();
  return {multiplyRows(rows, *MatmulSpec::parse(op.getSpec()),
                       evaluation.operand(0), evaluation.operand(1),
                       evaluation.operand(2), find(evaluation, rows.first),
                       evaluation.makeResult().getType())};
}

/// Rows of tokens in tensors of one product: by row, or by expert with zeros
/// for those that a token has not.
class RowLayout {
public:
  RowLayout(const ExpertRows &rows, char common, const Tensor &choices,
            const Tensor *first, int64_t experts)
      : rows(rows), common(common), choices(choices),
        first(first ? (*first)[0].integer : 0), experts(experts) {}

  RankedTensorType getTypeByExpert(StringRef letters,
                                   RankedTensorType type) const {
    SmallVector<int64_t> shape(type.getShape());
    shape[letters.find(common)] = experts;
    return type.clone(shape);
  }

  Tensor spread(StringRef letters, const Tensor &byRow) const {
    Tensor byExpert(getTypeByExpert(letters, byRow.getType()));
    forEachRow(letters, byExpert, byRow, [&](int64_t expert, int64_t row) {
      byExpert[expert] = byRow[row];
    });
    return byExpert;
  }

  Tensor collect(StringRef letters, const Tensor &byExpert,
                 RankedTensorType type) const {
    Tensor byRow(type);
    forEachRow(letters, byExpert, byRow, [&](int64_t expert, int64_t row) {
      byRow[row] = byExpert[expert];
    });
    return byRow;
  }

private:
  /// Calls `visit` with the places of each element of a row that counts.
  void forEachRow(
      StringRef letters, const Tensor &byExpert, const Tensor &byRow,
      llvm::function_ref<void(int64_t expert, int64_t row)> visit) const {
    size_t expertDim = letters.find(common);
    SmallVector<int64_t> ofChoices = choices.getStrides();
    SmallVector<int64_t> ofRows = byRow.getStrides();
    forEachIndex(byExpert.getShape(), [&](ArrayRef<int64_t> index,
                                          int64_t position) {
      int64_t begin = 0;
      for (auto [dim, letter] : llvm::enumerate(rows.tokens))
        begin += index[letters.find(letter)] * ofChoices[dim];
      int64_t row = findRow(rows.groups, choices, begin,
                            choices.getShape().back(), first, index[expertDim]);
      if (row < 0)
        return;
      SmallVector<int64_t> place(index);
      place[expertDim] = row;
      visit(position, getPosition(place, ofRows));
    });
  }

  const ExpertRows &rows;
  char common;
  const Tensor &choices;
  int64_t first, experts;
};

} // namespace

Tensor multiplyRows(const ExpertRows &rows, const MatmulSpec &spec,
                    const Tensor &lhs, const Tensor &rhs, const Tensor &experts,
                    const Tensor *first, RankedTensorType type) {
  RowLayout layout(rows, spec.findCommon(), experts, first,
                   rows.countExperts(spec, lhs.getShape()));
  Tensor left = layout.spread(spec.lhs, lhs);
  if (rows.areSummed(spec))
    return multiply(spec, left, layout.spread(spec.rhs, rhs), type);
  Tensor product =
      multiply(spec, left, rhs, layout.getTypeByExpert(spec.result, type));
  return layout.collect(spec.result, product, type);
}

MaybeValues evaluateExperts(const Evaluation &evaluation) {
  return llvm::TypeSwitch<Operation *, MaybeValues>(evaluation.op)
      .Case<MatmulOp>([&](MatmulOp op) -> MaybeValues {
        if (op.getExperts())
          return evaluateRows(evaluation, op);
        return std::nullopt;
      })
      .Case<MoeDispatchOp>(
          [&](MoeDispatchOp op) { return evaluateDispatch(evaluation, op); })
      .Case<MoeCombineOp>(
          [&](MoeCombineOp op) { return evaluateCombine(evaluation, op); })
      .Case<MoeWeightGradientOp>([&](MoeWeightGradientOp op) {
        return evaluateWeightGradient(evaluation, op);
      })
      .Default([](auto) { return std::nullopt; });
}

} // namespace parplan
