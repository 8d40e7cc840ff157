//===- Releases.cpp - When other streams are done with bytes --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Releases.h"

#include "passes/Schedule/ExtractProgram.h"

#include "parplan/Planner/ClusterCosts.h"

#include <array>
#include <optional>

using namespace mlir;

namespace parplan {

namespace {

using exec::StreamKind;

/// Walks the statements in order of issue. Of every stream the last statement
/// is pending until it is released.
class ReleaseFinder {
public:
  ReleaseFinder(exec::ProgramOp program, const PlanCosts &costs)
      : program(program), costs(costs), mesh(program.getMesh().getMesh()) {}

  DenseMap<int64_t, int64_t> run() {
    for (auto op :
         program.getBody().front().getOps<exec::StatementOpInterface>()) {
      visit({current, op, exec::getAccesses(op)});
      ++current;
    }
    for (std::optional<Statement> &statement : pending)
      release(statement);
    return std::move(releases);
  }

private:
  struct Statement {
    int64_t number;
    exec::StatementOpInterface op;
    SmallVector<exec::Access> accesses;
  };

  void visit(Statement statement) {
    exec::StatementOpInterface op = statement.op;
    auto stream = static_cast<size_t>(op.getStreamKind());
    bool computes = op.getStreamKind() == StreamKind::compute;
    for (auto [other, before] : llvm::enumerate(pending)) {
      if (!before)
        continue;
      bool isAwaited = awaits(statement, *before);
      if (isAwaited && computes &&
          other == static_cast<size_t>(StreamKind::communication))
        computed = std::max(computed, communicated);
      bool isOver = computes && isa<exec::CollectiveOp>(before->op) &&
                    computed >= communicated;
      if (other == stream || isAwaited || isOver)
        release(before);
    }
    if (computes) {
      if (auto cost = op->getAttrOfType<exec::CostAttr>("cost"))
        computed += costs.getOpSeconds(cost.getCost());
      return;
    }
    if (auto call = dyn_cast<exec::CollectiveOp>(*op))
      communicated =
          std::max(communicated, computed) + estimateMargin * getSeconds(call);
    pending[stream] = std::move(statement);
  }

  /// Whether one of the two writes what the other one touches, on a rank.
  static bool awaits(const Statement &statement, const Statement &call) {
    return llvm::any_of(statement.accesses, [&](const exec::Access &own) {
      return llvm::any_of(call.accesses, [&](const exec::Access &other) {
        return (own.writes || other.writes) && own.ranks.meet(other.ranks) &&
               exec::getBuffer(own.array) == exec::getBuffer(other.array);
      });
    });
  }

  double getSeconds(exec::CollectiveOp call) const {
    auto communicator =
        SymbolTable::lookupNearestSymbolFrom<exec::CommunicatorOp>(
            call, call.getCommunicatorAttr());
    FailureOr<AxisList> axes = communicator.getAxes().resolve(mesh);
    return costs.getCollectiveSeconds(getKind(call.getForm()), mesh, *axes,
                                      call.getBytes());
  }

  /// The statement that is visited may use its bytes.
  void release(std::optional<Statement> &statement) {
    if (statement)
      releases[statement->number] = current;
    statement.reset();
  }

  exec::ProgramOp program;
  const PlanCosts &costs;
  Mesh mesh;
  /// The number of the statement that is visited.
  int64_t current = 0;
  std::array<std::optional<Statement>, exec::streamCount> pending;
  /// When what was issued so far is computed, and communicated.
  double computed = 0, communicated = 0;
  DenseMap<int64_t, int64_t> releases;
};

} // namespace

DenseMap<int64_t, int64_t> findReleases(exec::ProgramOp program,
                                        const PlanCosts &costs) {
  return ReleaseFinder(program, costs).run();
}

} // namespace parplan
