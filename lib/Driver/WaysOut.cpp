//===- WaysOut.cpp - Why nothing fits, and what would ---------------------===//

#include "lib/Driver/WaysOut.h"

#include "parplan/Support/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace parplan;

namespace {

using Outcome = NearAttempt::Outcome;

class Finder {
public:
  Finder(const NearRequest &request, const NearLimits &limits,
         const NearOracle &oracle)
      : request(request), limits(limits), oracle(oracle) {}

  WaysOut run() {
    findConflict();
    for (const std::string &entry : found.conflict)
      take("without " + escapeName(entry), leaveOut(request.forces, entry));
    cutFurther();
    useMoreDevices();
    useFewerSamples();
    return std::move(found);
  }

private:
  /// Every request is asked for once.
  const NearAttempt &ask(const NearRequest &near) {
    auto [place, isNew] = attempts.try_emplace(near);
    if (isNew)
      place->second = oracle(near);
    return place->second;
  }

  Outcome askWith(std::vector<std::string> forces) {
    NearRequest near = request;
    near.forces = std::move(forces);
    return ask(near).outcome;
  }

  bool take(const std::string &change, const NearRequest &near) {
    const NearAttempt &attempt = ask(near);
    if (attempt.outcome == Outcome::fits)
      found.ways.push_back({change, attempt.peakBytes, attempt.seconds});
    return attempt.outcome == Outcome::fits;
  }

  NearRequest leaveOut(std::vector<std::string> forces,
                       const std::string &entry) const {
    NearRequest near = request;
    llvm::erase(forces, entry);
    near.forces = std::move(forces);
    return near;
  }

  /// An entry that alone is too much, else what is left when all are dropped
  /// that make no difference.
  void findConflict() {
    if (request.forces.empty())
      return;
    Outcome free = askWith({});
    found.isForceInnocent = free == Outcome::nothing;
    if (free != Outcome::fits)
      return;
    for (const std::string &entry : request.forces)
      if (askWith({entry}) == Outcome::nothing) {
        found.conflict = {entry};
        return;
      }
    std::vector<std::string> rest = request.forces;
    for (const std::string &entry : request.forces)
      if (NearRequest near = leaveOut(rest, entry);
          ask(near).outcome == Outcome::nothing)
        rest = near.forces;
    // What cannot be left out alone says nothing.
    bool isKnown = llvm::all_of(rest, [&](const std::string &entry) {
      return ask(leaveOut(rest, entry)).outcome == Outcome::fits;
    });
    if (isKnown)
      found.conflict = std::move(rest);
  }

  /// A forced number of micro-batches makes each of them smaller.
  void cutFurther() {
    constexpr std::string_view key = "micro-batches=";
    for (auto [index, entry] : llvm::enumerate(request.forces)) {
      if (!entry.starts_with(key))
        continue;
      int64_t count = parseInteger(entry.substr(key.size())).value_or(0);
      if (count < 1)
        return;
      for (count *= 2; count <= request.batch; count *= 2) {
        NearRequest near = request;
        near.forces[index] = std::string(key) + std::to_string(count);
        if (take(near.forces[index], near))
          return;
      }
    }
  }

  /// Where the sizes are all given, the data size grows with the devices.
  void useMoreDevices() {
    for (int64_t gpus = 2 * request.gpus; gpus <= limits.mostGpus; gpus *= 2) {
      NearRequest near = request;
      near.gpus = gpus;
      std::string change = "--gpus " + std::to_string(gpus);
      if (take(change, near))
        return;
      if (ask(near).outcome != Outcome::unknown)
        continue;
      constexpr std::string_view key = "dp=";
      for (std::string &entry : near.forces)
        if (entry.starts_with(key))
          if (auto size = parseInteger(entry.substr(key.size()));
              size && *size >= 1 && *size <= limits.mostGpus) {
            entry = std::string(key) +
                    std::to_string(*size * (gpus / request.gpus));
            change += " with " + entry;
          }
      if (take(change, near))
        return;
      if (ask(near).outcome == Outcome::unknown)
        return;
    }
  }

  void useFewerSamples() {
    if (!limits.isBatchFree)
      return;
    for (int64_t batch = request.batch; batch > 1 && batch % 2 == 0;) {
      batch /= 2;
      NearRequest near = request;
      near.batch = batch;
      if (take("--global-batch " + std::to_string(batch), near) ||
          ask(near).outcome == Outcome::unknown)
        return;
    }
  }

  const NearRequest &request;
  const NearLimits &limits;
  const NearOracle &oracle;
  std::map<NearRequest, NearAttempt> attempts;
  WaysOut found;
};

} // namespace

WaysOut parplan::findWaysOut(const NearRequest &request,
                             const NearLimits &limits,
                             const NearOracle &oracle) {
  return Finder(request, limits, oracle).run();
}
