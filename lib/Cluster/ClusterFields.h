//===- ClusterFields.h - Cluster values from JSON ---------------*- C++ -*-===//
//
// Part of parplan. Private to lib/Cluster.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_CLUSTER_CLUSTERFIELDS_H
#define PARPLAN_LIB_CLUSTER_CLUSTERFIELDS_H

#include "parplan/Cluster/Cluster.h"
#include "parplan/Support/Json.h"

namespace parplan {

/// Reads all fields; what is reported stays at its default.
ClusterDescription readCluster(JsonReader &reader);

/// The stack in field `key`: an object, the name of a known one, or absent for
/// what parplan emits.
Stack readStack(JsonReader &reader, const std::string &key);

nlohmann::ordered_json toJson(const Stack &stack);

} // namespace parplan

#endif // PARPLAN_LIB_CLUSTER_CLUSTERFIELDS_H
