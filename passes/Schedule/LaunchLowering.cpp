//===- LaunchLowering.cpp - Ops as launches of the runtime's kernels ------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/LaunchBuilder.h"
#include "passes/Schedule/MatmulForm.h"
#include "passes/Schedule/Variables.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Sizes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace parplan {

namespace {

class LaunchLowering : public LaunchBuilder {
public:
  using LaunchBuilder::LaunchBuilder;

  LogicalResult run() {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<exec::MapOp, MatmulOp, ConvOp, MaxPoolOp, AveragePoolOp, ReduceOp,
              SoftmaxOp, LogSoftmaxOp, LayerNormOp, RMSNormOp, CumSumOp, TopKOp,
              EmbeddingOp, GatherOp, GatherElementsOp, GatherNDOp>(
            [&](auto concrete) { return lower(concrete); })
        .Case<AttentionOp, AttentionGradientOp>(
            [&](auto) { return lowerAttention(op, placement); })
        .Case<MoeDispatchOp, MoeCombineOp, MoeWeightGradientOp>(
            [&](auto) { return lowerExperts(op, placement); })
        .Default([&](Operation *) { return lowerTraining(op, placement); });
  }

private:
  //===--------------------------------------------------------------------===//
  // Kernels
  //===--------------------------------------------------------------------===//

  /// An operand whose elements the kernel reads only where it writes them.
  Value findInPlace(exec::MapOp map, exec::KernelOp kernel) {
    if (placement.isAssigned(map.getResult()))
      return {};
    for (auto [number, input] : llvm::enumerate(map.getInputs())) {
      if (getTensorType(input).getElementType() !=
              getTensorType(map.getResult()).getElementType() ||
          getTensorType(input).getNumElements() !=
              getTensorType(map.getResult()).getNumElements() ||
          llvm::count_if(map.getInputs(), [&](Value other) {
            return Placement::shareBytes(get(other), get(input));
          }) != 1)
        continue;
      if (loadsWhereItStores(kernel, number) && placement.canReuse(input, map))
        return input;
    }
    return {};
  }

  LogicalResult lower(exec::MapOp map) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<exec::KernelOp>(
        placement.getProgram().getBody().front().getParentOp(),
        map.getKernelAttr());
    PARPLAN_CHECK(kernel, "exec.map names no kernel of the program");
    SmallVector<Value> inputs;
    for (Value input : map.getInputs())
      inputs.push_back(get(input));
    Value output;
    if (Value into = map.getInto()) {
      output = get(into);
      placement.map(map.getResult(), output);
    } else if (Value reused = findInPlace(map, kernel)) {
      output = get(reused);
      placement.map(map.getResult(), output);
    } else {
      output = placement.define(map.getResult());
    }
    return done(builder.create<exec::LaunchOp>(
        location, map.getKernelAttr(), inputs, output, map.getScalarsAttr(),
        getKernelCost(map, kernel)));
  }

  exec::CostAttr getKernelCost(exec::MapOp map, exec::KernelOp kernel) {
    int64_t elements = multiplySizes(kernel.getSpace());
    OpCost cost;
    cost.kind = WorkKind::copy;
    int64_t flops = 0, transcendentals = 0, stores = 0;
    for (Operation &part : kernel.getBody().front()) {
      if (auto apply = dyn_cast<exec::ApplyOp>(part)) {
        using Function = exec::ScalarFunction;
        Function function = apply.getFunction();
        bool isCostly =
            function == Function::pow ||
            (function >= Function::exp && function <= Function::erf) ||
            (function >= Function::tan && function <= Function::atanh) ||
            (function >= Function::silu && function <= Function::gelu_tanh);
        ++(isCostly ? transcendentals : flops);
        cost.kind = WorkKind::elementwise;
      } else if (isa<exec::StoreOp>(part)) {
        ++stores;
      }
    }
    cost.flops = static_cast<double>(flops * elements);
    cost.transcendentals = static_cast<double>(transcendentals * elements);
    for (Value input : map.getInputs())
      cost.bytesRead +=
          getTensorType(input).getNumElements() *
          exec::getStorageBytes(getTensorType(input).getElementType());
    cost.bytesWritten =
        elements * stores * exec::getStorageBytes(kernel.getOutput());
    return exec::CostAttr::get(builder.getContext(), cost);
  }

  //===--------------------------------------------------------------------===//
  // Products and windows
  //===--------------------------------------------------------------------===//

