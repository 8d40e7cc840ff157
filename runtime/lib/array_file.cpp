//===- array_file.cpp - Arrays in files: .npy and TensorProto -------------===//

#include "array_file.h"
#include "failure.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace parplan {
namespace runtime {

namespace {

struct TypeName {
  ElementType type;
  const char *text;
  const char *numpy;
  int proto; // TensorProto.DataType
};
constexpr TypeName typeNames[] = {
    {ElementType::Float64, "float64", "f8", 11},
    {ElementType::Float32, "float32", "f4", 1},
    {ElementType::Float16, "float16", "f2", 10},
    {ElementType::BFloat16, "bfloat16", "u2", 16},
    {ElementType::Int64, "int64", "i8", 7},
    {ElementType::Int32, "int32", "i4", 6},
    {ElementType::Int16, "int16", "i2", 5},
    {ElementType::Int8, "int8", "i1", 3},
    {ElementType::UInt64, "uint64", "u8", 13},
    {ElementType::UInt32, "uint32", "u4", 12},
    {ElementType::UInt16, "uint16", "u2", 4},
    {ElementType::UInt8, "uint8", "u1", 2},
    {ElementType::Bool, "bool", "b1", 9},
};

const TypeName &nameOf(ElementType type) {
  for (const TypeName &entry : typeNames)
    if (entry.type == type)
      return entry;
  return typeNames[0];
}

[[noreturn]] void malformed(const std::string &path, const std::string &why) {
  fail(exitBadData, quoted(path) + " is malformed: " + why);
}

/// The number of elements, at most `limit`; -1 when there are more.
int64_t elementCount(const std::vector<int64_t> &shape, int64_t limit) {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0 || (size > 0 && count > limit / size))
      return -1;
    count *= size;
  }
  return count;
}

// --- .npy
// -------------------------------------------------------------------------

/// The text behind 'KEY': in the header's dictionary.
const char *valueOf(const std::string &header, const char *key) {
  const size_t at = header.find(std::string("'") + key + "'");
  if (at == std::string::npos)
    return nullptr;
  const size_t colon = header.find(':', at);
  if (colon == std::string::npos)
    return nullptr;
  const char *text = header.c_str() + colon + 1;
  while (*text == ' ')
    ++text;
  return text;
}

void readNpy(const std::string &path, Array &array) {
  const char *data = array.file->data();
  const int64_t size = array.file->size();
  if (size < 10 || std::memcmp(data, "\x93NUMPY", 6) != 0)
    malformed(path, "it is neither a .npy file nor named .pb");
  const auto *bytes = reinterpret_cast<const unsigned char *>(data);
  int64_t start = 10;
  int64_t length = bytes[8] | bytes[9] << 8;
  if (bytes[6] >= 2) {
    if (size < 12)
      malformed(path, "the header is cut off");
    start = 12;
    length |= int64_t(bytes[10]) << 16 | int64_t(bytes[11]) << 24;
  }
  if (length > size - start)
    malformed(path, "the header is cut off");
  const std::string header(data + start, static_cast<size_t>(length));

  const char *descr = valueOf(header, "descr");
  if (!descr || *descr != '\'')
    malformed(path, "no simple element type in the header");
  const std::string code(descr + 1, strcspn(descr + 1, "'"));
  const TypeName *type = nullptr;
  for (const TypeName &entry : typeNames)
    if (entry.type != ElementType::BFloat16 && code.size() == 3 &&
        code.substr(1) == entry.numpy &&
        (code[0] == '<' || code[0] == '|' || code[0] == '='))
      type = &entry;
  if (!type)
    fail(exitBadData, quoted(path) + " has elements of type " + quoted(code) +
                          ", which the program does not read");
  array.type = type->type;
  array.isNumpy = true;

  const char *order = valueOf(header, "fortran_order");
  array.columnMajor = order && std::strncmp(order, "True", 4) == 0;
  const char *shape = valueOf(header, "shape");
  if (!shape || *shape != '(')
    malformed(path, "no shape in the header");
  for (++shape; *shape && *shape != ')';) {
    if (*shape == ' ' || *shape == ',') {
      ++shape;
      continue;
    }
    if (!std::isdigit(static_cast<unsigned char>(*shape)))
      malformed(path, "the shape is not a list of numbers");
    int64_t value = 0;
    for (; std::isdigit(static_cast<unsigned char>(*shape)); ++shape) {
      if (value > (int64_t(1) << 52))
        malformed(path, "a size is too large");
      value = value * 10 + (*shape - '0');
    }
    array.shape.push_back(value);
  }
  const int64_t width = elementBytes(array.type);
  const int64_t available = (size - start - length) / width;
  const int64_t count = elementCount(array.shape, available);
  if (count < 0 || count > available)
    malformed(path, "it is shorter than its shape says");
  array.data = data + start + length;
}

