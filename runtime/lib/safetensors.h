//===- safetensors.h - Files of named tensors -----------------------------===//
//
// Eight bytes with the length of a JSON header, the header, then the tensors
// without holes. The header is padded so that tensors lie at multiples of 8.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_SAFETENSORS_H
#define PARPLAN_RUNTIME_LIB_SAFETENSORS_H

#include <cstdint>
#include <string>
#include <vector>

namespace parplan {
namespace runtime {

struct StoredTensor {
  std::string name;
  /// "F32", ..
  std::string type;
  std::vector<int64_t> shape;
  int64_t elementBytes = 0;
  int64_t bytes = 0;
  /// From the start of the file.
  int64_t offset = 0;
  /// Tensors of one group stand together, in their order; empty: its name.
  std::string group = {};
};

/// Orders the tensors by width (wide ones first, so that all lie aligned) and
/// group, gives each its offset and returns the header, its length included.
std::string layOutTensors(std::vector<StoredTensor> &tensors,
                          const std::string &metadata);

/// Reads a header; false, with the reason, when it or a tensor's place is not
/// that of a file of `bytes` bytes.
bool readTensors(const char *data, int64_t bytes,
                 std::vector<StoredTensor> &tensors, std::string &reason);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_SAFETENSORS_H
