//===- MutateJson.h - Documents with random faults --------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_SUPPORT_MUTATEJSON_H
#define PARPLAN_TEST_UNIT_SUPPORT_MUTATEJSON_H

#include "parplan/Support/Json.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace parplan {

/// Makes documents of one that have one to three faults: fields that are
/// missing, new, exchanged, of another type, or with numbers that are negative,
/// absurd or off by a little; one in eight is cut off or has bytes changed. The
/// same for the same seed.
class JsonMutator {
public:
  JsonMutator(Json original, unsigned seed)
      : original(std::move(original)), random(seed) {}

  std::string getNext() {
    if (draw(8) == 0)
      return breakText(print(original));
    Json document = original;
    for (size_t count = 1 + draw(3); count > 0; --count)
      mutate(pick(document));
    return print(document);
  }

private:
  static std::string print(const Json &document) {
    return document.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false,
                         Json::error_handler_t::replace);
  }

  size_t draw(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random);
  }

  /// Any value of the document: all depths are likely.
  Json &pick(Json &document) {
    Json *value = &document;
    while (value->is_structured() && !value->empty() &&
           (value == &document || draw(5) > 0)) {
      auto child = value->begin();
      std::advance(child, draw(value->size()));
      value = &*child;
    }
    return *value;
  }

  void mutate(Json &value) {
    bool isList = value.is_array() && !value.empty();
    bool isObject = value.is_object() && !value.empty();
    switch (draw(4)) {
    case 0:
      if (isList || isObject) {
        auto child = value.begin();
        std::advance(child, draw(value.size()));
        value.erase(child);
        return;
      }
      break;
    case 1:
      if (isList) {
        value.push_back(value[draw(value.size())]);
        return;
      }
      if (isObject) {
        value["unknown"] = 1;
        return;
      }
      break;
    case 2:
      if (value.is_number()) {
        const std::vector<double> factors = {-1, 0, 0.5, 2, 1e-12, 1e12};
        double number = value.get<double>() * factors[draw(factors.size())];
        if (value.is_number_integer() && std::abs(number) < 9e18)
          value = static_cast<int64_t>(number) + static_cast<int64_t>(draw(2));
        else
          value = number;
        return;
      }
      if (isList) {
        std::swap(value[draw(value.size())], value[draw(value.size())]);
        return;
      }
      break;
    default:
      break;
    }
    value = getOther();
  }

  Json getOther() {
    const std::vector<Json> others = {
        nullptr,
        true,
        -1,
        0,
        1,
        3,
        0.5,
        1e-300,
        1e300,
        -1e300,
        std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min(),
        std::numeric_limits<uint64_t>::max(),
        int64_t(1) << 40,
        "",
        "x",
        "tp0",
        "../\xff\n",
        std::string(3000, 'a'),
        Json::array(),
        Json::object(),
        {1, 2},
        {{"a", 1}},
        Json::array({Json::array({Json::array()})}),
    };
    // Or what stands elsewhere in the document.
    return draw(4) == 0 ? Json(pick(original)) : others[draw(others.size())];
  }

  std::string breakText(std::string text) {
    if (draw(2) == 0)
      text.resize(draw(text.size()));
    else
      for (size_t count = 1 + draw(3); count > 0; --count)
        text[draw(text.size())] = static_cast<char>(draw(256));
    return text;
  }

  Json original;
  std::mt19937 random;
};

} // namespace parplan

#endif // PARPLAN_TEST_UNIT_SUPPORT_MUTATEJSON_H
