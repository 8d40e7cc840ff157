//===- row_kernels.cpp - Reductions, softmax and norms --------------------===//

#include "launch_kernel.h"
#include "parplan_runtime/scalar_math.h"
#include "rows.h"

#include <limits>
#include <type_traits>

namespace parplan {
namespace runtime {

namespace {

/// Columns that are worked on at a time where rows are not contiguous.
constexpr int64_t lanes = 64;

struct Add {
  template <typename T> T operator()(T a, T b) const { return T(a + b); }
};
struct Multiply {
  template <typename T> T operator()(T a, T b) const { return T(a * b); }
};
struct Highest {
  template <typename T> T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Lowest {
  template <typename T> T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

template <typename Element> constexpr Element lowestValue() {
  return std::numeric_limits<Element>::has_infinity
             ? Element(-std::numeric_limits<Element>::infinity())
             : std::numeric_limits<Element>::lowest();
}
template <typename Element> constexpr Element highestValue() {
  return std::numeric_limits<Element>::has_infinity
             ? std::numeric_limits<Element>::infinity()
             : std::numeric_limits<Element>::max();
}

/// `neutral` has the type of the arithmetic.
template <typename Element, typename Value, typename Combine>
void reduceRows(const Element *in, Element *out, int64_t outer, int64_t length,
                int64_t inner, Value neutral, Combine combine) {
  if (inner == 1) {
    for (int64_t o = 0; o < outer; ++o) {
      const Element *row = in + o * length;
      out[o] = Element(combineRow(length, neutral, combine,
                                  [row](int64_t i) { return Value(row[i]); }));
    }
    return;
  }
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t first = 0; first < inner; first += lanes) {
      const int64_t count = inner - first < lanes ? inner - first : lanes;
      Value partial[lanes];
      for (int64_t j = 0; j < lanes; ++j)
        partial[j] = neutral;
      for (int64_t i = 0; i < length; ++i) {
        const Element *row = in + (o * length + i) * inner + first;
        for (int64_t j = 0; j < count; ++j)
          partial[j] = combine(partial[j], Value(row[j]));
      }
      for (int64_t j = 0; j < count; ++j)
        out[o * inner + first + j] = Element(partial[j]);
    }
}

/// The largest element of each lane and the sum of exp(x - largest).
template <typename Element>
void softmaxStatistics(const Element *in, int64_t length, int64_t inner,
                       int64_t count, Element *largest, Element *sum) {
  for (int64_t j = 0; j < count; ++j) {
    largest[j] = lowestValue<Element>();
    sum[j] = Element(0);
  }
  for (int64_t i = 0; i < length; ++i)
    for (int64_t j = 0; j < count; ++j)
      largest[j] = Highest()(largest[j], in[i * inner + j]);
  for (int64_t i = 0; i < length; ++i)
    for (int64_t j = 0; j < count; ++j)
      sum[j] += exponential(Element(in[i * inner + j] - largest[j]));
}

template <typename Element>
void softmaxLanes(const Element *in, Element *out, int64_t length,
                  int64_t inner, int64_t count, bool logarithmic) {
  Element largest[lanes], sum[lanes];
  softmaxStatistics(in, length, inner, count, largest, sum);
  for (int64_t j = 0; j < count; ++j)
    sum[j] = logarithmic ? logarithm(sum[j]) : Element(1) / sum[j];
  for (int64_t i = 0; i < length; ++i)
    for (int64_t j = 0; j < count; ++j) {
      const Element difference = in[i * inner + j] - largest[j];
      out[i * inner + j] =
          logarithmic ? difference - sum[j] : exponential(difference) * sum[j];
    }
}

template <typename Element>
void softmaxRow(const Element *in, Element *out, int64_t length,
                bool logarithmic) {
  const Element largest = maxRow<Element>(length, lowestValue<Element>(),
                                          [in](int64_t i) { return in[i]; });
  if (logarithmic) {
    const Element sum = logarithm(sumRow<Element>(length, [&](int64_t i) {
      return exponential(Element(in[i] - largest));
    }));
    for (int64_t i = 0; i < length; ++i)
      out[i] = in[i] - largest - sum;
    return;
  }
  for (int64_t i = 0; i < length; ++i)
    out[i] = exponential(Element(in[i] - largest));
  const Element factor =
      Element(1) / sumRow<Element>(length, [out](int64_t i) { return out[i]; });
  for (int64_t i = 0; i < length; ++i)
    out[i] *= factor;
}

template <typename Element> struct SoftmaxTask {
  const Element *in;
  Element *out;
  int64_t outer, length, inner;
  bool logarithmic;
  void operator()() const {
    for (int64_t o = 0; o < outer; ++o) {
      const int64_t start = o * length * inner;
      if (inner == 1) {
        softmaxRow(in + start, out + start, length, logarithmic);
        continue;
      }
      for (int64_t first = 0; first < inner; first += lanes)
        softmaxLanes(in + start + first, out + start + first, length, inner,
                     inner - first < lanes ? inner - first : lanes,
                     logarithmic);
    }
  }
};

/// Centred on the mean when `centred`, divided by the root of the mean square.
template <typename Element> struct NormTask {
  const Element *in, *scale, *bias;
  Element *out;
  int64_t outer, length;
  Element epsilon;
  bool centred;

  void operator()() const {
    for (int64_t o = 0; o < outer; ++o)
      row(in + o * length, out + o * length);
  }
  void row(const Element *from, Element *to) const {
    const Element count = static_cast<Element>(length);
    const Element mean =
        centred ? sumRow<Element>(length, [=](int64_t i) { return from[i]; }) /
                      count
                : Element(0);
    const Element variance = sumRow<Element>(length,
                                             [=](int64_t i) {
                                               const Element x = from[i] - mean;
                                               return x * x;
                                             }) /
                             count;
    const Element factor = Element(1) / squareRoot(variance + epsilon);
    if (scale && bias)
      for (int64_t i = 0; i < length; ++i)
        to[i] = (from[i] - mean) * factor * scale[i] + bias[i];
    else if (scale)
      for (int64_t i = 0; i < length; ++i)
        to[i] = (from[i] - mean) * factor * scale[i];
    else
      for (int64_t i = 0; i < length; ++i)
        to[i] = (from[i] - mean) * factor + (bias ? bias[i] : Element(0));
  }
};

template <typename Element> struct CumsumTask {
  const Element *in;
  Element *out;
  int64_t outer, length, inner;
  bool exclusive, reverse;
  void operator()() const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t first = 0; first < inner; first += lanes) {
        const int64_t count = inner - first < lanes ? inner - first : lanes;
        Element sum[lanes] = {};
        for (int64_t step = 0; step < length; ++step) {
          const int64_t i = reverse ? length - 1 - step : step;
          const int64_t at = (o * length + i) * inner + first;
          for (int64_t j = 0; j < count; ++j) {
            const Element before = sum[j];
            sum[j] = Element(sum[j] + in[at + j]);
            out[at + j] = exclusive ? before : sum[j];
          }
        }
      }
  }
};

/// Keeps the best `count` in order while it walks along the dimension: no
/// memory is needed, and count is small where models use it.
template <typename Element> struct TopkTask {
  const Element *in;
  Element *values;
  int64_t *indices;
  int64_t outer, length, inner, count;
  bool largest;

  /// NaN is larger than any number.
  bool before(Element a, Element b) const {
    if (a != a || b != b)
      return largest ? a != a && b == b : b != b && a == a;
    return largest ? a > b : a < b;
  }
  void operator()() const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t j = 0; j < inner; ++j)
        selectColumn(o, j);
  }

private:
  /// Either result may be absent; the other then tells which element is in a
  /// slot.
  void selectColumn(int64_t o, int64_t j) const {
    const Element *column = in + o * length * inner + j;
    Element *best = values ? values + o * count * inner + j : nullptr;
    int64_t *where = indices ? indices + o * count * inner + j : nullptr;
    const auto element = [&](int64_t slot) {
      return best ? best[slot * inner] : column[where[slot * inner] * inner];
    };
    int64_t found = 0;
    for (int64_t i = 0; i < length; ++i) {
      const Element x = column[i * inner];
      if (found == count && (count == 0 || !before(x, element(count - 1))))
        continue;
      int64_t slot = found < count ? found++ : count - 1;
      for (; slot > 0 && before(x, element(slot - 1)); --slot) {
        if (best)
          best[slot * inner] = best[(slot - 1) * inner];
        if (where)
          where[slot * inner] = where[(slot - 1) * inner];
      }
      if (best)
        best[slot * inner] = x;
      if (where)
        where[slot * inner] = i;
    }
  }
};

} // namespace

