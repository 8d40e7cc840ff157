//===- ImportFuzzer.cpp - Any bytes as a model ----------------------------===//
//
// Part of parplan.
//
// What the importer accepts verifies; what it refuses has a diagnostic.
//
//===----------------------------------------------------------------------===//

#include "ModelMutator.h"

#include "lib/Import/Import.h"
#include "parplan/Support/Check.h"

#include "mlir/IR/Verifier.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace parplan;

/// A file in memory, the same for every run.
static const std::string &writeModel(const uint8_t *data, size_t size) {
  static const int file = memfd_create("model", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  PARPLAN_CHECK(file >= 0 && ftruncate(file, 0) == 0 &&
                pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
  return path;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportOptions options;
  options.path = writeModel(data, size);
  options.dims = {{"batch", 4}, {"sequence", 8}};
  DiagnosticEngine diagnostics;
  ImportedModel model = importModel(context, options, diagnostics);
  PARPLAN_CHECK(static_cast<bool>(model) != diagnostics.hasErrors());
  PARPLAN_CHECK(diagnostics.getExitCode() != ExitCode::internalError);
  if (model)
    PARPLAN_CHECK(succeeded(mlir::verify(*model.module)));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t limit, unsigned seed) {
  return mutateModel(data, size, limit, seed);
}
