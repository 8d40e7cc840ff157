//===- RandomProduct.cpp - Products in panels on random grids -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RandomProduct.h"

using namespace mlir;

namespace parplan::test {

namespace {

/// Forms of linear layers and of their gradients, transposed ones, products
/// with a batch, and some that need transposes.
constexpr const char *specs[] = {
    "mk,kn->mn",   "mn,kn->mk",     "mk,mn->kn",    "bsk,kn->bsn",
    "bsn,kn->bsk", "bsk,bsn->kn",   "bsk,nk->bsn",  "km,kn->mn",
    "mk,kn->nm",   "hmk,hkn->hmn",  "hmk,hnk->hmn", "bshe,hed->bsd",
    "bsh,hd->sdb", "bskh,khn->bsn", "mk,kn->mn",    "bsk,kn->bsn"};

/// Products of the rows of tokens, which the second names.
constexpr std::pair<const char *, const char *> specsOfRows[] = {
    {"etk,ekn->etn", "t"}, {"etk,eknp->etnp", "t"},  {"etn,ekn->etk", "t"},
    {"etk,etn->ekn", "t"}, {"ebsk,enk->ebsn", "bs"}, {"ekbs,enbs->enk", "bs"}};

class Maker {
public:
  Maker(MLIRContext &context, uint64_t seed)
      : context(context), engine(seed),
        symbol(FlatSymbolRefAttr::get(&context, "mesh")) {}

  RandomProduct run() {
    if (chance(25))
      std::tie(product.spec, product.tokens) =
          specsOfRows[below(std::size(specsOfRows))];
    else
      product.spec = specs[below(std::size(specs))];
    makeMesh();
    buildModule();
    while (!assign())
      ;
    annotate();
    return std::move(product);
  }

private:
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(engine() % static_cast<uint64_t>(limit));
  }
  bool chance(int percent) { return below(100) < percent; }

  void makeMesh() {
    std::vector<MeshAxis> axes;
    if (chance(40))
      axes.push_back({"z", 2, AxisRole::data});
    if (chance(80))
      axes.push_back({"x", 2 + below(2)});
    axes.push_back({"y", 2 + below(3)});
    product.mesh = Mesh(axes);
  }

  void buildModule() {
    MatmulSpec spec = *MatmulSpec::parse(product.spec);
    int64_t sizes[128];
    int64_t limit = product.spec.size() > 12 ? 6 : 14;
    for (int64_t &size : sizes)
      size = chance(25) ? limit - 2 : 1 + below(limit);
    auto type = [&](StringRef letters) {
      auto &shape = product.shapes.emplace_back();
      for (char letter : letters)
        shape.push_back(sizes[static_cast<unsigned char>(letter)]);
      return RankedTensorType::get(shape, Float32Type::get(&context));
    };
    Type lhs = type(spec.lhs), rhs = type(spec.rhs), result = type(spec.result);
    SmallVector<Type> arguments{lhs, rhs};
    if (!product.tokens.empty()) {
      type(product.tokens);
      product.shapes.back().push_back(2);
      arguments.push_back(RankedTensorType::get(
          product.shapes.back(), IntegerType::get(&context, 64)));
    }
    Location location = UnknownLoc::get(&context);
    product.module = ModuleOp::create(location);
    OpBuilder builder = OpBuilder::atBlockBegin(product.module->getBody());
    builder.create<MeshOp>(location, "mesh",
                           MeshAttr::get(&context, product.mesh));
    auto function = builder.create<func::FuncOp>(
        location, "main", builder.getFunctionType(arguments, {result}));
    Block *body = function.addEntryBlock();
    builder.setInsertionPointToStart(body);
    std::optional<ExpertRows> rows;
    if (!product.tokens.empty())
      rows = ExpertRows{body->getArgument(2), /*first=*/Value(), product.tokens,
                        sizes['e'] + 1};
    op = builder.create<MatmulOp>(location, body->getArgument(0),
                                  body->getArgument(1), product.spec, rows);
    builder.create<func::ReturnOp>(location, op.getResult());
    product.rule = op.getShardingRule();
    for (Type argument : arguments) {
      Tensor &value =
          product.arguments.emplace_back(cast<RankedTensorType>(argument));
      for (int64_t i = 0; i < value.getSize(); ++i)
        value.setNumber(i, static_cast<double>(value.isReal()
                                                   ? below(7) - 3
                                                   : below(sizes['e'] + 1)));
    }
  }

