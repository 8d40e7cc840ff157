//===- shapes.h - Shapes of library kernels and the memory they need ------===//
//
// Plain values without dependences. The planner includes this file too: the
// workspace that it reserves is the one that the kernel takes.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_SHAPES_H
#define PARPLAN_RUNTIME_SHAPES_H

#include "parplan_runtime/platform.h"

#include <cstdint>
#include <initializer_list>

namespace parplan {
namespace runtime {

/// Up to eight sizes or strides.
struct Shape {
  static constexpr int32_t maximumRank = 8;
  int32_t rank = 0;
  int64_t size[maximumRank] = {};

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<int64_t> sizes) {
    for (int64_t value : sizes)
      if (rank < maximumRank)
        size[rank++] = value;
  }
  constexpr int64_t elements() const {
    int64_t count = 1;
    for (int32_t dimension = 0; dimension < rank; ++dimension)
      count *= size[dimension];
    return count;
  }
};

/// out[batch.., i, j] = sum over l of lhs[batch.., i, l] * rhs[batch.., l, j].
/// All strides are in elements; batch strides may be 0 (broadcast operand).
/// Of each operand's row and column stride one should be 1.
struct MatmulShape {
  int64_t m, n, k;
  int64_t lhsRowStride, lhsColumnStride; // of i, of l
  int64_t rhsRowStride, rhsColumnStride; // of l, of j
  int64_t outRowStride, outColumnStride; // of i, of j
  int32_t batchRank = 0;
  int64_t batch[4] = {1, 1, 1, 1};
  int64_t lhsBatchStride[4] = {};
  int64_t rhsBatchStride[4] = {};
  int64_t outBatchStride[4] = {};
  /// Adds to `out` instead of overwriting it.
  bool accumulate = false;
};

/// NC[D[H]]W data, O(I/groups)[D[H]]W weights, row-major and dense. Unused
/// leading entries of the spatial arrays do not exist: entry 0 is the first
/// spatial dimension.
struct ConvolutionShape {
  int64_t batch, inChannels, outChannels, groups;
  int32_t spatialRank;
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], padLow[3];
};

struct PoolShape {
  int64_t batch, channels;
  int32_t spatialRank;
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], padLow[3],
      padHigh[3];
  /// Average: padding counts as elements (but nothing beyond padHigh does).
  bool countIncludePad = false;
};

enum class MaskKind : int32_t { None, Bool, Float };

/// Where element `index` of a dimension of `size` in zig-zag order over `ranks`
/// stands in the model's order: cut in 2 `ranks` chunks, block i of the order
/// is the chunks i and 2 `ranks` - 1 - i.
PARPLAN_DEVICE constexpr int64_t zigzagPosition(int64_t index, int64_t size,
                                                int64_t ranks) {
  if (ranks == 1)
    return index;
  const int64_t chunk = size / (2 * ranks);
  const int64_t rank = index / (2 * chunk), inner = index % (2 * chunk);
  return inner < chunk ? rank * chunk + inner
                       : size - (rank + 2) * chunk + inner;
}

/// out[b,s,h,:] = sum over t of softmax_t(scale q[b,s,h,:].k[b,t,g,:] + mask)
/// v[b,t,g,:] with g = h / (heads / kvHeads). The last dimension of every
/// operand is contiguous; the other strides are given, in elements.
struct AttentionShape {
  int64_t batch, queries, keys, heads, kvHeads, width, valueWidth;
  int64_t queryStride[3], keyStride[3], valueStride[3], outStride[3]; // b, s, h
  MaskKind mask = MaskKind::None;
  int64_t maskStride[4] = {}; // b, h, s, t; 0 broadcasts
  double scale = 1.0;
  /// Key j is visible to query i only when
  /// firstKey + j <= firstQuery + i + *queryOffset.
  bool causal = false;
  /// Rows without a visible key give zeros; otherwise NaN, as softmax does.
  bool zeroMaskedRows = false;
  /// Adds to what is there: attention joins its result and statistics with
  /// those of other keys, its gradient adds that of the query.
  bool accumulate = false;
  /// The columns of the mask are all keys, of which key 0 is number firstKey.
  bool wholeMask = false;
  int64_t firstQuery = 0;
  int64_t firstKey = 0;
  /// Keys from here on are padding; negative: none.
  int64_t validKeys = -1;
  /// Queries and keys are blocks of the zig-zag order of all of them over so
  /// many ranks; positions that `causal` compares are those of the model.
  int64_t zigzag = 1;
};

