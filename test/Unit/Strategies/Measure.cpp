//===- Measure.cpp - What a partitioned step does -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "Measure.h"

#include "parplan/Simulator/Simulator.h"
#include "parplan/Support/Check.h"
#include "passes/Partition/Layouts.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Schedule/ExtractProgram.h"
#include "passes/Schedule/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace mlir;

namespace parplan::test {

std::ostream &operator<<(std::ostream &stream, const Traffic &traffic) {
  for (auto [kind, elements] : traffic.elements)
    stream << stringifyCollectiveKind(kind) << " " << elements << ", ";
  return stream << "ring " << traffic.ring;
}

std::ostream &operator<<(std::ostream &stream, const Copies &copies) {
  return stream << "forward " << copies.forward << ", backward "
                << copies.backward;
}

namespace {

/// Collects what is reported while it lives.
class Messages {
public:
  Messages()
      : handler(&getContext(), [this](Diagnostic &diagnostic) {
          text += diagnostic.str() + "\n";
          return success();
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};

/// The share of a call's size that a rank sends.
Fraction getRingShare(CollectiveKind kind, int64_t ranks) {
  switch (kind) {
  case CollectiveKind::allReduce:
    return {2 * (ranks - 1), ranks};
  case CollectiveKind::allGather:
  case CollectiveKind::reduceScatter:
  case CollectiveKind::allToAll:
  case CollectiveKind::broadcast:
  case CollectiveKind::reduce:
    return {ranks - 1, ranks};
  case CollectiveKind::send:
    return 1;
  case CollectiveKind::receive:
    return 0;
  }
  PARPLAN_UNREACHABLE("unknown kind");
}

/// The steps of `module` in the order of the phases up to the local program.
std::string partition(ModuleOp module) {
  Messages messages;
  PassManager manager(&getContext());
  buildPartitionPipeline(manager);
  buildPipelinePipeline(manager);
  if (failed(verify(module)) || failed(manager.run(module)))
    return "does not partition: " + messages.text;
  return "";
}

std::string compareValues(const Tensor &wanted, const Tensor &found,
                          double tolerance) {
  for (int64_t i = 0; i < wanted.getSize(); ++i)
    if (std::abs(wanted.getNumber(i) - found.getNumber(i)) > tolerance)
      return "element " + std::to_string(i) + " is " +
             std::to_string(found.getNumber(i)) + ", not " +
             std::to_string(wanted.getNumber(i));
  return "";
}

} // namespace

LocalProgram::LocalProgram(const Step &step, std::string &fault)
    : module(step.module.get().clone()) {
  fault = partition(*module);
}

func::FuncOp LocalProgram::getMain() {
  return *module->getOps<func::FuncOp>().begin();
}

std::string LocalProgram::compare(const Step &step, double tolerance) {
  Messages messages;
  OwningOpRef<ModuleOp> whole = step.module.get().clone();
  PassManager manager(&getContext());
  buildPipelinePipeline(manager);
  if (failed(manager.run(*whole)))
    return "one rank: " + messages.text;
  FailureOr<std::vector<Tensor>> expected =
      interpret(*whole->getOps<func::FuncOp>().begin(), step.arguments,
                step.initializers);
  FailureOr<std::vector<Tensor>> actual =
      interpretRanks(getMain(), step.arguments, step.initializers);
  if (failed(expected) || failed(actual))
    return messages.text;
  for (size_t result = 0; result < expected->size(); ++result) {
    std::string fault =
        compareValues((*expected)[result], (*actual)[result], tolerance);
    if (!fault.empty())
      return "result " + std::to_string(result) + " " + fault;
  }
  return "";
}

static Traffic countTraffic(const Program &program, int64_t elementBytes) {
  Traffic most;
  int64_t mostElements = -1;
  for (const RankClass &each : program.classes) {
    Traffic traffic;
    int64_t sum = 0;
    for (auto [index, statement] :
         llvm::enumerate(program.getProgram(each).statements)) {
      if (statement.kind != StatementKind::communicate ||
          llvm::is_contained(each.leftOut, static_cast<int64_t>(index)))
        continue;
      int64_t ranks = program.mesh.getWidth(
          program.communicators[static_cast<size_t>(statement.communicator)]
              .axes);
      int64_t elements = statement.bytes / elementBytes;
      traffic.elements[statement.collective] += elements;
      traffic.ring +=
          getRingShare(statement.collective, ranks) * Fraction(elements);
      sum += elements;
    }
    if (sum > mostElements)
      most = traffic;
    mostElements = std::max(mostElements, sum);
  }
  return most;
}

static int64_t countActivations(exec::ProgramOp program, int64_t elementBytes) {
  // By the number of a statement: what starts or ends to live there.
  std::map<int64_t, int64_t> changes;
  for (auto buffer : program.getBody().front().getOps<exec::BufferOp>()) {
    if (buffer.getKind() != exec::BufferKind::activation)
      continue;
    int64_t elements = buffer.getType().getByteSize() / elementBytes;
    changes[static_cast<int64_t>(buffer.getFirst())] += elements;
    changes[static_cast<int64_t>(buffer.getLast()) + 1] -= elements;
  }
  int64_t live = 0, most = 0;
  for (auto [statement, change] : changes) {
    live += change;
    most = std::max(most, live);
  }
  return most;
}

Scheduled LocalProgram::schedule(int64_t elementBytes) {
  OwningOpRef<ModuleOp> scheduled = module->clone();
  Messages messages;
  PassManager manager(&getContext());
  buildSchedulePipeline(manager);
  PARPLAN_CHECK(succeeded(manager.run(*scheduled)), messages.text);
  exec::ProgramOp program = *scheduled->getOps<exec::ProgramOp>().begin();
  return {countTraffic(extractProgram(program), elementBytes),
          countActivations(program, elementBytes)};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static int64_t getSize(Type type) {
  return cast<RankedTensorType>(type).getNumElements();
}

/// True for results of moves and for pending values, as far as they are bytes
/// of their own.
static bool isCopy(Value value) {
  auto isUser = [&](auto predicate) {
    return llvm::any_of(value.getUsers(), predicate);
  };
  if (isUser([](Operation *user) {
        return isa<func::ReturnOp, AllReduceOp>(user);
      }))
    return false;
  if (isMove(value.getDefiningOp()))
    return !isa<StorageViewOp>(value.getDefiningOp());
  ShardingAttr sharding = getSharding(value);
  return sharding && !sharding.getPartial().getNames().empty();
}

Copies LocalProgram::getCopies() {
  Block &body = getMain().getBody().front();
  Copies most;
  SmallVector<Value> live;
  for (Operation &op : body.without_terminator()) {
    for (Value result : op.getResults())
      if (isCopy(result))
        live.push_back(result);
    int64_t sum = 0;
    for (Value value : live)
      sum += getSize(value.getType());
    auto role = op.getAttrOfType<StringAttr>(attributes::role);
    bool isForward = !role || isBeforeBackward(*parseOpRole(role));
    int64_t &largest = isForward ? most.forward : most.backward;
    largest = std::max(largest, sum);
    llvm::erase_if(live, [&](Value value) {
      return llvm::none_of(value.getUsers(), [&](Operation *user) {
        return op.isBeforeInBlock(user);
      });
    });
  }
  return most;
}

int64_t LocalProgram::getArgumentSize(unsigned index) {
  return getSize(getMain().getArgument(index).getType());
}

int64_t LocalProgram::getResultSize(unsigned index) {
  return getSize(getMain().getResultTypes()[index]);
}

int64_t LocalProgram::getParameterSize(StringRef initializer) {
  for (auto parameter : getMain().getOps<ParameterOp>())
    if (parameter.getInitializer() == initializer && !parameter.getSlot())
      return getSize(parameter.getResult().getType());
  PARPLAN_UNREACHABLE("no parameter ", std::string_view(initializer));
}

int64_t LocalProgram::getGradientSumSize() {
  int64_t largest = 0;
  for (Operation &op : getMain().getBody().front()) {
    auto role = op.getAttrOfType<StringAttr>(attributes::role);
    if (role && role == roles::gradientSum && !isMove(&op))
      largest = std::max(largest, getSize(op.getResult(0).getType()));
  }
  return largest;
}

std::string LocalProgram::print() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

} // namespace parplan::test
