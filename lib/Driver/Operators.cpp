//===- Operators.cpp - parplan ops ----------------------------------------===//

#include "lib/Driver/Commands.h"

#include "lib/Import/ModelInfo.h"
#include "parplan/Support/Text.h"

using namespace parplan;

CommandResult
parplan::listOperators(const std::string &modelPath,
                       const std::map<std::string, int64_t> &dimensions,
                       DiagnosticEngine &engine) {
  CommandResult result;
  ImportOptions options;
  options.path = modelPath;
  options.dims.insert(dimensions.begin(), dimensions.end());
  std::optional<OperatorReport> report = listOperators(options, engine);
  if (!report)
    return result;

  Json operators = Json::array();
  result.text = padText("operator", 28) + padText("version", 9) +
                padText("nodes", 7) + padText("support", 13) + "note\n";
  for (const OperatorUse &use : report->operators) {
    std::string name =
        use.domain.empty() ? use.type : use.domain + "." + use.type;
    operators.push_back({{"domain", sanitize(use.domain)},
                         {"type", sanitize(use.type)},
                         {"since_version", use.sinceVersion},
                         {"count", use.count},
                         {"support", use.support},
                         {"note", use.note}});
    result.text += padText(escapeName(name), 28) +
                   padText(std::to_string(use.sinceVersion), 9) +
                   padText(std::to_string(use.count), 7) +
                   padText(use.support, 13) + use.note + "\n";
  }
  result.text += std::to_string(report->nodes) + " nodes, " +
                 std::to_string(report->operators.size()) + " operators\n";
  result.text += report->problems.render();
  result.document = {{"model", {{"file", sanitize(modelPath)}}},
                     {"nodes", report->nodes},
                     {"operators", std::move(operators)},
                     {"problems", report->problems.toJson()}};
  return result;
}
