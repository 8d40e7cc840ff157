//===- calibration_rounds.h - What a calibration measures, round by round -===//

#ifndef PARPLAN_RUNTIME_CALIBRATION_ROUNDS_H
#define PARPLAN_RUNTIME_CALIBRATION_ROUNDS_H

#include <algorithm>
#include <string>
#include <vector>

namespace parplan {
namespace runtime {

struct CalibrationFigure {
  /// The list it is in, and its other fields as JSON.
  const char *list;
  std::string fields;
  /// Of each round.
  std::vector<double> seconds;
  /// What is lost in the noise takes that long.
  double leastSeconds;
};

/// The upper one of an even number. Not of nothing.
inline double getMedian(std::vector<double> seconds) {
  const auto middle =
      seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

/// Figures of rounds that measure all of them, in the same order each time.
class CalibrationRounds {
public:
  void begin() {
    next = 0;
    calls.clear();
    workSeconds.clear();
  }

  void add(const char *list, const std::string &fields, double seconds,
           double leastSeconds = 0) {
    if (next == figures.size())
      figures.push_back({list, fields, {}, leastSeconds});
    figures[next++].seconds.push_back(seconds);
  }

  /// Of a turn of work alone.
  void addWork(double seconds) { workSeconds.push_back(seconds); }
  /// Of a turn of work with a call behind it.
  void addCall(const char *list, const std::string &fields, double seconds) {
    calls.push_back(next);
    add(list, fields, seconds, /*leastSeconds=*/1e-6);
  }

  /// A call takes what its turn takes longer than the others of this round:
  /// what slows the machine for some rounds slows both.
  void end() {
    for (size_t call : calls)
      figures[call].seconds.back() -= getMedian(workSeconds);
  }

  const std::vector<CalibrationFigure> &getFigures() const { return figures; }

private:
  std::vector<CalibrationFigure> figures;
  /// The one that is measured next.
  size_t next = 0;
  /// Those of this round that are in turns of work.
  std::vector<size_t> calls;
  std::vector<double> workSeconds;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_CALIBRATION_ROUNDS_H
