//===- Loader.cpp - From a file to messages --------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Load/Limits.h"
#include "lib/Import/Load/LoadedModel.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "onnx/checker.h"
#include "onnx/onnx_pb.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>

#include <unordered_set>
#include <utility>

namespace parplan::importer {

/// Protobuf prints what it thinks of malformed messages to standard error.
static void silenceProtobuf() {
  static const bool isSilent = [] {
    google::protobuf::SetLogHandler(nullptr);
    return true;
  }();
  (void)isSilent;
}

static google::protobuf::ArenaOptions getArenaOptions() {
  google::protobuf::ArenaOptions options;
  options.start_block_size = size_t(1) << 20;
  options.max_block_size = size_t(1) << 24;
  return options;
}

struct LoadedModel::Storage {
  google::protobuf::Arena arena{getArenaOptions()};
};

LoadedModel::LoadedModel() = default;
LoadedModel::~LoadedModel() = default;

Location LoadedModel::locateNode(uint32_t node, std::string opType) const {
  std::string name;
  if (node < filtered.nodes.size())
    name = readNodeName(file.getBytes(), filtered.nodes[node]);
  return Location::atNode(path, node, std::move(name), std::move(opType));
}

bool LoadedModel::load(DiagnosticEngine &diagnostics) {
  silenceProtobuf();
  Location location = Location::inFile(path);
  if (std::string reason = file.open(path); !reason.empty()) {
    diagnostics.error(codes::unreadableModel, location)
        << "cannot read the model: " << reason;
    return false;
  }
  std::string_view bytes = file.getBytes();
  if (bytes.size() > limits::fileBytes) {
    diagnostics.error(codes::modelTooLarge, location)
            .help("keep the weights in a file of their own (external data)")
        << "the file has " << bytes.size()
        << " bytes; an ONNX model has at most " << limits::fileBytes;
    return false;
  }
  uint64_t malformedAt = 0;
  std::optional<FilteredModel> parts = filterModel(bytes, malformedAt);
  if (!parts || bytes.empty()) {
    diagnostics.error(codes::malformedModel, location)
        << (bytes.empty() ? concat("the file is empty")
                          : concat("not an ONNX model: malformed or cut off "
                                   "near byte ",
                                   malformedAt));
    return false;
  }
  filtered = std::move(*parts);
  storage = std::make_unique<Storage>();
  model =
      google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&storage->arena);
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t *>(filtered.bytes.data()),
      int(filtered.bytes.size()));
  stream.SetRecursionLimit(100);
  if (!model->ParseFromCodedStream(&stream) ||
      !stream.ConsumedEntireMessage()) {
    diagnostics.error(codes::malformedModel, location)
        << "not an ONNX model: its messages cannot be parsed, or nest more "
           "than "
           "100 levels deep";
    return false;
  }
  // What is parsed is no longer needed as bytes.
  filtered.bytes = std::string();
  inputCount = model->graph().input_size();
  if (!model->has_graph()) {
    diagnostics.error(codes::malformedModel, location)
        << "not an ONNX model: there is no graph in it";
    return false;
  }
  return true;
}

bool guardModel(LoadedModel &model, DiagnosticEngine &diagnostics) {
  size_t before = diagnostics.getErrorCount();
  guardStructure(model, diagnostics);
  guardFunctions(model, diagnostics);
  guardTensors(model, diagnostics);
  return diagnostics.getErrorCount() == before;
}

/// Initializers stand aside as inputs: their bytes were not parsed, and may be
/// in files that do not exist.
static void standAside(LoadedModel &model) {
  onnx::GraphProto &graph = *model.getModel().mutable_graph();
  // On one arena this moves pointers only, so those of `initializers` stay.
  auto *aside = google::protobuf::Arena::CreateMessage<onnx::GraphProto>(
      graph.GetArena());
  aside->mutable_initializer()->Swap(graph.mutable_initializer());
  std::unordered_set<std::string_view> known;
  for (const onnx::ValueInfoProto &input : graph.input())
    known.insert(input.name());
  for (const Initializer &initializer : model.initializers) {
    if (known.count(initializer.name))
      continue;
    onnx::ValueInfoProto &input = *graph.add_input();
    input.set_name(std::string(initializer.name));
    onnx::TypeProto::Tensor &type =
        *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(initializer.onnxType);
    onnx::TensorShapeProto &shape = *type.mutable_shape();
    for (int64_t size : initializer.shape)
      shape.add_dim()->set_dim_value(size);
  }
}

ModelChecker::ModelChecker(LoadedModel &model) {
  standAside(model);
  thread = std::thread([this, &message = std::as_const(model.getModel())] {
    try {
      onnx::checker::check_model(message);
    } catch (const std::exception &exception) {
      constexpr size_t longest = 600;
      reason = exception.what();
      reason = trimText(std::string_view(reason).substr(0, longest));
      if (reason.empty())
        reason = "no reason given";
    }
  });
}

std::string ModelChecker::join() {
  if (thread.joinable())
    thread.join();
  return reason;
}

ModelChecker::~ModelChecker() { join(); }

} // namespace parplan::importer
