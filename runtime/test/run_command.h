//===- run_command.h - Programs as children of a test ---------------------===//

#ifndef PARPLAN_RUNTIME_TEST_RUN_COMMAND_H
#define PARPLAN_RUNTIME_TEST_RUN_COMMAND_H

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>

namespace parplan {
namespace runtime {

struct Result {
  int code;
  std::string output; // standard output and error
};

inline Result run(const std::string &command) {
  std::FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  Result result = {-1, ""};
  char buffer[4096];
  size_t got;
  while ((got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0)
    result.output.append(buffer, got);
  const int status = pclose(pipe);
  result.code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

inline std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_TEST_RUN_COMMAND_H
