//===- ModelMutator.h - Models with random faults ---------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_FUZZ_MODELMUTATOR_H
#define PARPLAN_TEST_FUZZ_MODELMUTATOR_H

#include <cstddef>
#include <cstdint>

namespace parplan {

/// Changes a model of `size` bytes in a buffer of `limit` in place and returns
/// its new size. One time in four, and where the bytes are no model, the bytes
/// are changed; otherwise one to three fields of its messages, so that most of
/// what results gets past the parser: names are exchanged with names, numbers
/// with numbers at the border of what is allowed, messages are repeated, moved
/// and left out.
size_t mutateModel(uint8_t *data, size_t size, size_t limit, unsigned seed);

} // namespace parplan

#endif // PARPLAN_TEST_FUZZ_MODELMUTATOR_H
