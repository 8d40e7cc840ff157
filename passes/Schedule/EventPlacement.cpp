//===- EventPlacement.cpp - Order between streams -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Placement.h"

#include <array>

using namespace mlir;

namespace parplan {

namespace {

using exec::streamCount;
using exec::StreamKind;

/// A statement of every stream, -1 for none: it and all before it on the stream
/// have completed.
using Clock = std::array<int64_t, streamCount>;

/// Walks the statements in order of issue. Invariant: when the next statement
/// of `stream` starts, `known[stream]` has completed. Whoever waits for a
/// statement knows what that one knew: waits that this makes needless are left
/// out.
class EventPlacer {
public:
  explicit EventPlacer(exec::ProgramOp program) : program(program) {
    for (Clock &clock : known)
      clock.fill(-1);
  }

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
    exec::ByteRange range;
    exec::Ranks ranks;
    bool writes;
  };
  /// `waiting` starts after `awaited` has completed.
  struct Edge {
    int64_t awaited;
    int64_t waiting;
    int64_t event = 0;
  };

  void visit(exec::StatementOpInterface statement) {
    size_t own = static_cast<size_t>(statement.getStreamKind());
    int64_t position = statements.size();
    statements.push_back(statement);
    SmallVector<Touch> current;
    for (const exec::Access &access : exec::getAccesses(statement))
      current.push_back({position, exec::getByteRange(access.array),
                         access.ranks, access.writes});
    SmallVector<int64_t> needed;
    for (size_t other = 0; other < touches.size(); ++other)
      if (other != own)
        if (int64_t last = findConflict(current, other, known[own][other]);
            last >= 0)
          needed.push_back(last);
    // The latest first: it may know of the others.
    llvm::sort(needed, std::greater<>());
    for (int64_t awaited : needed) {
      if (awaited <= known[own][getStream(awaited)])
        continue;
      edges.push_back({awaited, position});
      for (auto [mine, theirs] : llvm::zip_equal(known[own], clocks[awaited]))
        mine = std::max(mine, theirs);
    }
    clocks.push_back(known[own]);
    clocks.back()[own] = position;
    touches[own].append(current);
  }

  size_t getStream(int64_t position) const {
    return static_cast<size_t>(
        exec::StatementOpInterface(statements[position]).getStreamKind());
  }

  /// The last statement of a stream after `covered` that must not run beside
  /// one that touches `current`; -1 if there is none.
  int64_t findConflict(ArrayRef<Touch> current, size_t stream,
                       int64_t covered) const {
    for (const Touch &before : llvm::reverse(touches[stream])) {
      if (before.position <= covered)
        break;
      if (llvm::any_of(current, [&](const Touch &touch) {
            return (touch.writes || before.writes) &&
                   touch.range.meets(before.range) &&
                   touch.ranks.meet(before.ranks);
          }))
        return before.position;
    }
    return -1;
  }

  /// One event per awaited statement. It is used again once all have waited
  /// for it, by a record that cannot overtake the one before.
  void number() {
    llvm::stable_sort(edges, [](const Edge &left, const Edge &right) {
      return left.awaited < right.awaited;
    });
    struct Event {
      int64_t awaited, lastWait;
    };
    SmallVector<Event> events;
    for (size_t first = 0, end; first < edges.size(); first = end) {
      int64_t awaited = edges[first].awaited;
      auto *found = llvm::find_if(events, [&](const Event &event) {
        return event.lastWait <= awaited &&
               clocks[awaited][getStream(event.awaited)] >= event.awaited;
      });
      int64_t event = found - events.begin();
      if (found == events.end())
        events.push_back({});
      events[event].awaited = awaited;
      for (end = first; end < edges.size() && edges[end].awaited == awaited;
           ++end) {
        edges[end].event = event;
        events[event].lastWait =
            std::max(events[event].lastWait, edges[end].waiting);
      }
    }
    program.setEvents(events.size());
  }

  void insert() {
    OpBuilder builder(program.getContext());
    int64_t recorded = -1;
    for (const Edge &edge : edges) {
      exec::StatementOpInterface awaited = statements[edge.awaited];
      exec::StatementOpInterface waiting = statements[edge.waiting];
      if (edge.awaited != recorded) {
        // A group has completed when both of its calls have.
        builder.setInsertionPointAfter(
            isIssuedWithNext(awaited) ? statements[edge.awaited + 1] : awaited);
        builder.create<exec::RecordOp>(awaited.getLoc(), edge.event,
                                       awaited.getStreamKind());
        recorded = edge.awaited;
      }
      bool isSecond =
          edge.waiting > 0 && isIssuedWithNext(statements[edge.waiting - 1]);
      builder.setInsertionPoint(isSecond ? statements[edge.waiting - 1]
                                         : waiting);
      builder.create<exec::WaitOp>(waiting.getLoc(), edge.event,
                                   waiting.getStreamKind());
    }
  }

  exec::ProgramOp program;
  SmallVector<exec::StatementOpInterface> statements;
  /// What has completed when a statement has.
  std::vector<Clock> clocks;
  std::array<SmallVector<Touch>, streamCount> touches;
  std::array<Clock, streamCount> known;
  SmallVector<Edge> edges;
};

} // namespace

void placeEvents(exec::ProgramOp program) { EventPlacer(program).run(); }

} // namespace parplan
