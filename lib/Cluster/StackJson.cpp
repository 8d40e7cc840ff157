//===- StackJson.cpp - Stacks from and to JSON ----------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "ClusterFields.h"

#include "parplan/Cluster/Presets.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include <utility>

using namespace parplan;

namespace parplan {
/// stacks.json, from StackData.cpp.
extern const char stackDocument[];
} // namespace parplan

namespace {

constexpr std::pair<AttentionKernels, const char *> attentionNames[] = {
    {AttentionKernels::fused, "fused"}, {AttentionKernels::unfused, "unfused"}};
constexpr std::pair<ElementwiseKernels, const char *> elementwiseNames[] = {
    {ElementwiseKernels::separate, "separate"},
    {ElementwiseKernels::chains, "chains"},
    {ElementwiseKernels::groups, "groups"}};

template <typename Value, size_t count>
const char *getName(const std::pair<Value, const char *> (&names)[count],
                    Value value) {
  for (const auto &[known, name] : names)
    if (known == value)
      return name;
  PARPLAN_UNREACHABLE("a value without a name");
}

/// Fields of a stack may be absent: its default then.
template <typename Value, size_t count>
void readChoice(JsonReader &reader, const std::string &key,
                const std::pair<Value, const char *> (&names)[count],
                Value &target) {
  if (reader.isAbsent(key))
    return;
  std::vector<std::string> choices;
  for (const auto &known : names)
    choices.emplace_back(known.second);
  std::optional<std::string> choice = reader.getChoice(key, choices);
  for (const auto &[known, name] : names)
    if (choice && *choice == name)
      target = known;
}

void readBool(JsonReader &reader, const std::string &key, bool &target) {
  if (!reader.isAbsent(key))
    target = reader.getBool(key).value_or(target);
}

Stack readFields(JsonReader &reader) {
  Stack stack;
  stack.name = "";
  if (!reader.isAbsent("name"))
    stack.name = reader.getString("name").value_or("");
  readChoice(reader, "attention", attentionNames, stack.attention);
  readChoice(reader, "elementwise", elementwiseNames, stack.elementwise);
  readBool(reader, "dropout", stack.hasDropout);
  if (!reader.isAbsent("norm_traffic"))
    stack.normTraffic =
        reader.getNumber("norm_traffic", 0.1, 100).value_or(stack.normTraffic);
  readBool(reader, "overlap_tensor_gradients", stack.overlapsTensorGradients);
  readBool(reader, "overlap_gradient_reduction",
           stack.overlapsGradientReduction);
  readBool(reader, "overlap_parameter_gathers", stack.overlapsParameterGathers);
  readBool(reader, "scatter_messages", stack.scattersMessages);
  readBool(reader, "recompute_whole_blocks", stack.recomputesWholeBlocks);
  if (!reader.isAbsent("sources"))
    reader.getStrings("sources");
  reader.finish();
  return stack;
}

std::vector<Stack> readStacks() {
  DiagnosticEngine engine;
  std::vector<Stack> stacks;
  std::optional<Json> document =
      parseJson(stackDocument, "stacks.json", codes::badClusterSyntax, engine);
  if (document) {
    JsonReader reader(*document, "stacks.json", "", codes::badClusterField,
                      engine);
    for (JsonReader &entry : reader.getObjects("stacks"))
      stacks.push_back(readFields(entry));
  }
  PARPLAN_CHECK(!engine.hasErrors(), engine.render());
  return stacks;
}

} // namespace

const std::vector<Stack> &parplan::getStacks() {
  static const std::vector<Stack> stacks = readStacks();
  return stacks;
}

Stack parplan::readStack(JsonReader &reader, const std::string &key) {
  if (reader.isAbsent(key))
    return {};
  if (reader.isString(key)) {
    std::vector<std::string> names;
    for (const Stack &stack : getStacks())
      names.push_back(stack.name);
    std::optional<std::string> name = reader.getChoice(key, names);
    for (const Stack &stack : getStacks())
      if (name && stack.name == *name)
        return stack;
    return {};
  }
  if (std::optional<JsonReader> fields = reader.getObject(key))
    return readFields(*fields);
  return {};
}

nlohmann::ordered_json parplan::toJson(const Stack &stack) {
  return {{"name", stack.name},
          {"attention", getName(attentionNames, stack.attention)},
          {"elementwise", getName(elementwiseNames, stack.elementwise)},
          {"dropout", stack.hasDropout},
          {"norm_traffic", stack.normTraffic},
          {"overlap_tensor_gradients", stack.overlapsTensorGradients},
          {"overlap_gradient_reduction", stack.overlapsGradientReduction},
          {"overlap_parameter_gathers", stack.overlapsParameterGathers},
          {"scatter_messages", stack.scattersMessages},
          {"recompute_whole_blocks", stack.recomputesWholeBlocks}};
}
