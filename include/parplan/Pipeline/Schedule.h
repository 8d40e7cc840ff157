//===- Schedule.h - Who runs which pass when --------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// A pipeline has p positions, each of which runs v chunks of the model; the
// p * v chunks are the virtual stages, in the order of the model. A step sends
// m micro-batches through all of them and back. A schedule is data: one list of
// passes for each position, which runs them in that order.
//
//                  stage 0   1   2   3      p = 2, v = 2
//   loop: position       0   1   0   1      chunk 0 goes around, then chunk 1
//   vee:  position       0   1   1   0      chunk 1 comes back
//
// Order alone decides how many micro-batches are in flight and which messages
// there are; seconds only decide when the step ends.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PIPELINE_SCHEDULE_H
#define PARPLAN_PIPELINE_SCHEDULE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parplan {

enum class ScheduleKind {
  gpipe,
  oneForwardOneBackward,
  oneForwardOneBackwardEager,
  interleaved,
  zbH1,
  zbH2,
  zbV,
  vHalf,
  vMin,
  /// Inference: forward passes and nothing else.
  forwardOnly,
};

/// All kinds, in the order of the enumeration.
const std::vector<ScheduleKind> &getScheduleKinds();

struct ScheduleShape {
  ScheduleKind kind = ScheduleKind::oneForwardOneBackward;
  /// p, m and v of the head of this file.
  int64_t positions = 1;
  int64_t microBatches = 1;
  int64_t chunks = 1;

  int64_t getStageCount() const { return positions * chunks; }

  bool operator==(const ScheduleShape &other) const = default;
};

/// Position and chunk of a virtual stage, and back.
int64_t getPosition(const ScheduleShape &shape, int64_t stage);
int64_t getChunk(const ScheduleShape &shape, int64_t stage);
int64_t getStage(const ScheduleShape &shape, int64_t position, int64_t chunk);

/// True if chunk 1 runs back from the last position to the first.
bool isVee(ScheduleKind kind);
/// True if the gradient of the input and that of the weights are two passes.
bool splitsBackward(ScheduleKind kind);
/// True for all but `forwardOnly`.
bool hasBackward(ScheduleKind kind);
/// Chunks per position that the kind asks for; 0: any number from 2 on
/// (interleaved), -1: any number from 1 on (forward only).
int64_t getRequiredChunks(ScheduleKind kind);

/// As `--force schedule=` has it: `1f1b`, `interleaved:2`, `zb-v`; forward only
/// is `forward-only`, with `:V` for more than one chunk.
std::string printScheduleName(ScheduleKind kind, int64_t chunks);
inline std::string printScheduleName(const ScheduleShape &shape) {
  return printScheduleName(shape.kind, shape.chunks);
}
struct ScheduleName {
  ScheduleKind kind;
  int64_t chunks;
};
/// None if there is no such name; `interleaved:1` is one (getRefusal says why
/// it cannot be).
std::optional<ScheduleName> parseScheduleName(std::string_view name);
/// For suggestions: every name, with `interleaved:2` for its kind.
std::vector<std::string> getScheduleNames();

/// Why there is no such schedule, in one sentence that names the nearest
/// possible shape; none if there is one. `mostStages`: how many virtual stages
/// the model can be cut into at most, where that is known.
std::optional<std::string>
getRefusal(const ScheduleShape &shape,
           std::optional<int64_t> mostStages = std::nullopt);

enum class PassKind {
  forward,
  /// Both gradients at once.
  backward,
  inputGradient,
  weightGradient,
};

struct Pass {
  PassKind kind = PassKind::forward;
  int64_t microBatch = 0;
  int64_t chunk = 0;

  bool operator==(const Pass &other) const = default;
};

/// `F3` of chunk 0, `BI3.1` of chunk 1 (chunks are shown if there are several).
std::string printPass(const ScheduleShape &shape, const Pass &pass);

/// Seconds of one micro-batch in one virtual stage. A whole backward pass takes
/// both gradients.
struct PassTimes {
  double forwardSeconds = 1;
  double inputGradientSeconds = 1;
  double weightGradientSeconds = 1;

  double getBackwardSeconds() const {
    return inputGradientSeconds + weightGradientSeconds;
  }
  double getSeconds() const { return forwardSeconds + getBackwardSeconds(); }
  double getSeconds(PassKind kind) const;

  bool operator==(const PassTimes &other) const = default;
};

/// One entry for each virtual stage.
using StageTimes = std::vector<PassTimes>;

