//===- JsonMutations.h - Documents with faults for libFuzzer ----*- C++ -*-===//
//
// Part of parplan.
//
// Included by a harness whose inputs are JSON: three of four inputs have faults
// of the document, the others of its bytes.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_FUZZ_JSONMUTATIONS_H
#define PARPLAN_TEST_FUZZ_JSONMUTATIONS_H

#include "test/Unit/Support/MutateJson.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t limit, unsigned seed) {
  auto document = parplan::Json::parse(
      std::string_view(reinterpret_cast<const char *>(data), size),
      /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (seed % 4 == 0 || !document.is_structured() || document.empty())
    return LLVMFuzzerMutate(data, size, limit);
  std::string text = parplan::JsonMutator(document, seed).getNext();
  if (text.size() > limit)
    return LLVMFuzzerMutate(data, size, limit);
  text.copy(reinterpret_cast<char *>(data), text.size());
  return text.size();
}

#endif // PARPLAN_TEST_FUZZ_JSONMUTATIONS_H
