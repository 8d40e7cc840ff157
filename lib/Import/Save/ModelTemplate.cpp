//===- ModelTemplate.cpp - The model as a file to be filled in -*- C++ -*-===//
//
// Part of parplan. Works on the wire format: what is not a weight is copied as
// it lies in the file. Field numbers are those of onnx.proto.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Save/ModelTemplate.h"

#include "lib/Import/Load/ExternalFiles.h"
#include "lib/Import/Load/LoadedModel.h"
#include "lib/Import/Load/WireReader.h"
#include "lib/Import/Operators/Tensors.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"
#include "parplan/Support/Text.h"

#include "onnx/onnx_pb.h"

#include <cerrno>
#include <cstdio>
#include <memory>

namespace parplan {

using namespace importer;

namespace {

enum Field : uint32_t {
  modelGraph = 7,
  graphInitializer = 5,
  tensorFloats = 4,
  tensorIntegers = 5,
  tensorLongs = 7,
  tensorRaw = 9,
  tensorDoubles = 10,
  tensorUnsigned = 11,
  tensorExternal = 13,
  tensorLocation = 14,
};

bool isTensorData(uint32_t field) {
  switch (field) {
  case tensorFloats:
  case tensorIntegers:
  case tensorLongs:
  case tensorRaw:
  case tensorDoubles:
  case tensorUnsigned:
  case tensorExternal:
  case tensorLocation:
    return true;
  default:
    return false;
  }
}

/// Bytes of the template: of the model file, of our own, or of another file.
struct Piece {
  std::string_view view;
  std::string owned;
  const ExternalData *external = nullptr;
  int64_t externalBytes = 0;

  int64_t getSize() const {
    return external ? externalBytes
                    : static_cast<int64_t>(view.size() + owned.size());
  }
};

/// A message under construction.
class PieceList {
public:
  void addView(std::string_view view) {
    bytes += static_cast<int64_t>(view.size());
    // Neighbours in the file stay one piece.
    if (!pieces.empty() && !pieces.back().view.empty() &&
        pieces.back().view.data() + pieces.back().view.size() == view.data()) {
      std::string_view &last = pieces.back().view;
      last = {last.data(), last.size() + view.size()};
      return;
    }
    if (!view.empty())
      pieces.push_back({view, {}, nullptr, 0});
  }
  void addOwned(std::string text) {
    bytes += static_cast<int64_t>(text.size());
    if (!text.empty())
      pieces.push_back({{}, std::move(text), nullptr, 0});
  }
  void addExternal(const ExternalData &external, int64_t size) {
    bytes += size;
    if (size > 0)
      pieces.push_back({{}, {}, &external, size});
  }
  /// Appends `content` as a field of type `bytes`.
  void addMessage(uint32_t field, PieceList content) {
    addHeader(field, content.bytes);
    bytes += content.bytes;
    for (Piece &piece : content.pieces)
      pieces.push_back(std::move(piece));
  }
  void addHeader(uint32_t field, int64_t length) {
    std::string header;
    for (uint64_t value :
         {uint64_t(field) << 3 | WireField::bytes, uint64_t(length)}) {
      for (; value >= 0x80; value >>= 7)
        header += static_cast<char>(value | 0x80);
      header += static_cast<char>(value);
    }
    addOwned(std::move(header));
  }

  std::vector<Piece> pieces;
  int64_t bytes = 0;
};

class TemplateBuilder {
public:
  explicit TemplateBuilder(const LoadedModel &model) : model(model) {}

  PieceList build() {
    PieceList file;
    WireReader reader(model.file.getBytes());
    WireField field;
    while (reader.next(field)) {
      if (field.number != modelGraph || field.type != WireField::bytes) {
        file.addView(field.whole);
        continue;
      }
      PieceList graph = buildGraph(field.content);
      // Until now offsets count from the start of the graph's content.
      PieceList header;
      header.addHeader(modelGraph, graph.bytes);
      for (TemplateInitializer &initializer : result.initializers)
        initializer.offset += file.bytes + header.bytes;
      file.addMessage(modelGraph, std::move(graph));
    }
    result.isModel = file.bytes < (int64_t(1) << 31);
    return file;
  }

