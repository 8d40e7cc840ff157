//===- Manifest.cpp - manifest.json and source_map.json -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/Manifest.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Sha256.h"
#include "parplan/Support/Text.h"
#include "parplan/Support/Version.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace parplan {

ManifestFile describeContent(const std::string &name,
                             std::string_view content) {
  return {name, static_cast<int64_t>(content.size()), sha256Hex(content)};
}

std::optional<ManifestFile> describeFile(const std::string &directory,
                                         const std::string &name,
                                         DiagnosticEngine &engine) {
  std::string path = directory + "/" + name;
  std::ifstream stream(path, std::ios::binary);
  Sha256 hash;
  int64_t bytes = 0;
  std::vector<char> buffer(size_t{1} << 20);
  while (stream) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.update(buffer.data(), static_cast<size_t>(stream.gcount()));
    bytes += stream.gcount();
  }
  if (!stream.eof()) {
    engine.error(codes::outputFailed, Location::inFile(path))
        << "cannot read the file back";
    return std::nullopt;
  }
  return ManifestFile{name, bytes, hash.finishHex()};
}

/// Names of a model need not be UTF-8.
static std::string printJson(const nlohmann::ordered_json &document) {
  return document.dump(1, ' ', false,
                       nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

std::string printManifest(const std::vector<ManifestFile> &files,
                          const std::string &target) {
  nlohmann::ordered_json document = {{"format", 1},
                                     {"parplan", {{"version", versionText}}},
                                     {"target", target},
                                     {"files", nlohmann::json::array()}};
  for (const ManifestFile &file : files)
    document["files"].push_back(
        {{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  return printJson(document);
}

std::string
printSourceMap(const EmittedProgram &program,
               const std::function<std::string(int64_t)> &getNodeName) {
  nlohmann::ordered_json document = {{"format", 1},
                                     {"file", "program.cu"},
                                     {"lines", nlohmann::json::array()}};
  for (const SourceLine &line : program.sourceMap) {
    nlohmann::ordered_json nodes = nlohmann::json::array();
    for (int64_t node : line.nodes)
      nodes.push_back({{"index", node}, {"name", getNodeName(node)}});
    document["lines"].push_back({{"line", line.line}, {"nodes", nodes}});
  }
  return printJson(document);
}

} // namespace parplan
