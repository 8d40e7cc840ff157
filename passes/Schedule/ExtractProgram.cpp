//===- ExtractProgram.cpp - exec programs for the simulator ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ExtractProgram.h"

#include "passes/Schedule/RankClasses.h"

#include "parplan/Sharding/ServerPositions.h"

#include "mlir/IR/Threading.h"

#include "llvm/ADT/BitVector.h"

#include <map>

using namespace mlir;

namespace parplan {

CollectiveKind getKind(exec::CollectiveForm form) {
  switch (form) {
  case exec::CollectiveForm::all_reduce:
    return CollectiveKind::allReduce;
  case exec::CollectiveForm::all_gather:
    return CollectiveKind::allGather;
  case exec::CollectiveForm::reduce_scatter:
    return CollectiveKind::reduceScatter;
  case exec::CollectiveForm::all_to_all:
    return CollectiveKind::allToAll;
  case exec::CollectiveForm::broadcast:
    return CollectiveKind::broadcast;
  case exec::CollectiveForm::reduce:
    return CollectiveKind::reduce;
  }
  return CollectiveKind::allReduce;
}

namespace {

BufferUse getUseOfKind(exec::BufferKind kind) {
  switch (kind) {
  case exec::BufferKind::parameter:
    return BufferUse::parameter;
  case exec::BufferKind::state:
    return BufferUse::optimizer;
  case exec::BufferKind::workspace:
    return BufferUse::workspace;
  case exec::BufferKind::input:
  case exec::BufferKind::output:
  case exec::BufferKind::activation:
    return BufferUse::activation;
  }
  return BufferUse::activation;
}

MemoryTier getTier(exec::Tier tier) {
  switch (tier) {
  case exec::Tier::device:
    return MemoryTier::device;
  case exec::Tier::host:
    return MemoryTier::host;
  case exec::Tier::nvme:
    return MemoryTier::nvme;
  }
  return MemoryTier::device;
}

static_assert(static_cast<int>(exec::StreamKind::storage) ==
                  ProgramStream::storage &&
              exec::streamCount == ProgramStream::count);

/// The program of the ranks that run one exec.program. It has the numbers of
/// communicators in common with others; all else may be another thread's.
class Extractor {
public:
  Extractor(exec::ProgramOp program, Program &result)
      : program(program), body(program.getBody().front()), result(result) {}

  /// One after the other.
  void numberCommunicators() {
    // The calls of communicators of the same axes on other streams meet
    // others.
    for (exec::CommunicatorOp communicator : declared) {
      FailureOr<AxisList> axes = communicator.getAxes().resolve(result.mesh);
      communicators[communicator.getSymNameAttr()] =
          addCommunicator({communicator.getLabel(), *axes});
    }
  }

  void addDeclarations() {
    opCount = body.getOperations().size();
    llvm::append_range(declared, body.getOps<exec::CommunicatorOp>());
    findGradients();
    if (auto bounds =
            program->getAttrOfType<DenseI64ArrayAttr>(arenaBoundsName))
      for (auto [tier, bytes] : llvm::enumerate(bounds.asArrayRef()))
        if (auto each = exec::symbolizeTier(static_cast<uint32_t>(tier)))
          extracted.arenaBounds[static_cast<size_t>(getTier(*each))] = bytes;
    for (auto buffer : body.getOps<exec::BufferOp>()) {
      buffers[buffer] = static_cast<int>(extracted.buffers.size());
      extracted.buffers.push_back(
          {getUse(buffer), static_cast<int64_t>(buffer.getOffset()),
           buffer.getType().getByteSize(), !buffer.getBlocks().empty(),
           getTier(buffer.getTier())});
    }
    // Views of what is resident touch nothing more; of others they are ranges
    // of their own: what was not touched is no part of the peak.
    for (auto view : body.getOps<exec::ViewOp>()) {
      exec::BufferOp buffer = exec::getBuffer(view);
      if (!buffer.getBlocks().empty()) {
        buffers[view] = buffers.lookup(buffer);
        continue;
      }
      buffers[view] = static_cast<int>(extracted.buffers.size());
      extracted.buffers.push_back({getUse(buffer), exec::getArenaOffset(view),
                                   view.getType().getByteSize(), false,
                                   getTier(buffer.getTier())});
    }
  }

