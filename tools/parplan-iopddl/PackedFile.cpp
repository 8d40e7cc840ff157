//===- PackedFile.cpp - Files as they are, or unpacked --------------------===//

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"
#include "tools/parplan-iopddl/Instance.h"

#include <zlib.h>

using namespace parplan;

namespace {

constexpr size_t maxTextBytes = size_t{1} << 30;

std::optional<std::string> unpack(const std::string &packed) {
  z_stream stream{};
  constexpr int gzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&stream, gzipOnly) != Z_OK)
    return std::nullopt;
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  int status = Z_OK;
  while (status == Z_OK && text.size() < maxTextBytes) {
    size_t size = text.size();
    text.resize(std::max(2 * size, size_t{1} << 20));
    stream.next_out = reinterpret_cast<Bytef *>(text.data() + size);
    stream.avail_out = static_cast<uInt>(text.size() - size);
    status = inflate(&stream, Z_NO_FLUSH);
    text.resize(text.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END)
    return std::nullopt;
  return text;
}

} // namespace

std::optional<std::string> contest::readPackedFile(const std::string &file,
                                                   DiagnosticEngine &engine) {
  std::optional<std::string> bytes =
      readFile(file, codes::unreadableInstance, engine, maxTextBytes);
  if (!bytes || !bytes->starts_with("\x1f\x8b"))
    return bytes;
  std::optional<std::string> text = unpack(*bytes);
  if (!text)
    engine.error(codes::badInstance, Location::inFile(file))
        << "the gzip data is damaged, or larger than 1 GiB unpacked";
  return text;
}
