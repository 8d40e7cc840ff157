//===- PlanField.h - Reading a plan.json for people -------------*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_PLANFIELD_H
#define PARPLAN_DRIVER_PLANFIELD_H

#include "parplan/Support/Json.h"
#include "parplan/Support/Text.h"

#include <string>
#include <utility>
#include <vector>

namespace parplan {

/// Reads a plan that may lack anything: what is missing reads as empty.
class PlanField {
public:
  explicit PlanField(const Json &value) : value(&value) {}

  PlanField operator[](const char *key) const {
    static const Json missing;
    if (value->is_object())
      if (auto it = value->find(key); it != value->end())
        return PlanField(*it);
    return PlanField(missing);
  }
  std::string getText() const {
    const auto *text = value->get_ptr<const std::string *>();
    return text ? sanitize(*text) : std::string();
  }
  double getNumber() const {
    return value->is_number() ? value->get<double>() : 0;
  }
  int64_t getCount() const {
    return value->is_number_integer() ? value->get<int64_t>() : 0;
  }
  bool isNumber() const { return value->is_number(); }
  bool isBool() const { return value->is_boolean(); }
  bool isObject() const { return value->is_object(); }
  bool isTrue() const { return value->is_boolean() && value->get<bool>(); }
  std::vector<PlanField> getEntries() const {
    std::vector<PlanField> entries;
    if (value->is_array())
      for (const Json &entry : *value)
        entries.emplace_back(entry);
    return entries;
  }
  std::vector<std::pair<std::string, PlanField>> getMembers() const {
    std::vector<std::pair<std::string, PlanField>> members;
    if (value->is_object())
      for (const auto &[name, member] : value->items())
        members.emplace_back(sanitize(name), PlanField(member));
    return members;
  }

private:
  const Json *value;
};

} // namespace parplan

#endif // PARPLAN_DRIVER_PLANFIELD_H
