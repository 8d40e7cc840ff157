//===- Compile.cpp - Running the compiler on an emitted program -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/Compile.h"

#include "lib/Target/Process.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"
#include "parplan/Support/Text.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <sys/wait.h>

namespace parplan {

namespace {

/// What the compiler says, cut after so many lines.
constexpr size_t maximumLines = 20;

/// A list of strings, with "{dir}" replaced.
bool readList(const nlohmann::json &object, const char *key,
              const std::string &directory, std::vector<std::string> &list) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_array())
    return false;
  for (const nlohmann::json &entry : *found) {
    if (!entry.is_string())
      return false;
    std::string text = entry.get<std::string>();
    for (size_t place; (place = text.find("{dir}")) != std::string::npos;)
      text.replace(place, 5, directory);
    list.push_back(text);
  }
  return true;
}

} // namespace

std::optional<CompileCommands>
readCompileCommands(const std::string &runtimeFile, CompileTarget target,
                    DiagnosticEngine &engine) {
  std::optional<std::string> text =
      readFile(runtimeFile, codes::noRuntime, engine);
  if (!text)
    return std::nullopt;
  nlohmann::json document =
      nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const char *key = target == CompileTarget::host ? "host" : "cuda";
  if (!document.is_object() || !document.contains("host")) {
    engine.error(codes::noRuntime, Location::inFile(runtimeFile))
        << "does not say how to compile programs";
    return std::nullopt;
  }
  if (!document.contains(key)) {
    engine.error(codes::noRuntime, Location::inFile(runtimeFile))
        << "the runtime was built without " << key;
    return std::nullopt;
  }
  const nlohmann::json &entry = document[key];
  std::string directory =
      std::filesystem::path(runtimeFile).parent_path().string();
  CompileCommands commands;
  if (!entry.is_object() || !entry.contains("compiler") ||
      !entry["compiler"].is_string() ||
      !readList(entry, "arguments", directory, commands.arguments) ||
      !readList(entry, "link", directory, commands.link)) {
    engine.error(codes::noRuntime, Location::inFile(runtimeFile))
        << "the entry " << quoteName(key) << " is malformed";
    return std::nullopt;
  }
  commands.compiler = entry["compiler"].get<std::string>();
  (void)readList(entry, "architectures", directory, commands.architectures);
  return commands;
}

bool compileProgram(const CompileCommands &commands, const std::string &source,
                    const std::string &program, DiagnosticEngine &engine) {
  std::vector<std::string> arguments = {commands.compiler};
  auto append = [&](const std::vector<std::string> &more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
  };
  append(commands.arguments);
  for (const std::string &architecture : commands.architectures)
    append({"-gencode",
            "arch=compute_" + architecture + ",code=sm_" + architecture});
  append({source, "-o", program});
  append(commands.link);
  ProcessResult result = runProcess(arguments);
  if (result.startError) {
    engine.error(codes::noCompiler)
        << "cannot start the compiler " << quoteName(commands.compiler) << ": "
        << std::strerror(result.startError);
    return false;
  }
  if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0)
    return true;
  DiagnosticBuilder diagnostic =
      engine.error(codes::compilationFailed, Location::inFile(source));
  if (WIFSIGNALED(result.status))
    diagnostic << "the compiler was ended by signal "
               << WTERMSIG(result.status);
  else
    diagnostic << "the compiler refuses the program (exit code "
               << WEXITSTATUS(result.status) << ")";
  size_t lines = 0;
  for (std::string_view line : splitText(result.output, '\n'))
    if (!line.empty() && lines++ < maximumLines)
      diagnostic.note(sanitize(line));
  return false;
}

} // namespace parplan
