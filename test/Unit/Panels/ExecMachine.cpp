//===- ExecMachine.cpp - Runs statements on all ranks ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "ExecMachine.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace parplan::test {

using exec::CollectiveForm;

ExecMachine::ExecMachine(exec::ProgramOp program)
    : program(program), mesh(program.getMesh().getMesh()),
      arenas(mesh.getRankCount(),
             std::vector<float>(program.getArena() / sizeof(float) + 1, NAN)) {}

exec::BufferOp ExecMachine::getBuffer(exec::BufferKind kind,
                                      size_t number) const {
  for (auto buffer : program.getBody().front().getOps<exec::BufferOp>())
    if (buffer.getKind() == kind && number-- == 0)
      return buffer;
  PARPLAN_UNREACHABLE("there is no such buffer");
}

float *ExecMachine::at(int64_t rank, Value value, int64_t offset) {
  if (auto choice = value.getDefiningOp<exec::ChoiceOp>()) {
    exec::MemberAttr member = choice.getMember();
    bool isOwn =
        getMember(rank, member.getCommunicator()) == member.getPosition();
    value = isOwn ? choice.getOwn() : choice.getOther();
  }
  return arenas[rank].data() +
         exec::getArenaOffset(value) / static_cast<int64_t>(sizeof(float)) +
         offset;
}

void ExecMachine::setInput(size_t number, ArrayRef<Tensor> blocks) {
  exec::BufferOp buffer = getBuffer(exec::BufferKind::input, number);
  for (auto [rank, block] : llvm::enumerate(blocks))
    for (int64_t i = 0; i < block.getSize(); ++i)
      at(rank, buffer)[i] = static_cast<float>(block.getNumber(i));
}

std::vector<Tensor> ExecMachine::getOutput(size_t number) const {
  exec::BufferOp buffer = getBuffer(exec::BufferKind::output, number);
  exec::BufferType type = buffer.getType();
  std::vector<Tensor> blocks;
  for (const std::vector<float> &arena : arenas) {
    Tensor &block = blocks.emplace_back(
        RankedTensorType::get(type.getShape(), type.getElementType()));
    size_t start = buffer.getOffset() / sizeof(float);
    for (int64_t i = 0; i < block.getSize(); ++i)
      block[i].real = arena[start + i];
  }
  return blocks;
}

bool ExecMachine::run() {
  return llvm::all_of(program.getBody().front(),
                      [&](Operation &op) { return run(op); });
}

bool ExecMachine::run(Operation &op) {
  if (!isa<exec::StatementOpInterface>(op))
    return true;
  return llvm::TypeSwitch<Operation *, bool>(&op)
      .Case<exec::LaunchOp, exec::MatmulOp, exec::MoeMatmulOp, exec::CopyOp,
            exec::CollectiveOp>([&](auto statement) {
        run(statement);
        return true;
      })
      .Case([&](exec::ZeroOp zero) {
        for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
          std::fill_n(at(rank, zero.getOutput()),
                      exec::getBufferType(zero.getOutput()).getElementCount(),
                      0.0f);
        return true;
      })
      .Default([](Operation *) { return false; });
}

void ExecMachine::run(exec::LaunchOp op) {
  auto kernel = cast<exec::KernelOp>(
      SymbolTable::lookupSymbolIn(program.getOperation(), op.getKernelAttr()));
  Block &body = kernel.getBody().front();
  PARPLAN_CHECK(body.getOperations().size() == 2,
                "the machine knows transposes only");
  auto load = cast<exec::LoadOp>(body.front());
  auto store = cast<exec::StoreOp>(body.back());
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
    forEachIndex(kernel.getSpace(), [&](ArrayRef<int64_t> index, int64_t) {
      *at(rank, op.getOutput(),
          store.getOffset() + getPosition(index, store.getStrides())) =
          *at(rank, op.getInputs()[load.getInput()],
              load.getOffset() + getPosition(index, load.getStrides()));
    });
}