  LogicalResult lower(MatmulOp product) {
    if (product.getExperts())
      return lowerExperts(op, placement);
    if (failed(requireAnyFloat(product.getLhs())))
      return failure();
    std::optional<MatmulForm> form = getMatmulForm(product);
    if (!form)
      return product.emitOpError("has no matmul form: it needs "
                                 "parplan-legalize-layouts");
    Value lhs = get(product.getLhs()), rhs = get(product.getRhs());
    Value output = placement.define(product.getResult());
    return done(builder.create<exec::MatmulOp>(
        location, lhs, rhs, output, list({form->m, form->n, form->k}),
        list({form->lhs[0], form->lhs[1]}), list({form->rhs[0], form->rhs[1]}),
        list({form->result[0], form->result[1]}), list(form->batch),
        list(form->lhsBatch), list(form->rhsBatch), list(form->resultBatch),
        getCost(), /*accumulate=*/mlir::UnitAttr()));
  }

  LogicalResult lower(ConvOp conv) {
    if (failed(requireAnyFloat(conv.getInput())))
      return failure();
    ArrayRef<int64_t> in = getShape(conv.getInput());
    ArrayRef<int64_t> weight = getShape(conv.getWeight());
    ArrayRef<int64_t> out = getShape(conv.getResult());
    Value input = get(conv.getInput()), weights = get(conv.getWeight());
    Value bias = get(conv.getBias());
    Value output = placement.define(conv.getResult());
    auto launch = builder.create<exec::ConvolutionOp>(
        location, input, weights, bias, /*workspace=*/Value(), output,
        integer(in[0]), integer(in[1]), integer(out[1]), conv.getGroupsAttr(),
        list(in.drop_front(2)), list(out.drop_front(2)),
        list(weight.drop_front(2)), conv.getStridesAttr(),
        conv.getDilationsAttr(), everySecond(conv.getPads(), 0), getCost());
    if (Value workspace =
            placement.createWorkspace(runtime::convolutionWorkspaceBytes(
                exec::getRuntimeShape(launch), getElementBytes(output))))
      launch.getWorkspaceMutable().assign(workspace);
    return done(launch);
  }

  template <typename Pool>
  LogicalResult lowerPool(Pool pool, bool isMax, bool countsPadding) {
    if (failed(requireAnyFloat(pool.getInput())))
      return failure();
    ArrayRef<int64_t> in = getShape(pool.getInput());
    ArrayRef<int64_t> out = getShape(pool.getResult());
    Value input = get(pool.getInput());
    Value output = placement.define(pool.getResult());
    return done(builder.create<exec::PoolOp>(
        location, input, output, flag(isMax), integer(in[0]), integer(in[1]),
        list(in.drop_front(2)), list(out.drop_front(2)), pool.getWindowAttr(),
        pool.getStridesAttr(), pool.getDilationsAttr(),
        everySecond(pool.getPads(), 0), everySecond(pool.getPads(), 1),
        flag(countsPadding), getCost()));
  }
  LogicalResult lower(MaxPoolOp pool) {
    return lowerPool(pool, /*isMax=*/true, /*countsPadding=*/false);
  }
  LogicalResult lower(AveragePoolOp pool) {
    return lowerPool(pool, /*isMax=*/false, pool.getCountIncludePad());
  }

  //===--------------------------------------------------------------------===//
  // Rows
  //===--------------------------------------------------------------------===//

  LogicalResult lower(ReduceOp reduce) {
    ArrayRef<int64_t> shape = getShape(reduce.getInput());
    SmallVector<int64_t> dims(reduce.getDims());
    llvm::sort(dims);
    Rows rows = dims.empty() ? Rows{multiplySizes(shape), 1, 1}
                             : getRows(shape, dims.front(), dims.back() + 1);
    if (rows.outer * rows.inner !=
        getTensorType(reduce.getResult()).getNumElements())
      return reduce.emitOpError("reduces dimensions that are not neighbours: "
                                "it needs parplan-legalize-layouts");
    Value input = get(reduce.getInput());
    Value output = placement.define(reduce.getResult());
    return done(builder.create<exec::ReduceOp>(
        location, reduce.getKindAttr(), input, output, integer(rows.outer),
        integer(rows.length), integer(rows.inner), getCost()));
  }

  template <typename Softmax>
  LogicalResult lowerSoftmax(Softmax softmax, bool isLog) {
    if (failed(requireFloat(softmax.getInput())))
      return failure();
    Rows rows = getRows(getShape(softmax.getInput()), softmax.getDim(),
                        softmax.getDim() + 1);
    Value input = get(softmax.getInput());
    Value output = placement.define(softmax.getResult());
    return done(builder.create<exec::SoftmaxOp>(
        location, input, output, flag(isLog), integer(rows.outer),
        integer(rows.length), integer(rows.inner), getCost()));
  }
  LogicalResult lower(SoftmaxOp softmax) {
    return lowerSoftmax(softmax, /*isLog=*/false);
  }
  LogicalResult lower(LogSoftmaxOp softmax) {
    return lowerSoftmax(softmax, /*isLog=*/true);
  }

