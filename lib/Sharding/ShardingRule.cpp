//===- ShardingRule.cpp - How the dimensions of an op correspond ----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Sharding/ShardingRule.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

namespace parplan {

llvm::StringRef stringifyFactorKind(FactorKind kind) {
  switch (kind) {
  case FactorKind::parallel:
    return "parallel";
  case FactorKind::reduceSum:
    return "reduce_sum";
  case FactorKind::reduceMax:
    return "reduce_max";
  case FactorKind::coupled:
    return "coupled";
  case FactorKind::blocked:
    return "blocked";
  }
  PARPLAN_UNREACHABLE("unknown factor kind ", static_cast<int>(kind));
}

std::optional<int> ShardingRule::findFactor(llvm::StringRef name) const {
  for (size_t factor = 0; factor < factors.size(); ++factor)
    if (factors[factor].name == name)
      return static_cast<int>(factor);
  return std::nullopt;
}

std::optional<int> ShardingRule::findNumbered() const {
  for (size_t factor = 0; factor < factors.size(); ++factor)
    if (factors[factor].isNumbered)
      return static_cast<int>(factor);
  return std::nullopt;
}

namespace {

bool contains(llvm::ArrayRef<int> axes, int axis) {
  return llvm::is_contained(axes, axis);
}

/// True when the dimensions of `tensor` are indexed by `factor`.
bool indexes(const TensorFactors &tensor, int factor) {
  return llvm::any_of(
      tensor, [&](const DimFactors &dim) { return contains(dim, factor); });
}

AxisList getDimAxes(const DimFactors &dim, const FactorAssignment &assignment) {
  AxisList axes;
  for (int factor : dim)
    axes.append(assignment.axes[factor].begin(), assignment.axes[factor].end());
  return axes;
}

Sharding getDimSharding(const TensorFactors &tensor,
                        const FactorAssignment &assignment) {
  Sharding sharding;
  for (const DimFactors &dim : tensor)
    sharding.dims.push_back(getDimAxes(dim, assignment));
  return sharding;
}

bool isReduction(FactorKind kind) {
  return kind == FactorKind::reduceSum || kind == FactorKind::reduceMax;
}

} // namespace

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {

std::optional<std::string> verifyTensorFactors(const ShardingRule &rule,
                                               const TensorFactors &tensor,
                                               llvm::ArrayRef<int64_t> shape,
                                               const std::string &what) {
  if (tensor.size() != shape.size())
    return concat(what, " has ", shape.size(), " dimensions, its rule ",
                  tensor.size());
  llvm::SmallVector<bool, 16> seen(rule.factors.size(), false);
  for (size_t dim = 0; dim < tensor.size(); ++dim) {
    int64_t product = 1;
    for (int factor : tensor[dim]) {
      if (factor < 0 || factor >= static_cast<int>(rule.factors.size()))
        return concat(what, " is indexed by factor ", factor, " of ",
                      rule.factors.size());
      if (seen[factor])
        return concat(what, " is indexed twice by factor ",
                      quoteName(rule.factors[factor].name));
      seen[factor] = true;
      product *= rule.factors[factor].size;
    }
    // An empty list may belong to any size: the dimension is never split.
    if (!tensor[dim].empty() && product != shape[dim])
      return concat("dimension ", dim, " of ", what, " has size ", shape[dim],
                    ", its factors ", product);
  }
  return std::nullopt;
}

/// S21: panels of a dimension are panels of one factor.
std::optional<std::string> verifyPanelFactors(const ShardingRule &rule) {
  for (int factor : rule.panelFactors) {
    if (factor < 0 || factor >= static_cast<int>(rule.factors.size()))
      return concat("a loop over panels of factor ", factor, " of ",
                    rule.factors.size());
    auto isShared = [&](const DimFactors &dim) {
      return dim.size() > 1 && llvm::is_contained(dim, factor);
    };
    auto shares = [&](const TensorFactors &tensor) {
      return llvm::any_of(tensor, isShared);
    };
    if (llvm::any_of(rule.operands, shares) ||
        llvm::any_of(rule.results, shares))
      return concat("factor ", quoteName(rule.factors[factor].name),
                    " has panels and shares a dimension");
  }
  return std::nullopt;
}

/// S7: an axis is on at most one factor, and not pending too (S8) or stored.
std::optional<std::string> verifyAxes(const ShardingRule &rule,
                                      const FactorAssignment &assignment,
                                      const Mesh &mesh) {
  // Per axis: no use, a factor, pending or stored.
  constexpr int unused = -1, pending = -2, stored = -3;
  llvm::SmallVector<int, 16> use(mesh.getAxisCount(), unused);
  auto checkMesh = [&](int axis) -> std::optional<std::string> {
    if (axis >= 0 && axis < mesh.getAxisCount())
      return std::nullopt;
    return concat("S2: the mesh of ", mesh.getAxisCount(), " axes has no axis ",
                  axis);
  };
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    const std::string &name = rule.factors[factor].name;
    for (int axis : assignment.axes[factor]) {
      if (auto fault = checkMesh(axis))
        return fault;
      if (rule.factors[factor].kind == FactorKind::blocked)
        return concat("S7: factor ", quoteName(name),
                      " is blocked and carries axis ",
                      quoteName(mesh.getAxis(axis).name));
      if (use[axis] == static_cast<int>(factor))
        return concat("S1: axis ", quoteName(mesh.getAxis(axis).name),
                      " is twice on factor ", quoteName(name));
      if (use[axis] != unused)
        return concat("S7: axis ", quoteName(mesh.getAxis(axis).name),
                      " is on the factors ",
                      quoteName(rule.factors[use[axis]].name), " and ",
                      quoteName(name));
      use[axis] = static_cast<int>(factor);
    }
  }
  for (int axis : assignment.pending) {
    if (auto fault = checkMesh(axis))
      return fault;
    if (use[axis] == pending)
      return concat("S1: axis ", quoteName(mesh.getAxis(axis).name),
                    " is pending twice");
    if (use[axis] != unused)
      return concat("S8: axis ", quoteName(mesh.getAxis(axis).name),
                    " is pending and on factor ",
                    quoteName(rule.factors[use[axis]].name));
    use[axis] = pending;
  }
  for (int axis : assignment.storage) {
    if (auto fault = checkMesh(axis))
      return fault;
    if (use[axis] == stored)
      return concat("S1: axis ", quoteName(mesh.getAxis(axis).name),
                    " is stored twice");
    if (use[axis] != unused)
      return concat(
          "S1: axis ", quoteName(mesh.getAxis(axis).name), " is stored and ",
          use[axis] == pending
              ? std::string("pending")
              : "on factor " + quoteName(rule.factors[use[axis]].name));
    use[axis] = stored;
  }
  if (!assignment.storage.empty() && !rule.flat)
    return std::string("S6: the op reads whole blocks, not stored pieces");
  return std::nullopt;
}

/// S8: who may read pending values, and one kind of reduction per result.
std::optional<std::string> verifyPending(const ShardingRule &rule,
                                         const FactorAssignment &assignment) {
  if (!assignment.pending.empty()) {
    if (rule.linearity == Linearity::none)
      return std::string("S8: the op is not linear and reads complete values "
                         "only");
    int operandCount = static_cast<int>(rule.operands.size());
    if (rule.linearity == Linearity::separately &&
        (assignment.pendingOperand < 0 ||
         assignment.pendingOperand >= operandCount))
      return concat("S8: pending operand ", assignment.pendingOperand, " of ",
                    operandCount);
  }
  for (size_t result = 0; result < rule.results.size(); ++result) {
    bool sum = !assignment.pending.empty(), max = false;
    for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
      if (assignment.axes[factor].empty() ||
          indexes(rule.results[result], static_cast<int>(factor)))
        continue;
      sum |= rule.factors[factor].kind == FactorKind::reduceSum;
      max |= rule.factors[factor].kind == FactorKind::reduceMax;
    }
    if (sum && max)
      return concat("S8: result ", result, " would be pending as sum and max");
  }
  return std::nullopt;
}

