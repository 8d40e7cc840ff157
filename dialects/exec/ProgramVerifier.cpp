//===- ProgramVerifier.cpp - Memory and order of a whole program ----------===//
//
// Part of parplan. E1 to E6 and E17 of docs/spec.md. Independent of the passes
// that place buffers and events: recomputes everything from the statements.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/ExecOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <array>
#include <map>

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

namespace {

ByteRange getSpan(BufferOp buffer) { return getByteRange(buffer.getResult()); }

/// Bytes, as ranges apart from each other.
class RangeSet {
public:
  void add(ByteRange range) {
    auto next = ends.upper_bound(range.offset);
    if (next != ends.begin() && std::prev(next)->second >= range.offset)
      --next;
    while (next != ends.end() && next->first <= range.end) {
      range.offset = std::min(range.offset, next->first);
      range.end = std::max(range.end, next->second);
      next = ends.erase(next);
    }
    ends[range.offset] = range.end;
  }
  bool covers(const ByteRange &range) const {
    auto next = ends.upper_bound(range.offset);
    return next != ends.begin() && std::prev(next)->second >= range.end;
  }
  /// Whether the bytes of both cover `range`.
  bool coversWith(RangeSet other, const ByteRange &range) const {
    for (auto [offset, end] : ends)
      other.add({offset, end});
    return other.covers(range);
  }

private:
  /// The end of a range by its start.
  std::map<int64_t, int64_t> ends;
};

/// The bytes of a buffer that were written. What some members of a communicator
/// write is written on these ranks alone.
class WrittenBytes {
public:
  void add(const ByteRange &range, const Ranks &writers) {
    if (writers.areAll()) {
      byAll.add(range);
      return;
    }
    SmallVector<RangeSet> &members = byMember[writers.getCommunicator()];
    members.resize(writers.getMembers().size());
    for (unsigned position : writers.getMembers().set_bits())
      members[position].add(range);
  }

  /// Whether they were written on all of `readers`: the members of a
  /// communicator are all ranks.
  bool covers(const ByteRange &range, const Ranks &readers) const {
    if (byAll.covers(range))
      return true;
    return llvm::any_of(byMember, [&](const auto &written) {
      auto &[communicator, members] = written;
      bool areOwn = readers.getCommunicator() == communicator;
      for (auto [position, ranges] : llvm::enumerate(members))
        if ((!areOwn || readers.getMembers().test(position)) &&
            !ranges.coversWith(byAll, range))
          return false;
      return true;
    });
  }

private:
  RangeSet byAll;
  llvm::MapVector<StringAttr, SmallVector<RangeSet>> byMember;
};

/// E1 and E2 of a tier: a sweep over the statements with the live buffers by
/// offset.
class MemoryCheck {
public:
  MemoryCheck(ProgramOp program, Tier tier, ArrayRef<BufferOp> buffers)
      : program(program), tier(tier), buffers(buffers) {}

  LogicalResult run() {
    int64_t highest = 0;
    for (BufferOp buffer : buffers) {
      if (buffer.getTier() != tier)
        continue;
      highest = std::max(highest, getSpan(buffer).end);
      starts[buffer.getFirst()].push_back(buffer);
      ends[buffer.getLast()].push_back(buffer);
    }
    if (highest != program.getArenaBytes(tier))
      return program.emitOpError("has an arena of ")
             << program.getArenaBytes(tier) << " bytes on "
             << stringifyTier(tier) << "; the highest buffer ends at "
             << highest << " (E1)";
    for (auto &[statement, starting] : starts) {
      retire(statement);
      for (BufferOp buffer : starting)
        if (failed(insert(buffer)))
          return failure();
    }
    return success();
  }

private:
  /// Removes the buffers whose last statement lies before `statement`.
  void retire(int64_t statement) {
    while (!ends.empty() && ends.begin()->first < statement) {
      for (BufferOp buffer : ends.begin()->second)
        if (auto found = live.find(getSpan(buffer).offset);
            found != live.end() && found->second == buffer)
          live.erase(found);
      ends.erase(ends.begin());
    }
  }