template <typename Element>
void reduce(Stream &stream, Buffers buffers, Reduction kind, const Element *in,
            Element *out, int64_t outer, int64_t length, int64_t inner) {
  using Value = Arithmetic<Element>;
  switch (kind) {
  case Reduction::Sum:
    return launch(stream, buffers, [=] {
      reduceRows(in, out, outer, length, inner, Value(0), Add());
    });
  case Reduction::Max:
    return launch(stream, buffers, [=] {
      reduceRows(in, out, outer, length, inner, lowestValue<Value>(),
                 Highest());
    });
  case Reduction::Min:
    return launch(stream, buffers, [=] {
      reduceRows(in, out, outer, length, inner, highestValue<Value>(),
                 Lowest());
    });
  case Reduction::Product:
    return launch(stream, buffers, [=] {
      reduceRows(in, out, outer, length, inner, Value(1), Multiply());
    });
  }
}

template <typename Element>
void softmax(Stream &stream, Buffers buffers, const Element *in, Element *out,
             int64_t outer, int64_t length, int64_t inner) {
  launch(stream, buffers,
         SoftmaxTask<Element>{in, out, outer, length, inner, false});
}

template <typename Element>
void logSoftmax(Stream &stream, Buffers buffers, const Element *in,
                Element *out, int64_t outer, int64_t length, int64_t inner) {
  launch(stream, buffers,
         SoftmaxTask<Element>{in, out, outer, length, inner, true});
}

