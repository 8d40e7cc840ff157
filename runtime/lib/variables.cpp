//===- variables.cpp - What training changes, in the model's own form -----===//

#include "variables.h"
#include "block_walk.h"
#include "blocks.h"
#include "element_convert.h"
#include "failure.h"
#include "mapped_file.h"
#include "stages.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace parplan {
namespace runtime {

namespace {
std::string keyOf(const char *slot, const char *name) {
  return std::string(slot ? slot : "parameter") + "/" + name;
}
} // namespace

std::string Variable::key(size_t part) const {
  return keyOf(slot, initializers[part]->name);
}

namespace {

/// Whether two parameters of one variable read the same elements.
bool isSameView(const Parameter &left, const Parameter &right) {
  bool same = left.offset == right.offset &&
              left.dimensions.size == right.dimensions.size;
  for (int64_t d = 0; same && d < left.dimensions.size; ++d)
    same = left.dimensions[d].size == right.dimensions[d].size &&
           left.dimensions[d].stride == right.dimensions[d].stride;
  return same;
}

/// By the name of the parameters that hold them.
using Initializers = std::map<std::string, std::vector<const SavedTensor *>>;

Initializers listInitializers(const Program &program) {
  Initializers initializers;
  for (const SavedTensor &saved : program.training->saved)
    initializers[saved.stack ? saved.stack : saved.name].push_back(&saved);
  for (auto &entry : initializers)
    std::sort(entry.second.begin(), entry.second.end(),
              [](const SavedTensor *left, const SavedTensor *right) {
                return left->stackIndex < right->stackIndex;
              });
  return initializers;
}

/// Adds the trained parameters of a stage.
void addVariables(const Program &program, int64_t stage,
                  const Initializers &initializers,
                  std::map<std::string, Variable> &variables) {
  for (const Parameter &parameter : program.stages[stage].parameters) {
    if (!parameter.trained)
      continue;
    const auto found = initializers.find(parameter.name);
    if (found == initializers.end())
      fail(exitInternal, "the trained parameter " + quoted(parameter.name) +
                             " is no initializer of the model");
    Variable variable = {found->second,
                         parameter.slot,
                         parameter.type,
                         static_cast<int64_t>(found->second.size()),
                         {}};
    for (int64_t size : found->second[0]->shape)
      variable.elements *= size;
    if (!parameter.state &&
        parameter.initializerBytes !=
            variable.elements * elementBytes(parameter.type))
      fail(exitInternal, "the trained parameter " + quoted(parameter.name) +
                             " has another size than its initializer");
    Variable &entry =
        variables.emplace(keyOf(parameter.slot, parameter.name), variable)
            .first->second;
    if (entry.type != parameter.type)
      fail(exitInternal, "the parts of " + quoted(parameter.name) +
                             " have several element types");
    bool known = false;
    for (const Variable::View &view : entry.views)
      known |= view.stage != stage && isSameView(*view.parameter, parameter);
    if (!known)
      entry.views.push_back({&parameter, stage});
  }
}

} // namespace

std::vector<Variable> listVariables(const Program &program) {
  const Initializers initializers = listInitializers(program);
  std::map<std::string, Variable> variables;
  // What servers keep is what workers have of it, or newer.
  const int64_t servers = serverStage(program);
  if (servers >= 0)
    addVariables(program, servers, initializers, variables);
  for (int64_t stage = 0; stage < program.stages.size; ++stage)
    if (stage != servers)
      addVariables(program, stage, initializers, variables);
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
                              const Variable::View &view,
                              int64_t blockElements) {
  const Parameter &parameter = *view.parameter;
  const std::vector<bool> splits = splitAxes(program, parameter.dimensions);
  int64_t pieces = 1;
  for (int32_t axis : parameter.storageAxes)
    pieces *= program.mesh[axis].size;
  std::vector<Holder> holders;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!hasFirstCopy(program, view.stage, splits, rank))
      continue;
    std::vector<int64_t> coordinates = meshCoordinates(program, rank);
    for (int64_t piece = 0; piece < pieces; ++piece) {
      int64_t rest = piece;
      for (int64_t i = parameter.storageAxes.size - 1; i >= 0; --i) {
        const int32_t axis = parameter.storageAxes[i];
        coordinates[axis] = rest % program.mesh[axis].size;
        rest /= program.mesh[axis].size;
      }
      holders.push_back(
          {rankAt(program, coordinates, isServer(program, rank)),
           keptPart(program, parameter, coordinates, blockElements),
           piece + 1 == pieces});
    }
  }
  return holders;
}

/// Whether the one block of a view lies as the initializer does.
bool isWhole(const Parameter &view, int64_t blockElements) {
  int64_t elements = 1;
  bool zigzag = false;
  for (const Dimension &dimension : view.dimensions) {
    elements *= dimension.size;
    zigzag |= dimension.zigzag > 1;
  }
  return blockElements == elements && !zigzag &&
         stridesOf(view) == rowMajorStrides(view.dimensions);
}

/// Collects a view into `initializer` (on rank 0).
void collectView(EngineRank &rank, World &world, const Variable::View &placed,
                 char *initializer) {
  const Program &program = rank.program();
  const Parameter &view = *placed.parameter;
  const int64_t width = elementBytes(view.type);
  const int64_t elements = blockElements(program, view.dimensions);
  const bool root = world.rank() == 0, whole = isWhole(view, elements);
  std::vector<char> buffer, block;
  char *target = root && whole ? initializer + view.offset * width : nullptr;
  if (root && !whole) {
    block.resize(static_cast<size_t>(elements * width));
    target = block.data();
  }
  for (const Holder &holder :
       holdersOf(program, world.size(), placed, elements)) {
    const KeptPart &part = holder.part;
    const int64_t bytes = part.count * width;
    const bool mine = world.rank() == holder.rank;
    char *place = root ? target + part.first * width : nullptr;
    if (bytes > 0 && root && mine)
      rank.download(part.arenaOffset, place, bytes, view.tier);
    else if (bytes > 0 && (root || mine))
      world.sendToRoot(
          holder.rank,
          mine ? readArena(rank, {part.arenaOffset, bytes, view.tier}, buffer)
               : nullptr,
          place, bytes);
    if (root && !whole && holder.lastPiece)
      BlockWalk(program, meshCoordinates(program, holder.rank), view.dimensions,
                stridesOf(view), width)
          .copy(/*gather=*/false, initializer + view.offset * width, target);
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
    for (const Variable::View &view : variable.views) {
      int64_t elements = 1;
      for (const Dimension &dimension : view.parameter->dimensions)
        elements *= dimension.size;
      held += elements;
    }
    const Parameter &first = *variable.views[0].parameter;
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
  for (const Variable::View &view : variable.views)
    collectView(rank, world, view, all.data());
  return all;
}

void restoreVariable(EngineRank &rank, const Variable &variable,
                     const char *elements) {
  const Parameter &any = *variable.views[0].parameter;
  const std::string key = keyOf(any.slot, any.name);
  for (const Parameter &parameter : rank.stage().parameters)
    if (parameter.trained && keyOf(parameter.slot, parameter.name) == key)
      loadBlock(rank, parameter, elements, variable.elements);
}

} // namespace runtime
} // namespace parplan
