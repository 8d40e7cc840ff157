//===- Reader.cpp - The contest's JSON, read once -------------------------===//
//
// Files have up to a hundred megabytes of small numbers, so there is no
// document in between: numbers go from the text to their lists. Knows no more
// of JSON than instances need; fields that it does not know are skipped.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"
#include "tools/parplan-iopddl/Instance.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace parplan;
using namespace parplan::contest;

namespace {

constexpr int maxDepth = 64;
/// How far sums may go is checked when the problem is whole.
constexpr int64_t maxNumber = forbiddenCost;

class Reader {
public:
  Reader(std::string_view text, const std::string &file,
         DiagnosticEngine &engine)
      : text(text), file(file), engine(engine) {}

  std::optional<Instance> read() {
    Instance instance;
    bool isRead = readObject([&](const std::string &key) {
      return key == "problem" ? readProblem(instance) : skipValue(0);
    });
    if (isRead && (skipSpace(), position != text.size()))
      isRead = fail("the document goes on after its end");
    if (!isRead || !requireFields())
      return std::nullopt;
    return instance;
  }

private:
  bool readProblem(Instance &instance) {
    seen.insert("problem");
    return readObject([&](const std::string &key) {
      if (key == "nodes")
        return readFields("problem.nodes", {{"intervals", &instance.intervals},
                                            {"costs", &instance.costs},
                                            {"usages", &instance.usages}});
      if (key == "edges")
        return readFields("problem.edges", {{"nodes", &instance.edges},
                                            {"costs", &instance.edgeCosts}});
      if (key == "usage_limit") {
        seen.insert("problem.usage_limit");
        return readNumber(instance.usageLimit);
      }
      return skipValue(0);
    });
  }

  bool readFields(const std::string &path,
                  const std::vector<std::pair<std::string, Lists *>> &fields) {
    seen.insert(path);
    return readObject([&](const std::string &key) {
      for (const auto &[name, lists] : fields)
        if (key == name) {
          seen.insert(path + "." + name);
          return readLists(*lists);
        }
      return skipValue(0);
    });
  }

  /// `{"key": value, ...}`; `readValue` reads the value of a key.
  bool readObject(const std::function<bool(const std::string &)> &readValue) {
    if (!expect('{'))
      return false;
    if (accept('}'))
      return true;
    std::set<std::string> keys;
    do {
      std::string key;
      if (!readString(key))
        return false;
      if (!keys.insert(key).second)
        return fail("field " + quoteName(key) + " is given twice");
      if (!expect(':') || !readValue(key))
        return false;
    } while (accept(','));
    return expect('}');
  }

  bool readLists(Lists &lists) {
    if (!expect('['))
      return false;
    if (accept(']'))
      return true;
    do {
      if (!expect('['))
        return false;
      if (!accept(']')) {
        do {
          int64_t number = 0;
          if (!readNumber(number))
            return false;
          lists.numbers.push_back(number);
        } while (accept(','));
        if (!expect(']'))
          return false;
      }
      lists.ends.push_back(lists.numbers.size());
    } while (accept(','));
    return expect(']');
  }

  bool readNumber(int64_t &number) {
    skipSpace();
    size_t digits = position;
    bool isNegative = digits < text.size() && text[digits] == '-';
    if (isNegative)
      ++digits;
    int64_t sum = 0;
    size_t at = digits;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      int digit = text[at] - '0';
      if (sum > (maxNumber - digit) / 10)
        return fail("a number beyond 10^18");
      sum = sum * 10 + digit;
    }
    if (at == digits)
      return fail("expected an integer");
    if (at < text.size() &&
        (text[at] == '.' || text[at] == 'e' || text[at] == 'E'))
      return fail("expected an integer, not a fraction");
    position = at;
    number = isNegative ? -sum : sum;
    return true;
  }

  bool readString(std::string &out) {
    if (!expect('"'))
      return false;
    size_t begin = position;
    while (position < text.size() && text[position] != '"')
      position += text[position] == '\\' ? 2 : 1;
    if (position >= text.size()) {
      position = begin - 1;
      return fail("a string without an end");
    }
    out = text.substr(begin, position - begin);
    ++position;
    return true;
  }