  LogicalResult insert(BufferOp buffer) {
    ByteRange span = getSpan(buffer);
    if (span.offset == span.end)
      return success();
    auto above = live.lower_bound(span.offset);
    BufferOp clash;
    if (above != live.end() && getSpan(above->second).meets(span))
      clash = above->second;
    if (above != live.begin() && getSpan(std::prev(above)->second).meets(span))
      clash = std::prev(above)->second;
    if (clash) {
      InFlightDiagnostic diagnostic =
          buffer.emitOpError("shares bytes with a buffer that is live (E2)");
      diagnostic.attachNote(clash.getLoc()) << "the other buffer";
      return diagnostic;
    }
    live[span.offset] = buffer;
    return success();
  }

  ProgramOp program;
  Tier tier;
  ArrayRef<BufferOp> buffers;
  std::map<int64_t, SmallVector<BufferOp>> starts, ends;
  std::map<int64_t, BufferOp> live;
};

/// E3 to E6 and E17: one walk over statements and events.
class OrderCheck {
public:
  OrderCheck(ProgramOp program, ArrayRef<BufferOp> buffers)
      : program(program), buffers(buffers) {
    last.fill(-1);
    for (Clock &clock : synchronised)
      clock.fill(-1);
  }

  LogicalResult run() {
    for (Operation &op : program.getBody().front()) {
      if (auto statement = dyn_cast<StatementOpInterface>(op)) {
        if (failed(visit(statement)))
          return failure();
      } else if (auto record = dyn_cast<RecordOp>(op)) {
        if (failed(visit(record)))
          return failure();
      } else if (auto wait = dyn_cast<WaitOp>(op)) {
        if (failed(visit(wait)))
          return failure();
      }
    }
    return checkRanges();
  }

private:
  struct Touch {
    int64_t statement;
    ByteRange span;
    Ranks ranks;
    bool writes;
    Operation *op;
  };
  struct Use {
    int64_t first = -1;
    int64_t last = -1;
    /// Of variables: what has written to them.
    SmallVector<Touch, 1> written;
    /// Of others: their written bytes.
    WrittenBytes bytes;
  };
  /// A statement of every stream: it and those before it have completed.
  using Clock = std::array<int64_t, streamCount>;
  struct Record {
    StreamKind stream;
    Clock covered;
  };

  LogicalResult visit(StatementOpInterface statement) {
    if (failed(checkCommunicator(statement)))
      return failure();
    int stream = static_cast<int>(statement.getStreamKind());
    for (const Access &access : getAccesses(statement))
      if (failed(touch(statement, access, stream)))
        return failure();
    last[stream] = number++;
    return success();
  }

  /// E17.
  LogicalResult checkCommunicator(StatementOpInterface statement) {
    if (!isa<CollectiveOp, ExchangeOp, SendOp, ReceiveOp>(statement))
      return success();
    auto name = statement->getAttrOfType<FlatSymbolRefAttr>("communicator");
    auto [place, isNew] =
        communicators.try_emplace(name.getAttr(), statement.getStreamKind());
    if (place->second == statement.getStreamKind())
      return success();
    return statement->emitOpError("calls ")
           << name << " on a second stream (E17)";
  }

  LogicalResult touch(StatementOpInterface op, const Access &access,
                      int stream) {
    BufferOp buffer = getBuffer(access.array);
    if (!buffer)
      return op->emitOpError("takes no exec.buffer (E3)");
    ByteRange span = getByteRange(access.array);
    bool writes = access.writes;
    Use &use = uses[buffer];
    if (use.first < 0)
      use.first = number;
    if (failed(buffer.isPermanent()
                   ? checkVariable(op, buffer, use, span, access)
                   : checkWritten(op, use, span, access)))
      return failure();
    // The calls of a group run side by side.
    use.last = number + op->hasAttr("with_next");
    if (number < static_cast<int64_t>(buffer.getFirst()) ||
        use.last > static_cast<int64_t>(buffer.getLast()))
      return op->emitOpError("is statement ")
             << number << ", its buffer lives from "
             << static_cast<int64_t>(buffer.getFirst()) << " to "
             << static_cast<int64_t>(buffer.getLast()) << " (E3)";
    for (int other = 0; other < streamCount; ++other) {
      if (other == stream)
        continue;
      for (const Touch &before : llvm::reverse(touches[other])) {
        if (before.statement <= synchronised[stream][other])
          break;
        if ((writes || before.writes) && before.span.meets(span) &&
            before.ranks.meet(access.ranks)) {
          InFlightDiagnostic diagnostic = op->emitOpError(
              "does not wait for another stream's use of its bytes (E5)");
          diagnostic.attachNote(before.op->getLoc()) << "the other statement";
          return diagnostic;
        }
      }
    }
    touches[stream].push_back({number, span, access.ranks, writes, op});
    return success();
  }

