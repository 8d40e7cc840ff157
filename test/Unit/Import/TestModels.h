//===- TestModels.h - Small models as text ----------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_IMPORT_TESTMODELS_H
#define PARPLAN_TEST_UNIT_IMPORT_TESTMODELS_H

#include "lib/Import/ModelInfo.h"

#include <string>
#include <vector>

namespace onnx {
class ModelProto;
}

namespace parplan::test {

/// A temporary folder that goes with the object.
class TestFolder {
public:
  TestFolder();
  ~TestFolder();
  const std::string &getPath() const { return path; }
  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const;

private:
  std::string path;
};

/// A model from ONNX's text format: `g (float[2,3] x) => (float[2,3] y) {..}`
/// in opset `opset`; `prologue` goes before the graph's functions.
onnx::ModelProto parseModel(const std::string &graph, int opset = 20,
                            const std::string &functions = "");

std::string serialize(const onnx::ModelProto &model);

/// What the import makes of a model.
struct Outcome {
  bool succeeded = false;
  /// The code of the first error, 0 if there is none.
  int code = 0;
  int exitCode = 0;
  /// Codes of all errors, in order.
  std::vector<int> codes;
  /// Diagnostics as text.
  std::string text;
  /// One line per op: `%3 = add %0 c:float[]`, then `return %3:float[2, 3]`.
  std::string graph;
  /// The number of ops.
  size_t ops = 0;
};

Outcome importBytes(const std::string &bytes, ImportOptions options = {});
Outcome importText(const std::string &graph, int opset = 20,
                   ImportOptions options = {},
                   const std::string &functions = "");
/// The model lies in a file already.
Outcome importFile(const ImportOptions &options);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_IMPORT_TESTMODELS_H
