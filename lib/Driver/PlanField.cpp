//===- PlanField.cpp - Reading a plan.json for people ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "PlanField.h"

#include <algorithm>

using namespace parplan;

std::string parplan::printRoom(PlanField plan) {
  std::vector<int64_t> bytes;
  for (PlanField position : plan["config"]["waiting_room_bytes"].getEntries())
    bytes.push_back(position.getCount());
  if (bytes.empty())
    return "";
  auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
  std::string text = formatBytes(*least);
  return *least == *most ? text : text + " to " + formatBytes(*most);
}
