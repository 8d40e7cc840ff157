//===- blocks.h - Moving blocks between files and arenas ------------------===//

#ifndef PARPLAN_RUNTIME_LIB_BLOCKS_H
#define PARPLAN_RUNTIME_LIB_BLOCKS_H

#include "array_file.h"
#include "stages.h"

namespace parplan {
namespace runtime {

/// Elements of the uniform local block.
int64_t blockElements(const Program &program, Table<Dimension> dimensions);
/// Elements of the piece of a block of `elements` that is kept over `axes`.
int64_t pieceElements(const Program &program, int64_t elements,
                      Table<int32_t> axes);

/// What a rank keeps of a parameter's flattened block: `count` elements from
/// `first` on, at byte `arenaOffset`. The piece that they lie in, of the block
/// or of its bucket, is `pieceElements` long.
struct KeptPart {
  int64_t first;
  int64_t count;
  int64_t arenaOffset;
  int64_t pieceElements;
};
KeptPart keptPart(const Program &program, const Parameter &parameter,
                  const std::vector<int64_t> &coordinates,
                  int64_t blockElements);

/// Copies this rank's block of a parameter from its initializer, `elements`
/// dense elements of the parameter's type, into the arena; null: zeros.
void loadBlock(EngineRank &rank, const Parameter &parameter,
               const char *initializer, int64_t elements);

/// Copies every parameter's block from the weights into the arena; states
/// become zeros. Fails with 65 when the file is missing or too short.
void loadParameters(EngineRank &rank, const std::string &weightsFile);

/// Copies this rank's block of an input into the arena.
void loadInput(EngineRank &rank, const Tensor &input, const Array &array);

/// What lies in a range of an arena: there, or downloaded into `buffer`.
const char *readArena(EngineRank &rank, Range range, std::vector<char> &buffer);

/// Collects an output on rank 0; there it returns the array of the model, of
/// all micro-batches, elsewhere nothing. Collective.
std::vector<char> collectOutput(EngineRank &rank, World &world,
                                const PlacedOutput &placed);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_BLOCKS_H
