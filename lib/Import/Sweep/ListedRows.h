//===- ListedRows.h - Rows that a NonZero lists ----------------*- C++ -*-===//
//
// Part of parplan.
//
// Loops over experts gather the tokens of each expert: NonZero of a mask lists
// them, and how many there are is not known. Every element of the mask gets a
// row instead, listed or not. What works on rows one by one computes the same
// of those that are listed; where rows are added up at their indices, the
// others count for nothing.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_SWEEP_LISTEDROWS_H
#define PARPLAN_LIB_IMPORT_SWEEP_LISTEDROWS_H

#include "lib/Import/Operators/NodeContext.h"

#include <map>
#include <string>

namespace parplan::importer {

class ListedRows {
public:
  explicit ListedRows(GraphBuilder &builder) : builder(builder) {}

  bool contains(const std::string &name) const { return known.count(name); }
  bool reads(const onnx::NodeProto &node) const;

  /// The positions of all elements of a mask, as NonZero gives them.
  ValueId list(const onnx::NodeProto &node, ValueId mask);
  /// Before the import of a node that reads listed rows: changes its operands
  /// where rows that are not listed must not count.
  void prepare(const onnx::NodeProto &node,
               llvm::MutableArrayRef<ValueId> inputs);
  /// After it: says what its output is. Fails where it does more than to work
  /// on rows one by one.
  void follow(const onnx::NodeProto &node, llvm::ArrayRef<ValueId> inputs,
              ValueId output);

private:
  /// A value of listed rows, or what was computed of their number.
  struct Rows {
    ValueId mask = noValue;
    /// -1: the number.
    int64_t dim = -1;
  };

  const Rows *find(const onnx::NodeProto &node, int input) const;
  bool areOfOneList(const onnx::NodeProto &node) const;
  std::optional<int64_t> getResultDim(const onnx::NodeProto &node,
                                      llvm::ArrayRef<ValueId> inputs,
                                      ValueId output) const;

  GraphBuilder &builder;
  std::map<std::string, Rows> known;
};

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_SWEEP_LISTEDROWS_H
