//===- Sha256.h - SHA-256 of a stream ---------------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SUPPORT_SHA256_H
#define PARPLAN_SUPPORT_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace parplan {

/// FIPS 180-4. Feed any number of pieces, then ask once.
class Sha256 {
public:
  using Digest = std::array<uint8_t, 32>;

  Sha256();

  void update(const void *data, size_t size);
  void update(std::string_view text) { update(text.data(), text.size()); }

  /// The digest of everything fed. The object must not be used afterwards.
  Digest finish();
  /// `finish` as 64 lower-case hexadecimal digits.
  std::string finishHex();

private:
  std::array<uint32_t, 8> state;
  std::array<uint8_t, 64> block{};
  size_t blockSize = 0;
  uint64_t totalBytes = 0;
};

std::string sha256Hex(std::string_view data);

} // namespace parplan

#endif // PARPLAN_SUPPORT_SHA256_H