  /// Servers without a common step serve one worker after the other in the time
  /// of a step: `served` workers.
  void addStatements(int64_t served) {
    extracted.statements.reserve(opCount);
    for (int64_t worker = 0; worker < served; ++worker)
      addStatementsFor(worker);
  }

  /// What others than `rank` run; once there are statements.
  std::vector<int64_t> getLeftOut(int64_t rank) const {
    llvm::SmallDenseMap<int, unsigned> places;
    std::vector<int64_t> leftOut;
    for (const PartialStatement &partial : partials) {
      auto [place, isNew] = places.try_emplace(partial.communicator);
      if (isNew)
        place->second = getPlace(rank, partial.communicator);
      if (!partial.places.test(place->second))
        leftOut.push_back(partial.statement);
    }
    return leftOut;
  }

  RankProgram take() { return std::move(extracted); }

private:
  /// The number of `communicator`, which another position may have too.
  int addCommunicator(const ProgramCommunicator &communicator) {
    for (auto [number, other] : llvm::enumerate(result.communicators))
      if (other.axes == communicator.axes)
        return static_cast<int>(number);
    result.communicators.push_back(communicator);
    return static_cast<int>(result.communicators.size()) - 1;
  }

  /// What updates read as gradients, and what is reduced to it.
  void findGradients() {
    auto add = [&](Value value) {
      for (Value array : exec::getArrays(value))
        if (exec::BufferOp buffer = exec::getBuffer(array);
            buffer.getKind() == exec::BufferKind::activation)
          gradients.insert(buffer);
    };
    auto isGradient = [&](Value value) {
      return llvm::any_of(exec::getArrays(value), [&](Value array) {
        return gradients.contains(exec::getBuffer(array));
      });
    };
    for (Operation &op : llvm::reverse(body)) {
      if (auto update = dyn_cast<exec::UpdateOp>(op))
        add(update.getGradient());
      else if (auto call = dyn_cast<exec::CollectiveOp>(op);
               call && isGradient(call.getOutput()))
        add(call.getInput());
      else if (auto copy = dyn_cast<exec::CopyOp>(op);
               copy && isGradient(copy.getOutput()))
        add(copy.getInput());
      else if (auto transfer = dyn_cast<exec::TransferOp>(op);
               transfer && isGradient(transfer.getOutput()))
        add(transfer.getInput());
    }
  }

  BufferUse getUse(exec::BufferOp buffer) const {
    return gradients.contains(buffer) ? BufferUse::gradient
                                      : getUseOfKind(buffer.getKind());
  }

  /// A statement that the members of a group at some places run.
  struct PartialStatement {
    int64_t statement;
    int communicator;
    llvm::BitVector places;
  };

  unsigned getPlace(int64_t rank, int communicator) const {
    return static_cast<unsigned>(result.mesh.getIndex(
        rank, result.communicators[static_cast<size_t>(communicator)].axes));
  }

  /// The statement that comes next is left to members at some places.
  void leaveNextTo(int communicator, llvm::BitVector places) {
    partials.push_back({static_cast<int64_t>(extracted.statements.size()),
                        communicator, std::move(places)});
  }

