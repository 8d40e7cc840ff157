//===- EmitExperts.cpp - Statements of a mixture of experts ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/StatementPrinter.h"

using namespace mlir;

namespace parplan {

namespace {

class ExpertEmitter : public StatementPrinter {
public:
  using StatementPrinter::StatementPrinter;

  void emit(exec::MoeDispatchOp op) {
    begin("moeDispatch", op, op.getTokens())
        << pointer(op.getTokens()) << ", " << pointer(op.getExperts()) << ", "
        << pointer(op.getWeights()) << ", ";
    end(op);
  }

  void emit(exec::MoeCombineOp op) {
    begin("moeCombine", op, op.getValues())
        << pointer(op.getValues()) << ", " << pointer(op.getExperts()) << ", "
        << pointer(op.getWeights()) << ", ";
    end(op);
  }

  void emit(exec::MoeWeightGradientOp op) {
    begin("moeWeightGradient", op, op.getValues())
        << pointer(op.getValues()) << ", " << pointer(op.getGradient()) << ", "
        << pointer(op.getExperts()) << ", ";
    end(op);
  }

  void emit(exec::MoeMatmulOp op) {
    begin("moeMatmul", op, op.getLhs())
        << pointer(op.getLhs()) << ", " << pointer(op.getRhs()) << ", "
        << pointer(op.getExperts()) << ", " << pointer(op.getFirstExpert())
        << ", " << pointer(op.getOutput()) << ", ExpertProductShape{"
        << op.getSizes()[0] << ", " << op.getSizes()[1] << ", "
        << (op.getSumsTokens() ? "true, " : "false, ")
        << list(op.getExpertStrides()) << ", " << matmulShape(op) << groups(op)
        << "}, " << workspace(op.getWorkspace()) << ");\n";
  }

private:
  template <typename Statement>
  raw_ostream &begin(StringRef name, Statement op, Value input) {
    return call(name + "<" + type(input) + ", " + type(op.getExperts()) + ">",
                op);
  }

  template <typename Statement> void end(Statement op) {
    ArrayRef<int64_t> shape = op.getShape();
    out << pointer(op.getFirstExpert()) << ", " << pointer(op.getOutput())
        << ", ExpertShape{" << shape[0] << ", " << shape[1] << ", " << shape[2]
        << ", " << shape[3] << groups(op) << "});\n";
  }

  /// The last member of a shape, if rows are not those of all experts.
  template <typename Statement> std::string groups(Statement op) {
    std::optional<ArrayRef<int64_t>> groups = op.getGroups();
    return groups ? ", " + list(*groups) : "";
  }
};

} // namespace

bool emitExpertStatement(Emitter &emitter, Operation *op) {
  static const auto rules =
      makeRules<ExpertEmitter, exec::MoeDispatchOp, exec::MoeCombineOp,
                exec::MoeMatmulOp, exec::MoeWeightGradientOp>();
  auto rule = rules.find(op->getName().getTypeID());
  if (rule == rules.end())
    return false;
  ExpertEmitter experts(emitter);
  rule->second(experts, op);
  return true;
}

} // namespace parplan
