//===- Releases.cpp - When other streams are done with bytes --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Releases.h"

#include "passes/Schedule/ExtractProgram.h"

#include "parplan/Planner/ClusterCosts.h"

#include <array>

using namespace mlir;

namespace parplan {

namespace {

using exec::StreamKind;

/// Walks the statements in order of issue. Of every stream the last statement
/// is pending until it is released.
class ReleaseFinder {
public:
  ReleaseFinder(exec::ProgramOp program, const PlanCosts &costs)
      : program(program), costs(costs), mesh(program.getMesh().getMesh()) {
    pending.fill(-1);
  }

  DenseMap<int64_t, int64_t> run() {
    for (auto op :
         program.getBody().front().getOps<exec::StatementOpInterface>()) {
      visit(op);
      statements.push_back(op);
    }
    for (int64_t &number : pending)
      release(number);
    return std::move(releases);
  }

private:
  void visit(exec::StatementOpInterface op) {
    auto stream = static_cast<size_t>(op.getStreamKind());
    bool computes = op.getStreamKind() == StreamKind::compute;
    for (auto [other, number] : llvm::enumerate(pending)) {
      if (number < 0)
        continue;
      bool isAwaited = awaits(op, statements[number]);
      if (isAwaited && computes &&
          other == static_cast<size_t>(StreamKind::communication))
        computed = std::max(computed, communicated);
      bool isOver = computes && isa<exec::CollectiveOp>(statements[number]) &&
                    computed >= communicated;
      if (other == stream || isAwaited || isOver)
        release(number);
    }
    if (computes) {
      if (auto cost = op->getAttrOfType<exec::CostAttr>("cost"))
        computed += costs.getOpSeconds(cost.getCost());
      return;
    }
    if (auto call = dyn_cast<exec::CollectiveOp>(*op))
      communicated =
          std::max(communicated, computed) + estimateMargin * getSeconds(call);
    pending[stream] = static_cast<int64_t>(statements.size());
  }

  /// Whether `op` touches what `call` writes, or writes what it reads.
  static bool awaits(exec::StatementOpInterface op,
                     exec::StatementOpInterface call) {
    auto meet = [](ValueRange left, ValueRange right) {
      return llvm::any_of(left, [&](Value value) {
        return llvm::any_of(right, [&](Value other) {
          return exec::getBuffer(value) == exec::getBuffer(other);
        });
      });
    };
    return meet(op->getOperands(), call.getWrittenBuffers()) ||
           meet(op.getWrittenBuffers(), call.getReadBuffers());
  }

  double getSeconds(exec::CollectiveOp call) const {
    auto communicator =
        SymbolTable::lookupNearestSymbolFrom<exec::CommunicatorOp>(
            call, call.getCommunicatorAttr());
    FailureOr<AxisList> axes = communicator.getAxes().resolve(mesh);
    return costs.getCollectiveSeconds(getKind(call.getForm()), mesh, *axes,
                                      call.getBytes());
  }

  /// The statement that is next may use its bytes.
  void release(int64_t &number) {
    if (number >= 0)
      releases[number] = static_cast<int64_t>(statements.size());
    number = -1;
  }

  exec::ProgramOp program;
  const PlanCosts &costs;
  Mesh mesh;
  SmallVector<exec::StatementOpInterface> statements;
  std::array<int64_t, exec::streamCount> pending;
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
