//===- sha256.h - Digests of files and of the order of communication ------===//

#ifndef PARPLAN_RUNTIME_LIB_SHA256_H
#define PARPLAN_RUNTIME_LIB_SHA256_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace parplan {
namespace runtime {

/// FIPS 180-4 SHA-256 of the bytes given by successive updates.
class Sha256 {
public:
  Sha256();
  void update(const void *data, size_t bytes);
  /// The digest in lower-case hex; the object must not be updated afterwards.
  std::string finish();

private:
  void compress(const unsigned char *blocks, size_t count);

  uint32_t state[8];
  unsigned char pending[64];
  size_t pendingBytes = 0;
  uint64_t totalBytes = 0;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_SHA256_H
