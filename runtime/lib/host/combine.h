//===- combine.h - Pairs of elements in a reduction -----------------------===//

#ifndef PARPLAN_RUNTIME_LIB_HOST_COMBINE_H
#define PARPLAN_RUNTIME_LIB_HOST_COMBINE_H

#include "parplan_runtime/communicator.h"
#include "parplan_runtime/narrow_floats.h"

namespace parplan {
namespace runtime {

/// NaN wins.
template <typename Element>
Element combine(Reduction kind, Element a, Element b) {
  switch (kind) {
  case Reduction::Sum:
    return a + b;
  case Reduction::Max:
    return a < b || b != b ? b : a;
  case Reduction::Min:
    return b < a || b != b ? b : a;
  case Reduction::Product:
    return a * b;
  }
  return a;
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_HOST_COMBINE_H