  /// `served` is the worker whose gradients are applied.
  void addStatementsFor(int64_t served) {
    std::vector<ProgramStatement> &statements = extracted.statements;
    for (Operation &op : body) {
      if (auto record = dyn_cast<exec::RecordOp>(op)) {
        statements.push_back(getEvent(StatementKind::record, record.getStream(),
                                      record.getEvent()));
      } else if (auto wait = dyn_cast<exec::WaitOp>(op)) {
        statements.push_back(
            getEvent(StatementKind::wait, wait.getStream(), wait.getEvent()));
      } else if (auto exchange = dyn_cast<exec::ExchangeOp>(op)) {
        addExchange(exchange);
      } else if (auto collective = dyn_cast<exec::CollectiveOp>(op)) {
        ProgramStatement statement = getStatement(collective);
        statement.kind = StatementKind::communicate;
        statement.collective = getKind(collective.getForm());
        statement.communicator =
            communicators.lookup(collective.getCommunicatorAttr().getAttr());
        statement.bytes = collective.getBytes();
        statements.push_back(std::move(statement));
      } else if (auto send = dyn_cast<exec::SendOp>(op)) {
        addMessage(send, CollectiveKind::send, served);
      } else if (auto receive = dyn_cast<exec::ReceiveOp>(op)) {
        addMessage(receive, CollectiveKind::receive, served);
      } else if (auto transfer = dyn_cast<exec::TransferOp>(op)) {
        ProgramStatement statement = getStatement(transfer);
        statement.kind = StatementKind::transfer;
        statement.bytes =
            exec::getBufferType(transfer.getInput()).getByteSize();
        statement.from = getTier(exec::getTier(transfer.getInput()));
        statement.to = getTier(exec::getTier(transfer.getOutput()));
        statements.push_back(std::move(statement));
      } else if (auto launch = dyn_cast<exec::StatementOpInterface>(op)) {
        ProgramStatement statement = getStatement(launch);
        if (auto copy = dyn_cast<exec::CopyOp>(op); copy && copy.getOnly())
          leaveNextTo(*copy.getOnly());
        if (auto cost = op.getAttrOfType<exec::CostAttr>("cost"))
          statement.cost = cost.getCost();
        else
          statement.cost.kind = WorkKind::none;
        statements.push_back(std::move(statement));
      }
    }
  }

  static ProgramStatement getEvent(StatementKind kind, exec::StreamKind stream,
                                   int64_t event) {
    ProgramStatement statement;
    statement.kind = kind;
    statement.stream = static_cast<int>(stream);
    statement.event = static_cast<int>(event);
    return statement;
  }

  /// Of choices every rank marks both arrays: all ranks have the same slots.
  ProgramStatement getStatement(exec::StatementOpInterface op) const {
    ProgramStatement statement;
    statement.stream = static_cast<int>(op.getStreamKind());
    statement.holdsIssue = op.holdsIssue();
    for (Value operand : op->getOperands())
      for (Value array : exec::getArrays(operand)) {
        int index = buffers.lookup(array.getDefiningOp());
        if (!llvm::is_contained(statement.buffers, index))
          statement.buffers.push_back(index);
      }
    return statement;
  }

  void leaveNextTo(exec::MemberAttr member) {
    int communicator = communicators.lookup(member.getCommunicator().getAttr());
    llvm::BitVector places(static_cast<unsigned>(getSize(communicator)));
    places.set(static_cast<unsigned>(member.getPosition()));
    leaveNextTo(communicator, std::move(places));
  }

  int64_t getSize(int communicator) const {
    return result.mesh.getWidth(
        result.communicators[static_cast<size_t>(communicator)].axes);
  }

  template <typename Message>
  void addMessage(Message op, CollectiveKind kind, int64_t served) {
    ProgramStatement statement = getStatement(op);
    statement.kind = StatementKind::communicate;
    statement.collective = kind;
    statement.communicator =
        communicators.lookup(op.getCommunicatorAttr().getAttr());
    statement.bytes = op.getBytes();
    statement.peer = op.getPeer();
    if (statement.peer < 0)
      statement.peer = served;
    extracted.statements.push_back(std::move(statement));
  }

  /// Exchanges of micro-batches have the same ones.
  int getPeerList(DenseI64ArrayAttr peers) {
    auto [it, isNew] = peerLists.try_emplace(
        peers, static_cast<int>(extracted.peerLists.size()));
    if (isNew)
      extracted.peerLists.push_back(peers.asArrayRef().vec());
    return it->second;
  }

