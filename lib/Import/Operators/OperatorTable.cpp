//===- OperatorTable.cpp - The operators that can be imported --*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include <unordered_map>

namespace parplan::importer {

llvm::ArrayRef<OperatorEntry> getControlFlowOperators() {
  constexpr Support folded = Support::folded;
  static const OperatorEntry entries[] = {
      {"If",
       {1, 11, 13, 16, 19, 21, 23, 24, 25},
       folded,
       nullptr,
       "of a known condition"},
      {"Loop",
       {1, 11, 13, 16, 19, 21, 23, 24, 25},
       folded,
       nullptr,
       "of a known number of passes, which are written out"},
      {"Scan",
       {8, 9, 11, 16, 19, 21, 23, 24, 25},
       folded,
       nullptr,
       "its passes are written out"},
  };
  return entries;
}

std::vector<const OperatorEntry *> getOperators() {
  std::vector<const OperatorEntry *> all;
  for (llvm::ArrayRef<OperatorEntry> family :
       {getControlFlowOperators(),   getElementwiseOperators(),
        getActivationOperators(),    getConstantOperators(),
        getShapeOperators(),         getRearrangementOperators(),
        getSliceOperators(),         getPadOperators(),
        getSequenceOperators(),      getIndexingOperators(),
        getExtremeOperators(),       getScatterOperators(),
        getReductionOperators(),     getProductOperators(),
        getEinsumOperators(),        getConvolutionOperators(),
        getPoolOperators(),          getResizeOperators(),
        getSamplingOperators(),      getSpectrumOperators(),
        getNormalizationOperators(), getAttentionOperators(),
        getLossOperators(),          getRecurrentOperators(),
        getQuantizationOperators(),  getQuantizedProductOperators(),
        getSelectionOperators()})
    for (const OperatorEntry &entry : family)
      all.push_back(&entry);
  return all;
}

OperatorMatch findOperator(std::string_view type, int opset) {
  using Table = std::unordered_map<std::string_view,
                                   llvm::SmallVector<const OperatorEntry *, 2>>;
  static const Table table = [] {
    Table table;
    for (const OperatorEntry *entry : getOperators())
      table[entry->type].push_back(entry);
    return table;
  }();
  OperatorMatch match;
  auto found = table.find(type);
  if (found == table.end())
    return match;
  match.entry = found->second.front();
  for (const OperatorEntry *entry : found->second)
    for (int version : entry->versions)
      if (version <= opset && version > match.sinceVersion) {
        match.sinceVersion = version;
        match.entry = entry;
      }
  return match;
}

} // namespace parplan::importer
