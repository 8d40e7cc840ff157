//===- ConformanceTest.cpp - ONNX's node tests as a gate -------*- C++ -*-===//
//
// Part of parplan.
//
//   ConformanceTests [--list FILE] [--only TEXT]
//
// --list writes a line per test: name, verdict, reason. --only runs the tests
// whose names contain TEXT, with no gate.
//
//===----------------------------------------------------------------------===//

#include "NodeTestRun.h"
#include "Workers.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>

#include <unistd.h>

using namespace parplan::test;

namespace {

/// Tests that pass: raise it when more do.
constexpr int fewestPasses = 1404;
constexpr unsigned secondsPerTest = 60;

std::string listFile, only;

class Results {
public:
  void add(const std::string &name, const NodeTestResult &result) {
    all.emplace_back(name, result);
    ++counts[result.verdict];
  }

  int count(Verdict verdict) const {
    auto found = counts.find(verdict);
    return found == counts.end() ? 0 : found->second;
  }

  int countPasses() const {
    return count(Verdict::passes) + count(Verdict::passesWithConstants) +
           count(Verdict::passesFolded);
  }

  std::string listFaults() const {
    std::string text;
    for (const auto &[name, result] : all)
      if (!isPass(result.verdict) && result.verdict != Verdict::refused)
        text += name + " " + char(result.verdict) + ": " + result.reason + "\n";
    return text;
  }

  void print(std::ostream &out) const {
    out << countPasses() << " of " << all.size() << " pass, "
        << count(Verdict::refused) << " refused, " << count(Verdict::wrong)
        << " wrong, " << count(Verdict::crashed) << " crashed\n"
        << "of those that pass, " << count(Verdict::passes)
        << " have all inputs at run time, "
        << count(Verdict::passesWithConstants)
        << " some of them as initializers, " << count(Verdict::passesFolded)
        << " all\n";
  }

  void write(std::ostream &out) const {
    for (const auto &[name, result] : all) {
      std::string reason = result.reason;
      std::replace(reason.begin(), reason.end(), '\n', ' ');
      out << name << '\t' << char(result.verdict) << '\t' << reason << '\n';
    }
  }

private:
  std::vector<std::pair<std::string, NodeTestResult>> all;
  std::map<Verdict, int> counts;
};

Results runAll(const std::string &folder,
               const std::vector<std::string> &names) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  auto runOne = [&](int index) {
    std::string scratch = testing::TempDir() + "parplan-conformance-" +
                          std::to_string(getpid()) + ".onnx";
    NodeTestResult result;
    try {
      result =
          runNodeTest(context, readNodeTest(folder, names[index]), scratch);
    } catch (const std::exception &exception) {
      result = {Verdict::crashed, exception.what()};
    }
    unlink(scratch.c_str());
    return char(result.verdict) + result.reason;
  };
  std::vector<std::optional<std::string>> texts =
      runInWorkers(int(names.size()), 2, secondsPerTest, runOne);
  Results results;
  for (size_t i = 0; i < names.size(); ++i) {
    NodeTestResult result{Verdict::crashed, "the process ended"};
    if (texts[i])
      result = {Verdict(texts[i]->front()), texts[i]->substr(1)};
    results.add(names[i], result);
  }
  return results;
}

TEST(Conformance, NodeTestsPassOrAreRefusedWithAReason) {
  const std::string folder = PARPLAN_ONNX_NODE_TESTS;
  std::vector<std::string> names = listNodeTests(folder);
  ASSERT_EQ(names.size(), 1765u);
  std::erase_if(names, [](const std::string &name) {
    return name.find(only) == std::string::npos;
  });
  Results results = runAll(folder, names);
  results.print(std::cout);
  if (!listFile.empty()) {
    std::ofstream file(listFile);
    results.write(file);
  }
  EXPECT_EQ(results.listFaults(), "");
  if (only.empty()) {
    EXPECT_GE(results.countPasses(), fewestPasses);
  }
}

} // namespace

int main(int count, char **arguments) {
  testing::InitGoogleTest(&count, arguments);
  for (int i = 1; i + 1 < count; i += 2) {
    std::string option = arguments[i];
    if (option == "--list")
      listFile = arguments[i + 1];
    else if (option == "--only")
      only = arguments[i + 1];
  }
  return RUN_ALL_TESTS();
}
