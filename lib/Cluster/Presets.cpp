//===- Presets.cpp - Clusters by name or from a file ----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/Presets.h"
#include "ClusterFields.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"
#include "parplan/Support/Text.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

using namespace parplan;

namespace parplan {
/// presets.json, from PresetData.cpp.
extern const char presetDocument[];
} // namespace parplan

/// A mesh of more devices than this has more ranks than any file can name.
static constexpr int64_t maxDevices = int64_t{1} << 20;
static constexpr int64_t maxFileBytes = int64_t{16} << 20;

static std::vector<ClusterDescription> readPresets() {
  DiagnosticEngine engine;
  std::vector<ClusterDescription> presets;
  std::optional<Json> document = parseJson(presetDocument, "presets.json",
                                           codes::badClusterSyntax, engine);
  if (document) {
    JsonReader reader(*document, "presets.json", "", codes::badClusterField,
                      engine);
    for (JsonReader &entry : reader.getObjects("clusters"))
      presets.push_back(readCluster(entry));
  }
  PARPLAN_CHECK(!engine.hasErrors(), engine.render());
  return presets;
}

const std::vector<ClusterDescription> &parplan::getPresets() {
  static const std::vector<ClusterDescription> presets = readPresets();
  return presets;
}

std::vector<std::string> parplan::getPresetNames() {
  std::vector<std::string> names;
  for (const ClusterDescription &preset : getPresets())
    names.push_back(preset.name);
  return names;
}

const ClusterDescription *parplan::findPreset(std::string_view name) {
  for (const ClusterDescription &preset : getPresets())
    if (preset.name == name)
      return &preset;
  return nullptr;
}

/// Ranks fill nodes one after the other: all have as many.
static void verifyNodes(const ClusterDescription &description,
                        JsonReader &reader) {
  if (description.otherNodes.empty())
    return;
  if (!description.nodes)
    reader.report("nodes", "is missing: how many nodes come before others");
  if (!description.network)
    reader.report("other_nodes", "there is no network between nodes");
  for (const NodeGroup &group : description.otherNodes)
    if (group.node.devices != description.node.devices)
      reader.report("other_nodes", concat("a node of ", group.node.devices,
                                          " devices; the first ones have ",
                                          description.node.devices));
}

std::optional<ClusterDescription>
parplan::parseCluster(std::string_view text, const std::string &file,
                      DiagnosticEngine &engine) {
  size_t errorsBefore = engine.getErrorCount();
  std::optional<Json> document =
      parseJson(text, file, codes::badClusterSyntax, engine);
  if (!document)
    return std::nullopt;
  JsonReader reader(*document, file, "", codes::badClusterField, engine);
  ClusterDescription description = readCluster(reader);
  bool isShared = description.node.link.kind == LinkKind::sharedMemory;
  bool usesSharedModel =
      description.collectives.model == CollectiveModel::sharedMemory;
  if (engine.getErrorCount() == errorsBefore && isShared != usesSharedModel)
    reader.report("collectives.model",
                  "'shared-memory' goes with a link of that kind only");
  if (engine.getErrorCount() == errorsBefore && description.node.devices == 0 &&
      description.network)
    reader.report("network", "a node of any number of devices has none");
  if (engine.getErrorCount() == errorsBefore)
    verifyNodes(description, reader);
  if (engine.getErrorCount() != errorsBefore)
    return std::nullopt;
  return description;
}

std::optional<ClusterDescription>
parplan::loadCluster(const std::string &nameOrFile, DiagnosticEngine &engine) {
  if (const ClusterDescription *preset = findPreset(nameOrFile))
    return *preset;
  bool looksLikeFile = nameOrFile.find('/') != std::string::npos ||
                       nameOrFile.ends_with(".json") ||
                       ::access(nameOrFile.c_str(), F_OK) == 0;
  if (!looksLikeFile) {
    engine.error(codes::unknownCluster)
            .help(suggest(nameOrFile, getPresetNames()))
            .help("presets: " + joinText(getPresetNames(), ", "))
        << "there is no cluster preset and no file " << quoteName(nameOrFile);
    return std::nullopt;
  }
  std::optional<std::string> text =
      readFile(nameOrFile, codes::unreadableCluster, engine, maxFileBytes);
  if (!text)
    return std::nullopt;
  return parseCluster(*text, nameOrFile, engine);
}

std::optional<Cluster> parplan::makeCluster(ClusterDescription description,
                                            int64_t gpus,
                                            DiagnosticEngine &engine) {
  auto refuse = [&](const std::string &message) {
    engine.error(codes::badGpuCount) << "--gpus " << gpus << ": " << message;
    return std::nullopt;
  };
  if (gpus < 1)
    return refuse("at least one device is needed");
  if (gpus > maxDevices)
    return refuse(concat("more than ", maxDevices, " devices"));
  int64_t perNode = description.node.devices;
  if (perNode && gpus > perNode && !description.network)
    return refuse(concat("cluster ", quoteName(description.name), " has ",
                         perNode, " devices and no network"));
  Cluster cluster;
  cluster.deviceCount = gpus;
  cluster.description = std::move(description);
  int64_t nodes = cluster.getNodeCount();
  if (std::optional<int64_t> most = cluster.description.nodes) {
    for (const NodeGroup &group : cluster.description.otherNodes)
      *most += group.nodes;
    if (nodes > *most)
      return refuse(concat("cluster ", quoteName(cluster.description.name),
                           " has ", *most, " nodes of ", perNode, " devices"));
  }
  cluster.description = getSlowest(cluster.description, nodes);
  return cluster;
}

nlohmann::ordered_json parplan::listPresetsAsJson() {
  Json document;
  document["format"] = 1;
  document["clusters"] = Json::array();
  for (const ClusterDescription &preset : getPresets())
    document["clusters"].push_back(toJson(preset));
  return document;
}

std::string parplan::listPresetsAsText() {
  size_t width = 0;
  for (const ClusterDescription &preset : getPresets())
    width = std::max(width, preset.name.size());
  std::string text;
  for (const ClusterDescription &preset : getPresets())
    text +=
        concat(preset.name, std::string(width + 2 - preset.name.size(), ' '),
               preset.title, "\n");
  return text;
}
