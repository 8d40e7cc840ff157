//===- Sha256.cpp - SHA-256 of a stream -----------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

using namespace parplan;

namespace {

alignas(16) constexpr uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<uint32_t, 8>;

void compressPortable(State &state, const uint8_t *data, size_t blocks) {
  for (; blocks; --blocks, data += 64) {
    uint32_t words[64];
    for (int i = 0; i < 16; ++i)
      words[i] = uint32_t(data[4 * i]) << 24 | uint32_t(data[4 * i + 1]) << 16 |
                 uint32_t(data[4 * i + 2]) << 8 | data[4 * i + 3];
    for (int i = 16; i < 64; ++i) {
      uint32_t early = words[i - 15], late = words[i - 2];
      words[i] = words[i - 16] + words[i - 7] +
                 (std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3) +
                 (std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10);
    }
    State s = state;
    for (int i = 0; i < 64; ++i) {
      uint32_t first =
          s[7] + roundConstants[i] + words[i] +
          (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
          ((s[4] & s[5]) ^ (~s[4] & s[6]));
      uint32_t second =
          (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
          ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
    }
    for (int i = 0; i < 8; ++i)
      state[i] += s[i];
  }
}

#if defined(__x86_64__)
bool hasShaInstructions() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1))
    return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29);
}

/// Four rounds at a time; the instructions want the state as ABEF and CDGH.
__attribute__((target("sha,sse4.1,ssse3"))) void
compressSha(State &state, const uint8_t *data, size_t blocks) {
  const __m128i bigEndian =
      _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto *stored = reinterpret_cast<__m128i *>(state.data());
  __m128i dcba = _mm_shuffle_epi32(_mm_loadu_si128(stored), 0xB1);
  __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(stored + 1), 0x1B);
  __m128i abef = _mm_alignr_epi8(dcba, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, dcba, 0xF0);
  for (; blocks; --blocks, data += 64) {
    __m128i startAbef = abef, startCdgh = cdgh;
    __m128i words[4];
    for (int i = 0; i < 4; ++i)
      words[i] = _mm_shuffle_epi8(
          _mm_loadu_si128(reinterpret_cast<const __m128i *>(data) + i),
          bigEndian);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      __m128i current = words[i % 4];
      if (i >= 4) {
        // w[t] = s1(w[t-2]) + w[t-7] + s0(w[t-15]) + w[t-16], four of them.
        __m128i sum = _mm_add_epi32(
            _mm_sha256msg1_epu32(current, words[(i + 1) % 4]),
            _mm_alignr_epi8(words[(i + 3) % 4], words[(i + 2) % 4], 4));
        current = _mm_sha256msg2_epu32(sum, words[(i + 3) % 4]);
        words[i % 4] = current;
      }
      __m128i keyed = _mm_add_epi32(
          current, _mm_load_si128(
                       reinterpret_cast<const __m128i *>(roundConstants) + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, keyed);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(keyed, 0x0E));
    }
    abef = _mm_add_epi32(abef, startAbef);
    cdgh = _mm_add_epi32(cdgh, startCdgh);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(stored, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(stored + 1, _mm_alignr_epi8(dchg, feba, 8));
}
#endif

void compress(State &state, const uint8_t *data, size_t blocks) {
#if defined(__x86_64__)
  static const bool hasSha = hasShaInstructions();
  if (hasSha)
    return compressSha(state, data, blocks);
#endif
  compressPortable(state, data, blocks);
}

} // namespace

Sha256::Sha256()
    : state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::update(const void *data, size_t size) {
  if (size == 0)
    return;
  const auto *bytes = static_cast<const uint8_t *>(data);
  totalBytes += size;
  if (blockSize) {
    size_t taken = std::min(size, block.size() - blockSize);
    std::memcpy(block.data() + blockSize, bytes, taken);
    blockSize += taken;
    bytes += taken;
    size -= taken;
    if (blockSize < block.size())
      return;
    compress(state, block.data(), 1);
    blockSize = 0;
  }
  compress(state, bytes, size / 64);
  blockSize = size % 64;
  std::memcpy(block.data(), bytes + size - blockSize, blockSize);
}

Sha256::Digest Sha256::finish() {
  uint64_t bits = totalBytes * 8;
  uint8_t padding[72] = {0x80};
  size_t zeros = (blockSize < 56 ? 56 : 120) - blockSize;
  for (int i = 0; i < 8; ++i)
    padding[zeros + i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  update(padding, zeros + 8);
  Digest digest;
  for (int i = 0; i < 32; ++i)
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

std::string Sha256::finishHex() {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : finish()) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string parplan::sha256Hex(std::string_view data) {
  Sha256 hash;
  hash.update(data);
  return hash.finishHex();
}
