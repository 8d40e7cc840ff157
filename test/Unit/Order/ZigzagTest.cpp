//===- ZigzagTest.cpp - Another order of the sequence, same values --------===//
//
// Part of parplan. Random models that know their positions in every way there
// is, in the model's order and in zig-zag order.
//
//===----------------------------------------------------------------------===//

#include "passes/Order/Passes.h"

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Interpreter/Interpreter.h"
#include "parplan/Sharding/Zigzag.h"
#include "parplan_runtime/shapes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir;
using namespace parplan;

namespace {

/// A block of a transformer over [b, s, d], heads (g r) of width e.
class RandomModel {
public:
  explicit RandomModel(uint64_t seed) : engine(seed) {
    ranks = between(2, 4);
    b = between(1, 2), s = 2 * ranks * between(1, 3);
    g = between(1, 2), r = between(1, 2), e = 2 * between(1, 2);
    d = g * r * e;
    context.loadDialect<func::FuncDialect, ParplanDialect>();
    write();
  }

  OwningOpRef<ModuleOp> parse() {
    return parseSourceString<ModuleOp>(text, &context);
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::string text;
  int64_t ranks;
  std::vector<Tensor> arguments;
  InitializerValues initializers;

private:
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() %
                                      static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

  static std::string print(ArrayRef<int64_t> shape, StringRef element) {
    std::string type = "tensor<";
    for (int64_t size : shape)
      type += std::to_string(size) + "x";
    return type + element.str() + ">";
  }

  std::string addArgument(StringRef name, ArrayRef<int64_t> shape,
                          StringRef element, int64_t below) {
    std::string type = print(shape, element);
    Tensor &value = arguments.emplace_back(
        cast<RankedTensorType>(parseType(type, &context)));
    for (int64_t i = 0; i < value.getSize(); ++i)
      if (element == "f64")
        value[i].real = static_cast<double>(between(-below, below)) / 10;
      else
        value[i].integer = between(0, below - 1);
    header += (header.empty() ? "%" : ", %") + name.str() + ": " + type +
              " {parplan.name = \"" + name.str() + "\", parplan.batch}";
    return "%" + name.str();
  }

  /// A parameter, as a view of rows from the second on where `isView`.
  void addParameter(StringRef name, ArrayRef<int64_t> shape,
                    bool isView = false) {
    SmallVector<int64_t> stored(shape);
    stored[0] += isView ? 2 : 0;
    std::string type = print(stored, "f64");
    Tensor value(cast<RankedTensorType>(parseType(type, &context)));
    for (int64_t i = 0; i < value.getSize(); ++i)
      value[i].real = static_cast<double>(between(-100, 100)) / 100;
    symbols += "parplan.initializer @" + name.str() + " \"" + name.str() +
               "\" : " + type + " in \"\" at 0 length " +
               std::to_string(8 * value.getSize()) + "\n";
    initializers.try_emplace(name, std::move(value));
    line("%" + name.str() + " = parplan.parameter @" + name.str() +
         (isView ? " view <offset = " + std::to_string(stored[1]) +
                       ", strides = [" + std::to_string(stored[1]) + ", 1]>"
                 : std::string()) +
         " : " + print(shape, "f64"));
  }

  void line(const std::string &op) { body += "  " + op + "\n"; }

  /// Embedded tokens plus what is known of their positions, which may be an
  /// input.
  void writeEmbedding() {
    std::string hidden = print({b, s, d}, "f64"), rows = print({s, d}, "f64");
    addParameter("table", {7, d});
    line("%tokens = parplan.embedding %ids, %table : " + print({b, s}, "i64") +
         ", " + print({7, d}, "f64"));
    switch (between(0, 4)) {
    case 0:
      line("%index = parplan.iota 0 : " + print({s}, "i64"));
      addParameter("places", {s + 1, d});
      line("%row = parplan.embedding %index, %places : " + print({s}, "i64") +
           ", " + print({s + 1, d}, "f64"));
      break;
    case 1:
      addParameter("row", {s, d}, /*isView=*/true);
      break;
    case 2: {
      std::string numbers;
      for (int64_t i = 0; i < s; ++i)
        numbers += (i ? ", [" : "[") + std::to_string(between(-9, 9)) + ".0]";
      line("%column = parplan.constant dense<[" + numbers +
           "]> : " + print({s, 1}, "f64"));
      line("%row = parplan.broadcast %column : " + print({s, 1}, "f64") +
           " to " + rows);
      break;
    }
    case 3: {
      std::string places = addArgument("at", {b, s}, "i64", s);
      addParameter("places", {s, d});
      line("%row = parplan.embedding " + places +
           ", %places : " + print({b, s}, "i64") + ", " + print({s, d}, "f64"));
      line("%x = parplan.add %tokens, %row : " + hidden + ", " + hidden);
      return;
    }
    default:
      line("%wide = parplan.iota 1 : " + print({b, s, 1}, "i64"));
      line("%number = parplan.cast %wide : " + print({b, s, 1}, "i64") +
           " to " + print({b, s, 1}, "f64"));
      line("%x = parplan.add %tokens, %number : " + hidden + ", " +
           print({b, s, 1}, "f64"));
      return;
    }
    line("%x = parplan.add %tokens, %row : " + hidden + ", " + rows);
  }

  void writeHeads(StringRef name, int64_t heads) {
    std::string weight = "w" + name.str();
    addParameter(weight, {d, heads * e});
    line("%flat" + name.str() + " = parplan.matmul \"bsk,kn->bsn\" %x, %" +
         weight + " : " + print({b, s, d}, "f64") + ", " +
         print({d, heads * e}, "f64"));
    line("%" + name.str() + " = parplan.reshape %flat" + name.str() + " : " +
         print({b, s, heads * e}, "f64") + " to " +
         print({b, s, heads, e}, "f64"));
  }

  /// Queries rotated by angles that grow with their index.
  void writeRotation() {
    std::string angles = print({s, e / 2}, "f64"),
                table = print({1, s, 1, e / 2}, "f64");
    line("%step = parplan.iota 0 : " + angles);
    line("%cos = parplan.cos %step : " + angles);
    line("%sin = parplan.sin %step : " + angles);
    for (std::string name : {"cos", "sin"})
      line("%" + name + "s = parplan.reshape %" + name + " : " + angles +
           " to " + table);
    line("%rotated = parplan.rope %q cos %coss sin %sins : " +
         print({b, s, g * r, e}, "f64") + ", " + table + ", " + table);
  }

  /// None, one of padded tokens, one that is an input, or one of a window, in
  /// the model or made of indices.
  std::string writeMask() {
    std::string window = print({s, s}, "i1");
    switch (between(0, 4)) {
    case 0:
      return "";
    case 1:
      line("%keys = parplan.reshape %pad : " + print({b, s}, "i1") + " to " +
           print({b, 1, 1, s}, "i1"));
      return " mask %keys : " + print({b, 1, 1, s}, "i1");
    case 2: {
      std::string scores = print({b, 1, s, s}, "f64");
      return " mask " + addArgument("bias", {b, 1, s, s}, "f64", 20) + " : " +
             scores;
    }
    case 3:
      line("%window = parplan.affine_mask [1, -1] + -3 : " + window);
      return " mask %window : " + window;
    default:
      line("%i = parplan.iota 0 : " + print({s, 1}, "i64"));
      line("%j = parplan.iota 1 : " + print({1, s}, "i64"));
      line("%far = parplan.sub %i, %j : " + print({s, 1}, "i64") + ", " +
           print({1, s}, "i64"));
      line("%most = parplan.constant dense<4> : tensor<i64>");
      line("%window = parplan.compare le %far, %most : " +
           print({s, s}, "i64") + ", tensor<i64>");
      return " mask %window : " + window;
    }
  }

  void write() {
    addArgument("ids", {b, s}, "i64", 7);
    addArgument("labels", {b, s}, "i64", d);
    addArgument("pad", {b, s}, "i1", 2);
    std::string hidden = print({b, s, d}, "f64");
    writeEmbedding();
    writeHeads("q", g * r);
    writeHeads("k", g);
    writeHeads("v", g);
    bool isRotated = chance(50);
    if (isRotated)
      writeRotation();
    std::string mask = writeMask();
    std::string query = print({b, s, g * r, e}, "f64"),
                key = print({b, s, g, e}, "f64");
    line(std::string("%mixed = parplan.attention %") +
         (isRotated ? "rotated" : "q") + ", %k, %v" + mask +
         " scale 0.5 causal zero_masked_rows : " + query + ", " + key + ", " +
         key);
    // What is attended to besides lies in no order.
    std::string answer = "%mixed";
    if (chance(30)) {
      int64_t t = between(1, 5);
      std::string memory = print({b, t, g, e}, "f64");
      addArgument("memory", {b, t, g, e}, "f64", 10);
      answer = "%crossed";
      line(
          "%crossed = parplan.attention %mixed, %memory, %memory scale 0.5 : " +
          query + ", " + memory + ", " + memory);
    }
    line("%joined = parplan.reshape " + answer + " : " + query + " to " +
         hidden);
    line("%y = parplan.add %x, %joined : " + hidden + ", " + hidden);
    line("%loss, %other = parplan.cross_entropy %y, %labels : " + hidden +
         ", " + print({b, s}, "i64"));
    line("%total = parplan.reduce sum %loss dims [0, 1] : " +
         print({b, s}, "f64"));
    addArgument("target", {b, s, d}, "f64", 10);
    line("%off = parplan.sub %y, %target : " + hidden + ", " + hidden);
    line("%square = parplan.mul %off, %off : " + hidden + ", " + hidden);
    line("%error = parplan.reduce sum %square dims [0, 1, 2] : " + hidden);
    std::string results =
        hidden + ", " + print({b, s}, "f64") + ", tensor<f64>, tensor<f64>";
    line("return %y, %loss, %total, %error : " + results);
    text = symbols + "func.func @main(" + header + ") -> (" + results +
           ") {\n" + body + "}\n";
  }

  std::mt19937_64 engine;
  int64_t b, s, g, r, e, d;
  std::string symbols, header, body;
};

/// `value` with its dimensions in the order of an argument or result, or back.
Tensor reorder(const Tensor &value, Attribute order, bool isBack) {
  auto ranks = llvm::dyn_cast_if_present<DenseI64ArrayAttr>(order);
  if (!ranks)
    return value;
  Tensor result(value.getType());
  SmallVector<int64_t> strides = value.getStrides();
  forEachIndex(value.getShape(), [&](ArrayRef<int64_t> index, int64_t at) {
    SmallVector<int64_t> place(index);
    for (auto [dim, number] : llvm::enumerate(ranks.asArrayRef()))
      place[dim] = getZigzagPosition(index[dim], value.getShape()[dim], number);
    int64_t other = getPosition(place, strides);
    if (isBack)
      result[other] = value[at];
    else
      result[at] = value[other];
  });
  return result;
}

TEST(Zigzag, ChangesTheOrderOfTheSequenceAlone) {
  int rotated = 0, masked = 0, crossed = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomModel model(seed);
    OwningOpRef<ModuleOp> plain = model.parse(), other = model.parse();
    ASSERT_TRUE(plain) << model.text;
    auto before = plain->lookupSymbol<func::FuncOp>("main");
    auto expected = interpret(before, model.arguments, model.initializers);
    ASSERT_TRUE(succeeded(expected)) << model.text;

    PassManager manager(&model.context);
    buildOrderPipeline(manager, model.ranks);
    ASSERT_TRUE(succeeded(manager.run(*other))) << model.text;
    auto function = other->lookupSymbol<func::FuncOp>("main");
    std::vector<Tensor> arguments;
    for (auto [index, argument] : llvm::enumerate(model.arguments)) {
      Attribute order = function.getArgAttr(index, attributes::zigzag);
      auto name = function.getArgAttrOfType<StringAttr>(index, "parplan.name");
      if (name == "memory") {
        EXPECT_FALSE(order);
        ++crossed;
      }
      arguments.push_back(reorder(argument, order, /*isBack=*/false));
    }
    auto actual = interpret(function, arguments, model.initializers);
    ASSERT_TRUE(succeeded(actual));
    for (unsigned index = 0; index < 4; ++index) {
      Attribute order = function.getResultAttr(index, attributes::zigzag);
      EXPECT_EQ(bool(order), index < 2);
      Tensor value = reorder((*actual)[index], order, /*isBack=*/true);
      for (int64_t i = 0; i < value.getSize(); ++i)
        ASSERT_NEAR(value[i].real, (*expected)[index][i].real,
                    1e-11 * std::max(1.0, std::abs(value[i].real)))
            << "seed " << seed << " result " << index << "\n"
            << model.text;
    }
    for (auto attention : function.getOps<AttentionOp>()) {
      EXPECT_EQ(attention.getZigzag(),
                static_cast<uint64_t>(attention.getCausal() ? model.ranks : 1));
      masked += bool(attention.getMask());
    }
    rotated += !function.getOps<RopeOp>().empty();
  }
  EXPECT_GT(rotated, 100);
  EXPECT_GT(masked, 150);
  EXPECT_GT(crossed, 50);
}

TEST(Zigzag, IsTheOrderInWhichTheRuntimeLoads) {
  for (int64_t ranks : {1, 2, 3, 8})
    for (int64_t chunk : {1, 2, 5})
      for (int64_t size = 2 * ranks * chunk, index = 0; index < size; ++index)
        EXPECT_EQ(getZigzagPosition(index, size, ranks),
                  runtime::zigzagPosition(index, size, ranks))
            << index << " of " << size << " over " << ranks;
}

} // namespace
