//===- variables.h - What training changes, in the model's own form -------===//
//
// The plan spreads an initializer over ranks, and may cut it into several
// parameters (views). Several initializers may be one for it: a stack. Files
// hold initializers as the model has them, so that they depend on no plan; an
// optimizer's state has the form of its initializer.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_VARIABLES_H
#define PARPLAN_RUNTIME_LIB_VARIABLES_H

#include "engine.h"

#include <string>
#include <vector>

namespace parplan {
namespace runtime {

/// A trained initializer or stack of them, or one state of its optimizer.
struct Variable {
  /// One, or those of the stack in their order: equal parts of the elements.
  std::vector<const SavedTensor *> initializers;
  /// Null for the initializer itself.
  const char *slot;
  /// In arenas and checkpoints.
  ElementType type;
  /// Of all initializers.
  int64_t elements;
  /// Those that all stages have, each from the first one with it; the servers'
  /// come first.
  struct View {
    const Parameter *parameter;
    int64_t stage;
  };
  std::vector<View> views;

  int64_t partElements() const {
    return elements / static_cast<int64_t>(initializers.size());
  }
  /// Of one of the initializers. Unique: "parameter/NAME" or "SLOT/NAME".
  std::string key(size_t part = 0) const;
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

/// Copies this rank's blocks of a variable, which other stages may hold too,
/// from all its elements.
void restoreVariable(EngineRank &rank, const Variable &variable,
                     const char *elements);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_VARIABLES_H
