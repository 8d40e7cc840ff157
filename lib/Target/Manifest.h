//===- Manifest.h - manifest.json and source_map.json -----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_TARGET_MANIFEST_H
#define PARPLAN_LIB_TARGET_MANIFEST_H

#include "lib/Target/EmitProgram.h"

#include <functional>
#include <string>
#include <vector>

namespace parplan {

/// A file of the output directory.
struct ManifestFile {
  std::string name;
  int64_t bytes = 0;
  std::string sha256;
};

/// Describes a file whose content is at hand.
ManifestFile describeContent(const std::string &name, std::string_view content);
/// Describes a file of a directory; reports if it cannot be read.
std::optional<ManifestFile> describeFile(const std::string &directory,
                                         const std::string &name,
                                         DiagnosticEngine &engine);

/// The text of manifest.json: format, version of parplan, target, files.
std::string printManifest(const std::vector<ManifestFile> &files,
                          const std::string &target);

/// The text of source_map.json: for every line of program.cu that does work of
/// the model, the ONNX nodes. `getNodeName` gives the name of a node by its
/// index.
std::string
printSourceMap(const EmittedProgram &program,
               const std::function<std::string(int64_t)> &getNodeName);

} // namespace parplan

#endif // PARPLAN_LIB_TARGET_MANIFEST_H
