//===- expert_kernels.h - Kernels of a mixture of experts -----------------===//
//
// Included by kernels.h.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_EXPERT_KERNELS_H
#define PARPLAN_RUNTIME_EXPERT_KERNELS_H

#include "parplan_runtime/stream.h"

#include <cstdint>

namespace parplan {
namespace runtime {

/// Every token has `choices` experts, numbered over all ranks; a rank has
/// `experts` of them, from the one that `first` points at (null: 0). Choices of
/// other experts count for nothing.
struct ExpertShape {
  int64_t experts, tokens, width, choices;
};

/// out[e, t, :] = the sum of weights[t, j] tokens[t, :] over the j with
/// chosen[t, j] == *first + e, zeros without any. Null weights are 1.
template <typename Element, typename Index>
void moeDispatch(Stream &stream, Buffers buffers, const Element *tokens,
                 const Index *chosen, const Element *weights,
                 const int64_t *first, Element *out, const ExpertShape &shape);
/// out[t, :] = the sum of weights[t, j] values[chosen[t, j] - *first, t, :]
/// over the j whose expert the rank has.
template <typename Element, typename Index>
void moeCombine(Stream &stream, Buffers buffers, const Element *values,
                const Index *chosen, const Element *weights,
                const int64_t *first, Element *out, const ExpertShape &shape);
/// out[t, j] = the inner product of values[chosen[t, j] - *first, t, :] and
/// gradient[t, :], 0 where the rank does not have the expert.
template <typename Element, typename Index>
void moeWeightGradient(Stream &stream, Buffers buffers, const Element *values,
                       const Element *gradient, const Index *chosen,
                       const int64_t *first, Element *out,
                       const ExpertShape &shape);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_EXPERT_KERNELS_H
