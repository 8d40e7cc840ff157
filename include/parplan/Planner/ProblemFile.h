//===- ProblemFile.h - Planning problems as documents -----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// What planning is about, outside of the process that imported the model:
// `--dump-ir` writes it, tests and benchmarks read it.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_PROBLEMFILE_H
#define PARPLAN_PLANNER_PROBLEMFILE_H

#include "parplan/Planner/PlanningProblem.h"

#include <optional>
#include <string>
#include <string_view>

namespace parplan {

/// The problem as JSON, a line per value and per op. What many ops have in
/// common (rule, work, role) is in `forms`, once.
std::string printProblem(const PlanningProblem &problem);

/// The problem that `printProblem` printed, equal to it in all fields as long
/// as its names are UTF-8. Otherwise nullopt, and `fault` says what is wrong:
/// the text is no JSON, a field is missing or of another type, or
/// `verifyProblem` refuses what it describes.
std::optional<PlanningProblem> readProblem(std::string_view text,
                                           std::string &fault);

/// The first difference between two problems in any field, for people; nullopt
/// if they are equal.
std::optional<std::string> findDifference(const PlanningProblem &one,
                                          const PlanningProblem &other);

} // namespace parplan

#endif // PARPLAN_PLANNER_PROBLEMFILE_H