  /// False where the draw is not legal.
  bool assign() {
    // Letters of one element are no factors: there may be none to loop over.
    const ShardingRule &rule = product.rule;
    if (rule.panelFactors.empty())
      return redraw();
    FactorAssignment assignment = FactorAssignment::getReplicated(rule);
    assignment.panels.factor = rule.panelFactors[below(
        static_cast<int64_t>(rule.panelFactors.size()))];
    for (int axis = 0; axis < product.mesh.getAxisCount(); ++axis) {
      if (chance(10))
        continue;
      auto factor = below(static_cast<int64_t>(rule.factors.size()));
      // Where blocks of experts begin is for others to test.
      if (rule.factors[factor].isNumbered)
        continue;
      assignment.axes[factor].push_back(axis);
      if (chance(90))
        assignment.panels.axes.push_back(axis);
    }
    if (verifyAssignment(rule, assignment, product.mesh))
      return ++failures > 50 && redraw();
    product.assignment = assignment;
    return true;
  }

  /// Begins anew with other sizes.
  bool redraw() {
    failures = 0;
    product.shapes.clear();
    product.arguments.clear();
    buildModule();
    return false;
  }

  ShardingAttr getAttr(const Sharding &sharding) {
    return ShardingAttr::get(symbol, product.mesh, sharding);
  }

  /// Arguments lie as the product reads them, the result rests complete.
  void annotate() {
    func::FuncOp function = product.getFunction();
    for (unsigned operand = 0; operand < function.getNumArguments(); ++operand)
      function.setArgAttr(
          operand, attributes::sharding,
          getAttr(getUseSharding(product.rule, product.assignment,
                                 static_cast<int>(operand))));
    Sharding atRest = getMadeSharding(product.rule, product.assignment, 0);
    atRest.partial.clear();
    function.setResultAttr(0, attributes::sharding, getAttr(atRest));
    op->setAttr(attributes::shardings,
                ArrayAttr::get(&context, {getAttr(atRest)}));
    op->setAttr(attributes::factors,
                FactorsAttr::get(symbol, product.mesh, product.rule,
                                 product.assignment));
  }

  MLIRContext &context;
  std::mt19937_64 engine;
  FlatSymbolRefAttr symbol;
  RandomProduct product;
  MatmulOp op;
  int failures = 0;
};

} // namespace

SmallVector<int64_t> RandomProduct::getBlock(unsigned tensor) const {
  Sharding sharding =
      tensor < 2 ? getUseSharding(rule, assignment, static_cast<int>(tensor))
                 : getMadeSharding(rule, assignment, /*result=*/0);
  return sharding.getLocalShape(mesh, shapes[tensor]);
}

int64_t RandomProduct::countMovedRow(unsigned tensor) const {
  if (getAxes(tensor).empty())
    return 0;
  int64_t elements = 1;
  for (auto [factor, size] :
       llvm::zip_equal(getFactors(tensor), getBlock(tensor)))
    if (!llvm::is_contained(factor, assignment.panels.factor))
      elements *= size;
  return elements;
}

bool RandomProduct::isContiguous(unsigned tensor, int64_t panelSize) const {
  int64_t outer = 1;
  for (auto [factor, size] :
       llvm::zip_equal(getFactors(tensor), getBlock(tensor))) {
    if (llvm::is_contained(factor, assignment.panels.factor))
      return outer == 1 || size == panelSize;
    outer *= size;
  }
  return false;
}

RandomProduct makeRandomProduct(MLIRContext &context, uint64_t seed) {
  return Maker(context, seed).run();
}

} // namespace parplan::test
