//===- options.cpp - The command line of an emitted program ---------------===//

#include "options.h"
#include "array_file.h"
#include "failure.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace parplan {
namespace runtime {

namespace {

int64_t positiveNumber(const std::string &option, const char *text) {
  char *end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  if (*text == 0 || *end != 0 || value <= 0 || value > (1LL << 48))
    fail(exitOptionValue,
         option + " takes a positive number, not " + quoted(text));
  return value;
}

/// Options of training programs, which a forward pass does not take.
bool isTrainingOption(const std::string &name) {
  static const char *const names[] = {
      "--data",   "--save",     "--checkpoint-dir", "--checkpoint-every",
      "--resume", "--nvme-dir", "--tokens",         "--sequence-length"};
  for (const char *known : names)
    if (name == known)
      return true;
  return false;
}

} // namespace

Options parseOptions(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      options.help = true;
      continue;
    }
    if (name == "--print-launch") {
      options.printLaunch = true;
      continue;
    }
    const char *value = nullptr;
    const size_t equals = name.find('=');
    if (name.compare(0, 2, "--") == 0 && equals != std::string::npos) {
      value = argv[i] + equals + 1;
      name.resize(equals);
    }
    if (isTrainingOption(name))
      fail(exitUsage, name + " is for training programs; this program is a "
                             "forward pass and takes --input NAME=FILE");
    static const char *const known[] = {
        "--ranks", "--input",   "--output-dir",   "--metrics",
        "--steps", "--timeout", "--communicator", "--arena-bytes"};
    bool found = false;
    for (const char *entry : known)
      found |= name == entry;
    if (!found)
      fail(exitUsage, "unknown option " + quoted(name) + "; see --help");
    if (!value) {
      if (i + 1 == argc)
        fail(exitUsage, name + " takes a value");
      value = argv[++i];
    }
    if (name == "--ranks") {
      options.ranks = positiveNumber(name, value);
    } else if (name == "--input") {
      const char *split = std::strchr(value, '=');
      if (!split || split == value || !split[1])
        fail(exitOptionValue, "--input takes NAME=FILE, not " + quoted(value));
      options.inputs.emplace_back(std::string(value, split), split + 1);
    } else if (name == "--output-dir") {
      options.outputDirectory = value;
    } else if (name == "--metrics") {
      options.metricsFile = value;
    } else if (name == "--steps") {
      options.steps = positiveNumber(name, value);
    } else if (name == "--timeout") {
      char *end = nullptr;
      options.timeoutSeconds = std::strtod(value, &end);
      if (!*value || *end || !(options.timeoutSeconds > 0) ||
          options.timeoutSeconds > 1e9)
        fail(exitOptionValue, "--timeout takes a positive number of seconds, "
                              "not " +
                                  quoted(value));
    } else if (name == "--arena-bytes") {
      options.arenaBytes = positiveNumber(name, value);
    } else {
      options.communicator = value;
      if (options.communicator != "mpi" && options.communicator != "local" &&
          options.communicator != "self" && options.communicator != "nccl")
        fail(exitOptionValue, "--communicator takes mpi, local, self or nccl, "
                              "not " +
                                  quoted(value));
    }
  }
  return options;
}

std::string usageText(const Program &program) {
  int64_t ranks = 1;
  for (const Axis &axis : program.mesh)
    ranks *= axis.size;
  std::string text =
      "program [--ranks N] --input NAME=FILE ... [--output-dir DIR] "
      "[--metrics FILE]\n"
      "        [--steps N] [--timeout SECONDS] [--print-launch]\n"
      "        [--communicator mpi|local|self|nccl] [--arena-bytes N]\n\n"
      "Runs the forward pass of " +
      quoted(program.name) + " on " + std::to_string(ranks) +
      " rank(s). FILE is a .npy file or an ONNX TensorProto (.pb).\n";
  for (const Tensor &input : program.inputs)
    text += "  input  " + quoted(input.name) + "  " + describe(input) + "\n";
  for (const Tensor &output : program.outputs)
    text += "  output " + quoted(output.name) + "  " + describe(output) + "\n";
  return text;
}

void checkInputs(const Program &program, const Options &options) {
  for (const auto &given : options.inputs) {
    bool known = false;
    for (const Tensor &input : program.inputs)
      known |= given.first == input.name;
    if (!known) {
      std::string names;
      for (const Tensor &input : program.inputs)
        names += (names.empty() ? "" : ", ") + quoted(input.name);
      fail(exitOptionValue, "the model has no input " + quoted(given.first) +
                                "; its inputs are " + names);
    }
  }
  std::string missing;
  for (const Tensor &input : program.inputs) {
    const std::string *file = nullptr;
    for (const auto &given : options.inputs) {
      if (given.first != input.name)
        continue;
      if (file)
        fail(exitOptionValue,
             "input " + quoted(given.first) + " is given twice");
      file = &given.second;
    }
    if (!file)
      missing += (missing.empty() ? "" : ", ") + quoted(input.name);
    else
      readArray(*file, input);
  }
  if (!missing.empty())
    fail(exitMissingInput,
         "no file for input " + missing + "; give --input NAME=FILE");
}

} // namespace runtime
} // namespace parplan
