//===- ProblemFile.cpp - Planning problems as documents -------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/ProblemFile.h"

#include "ProblemFields.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Json.h"

#include <array>
#include <unordered_map>

using namespace parplan;

namespace {

constexpr const char *schema = "parplan.problem/1";

template <typename Type>
concept Enumeration = std::is_enum_v<Type>;
template <typename Type>
concept Record = std::is_same_v<Type, Factor> ||
    std::is_same_v<Type, WorkTerm> || std::is_same_v<Type, ShardingRule> ||
    std::is_same_v<Type, OpWork> || std::is_same_v<Type, PlanningValue>;
template <typename Type>
concept Number = std::is_same_v<Type, int> || std::is_same_v<Type, int64_t> ||
    std::is_same_v<Type, int8_t>;

/// In the order of the enumerations.
template <Enumeration Type> llvm::ArrayRef<const char *> getNames() {
  static constexpr std::array factorKinds = {
      "parallel", "reduce_sum", "reduce_max", "coupled", "blocked"};
  static constexpr std::array linearities = {"none", "jointly", "separately"};
  static constexpr std::array workKinds = {
      "matrix",      "expert_matrix", "attention", "attention_gradient",
      "elementwise", "reduction",     "copy",      "none"};
  static constexpr std::array valueKinds = {"input", "parameter", "state",
                                            "constant", "activation"};
  static constexpr std::array roles = {"forward",        "loss",
                                       "input_gradient", "weight_gradient",
                                       "gradient_sum",   "optimizer"};
  if constexpr (std::is_same_v<Type, FactorKind>)
    return factorKinds;
  else if constexpr (std::is_same_v<Type, Linearity>)
    return linearities;
  else if constexpr (std::is_same_v<Type, WorkKind>)
    return workKinds;
  else if constexpr (std::is_same_v<Type, ValueKind>)
    return valueKinds;
  else
    return roles;
}

Json write(const std::string &text) { return text; }
Json write(bool flag) { return flag; }
Json write(double number) { return number; }
Json write(Number auto number) { return number; }
Json write(Enumeration auto choice) {
  return getNames<decltype(choice)>()[static_cast<size_t>(choice)];
}
template <Record Type> Json write(const Type &record);
template <typename Type> Json write(const llvm::SmallVectorImpl<Type> &list) {
  Json array = Json::array();
  for (const Type &entry : list)
    array.push_back(write(entry));
  return array;
}

/// Takes note of all fields.
struct FieldWriter {
  Json object = Json::object();

  template <typename Type>
  void operator()(const char *name, const Type &field) {
    object[name] = write(field);
  }
};

/// The fields that are not as in a new entry.
template <typename Visit, typename Type>
Json writeUnusual(Visit visit, const Type &entry) {
  static const Json usual = [&] {
    FieldWriter writer;
    const Type entry;
    visit(writer, entry);
    return writer.object;
  }();
  FieldWriter writer;
  visit(writer, entry);
  Json unusual = Json::object();
  for (const auto &[name, field] : writer.object.items())
    if (field != usual[name])
      unusual[name] = field;
  return unusual;
}

auto fieldsOf = [](auto &fields, auto &entry) { visitFields(fields, entry); };
auto formOf = [](auto &fields, auto &op) { visitForm(fields, op); };
auto placeOf = [](auto &fields, auto &op) { visitPlace(fields, op); };

template <Record Type> Json write(const Type &record) {
  return writeUnusual(fieldsOf, record);
}

/// False where JSON is of another type or out of range.
bool read(const Json &json, std::string &text) {
  if (json.is_string())
    text = json.get<std::string>();
  return json.is_string();
}

bool read(const Json &json, bool &flag) {
  if (json.is_boolean())
    flag = json.get<bool>();
  return json.is_boolean();
}

bool read(const Json &json, double &number) {
  if (json.is_number())
    number = json.get<double>();
  return json.is_number();
}

template <Number Type> bool read(const Json &json, Type &number) {
  if (!json.is_number_integer() ||
      json.is_number_unsigned() != (json.get<int64_t>() >= 0))
    return false;
  auto value = json.get<int64_t>();
  number = static_cast<Type>(value);
  return number == value;
}

template <Enumeration Type> bool read(const Json &json, Type &choice) {
  if (!json.is_string())
    return false;
  llvm::ArrayRef<const char *> names = getNames<Type>();
  const auto *found = llvm::find(names, json.get<std::string>());
  choice = static_cast<Type>(found - names.begin());
  return found != names.end();
}

template <Record Type> bool read(const Json &json, Type &record);
template <typename Type>
bool read(const Json &json, llvm::SmallVectorImpl<Type> &list) {
  list.clear();
  return json.is_array() && llvm::all_of(json, [&](const Json &entry) {
           return read(entry, list.emplace_back());
         });
}

/// Takes fields from an object, where it has them.
class FieldReader {
public:
  explicit FieldReader(const Json &object) : object(object) {}

