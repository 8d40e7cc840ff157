//===- ConformanceTest.cpp - ONNX's node tests as a gate -------*- C++ -*-===//
//
// Part of parplan.
//
//   ConformanceTests [--list FILE] [--only TEXT] [--write-page FILE]
//                    [--write-models FOLDER]
//
// --list writes a line per test: name, verdict, reason, why it has no program.
// --only runs the tests whose names contain TEXT, with no gate. --write-page
// writes docs/operators.md, --write-models what test/Execution compiles and
// runs.
//
//===----------------------------------------------------------------------===//

#include "CombinedModels.h"
#include "NodeTestRun.h"
#include "OperatorPage.h"
#include "Workers.h"

#include "lib/Driver/Frontend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include <unistd.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Tests that pass, and those of them that have a program for the host: raise
/// them when more do.
constexpr int fewestPasses = 1683, fewestPrograms = 1525;
constexpr unsigned secondsPerTest = 60;
constexpr int workers = 2;

std::string listFile, pageFile, modelsFolder, only;

NodeTestResults runAll(const std::string &folder,
                       const std::vector<std::string> &names) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto runOne = [&](int index) {
    std::string scratch = testing::TempDir() + "parplan-conformance-" +
                          std::to_string(getpid()) + ".onnx";
    NodeTestResult result;
    try {
      result =
          runNodeTest(*context, readNodeTest(folder, names[index]), scratch);
    } catch (const std::exception &exception) {
      result.reason = exception.what();
    }
    unlink(scratch.c_str());
    return nlohmann::json(result).dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  std::vector<std::optional<std::string>> texts =
      runInWorkers(int(names.size()), workers, secondsPerTest, runOne);
  NodeTestResults results;
  for (size_t i = 0; i < names.size(); ++i)
    if (texts[i])
      results[names[i]] = nlohmann::json::parse(*texts[i]);
    else
      results[names[i]].reason = "the process ended";
  return results;
}

std::string readText(const std::string &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// All tests run once.
class Conformance : public testing::Test {
protected:
  static void SetUpTestSuite() {
    const std::string folder = PARPLAN_ONNX_NODE_TESTS;
    std::vector<std::string> names = listNodeTests(folder);
    ASSERT_EQ(names.size(), 1765u);
    std::erase_if(names, [](const std::string &name) {
      return name.find(only) == std::string::npos;
    });
    results = runAll(folder, names);
    std::ofstream list(listFile);
    for (const auto &[name, result] : results) {
      std::string reason = result.reason + "\t" + result.trace.obstacle;
      std::replace(reason.begin(), reason.end(), '\n', ' ');
      list << name << '\t' << char(result.verdict) << '\t' << reason << '\n';
    }
    if (!pageFile.empty())
      std::ofstream(pageFile) << printOperatorPage(results);
    if (!modelsFolder.empty())
      writeCombinedModels(folder, results, modelsFolder);
  }

  template <typename Predicate> static int count(Predicate predicate) {
    return int(
        std::count_if(results.begin(), results.end(), [&](const auto &named) {
          return predicate(named.second);
        }));
  }

  static int count(Verdict verdict) {
    return count([&](const NodeTestResult &result) {
      return result.verdict == verdict;
    });
  }

  static NodeTestResults results;
};

NodeTestResults Conformance::results;

TEST_F(Conformance, NodeTestsPassOrAreRefusedWithAReason) {
  int passes = count(
      [](const NodeTestResult &result) { return isPass(result.verdict); });
  int programs = count([](const NodeTestResult &result) {
    return !result.trace.statements.empty();
  });
  std::cout << passes << " of " << results.size() << " pass, "
            << count(Verdict::refused) << " refused, " << count(Verdict::wrong)
            << " wrong, " << count(Verdict::crashed) << " crashed\n"
            << "of those that pass, " << count(Verdict::passes)
            << " have all inputs at run time, "
            << count(Verdict::passesWithConstants)
            << " some of them as initializers, " << count(Verdict::passesFolded)
            << " all; on ranks with random shardings all are right but "
            << count(Verdict::wrongOnRanks) << "; " << programs
            << " have a program for the host\n";
  std::string faults;
  for (const auto &[name, result] : results)
    if (!isPass(result.verdict) && result.verdict != Verdict::refused)
      faults += name + " " + char(result.verdict) + ": " + result.reason + "\n";
  EXPECT_EQ(faults, "");
  if (!only.empty())
    return;
  EXPECT_GE(passes, fewestPasses);
  EXPECT_GE(programs, fewestPrograms);
}

TEST_F(Conformance, PageOfOperatorsIsWhatTheTestsSay) {
  if (only.empty()) {
    EXPECT_TRUE(readText(PARPLAN_OPERATOR_PAGE) == printOperatorPage(results))
        << "write it again: ConformanceTests --write-page docs/operators.md";
  }
}

} // namespace

int main(int count, char **arguments) {
  testing::InitGoogleTest(&count, arguments);
  for (int i = 1; i + 1 < count; i += 2) {
    std::string option = arguments[i];
    if (option == "--list")
      listFile = arguments[i + 1];
    else if (option == "--write-page")
      pageFile = arguments[i + 1];
    else if (option == "--write-models")
      modelsFolder = arguments[i + 1];
    else if (option == "--only")
      only = arguments[i + 1];
  }
  return RUN_ALL_TESTS();
}
