//===- movement_kernels.cpp - Copies --------------------------------------===//

#include "launch_kernel.h"

#include <cstring>

namespace parplan {
namespace runtime {

namespace {

/// Drops dimensions of size 1 and joins neighbours that are contiguous in both
/// operands; puts the output's densest dimension last.
struct CopyLoops {
  int32_t rank = 0;
  int64_t extent[Shape::maximumRank];
  int64_t in[Shape::maximumRank];
  int64_t out[Shape::maximumRank];
  bool empty = false;

  CopyLoops(const Shape &extents, const Shape &inStrides,
            const Shape &outStrides) {
    for (int32_t d = 0; d < extents.rank; ++d) {
      empty |= extents.size[d] == 0;
      if (extents.size[d] == 1)
        continue;
      extent[rank] = extents.size[d];
      in[rank] = inStrides.size[d];
      out[rank] = outStrides.size[d];
      ++rank;
    }
    for (int32_t d = rank - 2; d >= 0; --d) {
      if (in[d] != in[d + 1] * extent[d + 1] ||
          out[d] != out[d + 1] * extent[d + 1])
        continue;
      extent[d] *= extent[d + 1];
      in[d] = in[d + 1];
      out[d] = out[d + 1];
      for (int32_t later = d + 1; later + 1 < rank; ++later) {
        extent[later] = extent[later + 1];
        in[later] = in[later + 1];
        out[later] = out[later + 1];
      }
      --rank;
    }
  }
};

template <typename Element>
void copyRow(const Element *in, int64_t inStride, Element *out,
             int64_t outStride, int64_t count) {
  if (inStride == 1 && outStride == 1) {
    std::memcpy(out, in, static_cast<size_t>(count) * sizeof(Element));
  } else if (inStride == 0 && outStride == 1) {
    const Element value = *in;
    for (int64_t i = 0; i < count; ++i)
      out[i] = value;
  } else {
    for (int64_t i = 0; i < count; ++i)
      out[i * outStride] = in[i * inStride];
  }
}

/// Two dimensions in tiles, so that a transposition uses whole cache lines.
template <typename Element>
void copyPlane(const Element *in, Element *out, const CopyLoops &loops,
               int32_t d) {
  constexpr int64_t tile = 16;
  for (int64_t row = 0; row < loops.extent[d]; row += tile)
    for (int64_t column = 0; column < loops.extent[d + 1]; column += tile) {
      const int64_t rows =
          loops.extent[d] - row < tile ? loops.extent[d] - row : tile;
      const int64_t columns = loops.extent[d + 1] - column < tile
                                  ? loops.extent[d + 1] - column
                                  : tile;
      for (int64_t i = 0; i < rows; ++i)
        copyRow(in + (row + i) * loops.in[d] + column * loops.in[d + 1],
                loops.in[d + 1],
                out + (row + i) * loops.out[d] + column * loops.out[d + 1],
                loops.out[d + 1], columns);
    }
}

template <typename Element>
void copyNested(const Element *in, Element *out, const CopyLoops &loops,
                int32_t d) {
  if (d == loops.rank) {
    *out = *in;
  } else if (d + 1 == loops.rank) {
    copyRow(in, loops.in[d], out, loops.out[d], loops.extent[d]);
  } else if (d + 2 == loops.rank &&
             (loops.in[d + 1] != 1 || loops.out[d + 1] != 1) &&
             loops.in[d + 1] != 0) {
    copyPlane(in, out, loops, d);
  } else {
    for (int64_t i = 0; i < loops.extent[d]; ++i)
      copyNested(in + i * loops.in[d], out + i * loops.out[d], loops, d + 1);
  }
}

template <typename Element> struct CopyTask {
  const void *in;
  void *out;
  CopyLoops loops;
  void operator()() const {
    copyNested(static_cast<const Element *>(in), static_cast<Element *>(out),
               loops, 0);
  }
};

} // namespace

void copy(Stream &stream, Buffers buffers, ElementType type, const void *in,
          void *out, const Shape &extents, const Shape &inStrides,
          const Shape &outStrides) {
  const CopyLoops loops(extents, inStrides, outStrides);
  if (loops.empty)
    return stream.touch(buffers);
  switch (elementBytes(type)) {
  case 8:
    return launch(stream, buffers, CopyTask<int64_t>{in, out, loops});
  case 4:
    return launch(stream, buffers, CopyTask<int32_t>{in, out, loops});
  case 2:
    return launch(stream, buffers, CopyTask<int16_t>{in, out, loops});
  default:
    return launch(stream, buffers, CopyTask<int8_t>{in, out, loops});
  }
}

void copyBytes(Stream &stream, Buffers buffers, const void *in, void *out,
               int64_t bytes) {
  launch(stream, buffers, [in, out, bytes] {
    std::memmove(out, in, static_cast<size_t>(bytes));
  });
}

void zero(Stream &stream, Buffers buffers, void *out, int64_t bytes) {
  launch(stream, buffers,
         [out, bytes] { std::memset(out, 0, static_cast<size_t>(bytes)); });
}

} // namespace runtime
} // namespace parplan
