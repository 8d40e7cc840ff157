//===- PanelLowering.cpp - Loops over panels, unrolled --------------------===//
//
// Part of parplan.
//
// Per panel: broadcast what moves, multiply, reduce to the rank that keeps the
// panel. Issued so that the streams overlap:
//
//   communication  | cast 0 | cast 1 | reduce 0 | cast 2 | reduce 1 | ..
//   compute                 | multiply 0        | multiply 1 | keep 0 | ..
//
// Panel p + 1 is on its way before panel p is multiplied, and what was reduced
// is kept one product later. The owner of a panel that lies in one piece in its
// block reads or makes it there. The other ranks, and owners that have to pack
// it, have it in a slot: there are two, used in turn, of every tensor that
// moves, whatever the number of panels, or one (getSlotSizes).
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ExpertProduct.h"
#include "passes/Schedule/LaunchBuilder.h"
#include "passes/Schedule/PanelProduct.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Sizes.h"

using namespace mlir;

namespace parplan {

namespace {

using exec::CollectiveForm;

constexpr unsigned result = 2;

class PanelLowering : public LaunchBuilder {
public:
  PanelLowering(PanelMatmulOp op, Placement &placement)
      : LaunchBuilder(op, placement), product(op), rows(op.getRows()),
        loop(op, placement.getMesh()),
        panels(getPanels(op, placement.getMesh())) {}