// --- TensorProto
// ------------------------------------------------------------------

/// Reads protobuf's wire format within [at, end).
struct Wire {
  const std::string &path;
  const unsigned char *at;
  const unsigned char *end;

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at == end)
        malformed(path, "it is cut off");
      const unsigned char byte = *at++;
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    malformed(path, "a number is too long");
  }
  /// A length-delimited field.
  Wire message() {
    const uint64_t length = varint();
    if (length > static_cast<uint64_t>(end - at))
      malformed(path, "a field is longer than the file");
    Wire inner = {path, at, at + length};
    at += length;
    return inner;
  }
  const unsigned char *fixed(int64_t bytes) {
    if (end - at < bytes)
      malformed(path, "it is cut off");
    const unsigned char *value = at;
    at += bytes;
    return value;
  }
  void skip(int wireType) {
    if (wireType == 0)
      varint();
    else if (wireType == 1)
      fixed(8);
    else if (wireType == 2)
      message();
    else if (wireType == 5)
      fixed(4);
    else
      malformed(path, "it is no TensorProto");
  }
};

template <typename Element>
void append(std::vector<char> &bytes, Element value) {
  const char *begin = reinterpret_cast<const char *>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}

/// Appends a value of int32_data, int64_data or uint64_data in `type`.
void appendInteger(std::vector<char> &bytes, ElementType type, uint64_t value) {
  const char *begin = reinterpret_cast<const char *>(&value);
  bytes.insert(bytes.end(), begin, begin + elementBytes(type));
}

void readTensorProto(const std::string &path, Array &array) {
  const auto *data =
      reinterpret_cast<const unsigned char *>(array.file->data());
  // The type may come after the data: look for it first.
  int proto = 0;
  for (Wire wire = {path, data, data + array.file->size()};
       wire.at != wire.end;) {
    const uint64_t tag = wire.varint();
    if (tag == (2 << 3))
      proto = static_cast<int>(wire.varint());
    else
      wire.skip(tag & 7);
  }
  const TypeName *type = nullptr;
  for (const TypeName &entry : typeNames)
    if (entry.proto == proto)
      type = &entry;
  if (!type)
    fail(exitBadData, quoted(path) + " has elements of TensorProto type " +
                          std::to_string(proto) +
                          ", which the program does not read");
  array.type = type->type;

  int64_t rawBytes = 0;
  for (Wire wire = {path, data, data + array.file->size()};
       wire.at != wire.end;) {
    const uint64_t tag = wire.varint();
    const int field = static_cast<int>(tag >> 3 & 0x1fffffff);
    const int wireType = tag & 7;
    const bool packed = wireType == 2;
    if (field == 1 && (wireType == 0 || packed)) {
      Wire list = packed ? wire.message() : wire;
      do {
        if (packed && list.at == list.end)
          break;
        array.shape.push_back(static_cast<int64_t>(list.varint()));
      } while (packed);
      if (!packed)
        wire.at = list.at;
    } else if ((field == 5 || field == 7 || field == 11) && wireType == 0) {
      appendInteger(array.decoded, array.type, wire.varint());
    } else if ((field == 5 || field == 7 || field == 11) && packed) {
      for (Wire list = wire.message(); list.at != list.end;)
        appendInteger(array.decoded, array.type, list.varint());
    } else if ((field == 4 || field == 10) && packed) {
      const Wire list = wire.message();
      array.decoded.insert(array.decoded.end(), list.at, list.end);
    } else if (field == 4 && wireType == 5) {
      const unsigned char *value = wire.fixed(4);
      array.decoded.insert(array.decoded.end(), value, value + 4);
    } else if (field == 10 && wireType == 1) {
      const unsigned char *value = wire.fixed(8);
      array.decoded.insert(array.decoded.end(), value, value + 8);
    } else if (field == 9 && packed) {
      const Wire raw = wire.message();
      array.data = reinterpret_cast<const char *>(raw.at);
      rawBytes = raw.end - raw.at;
    } else if (field == 13 || field == 14) {
      if (field == 13 || wire.varint() != 0)
        fail(exitBadData, quoted(path) + " keeps its data in another file, "
                                         "which the program does not open");
    } else {
      wire.skip(wireType);
    }
  }
  if (!array.data) {
    array.data = array.decoded.data();
    rawBytes = static_cast<int64_t>(array.decoded.size());
  }
  const int64_t available = rawBytes / elementBytes(array.type);
  const int64_t count = elementCount(array.shape, available);
  if (count < 0 || count * elementBytes(array.type) != rawBytes)
    malformed(path, "its data does not have the size that its shape says");
}

