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

} // namespace parplan

#endif // PARPLAN_LIB_CLUSTER_CLUSTERFIELDS_H
