//===- expert_kernels.h - Kernels of a mixture of experts -----------------===//
//
// Included by kernels.h.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_EXPERT_KERNELS_H
#define PARPLAN_RUNTIME_EXPERT_KERNELS_H

#include "parplan_runtime/expert_shapes.h"
#include "parplan_runtime/stream.h"

namespace parplan {
namespace runtime {

// The experts of a rank begin at the one that `first` points at (null: 0).

// Without weights the choices of a token are a set: an expert that is there
// twice counts once.

/// out[e, t, :] = the sum of weights[t, j] tokens[t, :] over the j with
/// chosen[t, j] == *first + e, zeros without any.
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

/// out[e] = lhs[e] rhs[e], of tokens that have the expert *first + e; those
/// that do not get rows of zeros, or add nothing. Accumulating, rows are added
/// to what is there. The workspace is that of ExpertProductWorkspace. Sums over
/// more than `tokensAtOnce` tokens of one expert are rounded to `Element` in
/// between.
template <typename Element, typename Index>
void moeMatmul(Stream &stream, Buffers buffers, const Element *lhs,
               const Element *rhs, const Index *chosen, const int64_t *first,
               Element *out, const ExpertProductShape &shape,
               Workspace workspace);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_EXPERT_KERNELS_H
