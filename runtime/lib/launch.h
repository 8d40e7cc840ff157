//===- launch.h - Where the ranks of a run come from ----------------------===//

#ifndef PARPLAN_RUNTIME_LIB_LAUNCH_H
#define PARPLAN_RUNTIME_LIB_LAUNCH_H

#include <string>
#include <vector>

namespace parplan {
namespace runtime {

/// What the environment says about this process.
struct Launcher {
  enum class Kind { None, Mpirun, Srun, Torchrun };
  Kind kind = Kind::None;
  int rank = 0;
  int size = 1;
  int localRank = 0;
  int localSize = 1;
  const char *name() const;
};

Launcher detectLauncher();
/// Removes what detectLauncher looks at, for the processes started from here.
void forgetLauncher();

/// Ranks of one machine have more streams than there are processors: each has
/// one that computes, and others that wait beside it.
bool shareProcessors(int ranks);

/// The command with which `program arguments..` starts `ranks` MPI processes
/// on this machine, and the environment that it adds.
struct LaunchCommand {
  std::vector<std::string> environment; // NAME=VALUE
  std::vector<std::string> words;
  std::string text() const;
};
LaunchCommand mpiLaunchCommand(int ranks, int argc, char **argv);

/// Runs the command and returns the exit code of the run: the ranks' own, 190
/// when a rank was killed, 130 when interrupted. The ranks end with this
/// process, whatever ends it. `graceful`: the first SIGTERM asks the ranks to
/// save their state (193) instead of ending them.
int superviseLaunch(const LaunchCommand &command, bool graceful);

/// Under torchrun the first process of the machine runs all ranks. The leader
/// calls `announce` with the exit code; the others return it from `follow`,
/// or 190 when the leader is lost.
class Leadership {
public:
  explicit Leadership(const Launcher &launcher);
  void announce(int code);
  int follow(double timeoutSeconds);

private:
  std::string address;
  int descriptor = -1;
  int followers = 0;
};

/// The path of this executable's folder.
std::string executableFolder();

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_LAUNCH_H
