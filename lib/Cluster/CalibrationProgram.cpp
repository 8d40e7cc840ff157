//===- CalibrationProgram.cpp - What ranks run to be measured -------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/Calibration.h"

#include <sstream>

using namespace parplan;

/// Prime factors, the largest last.
static std::vector<int64_t> getAxes(int64_t ranks) {
  std::vector<int64_t> axes;
  for (int64_t factor = 2; ranks > 1; ++factor)
    for (; ranks % factor == 0; ranks /= factor)
      axes.push_back(factor);
  return axes;
}

std::vector<int64_t> parplan::getMeasuredGroups(int64_t ranks) {
  std::vector<int64_t> axes = getAxes(ranks), groups;
  int64_t size = 1;
  for (size_t axis = axes.size(); axis-- > 0;)
    groups.push_back(size *= axes[axis]);
  return groups;
}

std::string parplan::printCalibrationProgram(int64_t ranks) {
  std::vector<int64_t> axes = getAxes(ranks), groups = getMeasuredGroups(ranks);
  std::ostringstream mesh, lists, communicators;
  for (size_t axis = 0; axis < axes.size(); ++axis)
    mesh << (axis ? ", " : "") << "{\"a" << axis << "\", " << axes[axis] << "}";
  for (size_t group = 0; group < groups.size(); ++group) {
    lists << "constexpr int32_t group" << group << "[] = {";
    for (size_t axis = axes.size() - 1 - group; axis < axes.size(); ++axis)
      lists << axis << (axis + 1 < axes.size() ? ", " : "");
    lists << "};\n";
    communicators << (group ? ", " : "") << "{\"" << groups[group]
                  << "\", group" << group << "}";
  }
  std::ostringstream text;
  text << "#include \"parplan_runtime/calibration.h\"\n\n"
          "using namespace parplan::runtime;\n\nnamespace {\n\n";
  if (ranks > 1)
    text << "constexpr Axis mesh[] = {" << mesh.str() << "};\n"
         << lists.str() << "constexpr CommunicatorEntry communicators[] = {"
         << communicators.str() << "};\n";
  else
    text << "constexpr Table<Axis> mesh;\n"
            "constexpr Table<CommunicatorEntry> communicators;\n";
  text << R"(
void step(Rank &rank) { Calibration(rank).run(); }

constexpr Stage stages[] = {{/*parameters=*/{},
                             /*inputs=*/{},
                             /*outputs=*/{},
                             3 * Calibration::arrayBytes,
                             Calibration::arrayBytes,
                             /*nvmeArenaBytes=*/0,
                             streams::download + 1,
                             Calibration::eventCount,
                             step}};
constexpr Program program = {"calibration", mesh, communicators, stages,
                             /*orderDigests=*/{}};

} // namespace

int main(int argc, char **argv) { return runProgram(program, argc, argv); }
)";
  return text.str();
}
