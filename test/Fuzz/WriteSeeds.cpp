//===- WriteSeeds.cpp - Models from text to bytes -------------------------===//
//
// Part of parplan.
//
// WriteSeeds FOLDER FILE...: the models that the files describe in ONNX's text
// format, in the folder under their names. What is no text is copied.
//
//===----------------------------------------------------------------------===//

#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

int main(int argc, char **argv) {
  if (argc < 2)
    return 64;
  std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  for (int index = 2; index < argc; ++index) {
    std::filesystem::path path = argv[index];
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    std::string bytes = text.str();
    if (path.extension() == ".txt") {
      onnx::ModelProto model;
      onnx::OnnxParser parser(bytes.c_str());
      if (onnx::Common::Status status = parser.Parse(model); !status.IsOK()) {
        std::cerr << path << ": " << status.ErrorMessage() << "\n";
        return 65;
      }
      bytes = model.SerializeAsString();
    }
    std::ofstream(folder / path.stem(), std::ios::binary) << bytes;
  }
  return 0;
}
