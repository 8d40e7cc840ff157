//===- ProductSpec.h - The letters of a product -----------------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_PRODUCTSPEC_H
#define PARPLAN_PASSES_SIMPLIFY_PRODUCTSPEC_H

#include "dialects/parplan/ParplanOps.h"

#include <string>

namespace parplan::simplify {

/// The spec of a product as texts of its own.
struct ProductSpec {
  std::string operands[2];
  std::string result;

  explicit ProductSpec(MatmulOp op) {
    MatmulSpec spec = *MatmulSpec::parse(op.getSpec());
    operands[0] = spec.lhs.str();
    operands[1] = spec.rhs.str();
    result = spec.result.str();
  }
  std::string print() const {
    return operands[0] + "," + operands[1] + "->" + result;
  }
  bool isIn(int operand, char letter) const {
    return operands[operand].find(letter) != std::string::npos;
  }
  bool isInResult(char letter) const {
    return result.find(letter) != std::string::npos;
  }
  /// A letter that occurs nowhere; the spec has fewer than 26.
  char takeUnused(std::string &taken) const {
    std::string all = print() + taken;
    char letter = 'a';
    while (all.find(letter) != std::string::npos)
      ++letter;
    taken += letter;
    return letter;
  }
};

inline void replaceLetter(std::string &letters, char letter,
                          llvm::StringRef with) {
  size_t position = letters.find(letter);
  if (position != std::string::npos)
    letters.replace(position, 1, with.str());
}

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_PRODUCTSPEC_H