bool endsWith(const std::string &text, const char *suffix) {
  const size_t length = std::strlen(suffix);
  return text.size() >= length &&
         text.compare(text.size() - length, length, suffix) == 0;
}

} // namespace

std::string describe(ElementType type, const std::vector<int64_t> &shape) {
  std::string text = std::string(nameOf(type).text) + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::vector<int64_t> modelShape(const Tensor &tensor) {
  std::vector<int64_t> shape;
  for (const Dimension &dimension : tensor.dimensions)
    shape.push_back(dimension.size);
  const size_t batch = static_cast<size_t>(1 + tensor.batchDimension);
  if (tensor.batched && batch < shape.size()) {
    shape[batch] *= shape[0];
    shape.erase(shape.begin());
  }
  return shape;
}

std::string describe(const Tensor &tensor) {
  return describe(tensor.type, modelShape(tensor));
}

std::vector<std::string> arrayFileNames(const std::vector<std::string> &names) {
  constexpr size_t longest = 200;
  std::vector<std::string> files;
  for (const std::string &name : names) {
    std::string stem = name.substr(0, longest);
    for (char &c : stem)
      if (c == '/' || static_cast<unsigned char>(c) < 0x20)
        c = '_';
    if (stem.empty() || stem[0] == '.')
      stem.insert(stem.begin(), '_');
    std::string file = stem + ".npy";
    for (int number = 2;
         std::find(files.begin(), files.end(), file) != files.end(); ++number)
      file = stem + "_" + std::to_string(number) + ".npy";
    files.push_back(file);
  }
  return files;
}

std::shared_ptr<Array> openArray(const std::string &path, const char *input) {
  auto array = std::make_shared<Array>();
  array->file = std::make_shared<MappedFile>();
  std::string reason;
  if (!array->file->open(path, reason))
    fail(exitMissingInput, "input " + quoted(input) + ": cannot open " +
                               quoted(path) + ": " + reason);
  if (endsWith(path, ".pb"))
    readTensorProto(path, *array);
  else
    readNpy(path, *array);
  return array;
}

std::shared_ptr<Array> readArray(const std::string &path, const Tensor &input) {
  const std::shared_ptr<Array> array = openArray(path, input.name);
  if (!array->holds(input.type) || array->shape != modelShape(input))
    fail(exitBadData, "input " + quoted(input.name) + " is " + describe(input) +
                          ", but " + quoted(path) + " holds " +
                          describe(array->type, array->shape));
  return array;
}

bool writeArray(const std::string &path, ElementType type,
                const std::vector<int64_t> &shape, const void *data) {
  std::string sizes;
  int64_t count = 1;
  for (int64_t size : shape) {
    sizes += std::to_string(size) + ", ";
    count *= size;
  }
  if (shape.size() > 1)
    sizes.resize(sizes.size() - 2);
  else if (shape.size() == 1)
    sizes.resize(sizes.size() - 1);
  const char *code = nameOf(type).numpy;
  std::string header = std::string("{'descr': '") +
                       (elementBytes(type) == 1 ? "|" : "<") + code +
                       "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  while ((10 + header.size() + 1) % 64 != 0)
    header += ' ';
  header += '\n';
  const std::string temporary = path + ".partial";
  std::FILE *file = std::fopen(temporary.c_str(), "wb");
  if (!file)
    return false;
  const unsigned char length[2] = {
      static_cast<unsigned char>(header.size() & 255),
      static_cast<unsigned char>(header.size() >> 8)};
  const size_t bytes = static_cast<size_t>(count * elementBytes(type));
  bool good =
      std::fwrite("\x93NUMPY\x01\x00", 1, 8, file) == 8 &&
      std::fwrite(length, 1, 2, file) == 2 &&
      std::fwrite(header.data(), 1, header.size(), file) == header.size() &&
      std::fwrite(data, 1, bytes, file) == bytes;
  good &= std::fclose(file) == 0;
  good = good && std::rename(temporary.c_str(), path.c_str()) == 0;
  if (!good)
    unlink(temporary.c_str());
  return good;
}

} // namespace runtime
} // namespace parplan