  /// A send and a receive, and a copy where the block stays.
  void addExchange(exec::ExchangeOp op) {
    int communicator = communicators.lookup(op.getCommunicatorAttr().getAttr());
    ArrayRef<int64_t> sendTo = op.getSendTo();
    llvm::BitVector stays(static_cast<unsigned>(sendTo.size()));
    for (auto [place, peer] : llvm::enumerate(sendTo))
      if (peer == static_cast<int64_t>(place))
        stays.set(static_cast<unsigned>(place));
    llvm::BitVector moves = stays;
    moves.flip();
    auto add = [&](ProgramStatement statement, const llvm::BitVector &places) {
      if (!places.all())
        leaveNextTo(communicator, places);
      extracted.statements.push_back(std::move(statement));
    };

    ProgramStatement call = getStatement(op);
    call.kind = StatementKind::communicate;
    call.communicator = communicator;
    call.bytes = op.getBytes();
    call.group = groupCount++;
    for (auto [kind, peers] :
         {std::pair{CollectiveKind::send, op.getSendToAttr()},
          std::pair{CollectiveKind::receive, op.getReceiveFromAttr()}}) {
      call.collective = kind;
      call.peerList = getPeerList(peers);
      add(call, moves);
    }
    if (stays.none())
      return;
    ProgramStatement copy = getStatement(op);
    copy.cost.kind = WorkKind::copy;
    copy.cost.bytesRead = copy.cost.bytesWritten = op.getBytes();
    add(std::move(copy), stays);
  }

  exec::ProgramOp program;
  Block &body;
  Program &result;
  size_t opCount = 0;
  SmallVector<exec::CommunicatorOp> declared;
  RankProgram extracted;
  /// In the order of statements.
  std::vector<PartialStatement> partials;
  /// Of what lists of peers are made.
  llvm::DenseMap<Attribute, int> peerLists;
  int groupCount = 0;
  llvm::DenseMap<Attribute, int> communicators;
  llvm::DenseMap<Operation *, int> buffers;
  llvm::DenseSet<Operation *> gradients;
};

/// Adds the classes of ranks, which leave out nothing yet.
void classifyRanks(const RankClasses &classes, Program &program) {
  std::map<std::vector<int64_t>, int64_t> numbers;
  for (int64_t rank = 0; rank < program.mesh.getRankCount(); ++rank) {
    std::vector<int64_t> key = classes.getKey(rank);
    // Workers and servers speak with each other one by one.
    if (program.mesh.getServerCount() > 0 && !classes.areAllAlike())
      key.push_back(rank);
    auto [it, isNew] = numbers.try_emplace(
        std::move(key), static_cast<int64_t>(numbers.size()));
    program.classOf.push_back(it->second);
    if (isNew)
      program.classes.push_back({classes.getPosition(rank), rank, {}});
  }
  if (program.isSameForAllRanks())
    program.classOf.clear();
}

} // namespace

Program extractProgram(ArrayRef<exec::ProgramOp> programs) {
  Program result;
  result.mesh = exec::ProgramOp(programs.front()).getMesh().getMesh();
  std::vector<Extractor> extractors;
  for (exec::ProgramOp program : programs)
    extractors.emplace_back(program, result);
  MLIRContext *context = exec::ProgramOp(programs.front()).getContext();
  parallelForEach(context, extractors,
                  [](Extractor &extractor) { extractor.addDeclarations(); });
  for (Extractor &extractor : extractors)
    extractor.numberCommunicators();
  parallelFor(context, 0, programs.size(), [&](size_t position) {
    bool isOfServers = result.mesh.getServerCount() > 0 &&
                       static_cast<int64_t>(position) == serverPosition;
    bool servesEach =
        isOfServers && exec::ProgramOp(programs[position]).getStaleness();
    extractors[position].addStatements(servesEach ? result.mesh.getWorkerCount()
                                                  : 1);
  });

  classifyRanks(RankClasses(programs, result.mesh), result);
  parallelForEach(context, result.classes, [&](RankClass &each) {
    each.leftOut = extractors[static_cast<size_t>(each.program)].getLeftOut(
        each.firstRank);
  });
  for (Extractor &extractor : extractors)
    result.programs.push_back(extractor.take());
  return result;
}

} // namespace parplan