  bool skipValue(int depth) {
    if (depth > maxDepth)
      return fail("values are nested too deeply");
    skipSpace();
    if (position >= text.size())
      return fail("expected a value");
    std::string ignored;
    char first = text[position];
    if (first == '"')
      return readString(ignored);
    if (first == '[' || first == '{') {
      ++position;
      char last = first == '[' ? ']' : '}';
      if (accept(last))
        return true;
      do {
        if (first == '{' && (!readString(ignored) || !expect(':')))
          return false;
        if (!skipValue(depth + 1))
          return false;
      } while (accept(','));
      return expect(last);
    }
    // A number or word; which one does not matter.
    size_t begin = position;
    while (position < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[position])) ||
            text[position] == '-' || text[position] == '+' ||
            text[position] == '.'))
      ++position;
    return position > begin || fail("expected a value");
  }

  bool requireFields() {
    for (const char *path : {"problem", "problem.usage_limit", "problem.nodes",
                             "problem.nodes.intervals", "problem.nodes.costs",
                             "problem.nodes.usages", "problem.edges",
                             "problem.edges.nodes", "problem.edges.costs"})
      if (!seen.contains(path)) {
        engine.error(codes::badInstance, Location::inFile(file))
            << "there is no field '" << path << "'";
        return false;
      }
    return true;
  }

  void skipSpace() {
    while (position < text.size() &&
           (text[position] == ' ' || text[position] == '\n' ||
            text[position] == '\t' || text[position] == '\r'))
      ++position;
  }

  bool accept(char expected) {
    skipSpace();
    if (position >= text.size() || text[position] != expected)
      return false;
    ++position;
    return true;
  }

  bool expect(char expected) {
    return accept(expected) || fail(std::string("expected '") + expected + "'");
  }

  /// Reports a fault at the present position.
  bool fail(const std::string &message) {
    position = std::min(position, text.size());
    std::string_view before = text.substr(0, position);
    int64_t line = std::count(before.begin(), before.end(), '\n') + 1;
    size_t lineEnd = before.rfind('\n');
    size_t column = lineEnd == before.npos ? position : position - lineEnd - 1;
    engine.error(codes::badInstance,
                 Location::atLine(file, line, static_cast<int64_t>(column) + 1))
        << message;
    return false;
  }

  std::string_view text;
  const std::string &file;
  DiagnosticEngine &engine;
  size_t position = 0;
  /// The paths of the fields that were read; others may have any name.
  std::set<std::string> seen;
};

/// What the JSON of an instance does not say by its form.
std::optional<std::string> findFault(const Instance &instance) {
  size_t nodes = instance.costs.size();
  if (instance.intervals.size() != nodes || instance.usages.size() != nodes)
    return concat(instance.intervals.size(), " intervals, ", nodes,
                  " lists of costs and ", instance.usages.size(),
                  " lists of usages");
  if (nodes > size_t{1} << 24)
    return concat(nodes, " nodes are more than 2^24");
  if (instance.edges.size() != instance.edgeCosts.size())
    return concat(instance.edges.size(), " edges, and ",
                  instance.edgeCosts.size(), " lists of costs of edges");
  if (instance.usageLimit < 0)
    return concat("the usage limit is ", instance.usageLimit);
  for (size_t node = 0; node < nodes; ++node)
    if (instance.intervals[node].size() != 2)
      return concat("interval ", node, " is not of two numbers");
  for (size_t edge = 0; edge < instance.edges.size(); ++edge) {
    std::span<const int64_t> ends = instance.edges[edge];
    if (ends.size() != 2)
      return concat("edge ", edge, " is not of two nodes");
  }
  return std::nullopt;
}

block::Problem makeProblem(const Instance &instance) {
  auto getCosts = [](std::span<const int64_t> costs) {
    std::vector<double> result;
    result.reserve(costs.size());
    for (int64_t cost : costs)
      result.push_back(cost >= forbiddenCost ? block::forbidden
                                             : static_cast<double>(cost));
    return result;
  };
  block::Problem problem;
  problem.usageLimit = instance.usageLimit;
  problem.costStep = 1;
  for (size_t node = 0; node < instance.costs.size(); ++node) {
    std::span<const int64_t> usages = instance.usages[node];
    problem.nodes.push_back({getCosts(instance.costs[node]),
                             {usages.begin(), usages.end()},
                             instance.intervals[node][0],
                             instance.intervals[node][1]});
  }
  for (size_t edge = 0; edge < instance.edges.size(); ++edge) {
    // Numbers that are no node stay none.
    auto getNode = [&](int64_t node) {
      return static_cast<int>(
          std::clamp<int64_t>(node, -1, std::numeric_limits<int>::max()));
    };
    problem.edges.push_back({getNode(instance.edges[edge][0]),
                             getNode(instance.edges[edge][1]),
                             getCosts(instance.edgeCosts[edge])});
  }
  return problem;
}

} // namespace

std::optional<Task> contest::readInstance(std::string_view text,
                                          const std::string &file,
                                          DiagnosticEngine &engine) {
  std::optional<Instance> instance = Reader(text, file, engine).read();
  if (!instance)
    return std::nullopt;
  std::optional<std::string> fault = findFault(*instance);
  block::Problem problem;
  if (!fault) {
    problem = makeProblem(*instance);
    fault = block::findFault(problem);
  }
  if (fault) {
    engine.error(codes::badInstance, Location::inFile(file)) << *fault;
    return std::nullopt;
  }
  return Task{*std::move(instance), std::move(problem)};
}
