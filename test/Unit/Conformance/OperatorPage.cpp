//===- OperatorPage.cpp - docs/operators.md, generated ---------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OperatorPage.h"

#include "lib/Import/Load/Limits.h"
#include "lib/Import/Operators/OperatorTable.h"
#include "lib/Import/Sweep/SchemaBodies.h"

#include "onnx/defs/schema.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace parplan::test {

using namespace importer;

namespace {

/// What all tests of one operator alone say.
struct Row {
  std::set<int> versions;
  int tests = 0, passes = 0;
  OperatorTrace trace;
};

std::string join(const std::set<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string getKey(const std::string &domain, const std::string &type) {
  return domain.empty() || domain == "ai.onnx" ? type : domain + "." + type;
}

/// Every operator with the versions that hold somewhere in the opsets that are
/// accepted; those of other domains as `domain.Type`.
std::map<std::string, Row> listSchemas() {
  std::map<std::string, Row> rows;
  for (const onnx::OpSchema &schema :
       onnx::OpSchemaRegistry::get_all_schemas_with_history())
    if (!schema.Deprecated() && (!schema.domain().empty() ||
                                 schema.SinceVersion() <= limits::maximumOpset))
      rows[getKey(schema.domain(), schema.Name())].versions.insert(
          schema.SinceVersion());
  for (auto &[key, row] : rows) {
    if (key.find('.') != std::string::npos)
      continue;
    // Of those up to the oldest opset only the newest holds.
    while (row.versions.size() > 1 &&
           *std::next(row.versions.begin()) <= limits::minimumOpset)
      row.versions.erase(row.versions.begin());
  }
  return rows;
}

void addTest(Row &row, const NodeTestResult &result) {
  ++row.tests;
  if (!isPass(result.verdict))
    return;
  ++row.passes;
  OperatorTrace &all = row.trace;
  const OperatorTrace &one = result.trace;
  all.ops.insert(one.ops.begin(), one.ops.end());
  all.withoutGradient.insert(one.withoutGradient.begin(),
                             one.withoutGradient.end());
  all.hasFloats |= one.hasFloats;
  all.factors.insert(one.factors.begin(), one.factors.end());
  all.statements.insert(one.statements.begin(), one.statements.end());
}

const OperatorEntry *findEntry(const std::string &key, int version) {
  OperatorMatch match = findOperator(key, version);
  return match.sinceVersion > 0 ? match.entry : nullptr;
}

bool hasBody(const std::string &key, int version) {
  size_t dot = key.rfind('.');
  onnx::NodeProto node;
  if (dot != std::string::npos)
    node.set_domain(key.substr(0, dot));
  node.set_op_type(dot == std::string::npos ? key : key.substr(dot + 1));
  return hasSchemaBody(node, version);
}

std::string describeImport(const std::string &key, int version) {
  const OperatorEntry *entry = findEntry(key, version);
  if (!entry)
    return hasBody(key, version) ? "by ONNX's definition" : "";
  static const char *const names[] = {"folded", "one op", "several ops"};
  std::string text = names[int(entry->support)];
  return *entry->note ? text + ": " + entry->note : text;
}

std::string describeGradient(const Row &row) {
  if (row.passes == 0 || !row.trace.hasFloats)
    return "";
  return row.trace.withoutGradient.empty()
             ? "yes"
             : "not of " + join(row.trace.withoutGradient);
}

std::string describeFactors(const Row &row) {
  std::set<std::string> kinds = row.trace.factors;
  kinds.erase("blocked"); // Carry no axes.
  return join(kinds);
}

/// One line per way of import, with the versions that are imported that way.
void printOperator(std::ostream &out, const std::string &key, const Row &row) {
  std::vector<std::pair<std::string, std::string>> ways;
  for (int version : row.versions) {
    std::string way = describeImport(key, std::max(version, 7));
    if (ways.empty() || ways.back().first != way)
      ways.emplace_back(way, "");
    std::string &versions = ways.back().second;
    versions += (versions.empty() ? "" : " ") + std::to_string(version);
  }
  for (const auto &[way, versions] : ways) {
    out << "| " << key << " | " << versions << " | "
        << (way.empty() ? "no" : way) << " | ";
    if (row.tests > 0)
      out << row.passes << " of " << row.tests;
    out << " | " << join(row.trace.ops) << " | " << describeGradient(row)
        << " | " << describeFactors(row) << " | " << join(row.trace.statements)
        << " |\n";
  }
}

constexpr char introduction[] = R"(# Operators of ONNX

`ConformanceTests --write-page docs/operators.md` writes this page, from the table of the importer and from what becomes of
ONNX's node tests; the test compares. Per operator, and per version where versions differ:

* *import*: one op of the dialect, several, none because it is computed when the model is imported, or entered through the
  definition that ONNX gives in terms of others. "no": refused, with E2101.
* *tests*: how many of ONNX's node tests of that operator alone pass ([rationale](rationale/import.md)); the others are
  refused with the reason.
* *ops*: of the dialect, in any of these tests; none where all inputs have to be known.
* *gradient*: whether all ops that compute floats have one.
* *factors*: the kinds of factors, of more than one element, that occur ([spec](spec.md)). Axes go on `parallel` ones as
  they are, on `reduce_sum` and `reduce_max` with a reduction to come; with axes on a `coupled` one the op is decomposed first.
* *statements*: of the program for one host device, in any of these tests. `launch` is a kernel of fused elementwise ops, moves
  and indices; CUDA has the same statements.

| operator | versions | import | tests | ops | gradient | factors | statements |
|---|---|---|---|---|---|---|---|
)";

} // namespace

std::string printOperatorPage(const NodeTestResults &results) {
  std::map<std::string, Row> rows = listSchemas();
  for (const auto &[name, result] : results)
    if (!result.soleOperator.empty())
      addTest(rows[result.soleOperator], result);
  std::ostringstream out;
  out << introduction;
  for (const auto &[key, row] : rows)
    printOperator(out, key, row);
  return out.str();
}

} // namespace parplan::test
