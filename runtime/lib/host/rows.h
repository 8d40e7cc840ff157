//===- rows.h - Sums and maxima of rows -----------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_HOST_ROWS_H
#define PARPLAN_RUNTIME_LIB_HOST_ROWS_H

#include <cstdint>

namespace parplan {
namespace runtime {

/// Combines f(0), .., f(count - 1) in interleaved chains, which is an order
/// that vectorises and never changes.
template <int64_t chains = 16, typename Element, typename Combine,
          typename Value>
inline Element combineRow(int64_t count, Element neutral, Combine combine,
                          Value value) {
  Element partial[chains];
  for (Element &chain : partial)
    chain = neutral;
  int64_t i = 0;
  for (; i + chains <= count; i += chains)
    for (int64_t j = 0; j < chains; ++j)
      partial[j] = combine(partial[j], value(i + j));
  for (int64_t j = 0; i + j < count; ++j)
    partial[j] = combine(partial[j], value(i + j));
  for (int64_t half = chains / 2; half > 0; half /= 2)
    for (int64_t j = 0; j < half; ++j)
      partial[j] = combine(partial[j], partial[j + half]);
  return partial[0];
}

template <typename Element, typename Value>
inline Element sumRow(int64_t count, Value value) {
  return combineRow(
      count, Element(0), [](Element a, Element b) { return Element(a + b); },
      value);
}

/// NaN when one value is NaN. g++ vectorises selections in 32 chains, not in
/// 16: a sixth of the time.
template <typename Element, typename Value>
inline Element maxRow(int64_t count, Element lowest, Value value) {
  return combineRow<32>(
      count, lowest,
      [](Element a, Element b) { return a > b || a != a ? a : b; }, value);
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_HOST_ROWS_H