  template <typename Type> void operator()(const char *name, Type &field) {
    auto found = object.find(name);
    if (found == object.end())
      return;
    ++taken;
    if (!read(*found, field) && fault.empty())
      fault = name;
  }

  /// The first field that is wrong or unknown; empty: none is.
  std::string getFault() const {
    if (fault.empty() && taken != object.size())
      return "(an unknown one)";
    return fault;
  }

private:
  const Json &object;
  size_t taken = 0;
  std::string fault;
};

template <Record Type> bool read(const Json &json, Type &record) {
  if (!json.is_object())
    return false;
  FieldReader reader(json);
  visitFields(reader, record);
  return reader.getFault().empty();
}

/// Reads what `printProblem` writes.
class ProblemReader {
public:
  ProblemReader(const Json &document, std::string &fault)
      : document(document), fault(fault) {}

  std::optional<PlanningProblem> run() {
    if (document.is_object() && document.value("schema", "") == schema &&
        readNumber("micro_batches", problem.microBatches) &&
        readNumber("fixed_bytes", problem.fixedBytes) && readValues() &&
        readForms() && readOps())
      return std::move(problem);
    if (fault.empty())
      fault = concat("no document of ", schema);
    return std::nullopt;
  }

private:
  bool fail(const std::string &path) {
    fault = "field '" + path + "': missing, or not what it should be";
    return false;
  }

  bool readNumber(const char *name, int64_t &number) {
    auto found = document.find(name);
    return (found != document.end() && read(*found, number) && number >= 0) ||
           fail(name);
  }

  /// Calls `readEntry` for every object of a list.
  template <typename Read> bool readList(const char *name, Read readEntry) {
    auto list = document.find(name);
    if (list == document.end() || !list->is_array())
      return fail(name);
    for (const auto &[index, entry] : llvm::enumerate(*list)) {
      std::string path = std::string(name) + "[" + std::to_string(index) + "]";
      if (!entry.is_object())
        return fail(path);
      FieldReader reader(entry);
      readEntry(reader);
      if (std::string field = reader.getFault(); !field.empty())
        return fail(path + "." + field);
    }
    return true;
  }

  bool readValues() {
    return readList("values", [&](FieldReader &reader) {
      visitFields(reader, problem.values.emplace_back());
    });
  }

  bool readForms() {
    return readList("forms", [&](FieldReader &reader) {
      visitForm(reader, forms.emplace_back());
    });
  }

  bool readOps() {
    int form = -1;
    bool areForms = true;
    bool isRead = readList("ops", [&](FieldReader &reader) {
      reader("form", form);
      areForms &= form >= 0 && form < static_cast<int>(forms.size());
      if (areForms)
        problem.ops.push_back(forms[form]);
      PlanningOp unknown;
      visitPlace(reader, areForms ? problem.ops.back() : unknown);
    });
    return isRead && (areForms || fail("ops"));
  }

