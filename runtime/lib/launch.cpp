//===- launch.cpp - Where the ranks of a run come from --------------------===//

#include "launch.h"
#include "engine.h"
#include "failure.h"
#include "signals.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace parplan {
namespace runtime {

// --- the environment
// -------------------------------------------------------------

const char *Launcher::name() const {
  switch (kind) {
  case Kind::Mpirun:
    return "mpirun";
  case Kind::Srun:
    return "srun";
  case Kind::Torchrun:
    return "torchrun";
  case Kind::None:
    break;
  }
  return "the command line";
}

Launcher detectLauncher() {
  Launcher launcher;
  const auto read = [](const char *name, int fallback) {
    return static_cast<int>(environmentNumber(name, fallback));
  };
  if (std::getenv("OMPI_COMM_WORLD_SIZE") &&
      std::getenv("OMPI_COMM_WORLD_RANK")) {
    launcher.kind = Launcher::Kind::Mpirun;
    launcher.rank = read("OMPI_COMM_WORLD_RANK", 0);
    launcher.size = read("OMPI_COMM_WORLD_SIZE", 1);
    launcher.localRank = read("OMPI_COMM_WORLD_LOCAL_RANK", 0);
    launcher.localSize = read("OMPI_COMM_WORLD_LOCAL_SIZE", 1);
  } else if (std::getenv("TORCHELASTIC_RUN_ID") ||
             (std::getenv("WORLD_SIZE") && std::getenv("RANK") &&
              std::getenv("MASTER_ADDR"))) {
    launcher.kind = Launcher::Kind::Torchrun;
    launcher.rank = read("RANK", 0);
    launcher.size = read("WORLD_SIZE", 1);
    launcher.localRank = read("LOCAL_RANK", launcher.rank);
    launcher.localSize = read("LOCAL_WORLD_SIZE", launcher.size);
  } else if (std::getenv("SLURM_STEP_ID") && std::getenv("SLURM_PROCID")) {
    // A batch script sees SLURM_PROCID too, but no step of its own.
    launcher.kind = Launcher::Kind::Srun;
    launcher.rank = read("SLURM_PROCID", 0);
    launcher.size = read("SLURM_STEP_NUM_TASKS", read("SLURM_NTASKS", 1));
    launcher.localRank = read("SLURM_LOCALID", 0);
  }
  return launcher;
}

void forgetLauncher() {
  for (const char *name :
       {"TORCHELASTIC_RUN_ID", "WORLD_SIZE", "RANK", "LOCAL_RANK",
        "LOCAL_WORLD_SIZE", "SLURM_STEP_ID", "SLURM_PROCID"})
    unsetenv(name);
}

std::string executableFolder() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0)
    return ".";
  path[length] = 0;
  char *slash = std::strrchr(path, '/');
  if (slash && slash != path)
    *slash = 0;
  return path;
}

// --- mpirun
// -----------------------------------------------------------------------

namespace {

/// Whether ranks may read each other's memory, which Open MPI's shared-memory
/// transport tries and complains about where a container forbids it.
bool crossMemoryAllowed() {
  if (std::FILE *file = std::fopen("/proc/sys/kernel/yama/ptrace_scope", "r")) {
    const int scope = std::fgetc(file);
    std::fclose(file);
    if (scope != '0')
      return false;
  }
  int fromChild[2];
  if (pipe(fromChild) != 0)
    return false;
  int value = 0;
  const pid_t child = fork();
  if (child < 0) {
    close(fromChild[0]);
    close(fromChild[1]);
    return false;
  }
  if (child == 0) {
    close(fromChild[1]);
    char end;
    while (read(fromChild[0], &end, 1) < 0 && errno == EINTR)
      continue;
    _exit(0);
  }
  int copy = 0;
  struct iovec local = {&copy, sizeof copy}, remote = {&value, sizeof value};
  const bool allowed =
      process_vm_readv(child, &local, 1, &remote, 1, 0) == sizeof copy;
  close(fromChild[0]);
  close(fromChild[1]);
  int status;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    continue;
  return allowed;
}

std::string shellWord(const std::string &word) {
  if (!word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                             "XYZ0123456789_-+=:,./%@") == std::string::npos)
    return word;
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

} // namespace

