//===- stages.h - The positions of a pipeline -----------------------------===//
//
// Ranks at different positions, and servers, have different parameters, inputs
// and outputs. Here is what the program has as a whole.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_STAGES_H
#define PARPLAN_RUNTIME_LIB_STAGES_H

#include "engine.h"

#include <vector>

namespace parplan {
namespace runtime {

/// The stage of servers; -1: there are none.
inline int64_t serverStage(const Program &program) {
  return program.servers > 0 ? program.stages.size - 1 : -1;
}
/// The position of a rank, and what it runs there.
int64_t stageIndexOf(const Program &program, int rank);
const Stage &stageOf(const Program &program, int rank);
/// The first of the ranks that run a stage.
int firstRankOf(const Program &program, int64_t stage);

/// The inputs of all stages, each name once.
std::vector<const Tensor *> inputsOf(const Program &program);

/// An output and the first stage that has it.
struct PlacedOutput {
  const Tensor *tensor;
  int64_t stage;
};
std::vector<PlacedOutput> outputsOf(const Program &program);

/// A mask of the mesh's axes: those that `dimensions` are split by.
std::vector<bool> splitAxes(const Program &program,
                            Table<Dimension> dimensions);
/// Whether a rank has the first copy of a block: it runs `stage`, and is at 0
/// on all other axes that do not split it.
bool hasFirstCopy(const Program &program, int64_t stage,
                  const std::vector<bool> &splits, int rank);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_STAGES_H