  const Json &document;
  std::string &fault;
  PlanningProblem problem;
  std::vector<PlanningOp> forms;
};

/// True if every number of a factor, dimension or value is one, so that
/// `verifyProblem` can be asked.
bool hasSoundNumbers(const PlanningProblem &problem) {
  auto isWithin = [](int64_t number, int64_t least, size_t count) {
    return number >= least && number < static_cast<int64_t>(count);
  };
  for (const PlanningValue &value : problem.values) {
    for (int dimension :
         {value.batchDimension, value.sequenceDimension, value.keptDimension})
      if (!isWithin(dimension, -1, value.shape.size()))
        return false;
    if (value.updates < -1 ||
        llvm::any_of(value.shape, [](int64_t size) { return size < 0; }))
      return false;
  }
  for (const PlanningOp &op : problem.ops) {
    size_t count = op.rule.factors.size();
    auto areFactors = [&](llvm::ArrayRef<int> factors) {
      return llvm::all_of(
          factors, [&](int factor) { return isWithin(factor, 0, count); });
    };
    auto areOfTensors = [&](llvm::ArrayRef<TensorFactors> tensors) {
      return llvm::all_of(tensors, [&](const TensorFactors &tensor) {
        return llvm::all_of(tensor, areFactors);
      });
    };
    auto areOfTerms = [&](llvm::ArrayRef<WorkTerm> terms) {
      return llvm::all_of(terms, [&](const WorkTerm &term) {
        return areFactors(term.factors);
      });
    };
    auto isShare = [](double share) { return share > 0 && share <= 1; };
    const OpWork &work = op.work;
    if (!areOfTensors(op.rule.operands) || !areOfTensors(op.rule.results) ||
        !areFactors(op.rule.panelFactors) || !areOfTerms(work.flops) ||
        !areOfTerms(work.transcendentals) || !areFactors(work.rows) ||
        !areFactors(work.columns) || !areFactors(work.contracted) ||
        !areFactors(work.batch) || !isShare(work.rowShare) ||
        !isShare(work.contractedShare))
      return false;
    for (int factor : {op.batchFactor, op.sequenceFactor, op.expertFactor,
                       op.keyFactor, op.headFactor})
      if (!isWithin(factor, -1, count))
        return false;
    // As many as there may be ranks.
    constexpr int64_t mostExperts = int64_t(1) << 20;
    if (op.experts < 0 || op.experts > mostExperts || op.expertsPerToken < 0)
      return false;
    for (int result : op.results)
      if (!isWithin(result, 0, problem.values.size()))
        return false;
  }
  return true;
}

std::string printLine(const Json &entry) {
  return entry.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A list with an entry per line.
std::string printList(const char *name, const std::vector<std::string> &lines) {
  std::string text = std::string(",\n\"") + name + "\": [";
  for (const std::string &line : lines) {
    text += text.back() == '[' ? "\n" : ",\n";
    text += line;
  }
  return text + "]";
}

/// Looks for the first field in which two entries differ.
class FieldComparison {
public:
  template <typename Type>
  void operator()(const char *name, const Type &one, const Type &other) {
    if (difference.empty() && !areEqual(one, other))
      difference = std::string(name) + " is " + printLine(write(one)) +
                   " and " + printLine(write(other));
  }

  /// Empty: there is none.
  std::string difference;

private:
  template <typename Type>
  static bool areEqual(const Type &one, const Type &other) {
    return one == other;
  }
  template <Record Type>
  static bool areEqual(const Type &one, const Type &other) {
    FieldComparison comparison;
    visitFields(comparison, one, other);
    return comparison.difference.empty();
  }
  template <typename Type>
  requires Record<typename Type::value_type>
  static bool areEqual(const Type &one, const Type &other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](const auto &element, const auto &counterpart) {
                        return areEqual(element, counterpart);
                      });
  }
};

} // namespace

std::string parplan::printProblem(const PlanningProblem &problem) {
  std::vector<std::string> values, forms, ops;
  for (const PlanningValue &value : problem.values)
    values.push_back(printLine(write(value)));
  std::unordered_map<std::string, int> numbers;
  for (const PlanningOp &op : problem.ops) {
    auto [place, isNew] = numbers.try_emplace(
        printLine(writeUnusual(formOf, op)), static_cast<int>(forms.size()));
    if (isNew)
      forms.push_back(place->first);
    Json line = {{"form", place->second}};
    line.update(writeUnusual(placeOf, op));
    ops.push_back(printLine(line));
  }
  return concat("{\"schema\": \"", schema,
                "\",\n\"micro_batches\": ", problem.microBatches,
                ",\n\"fixed_bytes\": ", problem.fixedBytes) +
         printList("values", values) + printList("forms", forms) +
         printList("ops", ops) + "}\n";
}

std::optional<PlanningProblem> parplan::readProblem(std::string_view text,
                                                    std::string &fault) {
  DiagnosticEngine engine;
  std::optional<Json> document =
      parseJson(text, "problem", codes::planMismatch, engine);
  if (!document) {
    fault = engine.getDiagnostics().front().message;
    return std::nullopt;
  }
  std::optional<PlanningProblem> problem =
      ProblemReader(*document, fault).run();
  if (!problem)
    return std::nullopt;
  if (!hasSoundNumbers(*problem))
    fault = "a factor, dimension or value does not exist";
  else if (auto violation = verifyProblem(*problem))
    fault = *violation;
  else
    return problem;
  return std::nullopt;
}

std::optional<std::string>
parplan::findDifference(const PlanningProblem &one,
                        const PlanningProblem &other) {
  if (one.microBatches != other.microBatches ||
      one.fixedBytes != other.fixedBytes)
    return "numbers of micro-batches, or fixed bytes, differ";
  for (auto [index, pair] :
       llvm::enumerate(llvm::zip(one.values, other.values))) {
    const auto &[left, right] = pair;
    FieldComparison comparison;
    visitFields(comparison, left, right);
    if (!comparison.difference.empty())
      return concat("value ", index, " '", left.name,
                    "': ", comparison.difference);
  }
  for (auto [index, pair] : llvm::enumerate(llvm::zip(one.ops, other.ops))) {
    const auto &[left, right] = pair;
    FieldComparison comparison;
    visitForm(comparison, left, right);
    visitPlace(comparison, left, right);
    if (!comparison.difference.empty())
      return concat("operator ", index, " '", left.node, "' (", left.type,
                    "): ", comparison.difference);
  }
  if (one.values.size() != other.values.size() ||
      one.ops.size() != other.ops.size())
    return concat(one.ops.size(), " and ", other.ops.size(), " operators, ",
                  one.values.size(), " and ", other.values.size(), " values");
  return std::nullopt;
}