std::string LaunchCommand::text() const {
  std::string line;
  for (const std::string &entry : environment)
    line += shellWord(entry) + " ";
  for (size_t i = 0; i < words.size(); ++i)
    line += (i ? " " : "") + shellWord(words[i]);
  return line;
}

bool shareProcessors(int ranks) {
  return 2 * static_cast<unsigned>(ranks) > std::thread::hardware_concurrency();
}

LaunchCommand mpiLaunchCommand(int ranks, int argc, char **argv) {
  LaunchCommand command;
  command.environment = {
      // One thread per rank, before any library reads these.
      "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
      // What is not there is not searched for: shared memory is.
      "OMPI_MCA_btl=self,vader", "OMPI_MCA_pml=ob1", "OMPI_MCA_plm=isolated",
      "OMPI_MCA_btl_base_warn_component_unused=0",
      "OMPI_MCA_mpi_show_handle_leaks=0"};
  // A stream that waits inside MPI makes way for the ones that compute.
  if (shareProcessors(ranks))
    command.environment.push_back("OMPI_MCA_mpi_yield_when_idle=1");
  if (!crossMemoryAllowed())
    command.environment.push_back(
        "OMPI_MCA_btl_vader_single_copy_mechanism=none");
    // OpenBLAS takes CPUs that it does not know for 20 years old ones.
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && !std::getenv("OPENBLAS_CORETYPE"))
    command.environment.push_back("OPENBLAS_CORETYPE=SkylakeX");
#endif
  const char *mpirun = std::getenv("PARPLAN_MPIRUN");
  command.words = {mpirun && *mpirun ? mpirun : "mpirun",
                   "--quiet",
                   "--oversubscribe",
                   "--bind-to",
                   "none",
                   "--allow-run-as-root",
                   "-n",
                   std::to_string(ranks)};
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  command.words.push_back(length > 0 ? std::string(path, length)
                                     : std::string(argv[0]));
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--print-launch") != 0)
      command.words.push_back(argv[i]);
  return command;
}

namespace {
volatile sig_atomic_t supervisedChild = 0;
volatile sig_atomic_t receivedSignal = 0;
volatile sig_atomic_t firstAsks = 0;
volatile sig_atomic_t asked = 0;
RepeatedRequest *terminations = nullptr;

void forwardSignal(int signal) {
  if (signal == SIGALRM ||
      (firstAsks && signal == SIGTERM && !terminations->isSecond())) {
    // Repeated: mpirun may have had no ranks yet to hand it on to.
    asked = 1;
    if (supervisedChild > 0)
      kill(supervisedChild, preemptionSignal);
    alarm(1);
    return;
  }
  receivedSignal = signal;
  if (supervisedChild > 0)
    kill(supervisedChild, SIGTERM);
}
} // namespace

