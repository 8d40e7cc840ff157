//===- Clusters.cpp - parplan clusters ------------------------------------===//

#include "lib/Driver/Commands.h"

#include "parplan/Cluster/Presets.h"

using namespace parplan;

CommandResult parplan::listClusters(const std::string &nameOrFile,
                                    DiagnosticEngine &engine) {
  CommandResult result;
  if (nameOrFile.empty()) {
    result.text = listPresetsAsText();
    result.document = listPresetsAsJson();
    return result;
  }
  if (auto description = loadCluster(nameOrFile, engine)) {
    result.document = toJson(*description);
    result.text = printJson(result.document);
  }
  return result;
}