/// Seconds that a message takes from a stage to the next one, or back, when
/// they are on different positions.
class Latencies {
public:
  /// The same everywhere.
  Latencies(double everywhere = 0) : everywhere(everywhere) {}
  /// One entry for each boundary; entry s lies between stages s and s + 1.
  Latencies(std::vector<double> boundaries)
      : boundaries(std::move(boundaries)) {}

  /// Between stage `boundary` and the next one of that shape: 0 if both are on
  /// one position.
  double get(const ScheduleShape &shape, int64_t boundary) const;

private:
  double everywhere = 0;
  std::vector<double> boundaries;
};

struct PipelineSchedule {
  ScheduleShape shape;
  /// For each position its passes, in the order in which it runs them.
  std::vector<std::vector<Pass>> passes;

  bool operator==(const PipelineSchedule &other) const = default;
};

/// Bytes of a micro-batch in a virtual stage of a schedule that splits the
/// backward pass.
struct PassBytes {
  /// Between its forward pass and the gradient of its input, and from there to
  /// that of the weights.
  int64_t saved = 0, waiting = 0;
  /// During its passes, all that it has then.
  int64_t forward = 0, inputGradient = 0, weightGradient = 0;

  bool operator==(const PassBytes &other) const = default;
};

/// The memory of micro-batches, of schedules that split the backward pass:
/// where a forward or input gradient pass would need more beside what all
/// others have, weight gradients come before it. What waits for them may need
/// far more than what is kept for the backward pass, above all where that is
/// made again. Empty: no limit.
struct WaitingRoom {
  /// Per virtual stage.
  std::vector<PassBytes> stages;
  /// Per position, of all its micro-batches together.
  std::vector<int64_t> positionBytes;

  /// No number is larger: sums over all that 2^20 positions have in flight, of
  /// two chunks, do not overflow.
  static constexpr int64_t mostBytes = int64_t(1) << 41;

  bool isLimited() const { return !positionBytes.empty(); }
  bool operator==(const WaitingRoom &other) const = default;
};

/// The schedule of a shape that is not refused. Forward, input gradient and
/// weight gradient (or backward) passes of one chunk run in ascending order of
/// micro-batches: gradients are summed in the same order whatever the schedule.
/// Schedules that split the backward pass depend on the times: they put weight
/// gradients where a position would wait, or where its room is full. The others
/// do not.
PipelineSchedule makeSchedule(const ScheduleShape &shape,
                              const StageTimes &times,
                              const Latencies &latencies = {},
                              const WaitingRoom &room = {});
/// With equal passes.
PipelineSchedule makeSchedule(const ScheduleShape &shape);
/// What all schedules of a shape that is not refused have in common: the order
/// of their passes, without the weight gradients of those that split the
/// backward pass, which are no complete schedules so.
PipelineSchedule makeOrder(const ScheduleShape &shape);

/// Chunks whose forward pass has run and whose weight gradient has not, at most
/// during any pass of the position.
int64_t getInFlightPeak(const PipelineSchedule &schedule, int64_t position);
/// What a schedule of this shape may hold at most. gpipe, 1f1b, eager and
/// interleaved reach it exactly.
int64_t getInFlightLimit(const ScheduleShape &shape, int64_t position);

/// One line for each position: `0: F0 F1 B0 B1`.
std::string printSchedule(const PipelineSchedule &schedule);

/// A schedule from the passes of each position as `printPass` writes them, with
/// spaces between them. None if one of them is no pass; nothing else is
/// checked.
std::optional<PipelineSchedule>
parseSchedule(const ScheduleShape &shape,
              const std::vector<std::string> &positions);

/// What is wrong with a schedule, or none. Checked: every pass that the shape
/// asks for is there once, on its position, and no other; micro-batches ascend
/// in each chunk; every pass comes after what it needs, so that no order of
/// waiting can go around; what is in flight stays within the limit; transfers
/// in the total order that follows from the times complete without any buffer
/// (`verifyTransfers`).
std::optional<std::string> verifySchedule(const PipelineSchedule &schedule,
                                          const StageTimes &times,
                                          const Latencies &latencies = {});
/// With equal passes.
std::optional<std::string> verifySchedule(const PipelineSchedule &schedule);

/// One second for each of the three, in every stage.
StageTimes getEqualTimes(const ScheduleShape &shape);

} // namespace parplan

#endif // PARPLAN_PIPELINE_SCHEDULE_H