  /// E4 of what holds a value from before the step.
  LogicalResult checkVariable(Operation *op, BufferOp buffer, Use &use,
                              ByteRange span, const Access &access) {
    bool writes = access.writes;
    if (writes && buffer.getKind() == BufferKind::input)
      return op->emitOpError("writes to an input (E4)");
    if (writes && !buffer.getTrained())
      return op->emitOpError("writes to a parameter or state that is not "
                             "trained (E4)");
    // What servers send is the value of the next step.
    for (const Touch &before : use.written) {
      if (!before.span.meets(span) || isa<SendOp>(op) ||
          (writes && isa<CopyOp>(op) && isa<CopyOp>(before.op)))
        continue;
      InFlightDiagnostic diagnostic =
          op->emitOpError(writes ? "writes a value of the next step again (E4)"
                                 : "reads a value of the next step (E4)");
      diagnostic.attachNote(before.op->getLoc()) << "written here";
      return diagnostic;
    }
    if (writes)
      use.written.push_back({number, span, access.ranks, true, op});
    return success();
  }

  /// E4 of what holds no value at the start: all bytes were written.
  LogicalResult checkWritten(Operation *op, Use &use, ByteRange span,
                             const Access &access) {
    if (access.writes) {
      use.bytes.add(span, access.ranks);
      return success();
    }
    if (span.offset == span.end ? use.last >= 0
                                : use.bytes.covers(span, access.ranks))
      return success();
    return op->emitOpError("reads a buffer before it is written (E4)");
  }

  LogicalResult visit(RecordOp record) {
    if (record.getEvent() >= program.getEvents())
      return record.emitOpError("event ")
             << record.getEvent() << " of " << program.getEvents() << " (E6)";
    int stream = static_cast<int>(record.getStream());
    Clock covered = synchronised[stream];
    covered[stream] = last[stream];
    records[record.getEvent()] = {record.getStream(), covered};
    return success();
  }

  LogicalResult visit(WaitOp wait) {
    auto found = records.find(wait.getEvent());
    if (found == records.end() || found->second.stream == wait.getStream())
      return wait.emitOpError("event ")
             << wait.getEvent()
             << " has no earlier record on another stream (E6)";
    Clock &known = synchronised[static_cast<int>(wait.getStream())];
    for (auto [own, covered] : llvm::zip_equal(known, found->second.covered))
      own = std::max(own, covered);
    return success();
  }

  LogicalResult checkRanges() {
    for (BufferOp buffer : buffers) {
      const Use &use = uses[buffer];
      bool isPermanent = buffer.isPermanent();
      int64_t first = isPermanent ? -1 : use.first;
      int64_t lastUse = isPermanent || buffer.getKind() == BufferKind::output
                            ? number
                            : use.last;
      if (first < 0 && !isPermanent)
        return buffer.emitOpError("is never used (E3)");
      if (buffer.getTrained() && use.written.empty())
        return buffer.emitOpError("is trained but never written (E4)");
      if (static_cast<int64_t>(buffer.getFirst()) != first ||
          static_cast<int64_t>(buffer.getLast()) != lastUse)
        return buffer.emitOpError("lives from ")
               << first << " to " << lastUse << " (E3)";
    }
    return success();
  }

  ProgramOp program;
  ArrayRef<BufferOp> buffers;
  int64_t number = 0;
  Clock last;
  /// What a stream has waited for, itself or through others.
  std::array<Clock, streamCount> synchronised;
  std::array<SmallVector<Touch>, streamCount> touches;
  llvm::DenseMap<StringAttr, StreamKind> communicators;
  llvm::DenseMap<Operation *, Use> uses;
  llvm::DenseMap<uint64_t, Record> records;
};

} // namespace

LogicalResult ProgramOp::verifyRegions() {
  // Looked for once: among the statements of a long program they are few.
  SmallVector<BufferOp> buffers(getBody().front().getOps<BufferOp>());
  for (Tier tier : {Tier::device, Tier::host, Tier::nvme})
    if (failed(MemoryCheck(*this, tier, buffers).run()))
      return failure();
  return OrderCheck(*this, buffers).run();
}
