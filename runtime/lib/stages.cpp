//===- stages.cpp - The positions of a pipeline ---------------------------===//

#include "stages.h"

#include <set>
#include <string>

namespace parplan {
namespace runtime {

int64_t stageIndexOf(const Program &program, int rank) {
  if (isServer(program, rank))
    return serverStage(program);
  return program.pipelineAxis < 0
             ? 0
             : meshCoordinates(program, rank)[program.pipelineAxis];
}

const Stage &stageOf(const Program &program, int rank) {
  return program.stages[stageIndexOf(program, rank)];
}

Rank::Rank(const Program &program, int rank, int size)
    : table(program), ownStage(&stageOf(program, rank)), position(rank),
      ranks(size) {}

int firstRankOf(const Program &program, int64_t stage) {
  std::vector<int64_t> coordinates(program.mesh.size);
  const bool server = stage == serverStage(program);
  if (program.pipelineAxis >= 0 && !server)
    coordinates[program.pipelineAxis] = stage;
  return rankAt(program, coordinates, server);
}

std::vector<const Tensor *> inputsOf(const Program &program) {
  std::vector<const Tensor *> inputs;
  std::set<std::string> names;
  for (const Stage &stage : program.stages)
    for (const Tensor &input : stage.inputs)
      if (names.insert(input.name).second)
        inputs.push_back(&input);
  return inputs;
}

std::vector<PlacedOutput> outputsOf(const Program &program) {
  std::vector<PlacedOutput> outputs;
  std::set<std::string> names;
  for (int64_t stage = 0; stage < program.stages.size; ++stage)
    for (const Tensor &output : program.stages[stage].outputs)
      if (names.insert(output.name).second)
        outputs.push_back({&output, stage});
  return outputs;
}

std::vector<bool> splitAxes(const Program &program,
                            Table<Dimension> dimensions) {
  std::vector<bool> splits(program.mesh.size);
  for (const Dimension &dimension : dimensions)
    for (int32_t axis : dimension.axes)
      splits[axis] = true;
  return splits;
}

bool hasFirstCopy(const Program &program, int64_t stage,
                  const std::vector<bool> &splits, int rank) {
  const bool server = isServer(program, rank);
  if (server != (stage == serverStage(program)))
    return false;
  const std::vector<int64_t> coordinates = meshCoordinates(program, rank);
  for (int64_t axis = 0; axis < program.mesh.size; ++axis)
    if (axis == program.pipelineAxis && !server
            ? coordinates[axis] != stage
            : !splits[axis] && coordinates[axis] != 0)
      return false;
  return true;
}

} // namespace runtime
} // namespace parplan