void ExecMachine::run(exec::MatmulOp op) {
  SmallVector<int64_t> space(op.getBatch());
  space.append({op.getShape()[0], op.getShape()[1]});
  auto getStrides = [](ArrayRef<int64_t> batch, int64_t row, int64_t column) {
    SmallVector<int64_t> strides(batch);
    strides.append({row, column});
    return strides;
  };
  auto lhs = getStrides(op.getLhsBatchStrides(), op.getLhsStrides()[0], 0);
  auto rhs = getStrides(op.getRhsBatchStrides(), 0, op.getRhsStrides()[1]);
  auto out = getStrides(op.getOutputBatchStrides(), op.getOutputStrides()[0],
                        op.getOutputStrides()[1]);
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
    forEachIndex(space, [&](ArrayRef<int64_t> index, int64_t) {
      float sum = 0;
      for (int64_t l = 0; l < op.getShape()[2]; ++l)
        sum += *at(rank, op.getLhs(),
                   getPosition(index, lhs) + l * op.getLhsStrides()[1]) *
               *at(rank, op.getRhs(),
                   getPosition(index, rhs) + l * op.getRhsStrides()[0]);
      float *element = at(rank, op.getOutput(), getPosition(index, out));
      *element = op.getAccumulate() ? *element + sum : sum;
    });
}

void ExecMachine::run(exec::MoeMatmulOp op) {
  PARPLAN_CHECK(!op.getFirstExpert(), "the machine counts experts from 0");
  int64_t m = op.getShape()[0], n = op.getShape()[1], k = op.getShape()[2];
  ArrayRef<int64_t> between = op.getExpertStrides();
  int64_t perToken = op.getSizes()[1];
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
    forEachIndex(
        {op.getSizes()[0], m, n}, [&](ArrayRef<int64_t> index, int64_t) {
          auto [e, i, j] = std::tuple(index[0], index[1], index[2]);
          auto counts = [&](int64_t token) {
            float *choices = at(rank, op.getExperts(), token * perToken);
            return llvm::is_contained(ArrayRef(choices, perToken),
                                      static_cast<float>(e));
          };
          float sum = 0;
          for (int64_t l = 0; l < k; ++l)
            if (counts(op.getSumsTokens() ? l : i))
              sum += *at(rank, op.getLhs(),
                         e * between[0] + i * op.getLhsStrides()[0] +
                             l * op.getLhsStrides()[1]) *
                     *at(rank, op.getRhs(),
                         e * between[1] + l * op.getRhsStrides()[0] +
                             j * op.getRhsStrides()[1]);
          float *element = at(rank, op.getOutput(),
                              e * between[2] + i * op.getOutputStrides()[0] +
                                  j * op.getOutputStrides()[1]);
          *element = op.getAccumulate() ? *element + sum : sum;
        });
}

void ExecMachine::run(exec::CopyOp op) {
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    std::optional<exec::MemberAttr> member = op.getOnly();
    if (member &&
        getMember(rank, member->getCommunicator()) != member->getPosition())
      continue;
    forEachIndex(op.getExtents(), [&](ArrayRef<int64_t> index, int64_t) {
      *at(rank, op.getOutput(),
          op.getOutputOffset() + getPosition(index, op.getOutputStrides())) =
          *at(rank, op.getInput(),
              op.getInputOffset() + getPosition(index, op.getInputStrides()));
    });
  }
}

void ExecMachine::run(exec::CollectiveOp op) {
  CollectiveForm form = op.getForm();
  PARPLAN_CHECK(form == CollectiveForm::broadcast ||
                    form == CollectiveForm::reduce ||
                    form == CollectiveForm::all_reduce,
                "the machine knows no such collective");
  int64_t count = op.getCount();
  AxisList axes = getAxes(op.getCommunicatorAttr());
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    if (mesh.getIndex(rank, axes) != 0)
      continue;
    auto group = mesh.getGroup(rank, axes);
    std::vector<float> message(count, 0.0f);
    for (auto [position, member] : llvm::enumerate(group))
      for (int64_t i = 0; i < count; ++i)
        if (form != CollectiveForm::broadcast)
          message[i] += at(member, op.getInput())[i];
        else if (position == *op.getRoot())
          message[i] = at(member, op.getInput())[i];
    for (auto [position, member] : llvm::enumerate(group))
      if (form != CollectiveForm::reduce || position == *op.getRoot())
        llvm::copy(message, at(member, op.getOutput()));
  }
}

AxisList ExecMachine::getAxes(FlatSymbolRefAttr communicator) const {
  auto op = SymbolTable::lookupSymbolIn(program.getOperation(), communicator);
  return *cast<exec::CommunicatorOp>(op).getAxes().resolve(mesh);
}

int64_t ExecMachine::getMember(int64_t rank,
                               FlatSymbolRefAttr communicator) const {
  return mesh.getIndex(rank, getAxes(communicator));
}

} // namespace parplan::test