  LogicalResult run() {
    if (failed(requireAnyFloat(product.getLhs())))
      return failure();
    for (const Panel &panel : panels)
      if (std::optional<MatmulForm> form = loop.getForm(panel.size);
          !form ||
          (rows && !isFormOfRows(*form, loop.spec, *rows, countExperts())))
        return product.emitOpError("has no matmul form: it needs "
                                   "parplan-legalize-layouts");
    blocks[0] = get(product.getLhs());
    blocks[1] = get(product.getRhs());
    blocks[result] = placement.define(product.getResult());
    for (unsigned tensor = 0; tensor < PanelProduct::tensorCount; ++tensor)
      createSlots(tensor);
    clearPadding();
    broadcast(0);
    for (size_t number = 0; number < panels.size(); ++number) {
      if (number + 1 < panels.size())
        broadcast(number + 1);
      multiply(number);
      if (number > 0)
        keep(number - 1);
      reduce(number);
    }
    keep(panels.size() - 1);
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Arrays
  //===--------------------------------------------------------------------===//

  Type getElementType() const {
    return getTensorType(op->getOperand(0)).getElementType();
  }

  int64_t countExperts() const {
    return rows->countExperts(loop.spec, loop.blocks[0]);
  }

  int64_t getBytes(int64_t elements) const {
    return elements * exec::getStorageBytes(getElementType());
  }

  int64_t countPanel(unsigned tensor, int64_t size) const {
    return multiplySizes(loop.getShape(tensor, size).sizes);
  }

  bool isContiguous(unsigned tensor, size_t number) const {
    return loop.isContiguous(tensor, panels[number].size);
  }

  void createSlots(unsigned tensor) {
    if (!loop.moves(tensor))
      return;
    auto inPlace = [&](const Panel &panel) {
      return loop.isContiguous(tensor, panel.size);
    };
    for (int64_t size : getSlotSizes(
             panels, tensor, placement.getWidth(getAxes(tensor)), inPlace))
      slots[tensor].push_back(placement.createActivation(
          {countPanel(tensor, size)}, getElementType()));
    panelArrays[tensor].resize(panels.size());
  }

  /// Where ranks have a panel of a tensor that moves.
  Value getPanel(unsigned tensor, size_t number) {
    Value &array = panelArrays[tensor][number];
    if (array)
      return array;
    ArrayRef<Value> turns = slots[tensor];
    auto shape = loop.getShape(tensor, panels[number].size).sizes;
    array = placement.createView(turns[number % turns.size()], 0, shape,
                                 getElementType());
    if (isContiguous(tensor, number)) {
      Value place = placement.createView(blocks[tensor],
                                         getBytes(getOffset(tensor, number)),
                                         shape, getElementType());
      array = placement.createChoice(getOwner(tensor, number), place, array);
    }
    return array;
  }

  /// Where its owner has it.
  Value getOwned(unsigned tensor, size_t number) {
    return exec::getArrayOn(getOwner(tensor, number), getPanel(tensor, number));
  }

  /// Where the panel starts in the block of its owner.
  int64_t getOffset(unsigned tensor, size_t number) const {
    return panels[number].places[tensor].offset * loop.getBlock(tensor).inner;
  }

  /// What the product reads or writes of a tensor.
  Value getFactor(unsigned tensor, size_t number) {
    if (loop.moves(tensor))
      return getPanel(tensor, number);
    if (!loop.hasPanels(tensor))
      return blocks[tensor];
    return placement.createView(
        blocks[tensor], getBytes(getOffset(tensor, number)),
        {loop.getShape(tensor, panels[number].size).getReach()},
        getElementType());
  }

  AxisListAttr getAxes(unsigned tensor) {
    return product.getPanelAxes()[tensor];
  }

  exec::MemberAttr getOwner(unsigned tensor, size_t number) {
    return exec::MemberAttr::get(builder.getContext(),
                                 panels[number].places[tensor].owner,
                                 placement.getCommunicator(getAxes(tensor)));
  }

  //===--------------------------------------------------------------------===//
  // Statements
  //===--------------------------------------------------------------------===//

  /// A block of the result may be longer than what its owner's panels fill.
  void clearPadding() {
    if (!loop.moves(result) ||
        product.getSize() % placement.getWidth(getAxes(result)) == 0)
      return;
    OpCost cost;
    cost.kind = WorkKind::copy;
    cost.bytesWritten = exec::getBufferType(blocks[result]).getByteSize();
    (void)done(builder.create<exec::ZeroOp>(
        location, blocks[result],
        exec::CostAttr::get(builder.getContext(), cost)));
  }

  /// What was made first travels first: a weight need not wait until the
  /// activation is there.
  SmallVector<unsigned, 2> getOperandOrder() const {
    Operation *lhs = op->getOperand(0).getDefiningOp();
    Operation *rhs = op->getOperand(1).getDefiningOp();
    if (lhs && (!rhs || rhs->isBeforeInBlock(lhs)))
      return {1, 0};
    return {0, 1};
  }

  void broadcast(size_t number) {
    for (unsigned tensor : getOperandOrder()) {
      if (!loop.moves(tensor))
        continue;
      Value panel = getPanel(tensor, number);
      if (!isContiguous(tensor, number))
        copy(tensor, number, blocks[tensor], panel, /*keeps=*/false);
      call(CollectiveForm::broadcast, tensor, number, getOwned(tensor, number),
           panel);
    }
  }

  void multiply(size_t number) {
    MatmulForm form = *loop.getForm(panels[number].size);
    Value lhs = getFactor(0, number), rhs = getFactor(1, number);
    Value output = getFactor(result, number);
    // The letter is summed over: all panels add to the one result.
    bool accumulates = !loop.hasPanels(result) && number > 0;
    exec::CostAttr cost = getProductCost(number, accumulates);
    if (rows) {
      (void)done(createExpertProduct(
          placement, location,
          {lhs, rhs, get(rows->experts), get(rows->first), output,
           countExperts(), getTensorType(rows->experts).getShape().back(),
           rows->groups, rows->areSummed(loop.spec), accumulates},
          form, cost));
      return;
    }
    (void)done(builder.create<exec::MatmulOp>(
        location, lhs, rhs, output, list({form.m, form.n, form.k}),
        list({form.lhs[0], form.lhs[1]}), list({form.rhs[0], form.rhs[1]}),
        list({form.result[0], form.result[1]}), list(form.batch),
        list(form.lhsBatch), list(form.rhsBatch), list(form.resultBatch), cost,
        flag(accumulates)));
  }

  void reduce(size_t number) {
    if (loop.moves(result))
      call(CollectiveForm::reduce, result, number, getPanel(result, number),
           getOwned(result, number));
  }

  /// Takes a panel that was not reduced into the block at once there.
  void keep(size_t number) {
    if (loop.moves(result) && !isContiguous(result, number))
      copy(result, number, getPanel(result, number), blocks[result],
           /*keeps=*/true);
  }

  /// Between the panel in the block of its owner and a slot, on the owner.
  void copy(unsigned tensor, size_t number, Value from, Value to, bool keeps) {
    PanelProduct::Block block = loop.getBlock(tensor);
    int64_t row = panels[number].size * block.inner;
    int64_t offset = getOffset(tensor, number);
    SmallVector<int64_t> inBlock = {block.length * block.inner, 1};
    SmallVector<int64_t> inSlot = {row, 1};
    OpCost cost;
    cost.kind = WorkKind::copy;
    cost.bytesRead = cost.bytesWritten = getBytes(block.outer * row);
    (void)done(builder.create<exec::CopyOp>(
        location, from, to, ArrayRef<int64_t>{block.outer, row},
        keeps ? 0 : offset, keeps ? inSlot : inBlock, keeps ? offset : 0,
        keeps ? inBlock : inSlot,
        exec::CostAttr::get(builder.getContext(), cost),
        getOwner(tensor, number)));
  }

  void call(CollectiveForm form, unsigned tensor, size_t number, Value in,
            Value out) {
    MLIRContext *context = builder.getContext();
    int64_t count = countPanel(tensor, panels[number].size);
    exec::MemberAttr owner = getOwner(tensor, number);
    ReduceKindAttr kind;
    if (form == CollectiveForm::reduce)
      kind = ReduceKindAttr::get(context, ReduceKind::sum);
    (void)done(builder.create<exec::CollectiveOp>(
        location, exec::CollectiveFormAttr::get(context, form),
        owner.getCommunicator(), in, out, integer(count),
        integer(getBytes(count)), kind, integer(owner.getPosition())));
  }

  //===--------------------------------------------------------------------===//
  // Cost
  //===--------------------------------------------------------------------===//

  /// Sizes of the letters of one role.
  int64_t countLetters(StringRef letters, int64_t panelSize) const {
    StringRef names[] = {loop.spec.lhs, loop.spec.rhs};
    int64_t count = 1;
    for (char letter : letters) {
      unsigned tensor = names[0].contains(letter) ? 0 : 1;
      count *=
          loop.getShape(tensor, panelSize).sizes[names[tensor].find(letter)];
    }
    return count;
  }

  exec::CostAttr getProductCost(size_t number, bool accumulates) {
    int64_t size = panels[number].size;
    MatmulLetters letters = classifyLetters(loop.spec);
    OpCost cost;
    cost.kind = WorkKind::matrix;
    cost.rows = countLetters(letters.rows, size);
    cost.columns = countLetters(letters.columns, size);
    cost.contracted = countLetters(letters.summed, size);
    cost.batch = rows ? countExperts() : countLetters(letters.batch, size);
    cost.flops = 2.0 * static_cast<double>(cost.rows * cost.columns) *
                 static_cast<double>(cost.contracted * cost.batch);
    if (rows) {
      cost.kind = WorkKind::expertMatrix;
      cost.flops *= rows->getShare();
      int64_t &tokens =
          rows->areSummed(loop.spec) ? cost.contracted : cost.rows;
      tokens = getMeanSize(tokens, rows->getShare());
    }
    cost.bytesRead = getBytes(countPanel(0, size) + countPanel(1, size));
    cost.bytesWritten = getBytes(countPanel(result, size));
    if (accumulates)
      cost.bytesRead += cost.bytesWritten;
    return exec::CostAttr::get(builder.getContext(), cost);
  }

  PanelMatmulOp product;
  std::optional<ExpertRows> rows;
  PanelProduct loop;
  SmallVector<Panel> panels;
  Value blocks[PanelProduct::tensorCount];
  SmallVector<Value, 2> slots[PanelProduct::tensorCount];
  /// By number, once something takes the panel.
  SmallVector<Value> panelArrays[PanelProduct::tensorCount];
};

} // namespace

LogicalResult lowerPanels(PanelMatmulOp op, Placement &placement) {
  return PanelLowering(op, placement).run();
}

} // namespace parplan