/// S1: an axis is listed once; S21: it lies on another factor.
std::optional<std::string> verifyPanelAxes(const FactorAssignment &assignment,
                                           const Mesh &mesh) {
  llvm::SmallVector<int, 8> seen;
  for (int axis : assignment.panels.axes) {
    if (llvm::none_of(assignment.axes, [&](const AxisList &axes) {
          return llvm::is_contained(axes, axis);
        }))
      return concat("S21: panels move over axis ",
                    axis >= 0 && axis < mesh.getAxisCount()
                        ? quoteName(mesh.getAxis(axis).name)
                        : std::to_string(axis),
                    ", which is on no other factor");
    if (llvm::is_contained(seen, axis))
      return concat("S1: panels move twice over axis ",
                    quoteName(mesh.getAxis(axis).name));
    seen.push_back(axis);
  }
  return std::nullopt;
}

/// S21: the loop is one that the op can run, and it has blocks to move.
std::optional<std::string> verifyPanels(const ShardingRule &rule,
                                        const FactorAssignment &assignment,
                                        const Mesh &mesh) {
  const PanelLoop &panels = assignment.panels;
  if (!panels.exists())
    return panels.axes.empty()
               ? std::nullopt
               : std::optional<std::string>(
                     "S21: axes of panels without their factor");
  if (!llvm::is_contained(rule.panelFactors, panels.factor))
    return concat("S21: the op has no loop over panels of factor ",
                  panels.factor < static_cast<int>(rule.factors.size())
                      ? quoteName(rule.factors[panels.factor].name)
                      : std::to_string(panels.factor));
  const std::string &name = rule.factors[panels.factor].name;
  if (!assignment.axes[panels.factor].empty())
    return concat("S21: factor ", quoteName(name),
                  " is cut in panels and carries axes");
  if (panels.axes.empty())
    return concat("S21: panels of factor ", quoteName(name), " without axes");
  if (!assignment.pending.empty() || !assignment.storage.empty())
    return std::string("S21: an op with panels reads complete, whole blocks");
  if (auto fault = verifyPanelAxes(assignment, mesh))
    return fault;
  auto moves = [&](const TensorFactors &tensor) {
    return !getPanelAxes(tensor, assignment).empty();
  };
  if (llvm::none_of(rule.operands, moves) && llvm::none_of(rule.results, moves))
    return concat("S21: no tensor moves in panels of factor ", quoteName(name));
  return std::nullopt;
}

