//===- TestPrograms.h - Short ways to write programs ------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_SIMULATOR_TESTPROGRAMS_H
#define PARPLAN_TEST_UNIT_SIMULATOR_TESTPROGRAMS_H

#include "parplan/Cluster/Presets.h"
#include "parplan/Simulator/Simulator.h"

namespace parplan::test {

/// Sets the classes of a program, which begin where `classOf` has them first.
inline void setClasses(Program &program, std::vector<RankClass> classes,
                       std::vector<int64_t> classOf) {
  for (size_t each = 0; each < classes.size(); ++each)
    classes[each].firstRank =
        std::find(classOf.begin(), classOf.end(), static_cast<int64_t>(each)) -
        classOf.begin();
  program.classes = std::move(classes);
  program.classOf = std::move(classOf);
}

/// dp0 = 2 (data), tp0 = 2 (tensor), with a communicator for each. A class for
/// each program: one of all ranks, or one of each.
inline Program makeProgram(size_t programs = 1) {
  Program program;
  program.mesh =
      Mesh({{"dp0", 2, AxisRole::data}, {"tp0", 2, AxisRole::tensor}});
  program.communicators = {{"dp0", {0}}, {"tp0", {1}}, {"dp0,tp0", {0, 1}}};
  program.programs.resize(programs);
  for (size_t each = 0; each < programs; ++each) {
    auto number = static_cast<int64_t>(each);
    program.classes.push_back({number, number, {}});
    if (programs > 1)
      program.classOf.push_back(number);
  }
  return program;
}

/// Four host ranks with round figures: 1 GFLOP takes 1 s, 1 byte over the bus
/// a nanosecond, nothing else takes time.
inline CostModel makeCosts() {
  ClusterDescription description = *findPreset("host");
  description.device.flopsPerSecond.fp32 = 1e9;
  description.device.matrixEfficiency = 1;
  description.device.kernelGapSeconds = 0;
  description.node.link.latencySeconds = 0;
  description.node.link.bytesPerSecond = 1e9;
  DiagnosticEngine engine;
  return {*makeCluster(description, 4, engine), Precision::fp32};
}

inline ProgramStatement launch(double seconds, std::vector<int> buffers = {},
                               int stream = 0) {
  ProgramStatement statement;
  statement.stream = stream;
  statement.cost.kind = WorkKind::matrix;
  statement.cost.flops = seconds * 1e9;
  statement.buffers = std::move(buffers);
  return statement;
}

inline ProgramStatement call(CollectiveKind kind, int communicator,
                             int64_t bytes, std::vector<int> buffers = {}) {
  ProgramStatement statement;
  statement.kind = StatementKind::communicate;
  statement.stream = 1;
  statement.collective = kind;
  statement.communicator = communicator;
  statement.bytes = bytes;
  statement.buffers = std::move(buffers);
  return statement;
}

inline ProgramStatement message(CollectiveKind kind, int communicator,
                                int64_t peer, int64_t bytes, int group = -1) {
  ProgramStatement statement = call(kind, communicator, bytes);
  statement.peer = peer;
  statement.group = group;
  return statement;
}

inline ProgramStatement transfer(MemoryTier from, MemoryTier to, int64_t bytes,
                                 int stream, std::vector<int> buffers = {}) {
  ProgramStatement statement;
  statement.kind = StatementKind::transfer;
  statement.stream = stream;
  statement.from = from;
  statement.to = to;
  statement.bytes = bytes;
  statement.buffers = std::move(buffers);
  return statement;
}

inline ProgramStatement record(int event, int stream) {
  ProgramStatement statement;
  statement.kind = StatementKind::record;
  statement.stream = stream;
  statement.event = event;
  return statement;
}

inline ProgramStatement wait(int event, int stream) {
  ProgramStatement statement = record(event, stream);
  statement.kind = StatementKind::wait;
  return statement;
}

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_SIMULATOR_TESTPROGRAMS_H
