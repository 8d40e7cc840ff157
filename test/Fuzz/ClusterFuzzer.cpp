//===- ClusterFuzzer.cpp - Any text as a cluster --------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "JsonMutations.h"

#include "parplan/Cluster/Presets.h"
#include "parplan/Support/Check.h"

using namespace parplan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  DiagnosticEngine diagnostics;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  auto description = parseCluster(text, "cluster.json", diagnostics);
  PARPLAN_CHECK(description.has_value() != diagnostics.hasErrors());
  if (!description)
    return 0;
  for (int64_t gpus : {1, 3, 64}) {
    DiagnosticEngine sizes;
    auto cluster = makeCluster(*description, gpus, sizes);
    PARPLAN_CHECK(cluster.has_value() != sizes.hasErrors());
  }
  // What is written again reads as the same.
  auto again =
      parseCluster(toJson(*description).dump(), "cluster.json", diagnostics);
  PARPLAN_CHECK(again && toJson(*again) == toJson(*description));
  return 0;
}