/// S10: blocks of a dimension of several factors stay contiguous.
std::optional<std::string> verifyCompound(const ShardingRule &rule,
                                          const FactorAssignment &assignment,
                                          const Mesh &mesh,
                                          const TensorFactors &tensor) {
  for (const DimFactors &dim : tensor) {
    if (dim.size() < 2)
      continue;
    const Factor *broken = nullptr;
    for (int factor : dim) {
      const Factor &part = rule.factors[factor];
      int64_t width = mesh.getWidth(assignment.axes[factor]);
      if (assignment.axes[factor].empty()) {
        if (part.size > 1 && !broken)
          broken = &part;
        continue;
      }
      if (broken)
        return concat("S10: factor ", quoteName(part.name),
                      " carries axes, but factor ", quoteName(broken->name),
                      " before it in the same dimension is not split fully");
      if (part.size % width != 0)
        return concat("S10: axes of width ", width, " do not divide factor ",
                      quoteName(part.name), " of size ", part.size,
                      ", a part of a dimension");
      if (width != part.size)
        broken = &part;
    }
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string>
verifyRule(const ShardingRule &rule,
           llvm::ArrayRef<llvm::SmallVector<int64_t>> operandShapes,
           llvm::ArrayRef<llvm::SmallVector<int64_t>> resultShapes) {
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    const Factor &entry = rule.factors[factor];
    if (entry.size < 0)
      return concat("factor ", quoteName(entry.name), " has size ", entry.size);
    if (*rule.findFactor(entry.name) != static_cast<int>(factor))
      return concat("two factors are named ", quoteName(entry.name));
  }
  auto verifyTensors = [&](auto &tensors, auto shapes,
                           const char *what) -> std::optional<std::string> {
    if (tensors.size() != shapes.size())
      return concat("the rule has ", tensors.size(), " ", what, "s, the op ",
                    shapes.size());
    for (size_t i = 0; i < shapes.size(); ++i)
      if (auto fault = verifyTensorFactors(rule, tensors[i], shapes[i],
                                           concat(what, " ", i)))
        return fault;
    return std::nullopt;
  };
  if (auto fault = verifyTensors(rule.operands, operandShapes, "operand"))
    return fault;
  if (auto fault = verifyTensors(rule.results, resultShapes, "result"))
    return fault;
  return verifyPanelFactors(rule);
}

std::optional<std::string> verifyAssignment(const ShardingRule &rule,
                                            const FactorAssignment &assignment,
                                            const Mesh &mesh) {
  if (assignment.axes.size() != rule.factors.size())
    return concat("S2: ", assignment.axes.size(), " axis lists for ",
                  rule.factors.size(), " factors");
  if (auto fault = verifyAxes(rule, assignment, mesh))
    return fault;
  if (auto fault = verifyPending(rule, assignment))
    return fault;
  if (auto fault = verifyPanels(rule, assignment, mesh))
    return fault;
  for (const TensorFactors &tensor : rule.operands)
    if (auto fault = verifyCompound(rule, assignment, mesh, tensor))
      return fault;
  for (const TensorFactors &tensor : rule.results)
    if (auto fault = verifyCompound(rule, assignment, mesh, tensor))
      return fault;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What follows from an assignment
//===----------------------------------------------------------------------===//

AxisList getPanelAxes(const TensorFactors &tensor,
                      const FactorAssignment &assignment) {
  AxisList panelAxes;
  const PanelLoop &panels = assignment.panels;
  if (!panels.exists() || !indexes(tensor, panels.factor))
    return panelAxes;
  for (size_t factor = 0; factor < assignment.axes.size(); ++factor)
    if (!indexes(tensor, static_cast<int>(factor)))
      llvm::copy_if(
          assignment.axes[factor], std::back_inserter(panelAxes),
          [&](int axis) { return llvm::is_contained(panels.axes, axis); });
  return panelAxes;
}

/// S21: the tensor's dimension of the panel factor carries its axes.
static void splitPanels(const TensorFactors &tensor,
                        const FactorAssignment &assignment,
                        Sharding &sharding) {
  AxisList axes = getPanelAxes(tensor, assignment);
  for (size_t dim = 0; dim < tensor.size(); ++dim)
    if (llvm::is_contained(tensor[dim], assignment.panels.factor))
      sharding.dims[dim] = axes;
}

Sharding getUseSharding(const ShardingRule &rule,
                        const FactorAssignment &assignment, int operand) {
  Sharding sharding = getDimSharding(rule.operands[operand], assignment);
  splitPanels(rule.operands[operand], assignment, sharding);
  // S8: with `separately`, one operand alone is read pending.
  if (rule.linearity == Linearity::jointly ||
      (rule.linearity == Linearity::separately &&
       operand == assignment.pendingOperand)) {
    sharding.partial = assignment.pending;
    llvm::sort(sharding.partial);
  }
  if (!rule.operands[operand].empty())
    sharding.storage = assignment.storage;
  return sharding;
}

Sharding getMadeSharding(const ShardingRule &rule,
                         const FactorAssignment &assignment, int result) {
  const TensorFactors &tensor = rule.results[result];
  Sharding sharding = getDimSharding(tensor, assignment);
  splitPanels(tensor, assignment, sharding);
  AxisList panelAxes = getPanelAxes(tensor, assignment);
  sharding.partial = assignment.pending;
  // S7: pending over the axes of the reduced factors that the result lacks.
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    const AxisList &axes = assignment.axes[factor];
    if (axes.empty() || !isReduction(rule.factors[factor].kind) ||
        indexes(tensor, static_cast<int>(factor)))
      continue;
    // S21: what the loop reduces to the owners of panels is complete.
    llvm::copy_if(axes, std::back_inserter(sharding.partial), [&](int axis) {
      return !llvm::is_contained(panelAxes, axis);
    });
    if (rule.factors[factor].kind == FactorKind::reduceMax)
      sharding.reduction = ReductionKind::max;
  }
  // S20: pieces add up to a scalar; other results are stored alike.
  AxisList &target = tensor.empty() ? sharding.partial : sharding.storage;
  target.append(assignment.storage.begin(), assignment.storage.end());
  llvm::sort(sharding.partial);
  return sharding;
}

llvm::SmallVector<int64_t>
getLocalFactorSizes(const ShardingRule &rule,
                    const FactorAssignment &assignment, const Mesh &mesh) {
  llvm::SmallVector<int64_t> sizes;
  for (size_t factor = 0; factor < rule.factors.size(); ++factor)
    sizes.push_back(ceilDivide(rule.factors[factor].size,
                               mesh.getWidth(assignment.axes[factor])));
  return sizes;
}

AxisList getCoupledAxes(const ShardingRule &rule,
                        const FactorAssignment &assignment) {
  AxisList coupled;
  for (auto [factor, axes] : llvm::zip_equal(rule.factors, assignment.axes))
    if (factor.kind == FactorKind::coupled)
      llvm::append_range(coupled, axes);
  llvm::sort(coupled);
  return coupled;
}

bool needsDecomposition(const ShardingRule &rule,
                        const FactorAssignment &assignment) {
  return !getCoupledAxes(rule, assignment).empty();
}

} // namespace parplan
