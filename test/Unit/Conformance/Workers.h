//===- Workers.h - Many small jobs in processes that may die ----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_CONFORMANCE_WORKERS_H
#define PARPLAN_TEST_UNIT_CONFORMANCE_WORKERS_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace parplan::test {

/// Runs `job(0)` .. `job(count - 1)` in `workers` processes, each of which does
/// many, and returns their texts in order. A job whose process ends by a
/// signal, an exit or after `seconds` has none; a new process goes on behind
/// it. Must be called before the program has threads.
std::vector<std::optional<std::string>>
runInWorkers(int count, int workers, unsigned seconds,
             const std::function<std::string(int)> &job);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_CONFORMANCE_WORKERS_H
