//===- Process.cpp - Running other programs -------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/Process.h"

#include <cerrno>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

using namespace parplan;

/// More of what a program prints is not kept.
constexpr size_t maximumOutputBytes = size_t{1} << 20;

ProcessResult parplan::runProcess(const std::vector<std::string> &arguments,
                                  const std::vector<std::string> &variables) {
  ProcessResult result;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    result.startError = errno;
    return result;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::vector<char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(const_cast<char *>(argument.c_str()));
  pointers.push_back(nullptr);
  std::vector<char *> environment;
  for (char **entry = environ; *entry; ++entry)
    environment.push_back(*entry);
  for (const std::string &variable : variables)
    environment.push_back(const_cast<char *>(variable.c_str()));
  environment.push_back(nullptr);
  pid_t process = 0;
  result.startError = ::posix_spawnp(&process, pointers[0], &actions, nullptr,
                                     pointers.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (result.startError == 0) {
    char buffer[4096];
    while (true) {
      ssize_t count = ::read(ends[0], buffer, sizeof buffer);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        break;
      if (result.output.size() < maximumOutputBytes)
        result.output.append(buffer, static_cast<size_t>(count));
    }
    while (::waitpid(process, &result.status, 0) < 0 && errno == EINTR)
      continue;
  }
  ::close(ends[0]);
  return result;
}
