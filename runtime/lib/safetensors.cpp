//===- safetensors.cpp - Files of named tensors ---------------------------===//

#include "safetensors.h"
#include "json_text.h"

#include <algorithm>
#include <cstring>

namespace parplan {
namespace runtime {

std::string layOutTensors(std::vector<StoredTensor> &tensors,
                          const std::string &metadata) {
  const auto groupOf = [](const StoredTensor &tensor) -> const std::string & {
    return tensor.group.empty() ? tensor.name : tensor.group;
  };
  std::stable_sort(tensors.begin(), tensors.end(),
                   [&](const StoredTensor &a, const StoredTensor &b) {
                     if (a.elementBytes != b.elementBytes)
                       return a.elementBytes > b.elementBytes;
                     return groupOf(a) < groupOf(b);
                   });
  std::string text = "{\"__metadata__\":" + metadata;
  int64_t offset = 0;
  for (StoredTensor &tensor : tensors) {
    std::string shape;
    for (int64_t size : tensor.shape)
      shape += (shape.empty() ? "" : ",") + std::to_string(size);
    text += "," + jsonString(tensor.name) + ":{\"dtype\":\"" + tensor.type +
            "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
            std::to_string(offset) + "," +
            std::to_string(offset + tensor.bytes) + "]}";
    tensor.offset = offset;
    offset += tensor.bytes;
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string header(8, 0);
  for (int i = 0; i < 8; ++i)
    header[i] = static_cast<char>(text.size() >> (8 * i) & 255);
  header += text;
  for (StoredTensor &tensor : tensors)
    tensor.offset += static_cast<int64_t>(header.size());
  return header;
}

bool readTensors(const char *data, int64_t bytes,
                 std::vector<StoredTensor> &tensors, std::string &reason) {
  reason = "it is no safetensors file";
  if (bytes < 8)
    return false;
  uint64_t length = 0;
  std::memcpy(&length, data, sizeof length);
  if (length > static_cast<uint64_t>(bytes - 8) || length > 100000000)
    return false;
  const int64_t start = 8 + static_cast<int64_t>(length);
  JsonReader reader(data + 8, static_cast<int64_t>(length));
  reader.expect('{');
  bool more = reader.good() && !reader.take('}');
  while (more && reader.good()) {
    StoredTensor tensor;
    tensor.name = reader.string();
    reader.expect(':');
    if (tensor.name == "__metadata__") {
      reader.skip();
    } else {
      int64_t first = 0, last = 0;
      reader.expect('{');
      do {
        const std::string key = reader.string();
        reader.expect(':');
        if (key == "dtype") {
          tensor.type = reader.string();
        } else if (key == "shape") {
          reader.expect('[');
          if (!reader.take(']')) {
            do
              tensor.shape.push_back(reader.integer());
            while (reader.good() && reader.take(','));
            reader.expect(']');
          }
        } else if (key == "data_offsets") {
          reader.expect('[');
          first = reader.integer();
          reader.expect(',');
          last = reader.integer();
          reader.expect(']');
        } else {
          reader.skip();
        }
      } while (reader.good() && reader.take(','));
      reader.expect('}');
      if (reader.good() &&
          (first < 0 || last < first || last > bytes - start)) {
        reason = "tensor '" + tensor.name + "' lies outside of the file";
        return false;
      }
      tensor.offset = start + first;
      tensor.bytes = last - first;
      tensors.push_back(std::move(tensor));
    }
    more = reader.take(',');
    if (!more)
      reader.expect('}');
  }
  return reader.good() && reader.atEnd();
}

} // namespace runtime
} // namespace parplan