  LogicalResult lower(LayerNormOp norm) {
    if (failed(requireFloat(norm.getInput())))
      return failure();
    ArrayRef<int64_t> shape = getShape(norm.getInput());
    Rows rows = getRows(shape, norm.getDim(), shape.size());
    Value input = get(norm.getInput());
    Value scale = get(norm.getScale()), bias = get(norm.getBias());
    Value output = placement.define(norm.getResult());
    return done(builder.create<exec::LayerNormOp>(
        location, input, scale, bias, output, integer(rows.outer),
        integer(rows.length), norm.getEpsilonAttr(), getCost()));
  }

  LogicalResult lower(RMSNormOp norm) {
    if (failed(requireFloat(norm.getInput())))
      return failure();
    ArrayRef<int64_t> shape = getShape(norm.getInput());
    Rows rows = getRows(shape, norm.getDim(), shape.size());
    Value input = get(norm.getInput()), scale = get(norm.getScale());
    Value output = placement.define(norm.getResult());
    return done(builder.create<exec::RMSNormOp>(
        location, input, scale, output, integer(rows.outer),
        integer(rows.length), norm.getEpsilonAttr(), getCost()));
  }

  LogicalResult lower(CumSumOp cumsum) {
    Rows rows = getRows(getShape(cumsum.getInput()), cumsum.getDim(),
                        cumsum.getDim() + 1);
    Value input = get(cumsum.getInput());
    Value output = placement.define(cumsum.getResult());
    return done(builder.create<exec::CumSumOp>(
        location, input, output, cumsum.getExclusiveAttr(),
        cumsum.getReverseAttr(), integer(rows.outer), integer(rows.length),
        integer(rows.inner), getCost()));
  }

  LogicalResult lower(TopKOp topk) {
    Rows rows =
        getRows(getShape(topk.getInput()), topk.getDim(), topk.getDim() + 1);
    Value input = get(topk.getInput());
    Value values, indices;
    if (!topk.getValues().use_empty())
      values = placement.define(topk.getValues());
    if (!topk.getIndices().use_empty())
      indices = placement.define(topk.getIndices());
    if (!values && !indices)
      return success();
    return done(builder.create<exec::TopKOp>(
        location, input, values, indices, integer(rows.outer),
        integer(rows.length), integer(rows.inner), topk.getKAttr(),
        topk.getLargestAttr(), getCost()));
  }

  //===--------------------------------------------------------------------===//
  // Indexing
  //===--------------------------------------------------------------------===//

  LogicalResult lower(EmbeddingOp embedding) {
    ArrayRef<int64_t> table = getShape(embedding.getTable());
    Value ids = get(embedding.getIds()), rows = get(embedding.getTable());
    Value output = placement.define(embedding.getResult());
    return done(builder.create<exec::EmbeddingOp>(
        location, ids, rows, output,
        list({multiplySizes(getShape(embedding.getIds())), table[0], table[1]}),
        getCost()));
  }

  LogicalResult lower(GatherOp gather) {
    ArrayRef<int64_t> shape = getShape(gather.getData());
    Rows rows = getRows(shape, gather.getDim(), gather.getDim() + 1);
    Value data = get(gather.getData()), indices = get(gather.getIndices());
    Value output = placement.define(gather.getResult());
    return done(builder.create<exec::GatherOp>(
        location, data, indices, output,
        list({rows.outer, rows.length,
              multiplySizes(getShape(gather.getIndices())), rows.inner}),
        getCost()));
  }

  LogicalResult lower(GatherElementsOp gather) {
    Value data = get(gather.getData()), indices = get(gather.getIndices());
    Value output = placement.define(gather.getResult());
    return done(builder.create<exec::GatherElementsOp>(
        location, data, indices, output, list(getShape(gather.getData())),
        list(getShape(gather.getIndices())), gather.getDimAttr(), getCost()));
  }

  LogicalResult lower(GatherNDOp gather) {
    ArrayRef<int64_t> shape = getShape(gather.getData());
    ArrayRef<int64_t> indexShape = getShape(gather.getIndices());
    size_t batchDims = gather.getBatchDims();
    size_t indexed = indexShape.back();
    int64_t batch = multiplySizes(shape.take_front(batchDims));
    int64_t tuples = multiplySizes(indexShape.drop_back());
    Value data = get(gather.getData()), indices = get(gather.getIndices());
    Value output = placement.define(gather.getResult());
    return done(builder.create<exec::GatherNDOp>(
        location, data, indices, output, integer(batch),
        integer(batch ? tuples / batch : 0),
        list(shape.slice(batchDims, indexed)),
        integer(multiplySizes(shape.drop_front(batchDims + indexed))),
        getCost()));
  }
};

} // namespace

LogicalResult lowerLaunch(Operation *op, Placement &placement) {
  return LaunchLowering(op, placement).run();
}

} // namespace parplan
