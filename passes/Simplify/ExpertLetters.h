//===- ExpertLetters.h - Names of dimensions of experts ---------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_EXPERTLETTERS_H
#define PARPLAN_PASSES_SIMPLIFY_EXPERTLETTERS_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace parplan::simplify {

/// Names the dimensions of a product over experts: e b s of the tokens, k
/// summed over, n of the weights.
class ExpertLetters {
public:
  explicit ExpertLetters(size_t tokenDims) {
    used = "e";
    for (size_t dim = 0; dim < tokenDims; ++dim)
      tokens += take(tokenDims == 1 ? "t" : "bsuvw");
  }

  /// The new name of a letter of the model's product.
  char get(char letter, llvm::StringRef preferred) {
    char &name = names[static_cast<unsigned char>(letter)];
    return name ? name : name = take(preferred);
  }

  std::string tokens;

private:
  char take(llvm::StringRef preferred) {
    std::string candidates =
        preferred.str() + "abcdfghijklmnopqrstuvwxyzABCDEFGHIJ";
    char letter = candidates[candidates.find_first_not_of(used)];
    used += letter;
    return letter;
  }

  std::string used;
  char names[128] = {};
};

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_EXPERTLETTERS_H
