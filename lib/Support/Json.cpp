//===- Json.cpp - Reading documents with every field checked --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Json.h"
#include "parplan/Support/Text.h"

#include <cmath>
#include <cstdio>

using namespace parplan;

namespace {

constexpr int maxDepth = 100;

struct Position {
  int64_t line = 1;
  int64_t column = 1;
};

Position findPosition(std::string_view text, size_t byte) {
  Position position;
  for (size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++position.line;
      position.column = 1;
    } else {
      ++position.column;
    }
  }
  return position;
}

/// The byte, from 1, where brackets nest too deep; 0 if they do not. Printing
/// and destroying a value recurse, so depth is limited before parsing.
size_t findTooDeep(std::string_view text) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char character = text[i];
    if (inString) {
      if (character == '\\')
        ++i;
      else if (character == '"')
        inString = false;
    } else if (character == '"') {
      inString = true;
    } else if (character == '{' || character == '[') {
      if (++depth > maxDepth)
        return i + 1;
    } else if (character == '}' || character == ']') {
      --depth;
    }
  }
  return 0;
}

/// Builds the value and keeps the place and text of the first error, which
/// the plain parser without exceptions does not give; refuses double keys.
class Builder : public nlohmann::detail::json_sax_dom_parser<Json> {
public:
  using Base = nlohmann::detail::json_sax_dom_parser<Json>;

  explicit Builder(Json &root) : Base(root, /*allow_exceptions_=*/false) {}

  bool start_object(size_t size) {
    keys.emplace_back();
    return Base::start_object(size);
  }
  bool key(std::string &name) {
    if (!keys.back().insert(name).second) {
      message = concat("field ", quoteName(name), " is given twice");
      return false;
    }
    return Base::key(name);
  }
  bool end_object() {
    keys.pop_back();
    return Base::end_object();
  }
  template <typename Exception>
  bool parse_error(size_t byte, const std::string &token,
                   const Exception &exception) {
    position = byte;
    message = exception.what();
    // "[json.exception...] parse error at line 3, column 7: what".
    size_t colon = message.find(": ");
    if (colon != std::string::npos)
      message = message.substr(colon + 2);
    return Base::parse_error(byte, token, exception);
  }

  std::string message;
  size_t position = 0;

private:
  std::vector<std::set<std::string>> keys;
};

