//===- EventPlacement.cpp - Order between the two streams -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Placement.h"

using namespace mlir;

namespace parplan {

namespace {

using exec::StreamKind;

/// Walks the statements in order of issue. Invariant: of the statements of the
/// other stream, those up to `known[stream]` have completed when the next
/// statement of `stream` starts.
class EventPlacer {
public:
  explicit EventPlacer(exec::ProgramOp program) : program(program) {}

  void run() {
    for (Operation &op : program.getBody().front())
      if (auto statement = dyn_cast<exec::StatementOpInterface>(op))
        visit(statement);
    number();
    insert();
  }

private:
  struct Touch {
    int64_t position;
    int64_t start, end;
    bool writes;
  };
  /// `waiting` starts after `awaited` has completed.
  struct Edge {
    int64_t awaited;
    int64_t waiting;
    int64_t event = 0;
  };

  void visit(exec::StatementOpInterface statement) {
    int own = static_cast<int>(statement.getStreamKind());
    int other = 1 - own;
    int64_t position = statements.size();
    statements.push_back(statement);
    SmallVector<Touch> current;
    for (Value value : statement.getReadBuffers())
      current.push_back(getTouch(value, position, /*writes=*/false));
    for (Value value : statement.getWrittenBuffers())
      current.push_back(getTouch(value, position, /*writes=*/true));
    int64_t needed = -1;
    for (const Touch &before : llvm::reverse(touches[other])) {
      if (before.position <= std::max(known[own], needed))
        break;
      if (llvm::any_of(current, [&](const Touch &touch) {
            return (touch.writes || before.writes) &&
                   touch.start < before.end && before.start < touch.end;
          }))
        needed = before.position;
    }
    if (needed > known[own]) {
      known[own] = needed;
      edges.push_back({needed, position});
    }
    touches[own].append(current);
  }

  static Touch getTouch(Value value, int64_t position, bool writes) {
    exec::ByteRange range = exec::getByteRange(value);
    return {position, range.offset, range.end, writes};
  }

  /// Events are used again once they were waited for.
  void number() {
    llvm::stable_sort(edges, [](const Edge &left, const Edge &right) {
      return left.awaited < right.awaited;
    });
    SmallVector<int64_t> freeAfter;
    for (Edge &edge : edges) {
      auto *found = llvm::find_if(
          freeAfter, [&](int64_t waiting) { return waiting <= edge.awaited; });
      edge.event = found - freeAfter.begin();
      if (found == freeAfter.end())
        freeAfter.push_back(edge.waiting);
      else
        *found = edge.waiting;
    }
    program.setEvents(freeAfter.size());
  }

  void insert() {
    OpBuilder builder(program.getContext());
    for (const Edge &edge : edges) {
      exec::StatementOpInterface awaited = statements[edge.awaited];
      exec::StatementOpInterface waiting = statements[edge.waiting];
      builder.setInsertionPointAfter(awaited);
      builder.create<exec::RecordOp>(awaited.getLoc(), edge.event,
                                     awaited.getStreamKind());
      builder.setInsertionPoint(waiting);
      builder.create<exec::WaitOp>(waiting.getLoc(), edge.event,
                                   waiting.getStreamKind());
    }
  }

  exec::ProgramOp program;
  SmallVector<exec::StatementOpInterface> statements;
  SmallVector<Touch> touches[2];
  int64_t known[2] = {-1, -1};
  SmallVector<Edge> edges;
};

} // namespace

void placeEvents(exec::ProgramOp program) { EventPlacer(program).run(); }

} // namespace parplan
