//===- Algorithms.cpp - Names of what ops do with their axes --------------===//

#include "parplan/Planner/Candidates.h"

#include "parplan/Support/Check.h"

using namespace parplan;

llvm::StringRef parplan::stringifyAlgorithm(Algorithm algorithm) {
  switch (algorithm) {
  case Algorithm::replicate:
    return "replicate";
  case Algorithm::row:
    return "row";
  case Algorithm::column:
    return "column";
  case Algorithm::summa2d:
    return "summa2d";
  case Algorithm::gather2d:
    return "gather2d";
  case Algorithm::tensor2_5d:
    return "2.5d";
  case Algorithm::tensor3d:
    return "3d";
  case Algorithm::expert:
    return "expert";
  case Algorithm::local:
    return "local";
  case Algorithm::ring:
    return "ring";
  case Algorithm::allToAll:
    return "all-to-all";
  case Algorithm::gather:
    return "gather";
  }
  PARPLAN_UNREACHABLE("unknown algorithm ", static_cast<int>(algorithm));
}

std::optional<Algorithm> parplan::parseAlgorithm(llvm::StringRef text) {
  for (Algorithm algorithm : allAlgorithms)
    if (text == stringifyAlgorithm(algorithm))
      return algorithm;
  return std::nullopt;
}

bool parplan::isProduct(const PlanningOp &op) {
  return op.role == OpRole::forward && op.isLeader &&
         (op.type == "MatMul" || op.type == "Gemm" || op.type == "Conv");
}

bool parplan::isMultiplied(const PlanningOp &op) {
  return isProduct(op) && isProduct(op.work.kind);
}

static bool hasFactor(const TensorFactors &tensor, int factor) {
  return llvm::any_of(tensor, [&](const DimFactors &dim) {
    return llvm::is_contained(dim, factor);
  });
}

/// The operand that a product treats as its weight: the last one without the
/// batch, else the right-hand side.
static int getWeightOperand(const PlanningOp &op) {
  int last = std::min<int>(static_cast<int>(op.operands.size()), 2) - 1;
  if (op.batchFactor < 0)
    return last;
  for (int operand = last; operand >= 0; --operand)
    if (!hasFactor(op.rule.operands[operand], op.batchFactor))
      return operand;
  return last;
}

bool parplan::routesTokens(const PlanningOp &op) {
  if (op.expertFactor < 0 || op.batchFactor < 0)
    return false;
  auto hasNoExperts = [&](const TensorFactors &tensor) {
    return hasFactor(tensor, op.batchFactor) &&
           !hasFactor(tensor, op.expertFactor);
  };
  // Products of experts read the choices of tokens behind their factors.
  return hasNoExperts(op.rule.operands.front()) ||
         llvm::any_of(op.rule.results, hasNoExperts);
}

std::optional<ProductFactors> parplan::getProductFactors(const PlanningOp &op) {
  if (op.operands.size() < 2 || op.rule.linearity == Linearity::jointly)
    return std::nullopt;
  int weight = getWeightOperand(op);
  const TensorFactors &inner = op.rule.operands[weight];
  const TensorFactors &outer = op.rule.operands[1 - weight];
  if (op.batchFactor >= 0 && hasFactor(inner, op.batchFactor))
    return std::nullopt;
  ProductFactors factors;
  for (auto [index, factor] : llvm::enumerate(op.rule.factors)) {
    int number = static_cast<int>(index);
    if (!hasFactor(inner, number))
      continue;
    if (factor.kind == FactorKind::reduceSum && hasFactor(outer, number))
      factors.contracted.push_back(number);
    else if (factor.kind == FactorKind::parallel && !hasFactor(outer, number))
      factors.columns.push_back(number);
  }
  if (factors.contracted.empty())
    return std::nullopt;
  return factors;
}

namespace {

/// Which factors carry axes of some roles.
class Placement {
public:
  Placement(const FactorAssignment &assignment, const Mesh &mesh)
      : assignment(assignment), mesh(mesh) {}

  bool carries(int factor, AxisRole role) const {
    return factor >= 0 && llvm::any_of(assignment.axes[factor], [&](int axis) {
             return mesh.getAxis(axis).role == role;
           });
  }
  bool carriesAnywhere(AxisRole role) const {
    for (size_t factor = 0; factor < assignment.axes.size(); ++factor)
      if (carries(static_cast<int>(factor), role))
        return true;
    return false;
  }

private:
  const FactorAssignment &assignment;
  const Mesh &mesh;
};

} // namespace

/// Convolutions have more than two operands' worth of roles: whatever is no
/// column and not contracted is a row.
static Algorithm getProductAlgorithm(const PlanningOp &op,
                                     const FactorAssignment &assignment,
                                     const Mesh &mesh) {
  Placement placement(assignment, mesh);
  const TensorFactors &weight = op.rule.operands[getWeightOperand(op)];
  bool onRows = false, onColumns = false, onContracted = false;
  for (auto [index, factor] : llvm::enumerate(op.rule.factors)) {
    int number = static_cast<int>(index);
    if (!placement.carries(number, AxisRole::tensor))
      continue;
    (factor.kind == FactorKind::reduceSum ? onContracted
     : hasFactor(weight, number)          ? onColumns
                                          : onRows) = true;
  }
  if (!onRows)
    return onContracted ? Algorithm::row
           : onColumns  ? Algorithm::column
                        : Algorithm::replicate;
  if (onColumns && onContracted)
    return Algorithm::tensor3d;
  if (!onColumns && !onContracted)
    return Algorithm::local;
  if (!assignment.panels.exists())
    return Algorithm::gather2d;
  bool isWhole = llvm::all_of(assignment.axes, [&](const AxisList &axes) {
    return llvm::all_of(axes, [&](int axis) {
      return mesh.getAxis(axis).role != AxisRole::tensor ||
             llvm::is_contained(assignment.panels.axes, axis);
    });
  });
  return isWhole ? Algorithm::summa2d : Algorithm::tensor2_5d;
}

Algorithm parplan::getAlgorithm(const PlanningOp &op,
                                const FactorAssignment &assignment,
                                const Mesh &mesh) {
  Placement placement(assignment, mesh);
  if (placement.carries(op.expertFactor, AxisRole::expert) &&
      getProductFactors(op))
    return Algorithm::expert;
  if (op.keyFactor >= 0) {
    if (assignment.panels.exists())
      return Algorithm::ring;
    if (placement.carries(op.sequenceFactor, AxisRole::context))
      return Algorithm::gather;
    for (size_t factor = 0; factor < assignment.axes.size(); ++factor)
      if (static_cast<int>(factor) != op.batchFactor &&
          placement.carries(static_cast<int>(factor), AxisRole::context))
        return Algorithm::allToAll;
  }
  return getTensorAlgorithm(op, assignment, mesh);
}

Algorithm parplan::getTensorAlgorithm(const PlanningOp &op,
                                      const FactorAssignment &assignment,
                                      const Mesh &mesh) {
  if (isProduct(op))
    return getProductAlgorithm(op, assignment, mesh);
  Placement placement(assignment, mesh);
  return placement.carriesAnywhere(AxisRole::tensor) ? Algorithm::local
                                                     : Algorithm::replicate;
}

int64_t parplan::getTensorWidth(const FactorAssignment &assignment,
                                const Mesh &mesh) {
  int64_t width = 1;
  for (const AxisList &axes : assignment.axes)
    for (int axis : axes)
      if (mesh.getAxis(axis).role == AxisRole::tensor)
        width *= mesh.getAxis(axis).size;
  return width;
}
