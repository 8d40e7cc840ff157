//===- options.cpp - The command line of an emitted program ---------------===//

#include "options.h"
#include "array_file.h"
#include "failure.h"
#include "stages.h"

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

bool oneOf(const std::string &name, std::initializer_list<const char *> names) {
  for (const char *known : names)
    if (name == known)
      return true;
  return false;
}

bool isTrainingOption(const std::string &name) {
  return oneOf(name,
               {"--data", "--save", "--checkpoint-dir", "--checkpoint-every",
                "--resume", "--replay", "--tokens", "--sequence-length"});
}
bool isInferenceOption(const std::string &name) {
  return oneOf(name, {"--input", "--output-dir"});
}
bool isCommonOption(const std::string &name) {
  return oneOf(name, {"--ranks", "--metrics", "--steps", "--timeout",
                      "--communicator", "--arena-bytes", "--nvme-dir"});
}

bool hasExtension(const std::string &text, const std::string &suffix) {
  return text.size() > suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

void readTrainingOption(Options &options, const std::string &name,
                        const char *value) {
  if (!*value)
    fail(exitOptionValue, name + " takes a value that is not empty");
  if (name == "--data") {
    options.dataFolder = value;
  } else if (name == "--save") {
    options.saveFile = value;
    if (!hasExtension(options.saveFile, ".onnx") &&
        !hasExtension(options.saveFile, ".safetensors"))
      fail(exitOptionValue, "--save takes a file named .onnx or .safetensors, "
                            "not " +
                                quoted(value));
  } else if (name == "--checkpoint-dir") {
    options.checkpointFolder = value;
  } else if (name == "--checkpoint-every") {
    options.checkpointEvery = positiveNumber(name, value);
  } else if (name == "--resume") {
    options.resume = value;
  } else if (name == "--replay") {
    options.replayFile = value;
  } else if (name == "--sequence-length") {
    options.sequenceLength = positiveNumber(name, value);
  } else if (name == "--tokens") {
    if (!oneOf(value, {"uint16", "uint32"}))
      fail(exitOptionValue,
           "--tokens takes uint16 or uint32, not " + quoted(value));
    options.tokenBytes = std::strcmp(value, "uint16") == 0 ? 2 : 4;
  }
}

/// What options need of each other.
void checkTrainingOptions(const Program &program, Options &options) {
  if (!options.replayFile.empty() && program.staleness < 0)
    fail(exitUsage, "--replay is for programs with an asynchronous parameter "
                    "server; every run of this one is the same");
  if (options.sequenceLength != 0 && options.tokenBytes == 0)
    fail(exitUsage, "--sequence-length needs --tokens uint16|uint32");
  if (options.checkpointEvery != 0 && options.checkpointFolder.empty())
    fail(exitUsage, "--checkpoint-every needs --checkpoint-dir DIR");
  if (options.resume == "auto" && options.checkpointFolder.empty())
    fail(exitUsage, "--resume auto needs --checkpoint-dir DIR");
  if (options.resume.empty())
    options.resume = options.checkpointFolder.empty() ? "none" : "auto";
  if (options.dataFolder.empty() && !options.help && !options.printLaunch)
    fail(exitMissingInput, "no data; give --data DIR");
}

/// NAME=FILE. A name of the model may hold '=' too: the longest that fits is
/// meant.
std::pair<std::string, std::string> splitInput(const Program &program,
                                               const std::string &text) {
  size_t split = text.find('=');
  if (split == 0 || split == std::string::npos || split + 1 == text.size())
    fail(exitOptionValue, "--input takes NAME=FILE, not " + quoted(text));
  for (const Tensor *input : inputsOf(program)) {
    const std::string name = input->name;
    if (name.size() > split && name.size() + 1 < text.size() &&
        text[name.size()] == '=' && text.compare(0, name.size(), name) == 0)
      split = name.size();
  }
  return {text.substr(0, split), text.substr(split + 1)};
}

} // namespace

