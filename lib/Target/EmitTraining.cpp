//===- EmitTraining.cpp - What only training programs have ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/StatementPrinter.h"

#include "parplan/Support/Text.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

static StringRef getOptimizerName(OptimizerKind kind) {
  switch (kind) {
  case OptimizerKind::sgd:
    return "OptimizerKind::Sgd";
  case OptimizerKind::momentum:
    return "OptimizerKind::Momentum";
  case OptimizerKind::adam:
    return "OptimizerKind::Adam";
  case OptimizerKind::adamw:
    return "OptimizerKind::AdamW";
  }
  return "";
}

static std::string printOptimizer(exec::UpdateOp update) {
  std::string text = "{" + getOptimizerName(update.getKind()).str();
  for (const llvm::APFloat &number :
       {update.getBeta1(), update.getBeta2(), update.getEpsilon(),
        update.getWeightDecay(), update.getMomentum()})
    text += ", " + printReal(number);
  return text + "}";
}

namespace {

class TrainingEmitter : public StatementPrinter {
public:
  using StatementPrinter::StatementPrinter;

  void emit(exec::CrossEntropyOp op) {
    call("crossEntropy<" + type(op.getLogits()) + ", " + type(op.getLabels()) +
             ">",
         op)
        << pointer(op.getLogits()) << ", " << pointer(op.getLabels()) << ", "
        << pointer(op.getLoss()) << ", " << pointer(op.getLogSumExp()) << ", "
        << op.getRows() << ", " << op.getClasses() << ");\n";
  }

  void emit(exec::SquareSumOp op) {
    call("squareSum<" + type(op.getInput()) + ">", op)
        << pointer(op.getInput()) << ", " << pointer(op.getOutput()) << ", "
        << exec::getBufferType(op.getInput()).getElementCount() << ");\n";
  }

  void emit(exec::UpdateOp op) {
    std::string element = type(op.getParameter());
    auto state = [&](OperandRange states, size_t index) {
      return pointer(index < states.size() ? states[index] : Value());
    };
    bool widens =
        getElementType(op.getGradient()) != getElementType(op.getParameter());
    call("optimizerUpdate<" + element +
             (widens ? ", " + type(op.getGradient()) + ">" : ">"),
         op)
        << "OptimizerShape" << printOptimizer(op) << ", OptimizerScalars<"
        << element << ">{" << pointer(op.getLearningRate()) << ", "
        << pointer(op.getStepSize()) << ", "
        << pointer(op.getBiasCorrection2Sqrt()) << ", "
        << pointer(op.getScale()) << ", " << pointer(op.getSkip()) << "}, "
        << pointer(op.getParameter()) << ", " << pointer(op.getGradient())
        << ", " << state(op.getStates(), 0) << ", " << state(op.getStates(), 1)
        << ", " << pointer(op.getNewParameter()) << ", "
        << state(op.getNewStates(), 0) << ", " << state(op.getNewStates(), 1)
        << ", " << exec::getBufferType(op.getParameter()).getElementCount()
        << ");\n";
  }

  void emit(exec::EmbeddingGradientOp op) {
    callIndexed("embeddingGradient", op, op.getGradient(), op.getIds())
        << pointer(op.getIds()) << ", " << pointer(op.getGradient()) << ", "
        << pointer(op.getOutput());
    endSizes(op.getShape());
  }

  void emit(exec::GatherGradientOp op) {
    callGather("gatherGradient", op);
    endSizes(op.getShape());
  }

  void emit(exec::GatherElementsGradientOp op) {
    callGather("gatherElementsGradient", op)
        << ", Shape" << list(op.getDataShape()) << ", Shape"
        << list(op.getIndexShape()) << ", " << op.getDim() << ");\n";
  }

  void emit(exec::GatherNDGradientOp op) {
    callGather("gatherNdGradient", op)
        << ", " << op.getBatch() << ", " << op.getCount() << ", Shape"
        << list(op.getIndexed()) << ", " << op.getInner() << ");\n";
  }

  void emit(exec::ConvolutionInputGradientOp op) {
    call("convolutionInputGradient<" + type(op.getGradient()) + ">", op)
        << pointer(op.getGradient()) << ", " << pointer(op.getWeight()) << ", "
        << pointer(op.getOutput()) << ", " << convolutionShape(op) << ", "
        << workspace(op.getWorkspace()) << ");\n";
  }

