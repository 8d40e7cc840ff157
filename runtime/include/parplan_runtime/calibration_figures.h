//===- calibration_figures.h - What a calibration found, as JSON ----------===//

#ifndef PARPLAN_RUNTIME_CALIBRATION_FIGURES_H
#define PARPLAN_RUNTIME_CALIBRATION_FIGURES_H

#include "parplan_runtime/calibration_rounds.h"
#include "parplan_runtime/platform.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace parplan {
namespace runtime {

#if defined(PARPLAN_CUDA)
constexpr bool calibratesGpus = true;
#else
constexpr bool calibratesGpus = false;
#endif

/// What a GPU says of itself, for one of `ranks` ranks with arenas of
/// `arenaBytes`. Nothing where it does not answer: the reader then refuses the
/// file.
inline void printDevice([[maybe_unused]] std::FILE *file,
                        [[maybe_unused]] int ranks,
                        [[maybe_unused]] int64_t arenaBytes) {
#if defined(PARPLAN_CUDA)
  int device = 0, devices = 0;
  cudaDeviceProp properties = {};
  size_t available = 0, total = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0 ||
      cudaGetDevice(&device) != cudaSuccess ||
      cudaGetDeviceProperties(&properties, device) != cudaSuccess ||
      cudaMemGetInfo(&available, &total) != cudaSuccess)
    return;
  // What the contexts and the libraries of all ranks that share the GPU have
  // left of it, for one.
  const int sharing = (ranks + devices - 1) / devices;
  const auto bytes = static_cast<long long>(available) / sharing + arenaBytes;
  std::string name = properties.name;
  for (char &letter : name)
    if (letter < ' ' || letter > '~' || letter == '"' || letter == '\\')
      letter = '_';
  std::fprintf(file,
               ",\n \"device\": {\"name\": \"%s\", \"compute_capability\": %d, "
               "\"multiprocessors\": %d, \"memory_bytes\": %lld, "
               "\"ranks_per_device\": %d}",
               name.c_str(), properties.major * 10 + properties.minor,
               properties.multiProcessorCount, bytes, sharing);
#endif
}

/// The document; `sums` are the seconds of all ranks, one for each figure.
inline void printFigures(std::FILE *file, int ranks, int64_t arenaBytes,
                         const std::vector<CalibrationFigure> &figures,
                         const double *sums) {
  std::fprintf(file, "{\"ranks\": %d", ranks);
  printDevice(file, ranks, arenaBytes);
  std::string list;
  for (size_t number = 0; number < figures.size(); ++number) {
    const CalibrationFigure &figure = figures[number];
    const bool isNew = list != figure.list;
    if (isNew)
      std::fprintf(file, "%s,\n \"%s\": [", number == 0 ? "" : "]",
                   figure.list);
    list = figure.list;
    std::fprintf(file, "%s{%s, \"seconds\": %.9g}", isNew ? "" : ",\n  ",
                 figure.fields.c_str(),
                 std::max(sums[number] / ranks, figure.leastSeconds));
  }
  std::fprintf(file, "]}\n");
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_CALIBRATION_FIGURES_H
