//===- variables.cpp - What training changes, in the model's own form -----===//

#include "variables.h"
#include "block_walk.h"
#include "blocks.h"
#include "element_convert.h"
#include "failure.h"
#include "mapped_file.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace parplan {
namespace runtime {

std::string Variable::key() const {
  return std::string(slot ? slot : "parameter") + "/" + initializer->name;
}

std::vector<int64_t> Variable::shape() const {
  return std::vector<int64_t>(initializer->shape.begin(),
                              initializer->shape.end());
}

std::vector<Variable> listVariables(const Program &program) {
  std::map<std::string, const SavedTensor *> initializers;
  for (const SavedTensor &saved : program.training->saved)
    initializers[saved.name] = &saved;
  std::map<std::string, Variable> variables;
  for (const Parameter &parameter : program.parameters) {
    if (!parameter.trained)
      continue;
    const auto found = initializers.find(parameter.name);
    if (found == initializers.end())
      fail(exitInternal, "the trained parameter " + quoted(parameter.name) +
                             " is no initializer of the model");
    Variable variable = {found->second, parameter.slot, parameter.type, 1, {}};
    for (int64_t size : found->second->shape)
      variable.elements *= size;
    if (!parameter.state &&
        parameter.initializerBytes !=
            variable.elements * elementBytes(parameter.type))
      fail(exitInternal, "the trained parameter " + quoted(parameter.name) +
                             " has another size than its initializer");
    Variable &entry = variables.emplace(variable.key(), variable).first->second;
    if (entry.type != parameter.type)
      fail(exitInternal, "the parts of " + quoted(parameter.name) +
                             " have several element types");
    entry.views.push_back(&parameter);
  }
  std::vector<Variable> list;
  for (auto &entry : variables)
    list.push_back(std::move(entry.second));
  return list;
}

namespace {

/// The ranks that hold one copy of a parameter, in the order in which their
/// pieces are collected: for each block its pieces.
struct Holder {
  int rank;
  KeptPart part;
  bool lastPiece;
};

std::vector<Holder> holdersOf(const Program &program, int ranks,
                              const Parameter &parameter,
                              int64_t blockElements) {
  std::vector<bool> splits(program.mesh.size);
  for (const Dimension &dimension : parameter.dimensions)
    for (int32_t axis : dimension.axes)
      splits[axis] = true;
  int64_t pieces = 1;
  for (int32_t axis : parameter.storageAxes)
    pieces *= program.mesh[axis].size;
  std::vector<Holder> holders;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<int64_t> coordinates = meshCoordinates(program, rank);
    bool first = true;
    for (int64_t axis = 0; axis < program.mesh.size; ++axis)
      first &= splits[axis] || coordinates[axis] == 0;
    if (!first)
      continue;
    for (int64_t piece = 0; piece < pieces; ++piece) {
      int64_t rest = piece;
      for (int64_t i = parameter.storageAxes.size - 1; i >= 0; --i) {
        const int32_t axis = parameter.storageAxes[i];
        coordinates[axis] = rest % program.mesh[axis].size;
        rest /= program.mesh[axis].size;
      }
      int64_t position = 0;
      for (int64_t axis = 0; axis < program.mesh.size; ++axis)
        position = position * program.mesh[axis].size + coordinates[axis];
      holders.push_back(
          {static_cast<int>(position),
           keptPart(program, parameter, coordinates, blockElements),
           piece + 1 == pieces});
    }
  }
  return holders;
}

/// Collects a view into `initializer` (on rank 0).
void collectView(EngineRank &rank, World &world, const Parameter &view,
                 char *initializer) {
  const Program &program = rank.program();
  const int64_t width = elementBytes(view.type);
  const int64_t elements = blockElements(program, view.dimensions);
  std::vector<char> own, block;
  if (world.rank() == 0)
    block.resize(static_cast<size_t>(elements * width));
  for (const Holder &holder :
       holdersOf(program, world.size(), view, elements)) {
    const KeptPart &part = holder.part;
    const int64_t bytes = part.count * width;
    if (bytes > 0 && world.rank() == holder.rank) {
      own.resize(static_cast<size_t>(bytes));
      rank.download(part.arenaOffset, own.data(), bytes);
    }
    if (bytes > 0 && (world.rank() == 0 || world.rank() == holder.rank))
      world.sendToRoot(holder.rank, own.data(),
                       world.rank() == 0 ? block.data() + part.first * width
                                         : nullptr,
                       bytes);
    if (world.rank() == 0 && holder.lastPiece)
      BlockWalk(program, meshCoordinates(program, holder.rank), view.dimensions,
                stridesOf(view), width)
          .copy(/*gather=*/false, initializer + view.offset * width,
                block.data());
  }
}

} // namespace

std::vector<char> collectVariable(EngineRank &rank, World &world,
                                  const Variable &variable,
                                  const std::string &weightsFile) {
  const int64_t width = elementBytes(variable.type);
  std::vector<char> all;
  if (world.rank() == 0) {
    all.resize(static_cast<size_t>(variable.elements * width));
    int64_t held = 0;
    for (const Parameter *view : variable.views) {
      int64_t elements = 1;
      for (const Dimension &dimension : view->dimensions)
        elements *= dimension.size;
      held += elements;
    }
    const Parameter &first = *variable.views[0];
    if (held < variable.elements && !variable.slot) {
      MappedFile weights;
      std::string reason;
      if (!weights.open(weightsFile, reason) ||
          first.fileOffset + first.initializerBytes > weights.size())
        fail(exitBadData,
             "cannot read the weights " + quoted(weightsFile) + " " + reason);
      std::memcpy(all.data(), weights.data() + first.fileOffset, all.size());
    }
  }
  for (const Parameter *view : variable.views)
    collectView(rank, world, *view, all.data());
  return all;
}

void restoreVariable(EngineRank &rank, const Variable &variable,
                     const char *elements) {
  for (const Parameter *view : variable.views)
    loadBlock(rank, *view, elements, variable.elements);
}

} // namespace runtime
} // namespace parplan