  ModelTemplate result;

private:
  PieceList buildGraph(std::string_view content) {
    PieceList graph;
    size_t index = 0;
    WireReader reader(content);
    WireField field;
    while (reader.next(field)) {
      if (field.number != graphInitializer || field.type != WireField::bytes) {
        graph.addView(field.whole);
        continue;
      }
      PARPLAN_CHECK(index < model.initializers.size(),
                    "an initializer was not guarded");
      addInitializer(graph, field, model.initializers[index++]);
    }
    return graph;
  }

  void addInitializer(PieceList &graph, const WireField &field,
                      const Initializer &initializer) {
    std::optional<ElementType> type = fromOnnxType(initializer.onnxType);
    if (!type) {
      graph.addView(field.whole);
      return;
    }
    PieceList tensor;
    WireReader reader(field.content);
    WireField part;
    while (reader.next(part))
      if (!isTensorData(part.number))
        tensor.addView(part.whole);
    tensor.addHeader(tensorRaw, initializer.bytes);
    PieceList header;
    header.addHeader(graphInitializer, tensor.bytes + initializer.bytes);
    result.initializers.push_back(
        {std::string(initializer.name), initializer.onnxType,
         std::vector<int64_t>(initializer.shape.begin(),
                              initializer.shape.end()),
         graph.bytes + header.bytes + tensor.bytes, initializer.bytes});
    if (initializer.external)
      tensor.addExternal(*initializer.external, initializer.bytes);
    else if (initializer.span)
      tensor.addView(model.file.getBytes().substr(initializer.span->offset,
                                                  initializer.span->length));
    else
      tensor.addOwned(getRawBytes(*initializer.message, *type));
    graph.addMessage(graphInitializer, std::move(tensor));
  }

  const LoadedModel &model;
};

class TemplateWriter {
public:
  TemplateWriter(const LoadedModel &model, const std::string &path,
                 DiagnosticEngine &engine)
      : model(model), path(path), engine(engine),
        file(std::fopen(path.c_str(), "wb"), &std::fclose) {}

  bool write(const std::vector<Piece> &pieces) {
    if (!file)
      return failWrite();
    for (const Piece &piece : pieces)
      if (!(piece.external       ? copyExternal(piece)
            : piece.view.empty() ? writeBytes(piece.owned)
                                 : writeBytes(piece.view)))
        return false;
    return std::fclose(file.release()) == 0 || failWrite();
  }

private:
  bool failWrite() {
    reportWriteError(engine, path, errno);
    return false;
  }
  bool writeBytes(std::string_view bytes) {
    return std::fwrite(bytes.data(), 1, bytes.size(), file.get()) ==
               bytes.size() ||
           failWrite();
  }
  bool copyExternal(const Piece &piece) {
    ExternalFile input;
    std::string reason = input.open(model.path, piece.external->location);
    constexpr int64_t chunkBytes = int64_t(1) << 24;
    for (int64_t done = 0; reason.empty() && done < piece.externalBytes;) {
      int64_t size = std::min(chunkBytes, piece.externalBytes - done);
      std::optional<std::string> bytes =
          input.read(piece.external->offset + done, size);
      if (!bytes)
        reason = "it is too short";
      else if (!writeBytes(*bytes))
        return false;
      done += size;
    }
    if (reason.empty())
      return true;
    engine.error(codes::missingExternalData, Location::inFile(model.path))
        << "cannot read the weights in " << quoteName(piece.external->location)
        << ": " << reason;
    return false;
  }

  const LoadedModel &model;
  const std::string &path;
  DiagnosticEngine &engine;
  std::unique_ptr<FILE, int (*)(FILE *)> file;
};

} // namespace

std::optional<ModelTemplate> writeModelTemplate(const ModelInfo &info,
                                                const std::string &path,
                                                DiagnosticEngine &engine) {
  const LoadedModel &model = info.getLoadedModel();
  TemplateBuilder builder(model);
  PieceList pieces = builder.build();
  if (!TemplateWriter(model, path, engine).write(pieces.pieces))
    return std::nullopt;
  return std::move(builder.result);
}

} // namespace parplan
