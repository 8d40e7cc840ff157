//===- Leaves.h - Initializers as constants or parameters -------*- C++ -*-===//
//
// Part of parplan.
//
// Integers and bools are constants: shape arithmetic needs their values. Floats
// are parameters, whose bytes nobody reads, except for numbers that an exporter
// wrote as initializers:
//
//   a scalar                                  constant
//   one element, in a file that marks
//     parameters, and not marked               constant
//   rank 3 or more, not marked, two values     select(mask, a, b)
//   rank 3 or more, not marked, the halves    parameter, its lower half twice
//     of every row equal (cos, sin of rotary
//     embedding)
//   equal slices along the first dimension,
//     not marked                               parameter of one slice, repeated
//
// Of narrow types, a few elements are constants; more are a parameter of the
// bytes that the file has, and decoded.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_SWEEP_LEAVES_H
#define PARPLAN_LIB_IMPORT_SWEEP_LEAVES_H

#include "lib/Import/Graph/GraphBuilder.h"
#include "lib/Import/Load/LoadedModel.h"

namespace parplan::importer {

class Leaves {
public:
  Leaves(const LoadedModel &model, GraphBuilder &builder)
      : model(model), builder(builder) {}

  /// The value of an initializer.
  ValueId add(const Initializer &initializer);

private:
  ValueId addParameter(const Initializer &initializer, ElementType type,
                       ShapeRef shape, int64_t bytes);
  /// A tensor of two numbers, or of repeated slices.
  ValueId recognize(const Initializer &initializer, ElementType type);
  /// More elements of a narrow type than a constant has.
  ValueId addPacked(const Initializer &initializer, ElementType type);
  bool isConstant(const Initializer &initializer, ElementType type) const;

  const LoadedModel &model;
  GraphBuilder &builder;
};

/// The bytes of a parameter; none where its file cannot be read.
std::optional<std::string> readWeights(const LoadedModel &model,
                                       const Parameter &parameter);

/// Checks that every file of weights that the graph needs is there and long
/// enough.
void checkWeights(const LoadedModel &model, const Graph &graph,
                  DiagnosticEngine &diagnostics);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_SWEEP_LEAVES_H
