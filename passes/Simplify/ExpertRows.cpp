//===- ExpertRows.cpp - Which rows of products of experts count -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/ExpertRows.h"

using namespace mlir;

namespace parplan::simplify {

std::optional<ExpertRows> findRows(StringRef spec, StringRef tokens,
                                   Value experts, int64_t expertCount) {
  MatmulSpec letters = *MatmulSpec::parse(spec);
  std::string common, rows;
  for (char letter : letters.lhs)
    if (!letters.rhs.contains(letter))
      rows += letter;
    else if (letters.result.contains(letter))
      common += letter;
  int64_t choices = cast<RankedTensorType>(experts.getType()).getShape().back();
  if (common != "e" || rows != tokens || choices >= expertCount)
    return std::nullopt;
  return ExpertRows{experts, /*first=*/Value(), tokens, expertCount};
}

} // namespace parplan::simplify
