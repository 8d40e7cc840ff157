//===- DiagnosticsTest.cpp - What users and scripts are told --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Diagnostics.h"
#include "parplan/Support/DiagnosticCodes.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace parplan;

TEST(Diagnostics, textNamesFileNodeOperatorAndCode) {
  DiagnosticEngine engine;
  engine.error(codes::internalError,
               Location::atNode("model.onnx", 412, "/h.3/mlp/MatMul", "MatMul"))
          .note("the other operand is made here",
                Location::atNode("model.onnx", 3, "/h.3/Add", "Add"))
          .note("shapes are right-aligned")
          .help("transpose it")
      << "operand " << 1 << " has rank " << 3;
  EXPECT_EQ(engine.render(),
            "model.onnx: node 412 '/h.3/mlp/MatMul' (MatMul): error[E9001]: "
            "operand 1 has rank 3\n"
            "model.onnx: node 3 '/h.3/Add' (Add): note: the other operand is "
            "made here\n"
            "note: shapes are right-aligned\n"
            "help: transpose it\n");
}

TEST(Diagnostics, withoutLocationTheProgramIsNamed) {
  DiagnosticEngine engine;
  engine.error(codes::badOptionValue) << "--gpus 0";
  EXPECT_EQ(engine.render(), "parplan: error[E1010]: --gpus 0\n");
}

TEST(Diagnostics, linesAndColumnsOfTextFiles) {
  EXPECT_EQ(Location::atLine("a.json", 3, 7).print(), "a.json:3:7");
}

TEST(Diagnostics, namesFromFilesCannotForgeLines) {
  DiagnosticEngine engine;
  engine.error(
      codes::badOptionValue,
      Location::atNode("a\nb.onnx", 1, "x'\nparplan: error", "Mat\033"))
      << "message\r\nwith lines";
  EXPECT_EQ(engine.render(),
            "a\\nb.onnx: node 1 'x\\'\\nparplan: error' (Mat\\x1b): "
            "error[E1010]: message\\r\\nwith lines\n");
}

TEST(Diagnostics, colorsOnlyOnRequest) {
  DiagnosticEngine engine;
  engine.error(codes::badOptionValue) << "x";
  EXPECT_EQ(engine.render({.color = true}),
            "parplan: \033[1;31merror[E1010]\033[0m: x\n");
}

TEST(Diagnostics, warningsAreNotErrors) {
  DiagnosticEngine engine;
  engine.warning(codes::badOptionValue) << "odd";
  EXPECT_FALSE(engine.hasErrors());
  EXPECT_EQ(engine.getExitCode(), ExitCode::done);
  EXPECT_EQ(engine.render(), "parplan: warning[E1010]: odd\n");
}

TEST(Diagnostics, exitCodeIsThatOfTheFirstErrorUnlessOneIsInternal) {
  DiagnosticEngine engine;
  EXPECT_EQ(engine.getExitCode(), ExitCode::done);
  engine.error(codes::badClusterField) << "x";
  engine.error(codes::unknownOption) << "x";
  EXPECT_EQ(engine.getExitCode(), ExitCode::badInput);
  engine.error(codes::internalError) << "x";
  EXPECT_EQ(engine.getExitCode(), ExitCode::internalError);
}

TEST(Diagnostics, exitCodeCanBeGivenAtTheDiagnostic) {
  DiagnosticEngine engine;
  engine.error(codes::badClusterField).exitWith(ExitCode::inputOutput) << "x";
  EXPECT_EQ(engine.getExitCode(), ExitCode::inputOutput);
}

TEST(Diagnostics, floodsAreCountedNotKept) {
  DiagnosticEngine engine(/*limit=*/2);
  for (int i = 0; i < 5; ++i)
    engine.error(codes::badClusterField).help("h") << i;
  EXPECT_EQ(engine.getErrorCount(), 5u);
  EXPECT_EQ(engine.getDiagnostics().size(), 2u);
  EXPECT_TRUE(engine.render().ends_with(
      "parplan: 3 further diagnostics are not shown\n"));
}

TEST(Diagnostics, appendKeepsOrderAndCounts) {
  DiagnosticEngine all, part(/*limit=*/1);
  all.error(codes::badOptionValue) << "a";
  part.error(codes::badClusterField).help("h") << "b";
  part.error(codes::badClusterField) << "c";
  all.append(std::move(part));
  EXPECT_EQ(all.getErrorCount(), 3u);
  EXPECT_EQ(all.getDroppedCount(), 1u);
  EXPECT_EQ(all.render(),
            "parplan: error[E1010]: a\nparplan: error[E1043]: b\nhelp: h\n"
            "parplan: 1 further diagnostics are not shown\n");
}

TEST(Diagnostics, jsonHasEveryPart) {
  DiagnosticEngine engine;
  engine.error(codes::badClusterField,
               Location::atNode("m.onnx", 7, "a\xff", "Add"))
          .note("n", Location::atLine("x.json", 2, 5))
          .help("h")
      << "m";
  EXPECT_EQ(
      engine.toJson().dump(),
      R"([{"severity":"error","code":"E1043","phase":"options",)"
      R"("title":"a field of the cluster file is missing, unknown or out of range",)"
      R"("file":"m.onnx","node":7,"node_name":"a\\xff","op":"Add","message":"m",)"
      R"("notes":[{"file":"x.json","line":2,"column":5,"message":"n"}],)"
      R"("helps":["h"],"exit_code":65}])");
}

TEST(Diagnostics, catalogueRowsHaveAPhaseAndATitle) {
  for (const DiagnosticCode &row : getDiagnosticCatalogue()) {
    EXPECT_NE(row.number / 1000, 8) << row.getName();
    EXPECT_FALSE(std::string_view(row.title).empty()) << row.getName();
    EXPECT_EQ(getPhaseName(row) == "internal", row.number / 1000 == 9);
    EXPECT_NE(row.exitCode, ExitCode::done) << row.getName();
  }
}
