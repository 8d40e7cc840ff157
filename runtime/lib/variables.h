//===- variables.h - What training changes, in the model's own form -------===//
//
// The plan spreads an initializer over ranks, and may cut it into several
// parameters (views). Files hold the initializer as the model has it, so that
// they depend on no plan; an optimizer's state has the form of its initializer.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_VARIABLES_H
#define PARPLAN_RUNTIME_LIB_VARIABLES_H

#include "engine.h"

#include <string>
#include <vector>

namespace parplan {
namespace runtime {

/// A trained initializer, or one state of its optimizer.
struct Variable {
  const SavedTensor *initializer;
  /// Null for the initializer itself.
  const char *slot;
  /// In arenas and checkpoints.
  ElementType type;
  /// Of the initializer.
  int64_t elements;
  std::vector<const Parameter *> views;

  /// Unique: "parameter/NAME" or "SLOT/NAME".
  std::string key() const;
  std::vector<int64_t> shape() const;
};

/// All variables of a program in an order that depends on the model only.
/// Fails with 70 when its tables contradict each other.
std::vector<Variable> listVariables(const Program &program);

/// Collects a variable on rank 0, where it returns all elements; elsewhere
/// nothing. Elements that no view holds come from `weights` (or are zeros).
/// Collective.
std::vector<char> collectVariable(EngineRank &rank, World &world,
                                  const Variable &variable,
                                  const std::string &weightsFile);

/// Copies this rank's blocks of a variable from all its elements.
void restoreVariable(EngineRank &rank, const Variable &variable,
                     const char *elements);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_VARIABLES_H