template <typename Element>
void layerNorm(Stream &stream, Buffers buffers, const Element *in,
               const Element *scale, const Element *bias, Element *out,
               int64_t outer, int64_t length, double epsilon) {
  launch(stream, buffers,
         NormTask<Element>{in, scale, bias, out, outer, length,
                           static_cast<Element>(epsilon), true});
}

template <typename Element>
void rmsNorm(Stream &stream, Buffers buffers, const Element *in,
             const Element *scale, Element *out, int64_t outer, int64_t length,
             double epsilon) {
  launch(stream, buffers,
         NormTask<Element>{in, scale, nullptr, out, outer, length,
                           static_cast<Element>(epsilon), false});
}

template <typename Element>
void cumsum(Stream &stream, Buffers buffers, const Element *in, Element *out,
            int64_t outer, int64_t length, int64_t inner, bool exclusive,
            bool reverse) {
  launch(
      stream, buffers,
      CumsumTask<Element>{in, out, outer, length, inner, exclusive, reverse});
}

template <typename Element>
void topk(Stream &stream, Buffers buffers, const Element *in, Element *values,
          int64_t *indices, int64_t outer, int64_t length, int64_t inner,
          int64_t count, bool largest) {
  launch(stream, buffers,
         TopkTask<Element>{in, values, indices, outer, length, inner, count,
                           largest});
}

#define PARPLAN_FLOATS(Element)                                                \
  template void softmax(Stream &, Buffers, const Element *, Element *,         \
                        int64_t, int64_t, int64_t);                            \
  template void logSoftmax(Stream &, Buffers, const Element *, Element *,      \
                           int64_t, int64_t, int64_t);                         \
  template void layerNorm(Stream &, Buffers, const Element *, const Element *, \
                          const Element *, Element *, int64_t, int64_t,        \
                          double);                                             \
  template void rmsNorm(Stream &, Buffers, const Element *, const Element *,   \
                        Element *, int64_t, int64_t, double);
#define PARPLAN_NUMBERS(Element)                                               \
  template void reduce(Stream &, Buffers, Reduction, const Element *,          \
                       Element *, int64_t, int64_t, int64_t);                  \
  template void cumsum(Stream &, Buffers, const Element *, Element *, int64_t, \
                       int64_t, int64_t, bool, bool);                          \
  template void topk(Stream &, Buffers, const Element *, Element *, int64_t *, \
                     int64_t, int64_t, int64_t, int64_t, bool);
PARPLAN_FLOATS(float)
PARPLAN_FLOATS(double)
PARPLAN_NUMBERS(float)
PARPLAN_NUMBERS(double)
PARPLAN_NUMBERS(int64_t)
PARPLAN_NUMBERS(int32_t)
PARPLAN_NUMBERS(int16_t)
PARPLAN_NUMBERS(int8_t)
PARPLAN_NUMBERS(uint64_t)
PARPLAN_NUMBERS(uint32_t)
PARPLAN_NUMBERS(uint16_t)
PARPLAN_NUMBERS(uint8_t)
#define PARPLAN_REDUCE(Element)                                                \
  template void reduce(Stream &, Buffers, Reduction, const Element *,          \
                       Element *, int64_t, int64_t, int64_t);
PARPLAN_REDUCE(bool)
PARPLAN_REDUCE(BFloat16)
PARPLAN_REDUCE(Float16)

} // namespace runtime
} // namespace parplan