int superviseLaunch(const LaunchCommand &command, bool graceful) {
  static RepeatedRequest requests;
  terminations = &requests;
  firstAsks = graceful;
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_handler = forwardSignal;
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM})
    sigaction(signal, &action, nullptr);
  int failed[2];
  if (pipe(failed) != 0)
    fail(exitInternal, "no pipe");
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
    fail(exitInternal, "no process for mpirun");
  if (child == 0) {
    // mpirun ends its ranks when it is asked to end.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
      _exit(exitPeerLost);
    // A signal to the whole group reaches the supervisor only: mpirun would end
    // its ranks before they have saved anything.
    if (graceful)
      setpgid(0, 0);
    close(failed[0]);
    if (std::freopen("/dev/null", "r", stdin) == nullptr)
      _exit(exitInternal);
    for (const std::string &entry : command.environment) {
      const size_t equals = entry.find('=');
      // What the user has set stays.
      setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 0);
    }
    fcntl(failed[1], F_SETFD, FD_CLOEXEC);
    std::vector<char *> words;
    for (const std::string &word : command.words)
      words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
      std::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    execvp(words[0], words.data());
    const int error = errno;
    if (write(failed[1], &error, sizeof error) < 0)
      _exit(exitInternal);
    _exit(exitInternal);
  }
  supervisedChild = child;
  if (receivedSignal) // It came before there was anyone to tell.
    kill(child, SIGTERM);
  close(failed[1]);
  int error = 0;
  ssize_t got;
  while ((got = read(failed[0], &error, sizeof error)) < 0 && errno == EINTR)
    continue;
  close(failed[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    continue;
  supervisedChild = 0;
  alarm(0);
  if (got == sizeof error)
    fail(exitDisagreement,
         "cannot start " + quoted(command.words[0]) + ": " +
             std::strerror(error) +
             "; install Open MPI, or start with --communicator local");
  if (receivedSignal)
    return exitInterrupted;
  // Whoever is ended by the question has not begun: nothing is lost.
  if (asked &&
      (WIFSIGNALED(status) ? WTERMSIG(status) == preemptionSignal
                           : WEXITSTATUS(status) == 128 + preemptionSignal))
    return exitPreempted;
  if (WIFSIGNALED(status))
    return exitPeerLost;
  const int code = WEXITSTATUS(status);
  switch (code) {
  case 1: // mpirun's own: the ranks never end with it.
    std::fprintf(stderr, "program: error: mpirun could not run the ranks\n");
    return exitDisagreement;
  default:
    if (code > 128 && code < 128 + 65 && code != exitInterrupted &&
        !(code >= exitPeerLost && code <= exitDevice)) {
      std::fprintf(stderr, "program: error: a rank was ended by signal %d\n",
                   code - 128);
      return exitPeerLost;
    }
    return code;
  }
}

// --- torchrun
// ---------------------------------------------------------------------

namespace {
/// `name` is at most 100 bytes.
void unixAddress(const std::string &name, struct sockaddr_un &address,
                 socklen_t &length) {
  std::memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  // An abstract name: it ends with the process.
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  length = static_cast<socklen_t>(offsetof(struct sockaddr_un, sun_path) + 1 +
                                  name.size());
}
} // namespace

Leadership::Leadership(const Launcher &launcher)
    : followers(launcher.size - 1) {
  if (launcher.localSize != launcher.size)
    fail(exitDisagreement, "torchrun starts ranks on several machines; start "
                           "them with mpirun or srun instead");
  const char *run = std::getenv("TORCHELASTIC_RUN_ID");
  const char *port = std::getenv("MASTER_PORT");
  const char *restart = std::getenv("TORCHELASTIC_RESTART_COUNT");
  address = std::string("parplan-") + (run ? run : "") + "-" +
            (port ? port : "") + "-" + (restart ? restart : "");
  if (address.size() > 100)
    address.resize(100);
  if (launcher.rank != 0)
    return;
  struct sockaddr_un name;
  socklen_t length = 0;
  unixAddress(address, name, length);
  descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0 ||
      bind(descriptor, reinterpret_cast<sockaddr *>(&name), length) != 0 ||
      listen(descriptor, 1024) != 0)
    fail(exitDisagreement, "another run uses torchrun's address here");
}

void Leadership::announce(int code) {
  // Followers connect when they start; those that came late find the address
  // gone and end with 190, so wait a little for each.
  struct timeval limit = {10, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  for (int i = 0; i < followers; ++i) {
    const int peer = accept(descriptor, nullptr, nullptr);
    if (peer < 0)
      break;
    const unsigned char byte = static_cast<unsigned char>(code);
    if (send(peer, &byte, 1, MSG_NOSIGNAL) != 1)
      std::fprintf(stderr, "program: warning: a process of torchrun is gone\n");
    close(peer);
  }
  close(descriptor);
}

int Leadership::follow(double timeoutSeconds) {
  struct sockaddr_un name;
  socklen_t length = 0;
  unixAddress(address, name, length);
  const int64_t start = monotonicNanoseconds();
  for (;;) {
    descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor >= 0 &&
        connect(descriptor, reinterpret_cast<sockaddr *>(&name), length) == 0)
      break;
    close(descriptor);
    if (monotonicNanoseconds() - start > timeoutSeconds * 1e9)
      return exitTimedOut;
    usleep(20000);
  }
  unsigned char code = exitPeerLost;
  ssize_t got;
  while ((got = recv(descriptor, &code, 1, 0)) < 0 && errno == EINTR)
    continue;
  close(descriptor);
  return got == 1 ? int(code) : int(exitPeerLost);
}

} // namespace runtime
} // namespace parplan