  void emit(exec::ConvolutionWeightGradientOp op) {
    call("convolutionWeightGradient<" + type(op.getGradient()) + ">", op)
        << pointer(op.getInput()) << ", " << pointer(op.getGradient()) << ", "
        << pointer(op.getOutput()) << ", " << convolutionShape(op) << ", "
        << workspace(op.getWorkspace()) << ");\n";
  }

  void emit(exec::MaxPoolGradientOp op) {
    call("maxPoolGradient<" + type(op.getGradient()) + ">", op)
        << pointer(op.getInput()) << ", " << pointer(op.getGradient()) << ", "
        << pointer(op.getOutput()) << ", "
        << poolShape(op, /*countIncludePad=*/false) << ");\n";
  }

  void emit(exec::AveragePoolGradientOp op) {
    call("averagePoolGradient<" + type(op.getGradient()) + ">", op)
        << pointer(op.getGradient()) << ", " << pointer(op.getOutput()) << ", "
        << poolShape(op, op.getCountIncludePad()) << ");\n";
  }

private:
  /// Begins a call of an adjoint that is a template of element and index.
  raw_ostream &callIndexed(StringRef name, Operation *op, Value gradient,
                           Value indices) {
    return call(name + "<" + type(gradient) + ", " + type(indices) + ">", op);
  }

  /// Up to the result.
  template <typename Gather>
  raw_ostream &callGather(StringRef name, Gather op) {
    return callIndexed(name, op, op.getGradient(), op.getIndices())
           << pointer(op.getGradient()) << ", " << pointer(op.getIndices())
           << ", " << pointer(op.getOutput());
  }

  void endSizes(ArrayRef<int64_t> sizes) {
    for (int64_t size : sizes)
      out << ", " << size;
    out << ");\n";
  }
};

} // namespace

bool emitTrainingStatement(Emitter &emitter, Operation *op) {
  static const auto rules =
      makeRules<TrainingEmitter, exec::CrossEntropyOp, exec::SquareSumOp,
                exec::UpdateOp, exec::EmbeddingGradientOp,
                exec::GatherGradientOp, exec::GatherElementsGradientOp,
                exec::GatherNDGradientOp, exec::ConvolutionInputGradientOp,
                exec::ConvolutionWeightGradientOp, exec::MaxPoolGradientOp,
                exec::AveragePoolGradientOp>();
  auto rule = rules.find(op->getName().getTypeID());
  if (rule == rules.end())
    return false;
  TrainingEmitter training(emitter);
  rule->second(training, op);
  return true;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

void Emitter::emitTraining() {
  const EmitTraining &training = options.training;
  std::string entries;
  for (auto [number, saved] : llvm::enumerate(training.saved)) {
    std::string shape = "{}";
    if (!saved.shape.empty()) {
      shape = "savedShape" + std::to_string(number);
      stream << "constexpr int64_t " << shape
             << "[] = " << printList(saved.shape) << ";\n";
    }
    entries += ("    {" + cStringLiteral(saved.name) + ", " +
                Twine(saved.onnxType) + ", " + shape + ", " +
                Twine(saved.fileOffset) + ", " + Twine(saved.bytes))
                   .str();
    if (!saved.stack.empty())
      entries += ", " + cStringLiteral(saved.stack) + ", " +
                 std::to_string(saved.stackIndex);
    entries += "},\n";
  }
  if (!entries.empty())
    stream << "constexpr SavedTensor saved[] = {\n" << entries << "};\n";
  // All updates of a step are alike.
  std::string optimizer = "{}";
  for (const StageNames &stage : stages)
    for (auto update : exec::ProgramOp(stage.program)
                           .getBody()
                           .front()
                           .getOps<exec::UpdateOp>()) {
      optimizer = printOptimizer(update);
      break;
    }
  static constexpr StringLiteral schedules[] = {"Constant", "Linear", "Cosine"};
  stream << "constexpr Training training = {\n    " << optimizer
         << ",\n    /*learningRate=*/" << printReal(training.learningRate)
         << ",\n    {LearningRateKind::"
         << schedules[static_cast<int>(training.schedule.kind)] << ", "
         << training.schedule.warmup << ", " << training.schedule.total << ", "
         << printReal(training.schedule.final) << "},\n    /*microBatches=*/"
         << *stages.front().program.getMicroBatches()
         << ",\n    /*initialLossScale=*/"
         << printReal(training.initialLossScale) << ",\n    "
         << (entries.empty() ? "{}" : "saved") << ",\n    "
         << cStringLiteral(training.modelSha256) << ",\n    /*savesModel=*/"
         << (training.savesModel ? "true" : "false") << "};\n";
}

} // namespace parplan