enum class OptimizerKind : int32_t { Sgd, Momentum, Adam, AdamW };

/// The numbers of an optimizer that no step changes.
struct OptimizerShape {
  OptimizerKind kind;
  double beta1, beta2, epsilon, weightDecay, momentum;
};

namespace detail {
constexpr int64_t minimum(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
constexpr int64_t convolutionColumns(const ConvolutionShape &shape) {
  int64_t positions = 1;
  for (int32_t d = 0; d < shape.spatialRank; ++d)
    positions *= shape.out[d];
  return positions;
}
constexpr int64_t convolutionRows(const ConvolutionShape &shape) {
  int64_t rows = shape.inChannels / shape.groups;
  for (int32_t d = 0; d < shape.spatialRank; ++d)
    rows *= shape.kernel[d];
  return rows;
}
/// Bytes of the numbers that kernels compute with: 16-bit elements are widened.
constexpr int64_t arithmeticBytes(int64_t elementBytes) {
  return elementBytes == 2 ? 4 : elementBytes;
}
/// Whether the data of one group already is the matrix of the product.
constexpr bool convolutionIsProduct(const ConvolutionShape &shape) {
  for (int32_t d = 0; d < shape.spatialRank; ++d)
    if (shape.kernel[d] != 1 || shape.stride[d] != 1 || shape.padLow[d] != 0 ||
        shape.in[d] != shape.out[d])
      return false;
  return true;
}
/// Depthwise and nearly depthwise convolutions run without a product.
constexpr bool convolutionIsDirect(const ConvolutionShape &shape) {
  return shape.groups > 1 && shape.outChannels / shape.groups <= 4;
}
/// Output positions that are unfolded at a time: about 1 MiB of columns.
constexpr int64_t convolutionChunk(const ConvolutionShape &shape) {
  const int64_t rows = convolutionRows(shape);
  const int64_t wanted = roundUp(262144 / (rows > 0 ? rows : 1) + 1, 64);
  return minimum(wanted, convolutionColumns(shape));
}
/// Positions that one product of the weights' gradient should add up at least:
/// each sweeps over all weights.
constexpr int64_t convolutionGradientPositions = 256;
/// Images whose positions are joined for that; 1 where one has enough.
constexpr int64_t convolutionJoinedImages(const ConvolutionShape &shape) {
  const int64_t positions = convolutionColumns(shape);
  if (positions <= 0 || positions >= convolutionGradientPositions)
    return 1;
  const int64_t images =
      (convolutionGradientPositions + positions - 1) / positions;
  return images < shape.batch ? images : shape.batch > 1 ? shape.batch : 1;
}
/// Positions that are unfolded at a time for the weights' gradient.
constexpr int64_t convolutionGradientChunk(const ConvolutionShape &shape) {
  const int64_t images = convolutionJoinedImages(shape);
  const int64_t positions = convolutionColumns(shape);
  if (images > 1 || convolutionIsProduct(shape))
    return images * positions;
  const int64_t chunk = convolutionChunk(shape);
  return minimum(chunk > convolutionGradientPositions
                     ? chunk
                     : convolutionGradientPositions,
                 positions);
}
/// Elements of one image of the input.
constexpr int64_t convolutionImage(const ConvolutionShape &shape) {
  int64_t elements = shape.inChannels;
  for (int32_t d = 0; d < shape.spatialRank; ++d)
    elements *= shape.in[d];
  return elements;
}
/// Bytes of copies, as float, of some images of input and output, of the
/// weights and of a bias.
constexpr int64_t convolutionCopyBytes(const ConvolutionShape &shape,
                                       int64_t images) {
  return roundUp(4 * images * convolutionImage(shape), 64) +
         roundUp(4 * images * shape.outChannels * convolutionColumns(shape),
                 64) +
         roundUp(4 * shape.outChannels * convolutionRows(shape), 64) +
         roundUp(4 * shape.outChannels, 64);
}
/// Bytes with which cuDNN runs convolutions of 16-bit elements, and their
/// gradients, on tensor cores: copies of input, output and weights with
/// channels innermost, in eights, and partial sums of the weights' gradients
/// (what cuDNN 9 asked for on an H100, for the layers of ResNet-50 and the
/// patches of ViT).
constexpr int64_t convolutionTensorCoreBytes(const ConvolutionShape &shape) {
  const int64_t in = roundUp(shape.inChannels, 8),
                out = roundUp(shape.outChannels, 8),
                groupIn = roundUp(shape.inChannels / shape.groups, 8);
  const int64_t inPlane =
      convolutionImage(shape) / (shape.inChannels > 0 ? shape.inChannels : 1);
  const int64_t taps = convolutionRows(shape) * shape.groups /
                       (shape.inChannels > 0 ? shape.inChannels : 1);
  const int64_t weights = out * groupIn * taps;
  return roundUp(2 * shape.batch *
                         (in * inPlane + out * convolutionColumns(shape)) +
                     12 * weights + minimum(256 * weights, int64_t(1) << 23),
                 64);
}
constexpr int64_t maximum(int64_t a, int64_t b) { return a > b ? a : b; }
constexpr int64_t attentionQueryBlock = 64;
constexpr int64_t attentionKeyBlock = 128;
/// Keys that are there.
constexpr int64_t attentionKeys(const AttentionShape &shape) {
  return shape.validKeys < 0 ? shape.keys
                             : minimum(shape.validKeys, shape.keys);
}
/// Of the keys of a causal attention, how many query i sees: the first ones,
/// also in zig-zag order, where positions ascend in a block. Negative, or more
/// than there are, where it sees none or all. `offset` is what memory says.
PARPLAN_DEVICE constexpr int64_t
attentionVisibleKeys(const AttentionShape &shape, int64_t i, int64_t offset) {
  const int64_t query = shape.firstQuery + offset + i;
  if (shape.zigzag == 1)
    return query + 1 - shape.firstKey;
  // Two chunks: keys before the query in each of them.
  const int64_t all = shape.keys * shape.zigzag, chunk = shape.keys / 2;
  const int64_t end = zigzagPosition(query, all, shape.zigzag) + 1;
  const int64_t first = end - zigzagPosition(shape.firstKey, all, shape.zigzag);
  const int64_t second =
      end - zigzagPosition(shape.firstKey + chunk, all, shape.zigzag);
  return (first < 0       ? 0
          : first < chunk ? first
                          : chunk) +
         (second < 0       ? 0
          : second < chunk ? second
                           : chunk);
}
/// How many of up to `limit` queries from `first` on are worked on at a time:
/// those of one chunk, which see as many keys, but for those of a triangle.
constexpr int64_t attentionRows(const AttentionShape &shape, int64_t first,
                                int64_t limit) {
  const int64_t chunk = shape.queries / 2;
  const bool isCut = shape.zigzag > 1 && first < chunk;
  return minimum((isCut ? chunk : shape.queries) - first, limit);
}
/// Scores that the gradient of an attention holds at a time, at most, but for
/// rows that are longer: enough for a GPU.
constexpr int64_t attentionGradientScores = int64_t(1) << 22;
/// Queries whose scores of all keys are held at a time.
constexpr int64_t attentionGradientQueries(const AttentionShape &shape) {
  const int64_t rows =
      attentionGradientScores / (shape.keys > 0 ? shape.keys : 1);
  return minimum(rows < attentionQueryBlock ? attentionQueryBlock : rows,
                 shape.queries);
}
/// Key heads whose scores are held at a time.
constexpr int64_t attentionGradientHeads(const AttentionShape &shape) {
  const int64_t each = attentionGradientQueries(shape) * shape.keys;
  const int64_t heads = attentionGradientScores / (each > 0 ? each : 1);
  return minimum(heads < 1 ? 1 : heads, shape.kvHeads);
}
/// What a host has in its cache: a block of scores.
constexpr int64_t attentionHostQueries = 128;
constexpr int64_t attentionHostKeys = 1024;

/// The parts of the workspace of an attention's gradient, in bytes from its
/// start. 16-bit elements need short copies of the probabilities and of their
/// gradients on a GPU, sums of the gradients of some key heads, and on a host
/// wide copies of operands.
struct AttentionGradientParts {
  int64_t scores, scoreGradients, shortScores, shortGradients, sums, copies,
      bytes;
};
constexpr AttentionGradientParts
attentionGradientParts(const AttentionShape &shape, int64_t elementBytes) {
  const bool isShort = elementBytes == 2;
  const int64_t wide = arithmeticBytes(elementBytes);
  const int64_t heads = attentionGradientHeads(shape);
  const int64_t scores = attentionGradientQueries(shape) * heads * shape.keys;
  const int64_t widths = shape.width + shape.valueWidth;
  const int64_t rows = minimum(shape.queries, attentionHostQueries);
  AttentionGradientParts parts = {};
  parts.scoreGradients = roundUp(scores * wide, 64);
  parts.shortScores = 2 * parts.scoreGradients;
  parts.shortGradients =
      parts.shortScores + (isShort ? roundUp(2 * scores, 64) : 0);
  parts.sums = parts.shortGradients + (isShort ? roundUp(2 * scores, 64) : 0);
  parts.copies =
      parts.sums +
      (isShort ? roundUp(wide * heads * shape.keys * widths, 64) : 0);
  parts.bytes =
      parts.copies + (isShort ? roundUp(wide * (shape.keys * widths +
                                                rows * (widths + shape.width)),
                                        64)
                              : 0);
  return parts;
}
} // namespace detail

/// Bytes of workspace that `convolution` needs. On a processor 16-bit elements
/// are computed as float, an image at a time, from copies; a GPU has copies of
/// all images.
constexpr int64_t convolutionWorkspaceBytes(const ConvolutionShape &shape,
                                            int64_t elementBytes = 4) {
  if (elementBytes == 2)
    return detail::maximum(detail::convolutionCopyBytes(shape, 1) +
                               convolutionWorkspaceBytes(shape),
                           detail::convolutionTensorCoreBytes(shape));
  if (detail::convolutionIsDirect(shape) || detail::convolutionIsProduct(shape))
    return 0;
  return detail::roundUp(detail::convolutionRows(shape) *
                             detail::convolutionChunk(shape) * elementBytes,
                         64);
}

/// Bytes of workspace that `convolutionInputGradient` needs, for the shape of
/// the forward convolution: columns of a chunk before they are folded.
constexpr int64_t
convolutionInputGradientWorkspaceBytes(const ConvolutionShape &shape,
                                       int64_t elementBytes = 4) {
  return convolutionWorkspaceBytes(shape, elementBytes);
}

/// Bytes of workspace that `convolutionWeightGradient` needs, for the shape of
/// the forward convolution: the unfolded columns of a chunk, and the gradients
/// of that chunk where it joins images.
constexpr int64_t
convolutionWeightGradientWorkspaceBytes(const ConvolutionShape &shape,
                                        int64_t elementBytes = 4) {
  const int64_t images = detail::convolutionJoinedImages(shape);
  if (elementBytes == 2)
    return detail::maximum(detail::convolutionCopyBytes(shape, images) +
                               convolutionWeightGradientWorkspaceBytes(shape),
                           detail::convolutionTensorCoreBytes(shape));
  if (detail::convolutionIsDirect(shape) ||
      (images == 1 && detail::convolutionIsProduct(shape)))
    return 0;
  int64_t elements = detail::convolutionRows(shape);
  if (images > 1)
    elements += shape.outChannels / shape.groups;
  return detail::roundUp(
      elements * detail::convolutionGradientChunk(shape) * elementBytes, 64);
}

/// Bytes of workspace that `attention` needs: for one block of queries the
/// scores of one block of keys, the running result, maxima and sums; and the
/// blocks of the operands as float where elements have 16 bits.
constexpr int64_t attentionWorkspaceBytes(const AttentionShape &shape,
                                          int64_t elementBytes = 4) {
  const int64_t queries =
      detail::minimum(shape.queries, detail::attentionQueryBlock);
  const int64_t keys = detail::minimum(shape.keys, detail::attentionKeyBlock);
  int64_t elements = queries * (keys + shape.valueWidth + 2);
  if (elementBytes == 2)
    elements += queries * shape.width + keys * (shape.width + shape.valueWidth);
  return detail::roundUp(elements * detail::arithmeticBytes(elementBytes), 64);
}

/// Bytes of workspace that `attentionGradient` needs.
constexpr int64_t attentionGradientWorkspaceBytes(const AttentionShape &shape,
                                                  int64_t elementBytes = 4) {
  return detail::attentionGradientParts(shape, elementBytes).bytes;
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_SHAPES_H