std::string printNumber(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

std::optional<std::vector<double>> readNumbers(const Json &list, double least,
                                               double most) {
  if (!list.is_array())
    return std::nullopt;
  std::vector<double> numbers;
  for (const Json &entry : list) {
    if (!entry.is_number())
      return std::nullopt;
    double number = entry.get<double>();
    if (!(number >= least && number <= most))
      return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

std::string describe(const Json &value) {
  if (value.is_string())
    return quoteName(value.get_ref<const std::string &>());
  if (value.is_structured())
    return value.is_object() ? "an object" : "a list";
  return value.dump();
}

} // namespace

std::optional<Json> parplan::parseJson(std::string_view text,
                                       const std::string &file,
                                       const DiagnosticCode &code,
                                       DiagnosticEngine &engine) {
  if (size_t byte = findTooDeep(text)) {
    Position position = findPosition(text, byte);
    engine.error(code, Location::atLine(file, position.line, position.column))
        << "brackets nest deeper than " << maxDepth << " levels";
    return std::nullopt;
  }
  Json value;
  Builder builder(value);
  if (Json::sax_parse(text.begin(), text.end(), &builder))
    return value;
  if (builder.position == 0) {
    engine.error(code, Location::inFile(file)) << builder.message;
    return std::nullopt;
  }
  Position position = findPosition(text, builder.position);
  engine.error(code, Location::atLine(file, position.line, position.column))
      << builder.message;
  return std::nullopt;
}

std::string parplan::printJson(const Json &value) {
  return value.dump(/*indent=*/1, ' ', /*ensure_ascii=*/false,
                    Json::error_handler_t::replace) +
         "\n";
}

JsonReader::JsonReader(const Json &value, std::string file, std::string path,
                       const DiagnosticCode &code, DiagnosticEngine &engine)
    : value(&value), file(std::move(file)), path(std::move(path)), code(&code),
      engine(&engine) {
  if (!value.is_object())
    engine.error(code, Location::inFile(this->file))
        << (this->path.empty() ? std::string("the document")
                               : concat("field ", quoteName(this->path)))
        << ": " << describe(value) << " is not an object";
}

std::string JsonReader::getFieldPath(const std::string &key) const {
  return path.empty() ? key : path + "." + key;
}

void JsonReader::report(const std::string &key, const std::string &message) {
  engine->error(*code, Location::inFile(file))
      << "field " << quoteName(getFieldPath(key)) << ": " << message;
}

bool JsonReader::has(const std::string &key) const {
  return value->is_object() && value->contains(key);
}

bool JsonReader::isAbsent(const std::string &key) {
  asked.insert(key);
  return !has(key) || (*value)[key].is_null();
}

bool JsonReader::isString(const std::string &key) {
  asked.insert(key);
  return has(key) && (*value)[key].is_string();
}

const Json *JsonReader::find(const std::string &key) {
  asked.insert(key);
  if (!value->is_object())
    return nullptr;
  auto found = value->find(key);
  if (found == value->end()) {
    report(key, "is missing");
    return nullptr;
  }
  return &*found;
}

std::optional<std::string> JsonReader::getString(const std::string &key) {
  const Json *field = find(key);
  if (!field)
    return std::nullopt;
  if (!field->is_string()) {
    report(key, describe(*field) + " is not a text");
    return std::nullopt;
  }
  return field->get<std::string>();
}

std::optional<std::string>
JsonReader::getChoice(const std::string &key,
                      const std::vector<std::string> &choices) {
  std::optional<std::string> text = getString(key);
  if (!text)
    return std::nullopt;
  for (const std::string &choice : choices)
    if (*text == choice)
      return text;
  report(key,
         concat(quoteName(*text), " is none of ", joinText(choices, ", ")));
  return std::nullopt;
}

std::optional<bool> JsonReader::getBool(const std::string &key) {
  const Json *field = find(key);
  if (!field)
    return std::nullopt;
  if (!field->is_boolean()) {
    report(key, describe(*field) + " is neither true nor false");
    return std::nullopt;
  }
  return field->get<bool>();
}

/// Unsigned numbers beyond int64 are integers to the parser.
static bool isInteger(const Json &field) {
  return field.is_number_integer() &&
         !(field.is_number_unsigned() &&
           field.get<uint64_t>() >
               uint64_t{std::numeric_limits<int64_t>::max()});
}

std::optional<int64_t> JsonReader::getInteger(const std::string &key,
                                              int64_t least, int64_t most) {
  const Json *field = find(key);
  if (!field)
    return std::nullopt;
  if (!isInteger(*field)) {
    report(key, describe(*field) + " is not an integer");
    return std::nullopt;
  }
  int64_t number = field->get<int64_t>();
  if (number < least) {
    report(key, concat(number, " is less than ", least));
    return std::nullopt;
  }
  if (number > most) {
    report(key, concat(number, " is more than ", most));
    return std::nullopt;
  }
  return number;
}

std::optional<double> JsonReader::getNumber(const std::string &key,
                                            double least, double most) {
  const Json *field = find(key);
  if (!field)
    return std::nullopt;
  if (!field->is_number() || !std::isfinite(field->get<double>())) {
    report(key, describe(*field) + " is not a number");
    return std::nullopt;
  }
  double number = field->get<double>();
  if (number < least) {
    report(key,
           concat(printNumber(number), " is less than ", printNumber(least)));
    return std::nullopt;
  }
  if (number > most) {
    report(key,
           concat(printNumber(number), " is more than ", printNumber(most)));
    return std::nullopt;
  }
  return number;
}

std::optional<std::vector<double>>
JsonReader::getNumbers(const std::string &key, double least, double most) {
  const Json *field = find(key);
  if (!field)
    return std::nullopt;
  std::optional<std::vector<double>> numbers = readNumbers(*field, least, most);
  if (!numbers)
    report(key, concat("is not a list of numbers from ", printNumber(least),
                       " to ", printNumber(most)));
  return numbers;
}

std::optional<std::vector<int64_t>>
JsonReader::getIntegers(const std::string &key, int64_t least, int64_t most) {
  const Json *field = find(key);
  if (!field)
    return std::nullopt;
  std::vector<int64_t> numbers;
  bool isRight = field->is_array();
  for (size_t i = 0; isRight && i < field->size(); ++i) {
    isRight = isInteger((*field)[i]);
    if (isRight)
      numbers.push_back((*field)[i].get<int64_t>());
    isRight = isRight && numbers.back() >= least && numbers.back() <= most;
  }
  if (isRight)
    return numbers;
  report(key, concat("is not a list of integers from ", least, " to ", most));
  return std::nullopt;
}

std::optional<std::vector<std::string>>
JsonReader::getStrings(const std::string &key) {
  const Json *field = find(key);
  if (!field)
    return std::nullopt;
  std::vector<std::string> texts;
  bool isRight = field->is_array();
  for (size_t i = 0; isRight && i < field->size(); ++i) {
    isRight = (*field)[i].is_string();
    if (isRight)
      texts.push_back((*field)[i].get<std::string>());
  }
  if (isRight)
    return texts;
  report(key, "is not a list of texts");
  return std::nullopt;
}

std::vector<std::vector<double>> JsonReader::getPairs(const std::string &key) {
  const Json *field = find(key);
  if (!field)
    return {};
  std::vector<std::vector<double>> pairs;
  bool isRight = field->is_array();
  for (size_t i = 0; isRight && i < field->size(); ++i) {
    std::optional<std::vector<double>> pair =
        readNumbers((*field)[i], 0, std::numeric_limits<double>::max());
    isRight = pair && pair->size() == 2;
    if (isRight)
      pairs.push_back(*pair);
  }
  if (isRight)
    return pairs;
  report(key, "is not a list of pairs of numbers");
  return {};
}

std::optional<JsonReader> JsonReader::getObject(const std::string &key) {
  const Json *field = find(key);
  if (!field)
    return std::nullopt;
  JsonReader reader(*field, file, getFieldPath(key), *code, *engine);
  if (!field->is_object())
    return std::nullopt;
  return reader;
}

std::vector<JsonReader> JsonReader::getObjects(const std::string &key) {
  const Json *field = find(key);
  std::vector<JsonReader> readers;
  if (!field)
    return readers;
  if (!field->is_array()) {
    report(key, describe(*field) + " is not a list");
    return readers;
  }
  for (size_t i = 0; i < field->size(); ++i)
    readers.emplace_back((*field)[i], file,
                         concat(getFieldPath(key), "[", i, "]"), *code,
                         *engine);
  return readers;
}

void JsonReader::finish() {
  if (!value->is_object())
    return;
  std::vector<std::string> known(asked.begin(), asked.end());
  for (const auto &item : value->items()) {
    if (asked.count(item.key()))
      continue;
    engine->error(*code, Location::inFile(file))
            .help(suggest(item.key(), known))
        << "field " << quoteName(getFieldPath(item.key())) << " is unknown";
  }
}