Options parseOptions(const Program &program, int argc, char **argv) {
  const bool training = program.training != nullptr;
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
    if (isTrainingOption(name) && !training)
      fail(exitUsage, name + " is for training programs; this program is a "
                             "forward pass and takes --input NAME=FILE");
    if (isInferenceOption(name) && training)
      fail(exitUsage, name + " is for forward passes; this program trains and "
                             "takes --data DIR");
    if (!isTrainingOption(name) && !isInferenceOption(name) &&
        !isCommonOption(name))
      fail(exitUsage, "unknown option " + quoted(name) + "; see --help");
    if (!value) {
      if (i + 1 == argc)
        fail(exitUsage, name + " takes a value");
      value = argv[++i];
    }
    if (isTrainingOption(name)) {
      readTrainingOption(options, name, value);
    } else if (name == "--ranks") {
      options.ranks = positiveNumber(name, value);
    } else if (name == "--input") {
      options.inputs.push_back(splitInput(program, value));
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
    } else if (name == "--nvme-dir") {
      if (!*value)
        fail(exitOptionValue, "--nvme-dir takes a folder");
      options.nvmeFolder = value;
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
  if (training)
    checkTrainingOptions(program, options);
  return options;
}

std::string usageText(const Program &program) {
  const int ranks = rankCount(program);
  const bool training = program.training != nullptr;
  std::string text =
      training
          ? "program --data DIR [--steps N] [--save FILE.onnx|.safetensors]\n"
            "        [--tokens uint16|uint32 [--sequence-length L]]\n"
            "        [--checkpoint-dir DIR] [--checkpoint-every N]\n"
            "        [--resume auto|none|PATH] [--metrics FILE] [--ranks N]\n"
            "        [--timeout SECONDS] [--print-launch] [--replay FILE]\n"
          : "program [--ranks N] --input NAME=FILE ... [--output-dir DIR]\n"
            "        [--metrics FILE] [--steps N] [--timeout SECONDS] "
            "[--print-launch]\n";
  text += "        [--communicator mpi|local|self|nccl] [--arena-bytes N]\n"
          "        [--nvme-dir DIR]\n\n";
  text += (training ? "Trains " : "Runs the forward pass of ") +
          quoted(program.name) + " on " + std::to_string(ranks) + " rank(s). ";
  text += training ? "DIR holds NAME.npy for each of these, first dimension "
                     "samples,\nor tokens.bin.\n"
                   : "FILE is a .npy file or an ONNX TensorProto (.pb).\n";
  for (const Tensor *input : inputsOf(program))
    if (input->role == TensorRole::Data || input->role == TensorRole::Labels)
      text +=
          "  input  " + quoted(input->name) + "  " + describe(*input) + "\n";
  for (const PlacedOutput &output : outputsOf(program))
    text += "  output " + quoted(output.tensor->name) + "  " +
            describe(*output.tensor) + "\n";
  return text;
}

void checkInputs(const Program &program, const Options &options) {
  const std::vector<const Tensor *> inputs = inputsOf(program);
  for (const auto &given : options.inputs) {
    bool known = false;
    for (const Tensor *input : inputs)
      known |= given.first == input->name;
    if (!known) {
      std::string names;
      for (const Tensor *input : inputs)
        names += (names.empty() ? "" : ", ") + quoted(input->name);
      fail(exitOptionValue, "the model has no input " + quoted(given.first) +
                                "; its inputs are " + names);
    }
  }
  std::string missing;
  for (const Tensor *input : inputs) {
    const std::string *file = nullptr;
    for (const auto &given : options.inputs) {
      if (given.first != input->name)
        continue;
      if (file)
        fail(exitOptionValue,
             "input " + quoted(given.first) + " is given twice");
      file = &given.second;
    }
    if (!file)
      missing += (missing.empty() ? "" : ", ") + quoted(input->name);
    else
      readArray(*file, *input);
  }
  if (!missing.empty())
    fail(exitMissingInput,
         "no file for input " + missing + "; give --input NAME=FILE");
}

} // namespace runtime
} // namespace parplan
