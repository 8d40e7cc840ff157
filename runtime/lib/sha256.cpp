//===- sha256.cpp - Digests of files and of the order of communication ----===//

#include "sha256.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace parplan {
namespace runtime {

namespace {
constexpr uint32_t roundConstants[64] = {
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

uint32_t rotate(uint32_t value, int bits) {
  return (value >> bits) | (value << (32 - bits));
}

void compressPlain(uint32_t *state, const unsigned char *block) {
  uint32_t words[64];
  for (int i = 0; i < 16; ++i)
    words[i] = uint32_t(block[4 * i]) << 24 | uint32_t(block[4 * i + 1]) << 16 |
               uint32_t(block[4 * i + 2]) << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    const uint32_t low = rotate(words[i - 15], 7) ^ rotate(words[i - 15], 18) ^
                         (words[i - 15] >> 3);
    const uint32_t high = rotate(words[i - 2], 17) ^ rotate(words[i - 2], 19) ^
                          (words[i - 2] >> 10);
    words[i] = words[i - 16] + low + words[i - 7] + high;
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4],
           f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 64; ++i) {
    const uint32_t high = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const uint32_t choice = (e & f) ^ (~e & g);
    const uint32_t first = h + high + choice + roundConstants[i] + words[i];
    const uint32_t low = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + low + majority;
  }
  const uint32_t added[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state[i] += added[i];
}

#if defined(__x86_64__)
bool processorHasSha() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0 &&
           __builtin_cpu_supports("sse4.1");
  }();
  return has;
}

/// With the processor's own instructions, four times as fast. They keep the
/// state as (a, b, e, f) and (c, d, g, h), highest first, and do four rounds at
/// once.
__attribute__((target("sha,sse4.1"))) void
compressWithSha(uint32_t *state, const unsigned char *blocks, size_t count) {
  const __m128i bigEndian =
      _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  auto *halves = reinterpret_cast<__m128i *>(state);
  const __m128i dcba = _mm_shuffle_epi32(_mm_loadu_si128(halves), 0xb1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(halves + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(dcba, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, dcba, 0xf0);
  for (; count > 0; --count, blocks += 64) {
    const __m128i abefBefore = abef, cdghBefore = cdgh;
    __m128i words[4];
    for (int i = 0; i < 4; ++i)
      words[i] = _mm_shuffle_epi8(
          _mm_loadu_si128(reinterpret_cast<const __m128i *>(blocks) + i),
          bigEndian);
    for (int i = 0; i < 16; ++i) {
      const __m128i sum = _mm_add_epi32(
          words[i & 3], _mm_loadu_si128(reinterpret_cast<const __m128i *>(
                            roundConstants + 4 * i)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
      // Words 16 to 19 from now take the place of these four.
      const __m128i next = words[(i + 1) & 3], last = words[(i + 3) & 3];
      const __m128i seventh = _mm_alignr_epi8(last, words[(i + 2) & 3], 4);
      words[i & 3] = _mm_sha256msg2_epu32(
          _mm_add_epi32(_mm_sha256msg1_epu32(words[i & 3], next), seventh),
          last);
    }
    abef = _mm_add_epi32(abef, abefBefore);
    cdgh = _mm_add_epi32(cdgh, cdghBefore);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(halves, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(halves + 1, _mm_alignr_epi8(dchg, feba, 8));
}
#endif
} // namespace

Sha256::Sha256()
    : state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::compress(const unsigned char *blocks, size_t count) {
#if defined(__x86_64__)
  if (processorHasSha()) {
    compressWithSha(state, blocks, count);
    return;
  }
#endif
  for (; count > 0; --count, blocks += 64)
    compressPlain(state, blocks);
}

void Sha256::update(const void *data, size_t bytes) {
  const auto *source = static_cast<const unsigned char *>(data);
  totalBytes += bytes;
  if (pendingBytes > 0) {
    const size_t room = sizeof pending - pendingBytes;
    const size_t part = bytes < room ? bytes : room;
    std::memcpy(pending + pendingBytes, source, part);
    pendingBytes += part;
    source += part;
    bytes -= part;
    if (pendingBytes < sizeof pending)
      return;
    compress(pending, 1);
    pendingBytes = 0;
  }
  const size_t blocks = bytes / sizeof pending;
  compress(source, blocks);
  pendingBytes = bytes - blocks * sizeof pending;
  if (pendingBytes > 0)
    std::memcpy(pending, source + blocks * sizeof pending, pendingBytes);
}

std::string Sha256::finish() {
  const uint64_t bits = totalBytes * 8;
  const unsigned char mark = 0x80, zero = 0;
  update(&mark, 1);
  while (pendingBytes != 56)
    update(&zero, 1);
  unsigned char length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<unsigned char>(bits >> (56 - 8 * i));
  update(length, sizeof length);
  std::string text;
  for (uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4)
      text += "0123456789abcdef"[(word >> shift) & 15];
  return text;
}

} // namespace runtime
} // namespace parplan
