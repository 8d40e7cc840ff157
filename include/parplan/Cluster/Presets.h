//===- Presets.h - Clusters by name or from a file --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_CLUSTER_PRESETS_H
#define PARPLAN_CLUSTER_PRESETS_H

#include "parplan/Cluster/Cluster.h"
#include "parplan/Support/Diagnostics.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parplan {

/// All presets, in the order in which they are listed.
const std::vector<ClusterDescription> &getPresets();
std::vector<std::string> getPresetNames();
/// Null if there is none of that name.
const ClusterDescription *findPreset(std::string_view name);

/// The stacks that a cluster file may name; the first is the default.
const std::vector<Stack> &getStacks();

/// The preset `nameOrFile`, or the cluster file. Reports an unknown name (64),
/// a file that cannot be read (66), every bad field (65).
std::optional<ClusterDescription> loadCluster(const std::string &nameOrFile,
                                              DiagnosticEngine &engine);

/// Reads the text of a cluster file; `file` names it in diagnostics.
std::optional<ClusterDescription> parseCluster(std::string_view text,
                                               const std::string &file,
                                               DiagnosticEngine &engine);

/// `gpus` devices of the cluster. Reports numbers that cannot be (64).
std::optional<Cluster> makeCluster(ClusterDescription description, int64_t gpus,
                                   DiagnosticEngine &engine);

/// The document that `parseCluster` reads back to the same value.
nlohmann::ordered_json toJson(const ClusterDescription &description);

/// The document of `parplan clusters --json`: {"format":1,"clusters":[...]}.
nlohmann::ordered_json listPresetsAsJson();
/// The table of `parplan clusters`, for people.
std::string listPresetsAsText();

} // namespace parplan

#endif // PARPLAN_CLUSTER_PRESETS_H
