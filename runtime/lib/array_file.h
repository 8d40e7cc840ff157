//===- array_file.h - Arrays in files: .npy and TensorProto ---------------===//

#ifndef PARPLAN_RUNTIME_LIB_ARRAY_FILE_H
#define PARPLAN_RUNTIME_LIB_ARRAY_FILE_H

#include "mapped_file.h"
#include "parplan_runtime/tables.h"

#include <memory>
#include <string>
#include <vector>

namespace parplan {
namespace runtime {

/// The elements of a file, row-major (or column-major) and dense.
struct Array {
  ElementType type = ElementType::Float32;
  std::vector<int64_t> shape;
  bool columnMajor = false;
  /// Of a .npy file.
  bool isNumpy = false;
  const char *data = nullptr;

  /// True if the elements are of that type. numpy has no bfloat16: its bits are
  /// unsigned integers.
  bool holds(ElementType wanted) const {
    return type == wanted || (isNumpy && type == ElementType::UInt16 &&
                              wanted == ElementType::BFloat16);
  }

  // What `data` points into.
  std::shared_ptr<MappedFile> file;
  std::vector<char> decoded;
};

/// NAME.npy for each of the names of a model, which may be anything: no folder,
/// nothing hidden, at most 200 bytes of the name, and where that makes two of
/// them the same, the later one has a number.
std::vector<std::string> arrayFileNames(const std::vector<std::string> &names);

/// Opens the file of an input, by its suffix. Fails with 66 when it cannot be
/// opened, 65 when it is malformed.
std::shared_ptr<Array> openArray(const std::string &path, const char *input);

/// Reads the file of an input, by its suffix (.pb: TensorProto, else .npy).
/// Fails with 66 when it cannot be opened, 65 when it is malformed or has
/// another type or shape than `input`.
std::shared_ptr<Array> readArray(const std::string &path, const Tensor &input);

/// Writes a .npy file through a temporary one; false when that fails.
bool writeArray(const std::string &path, ElementType type,
                const std::vector<int64_t> &shape, const void *data);

/// The shape that the model gives an input or output: what micro-batches share
/// is one dimension.
std::vector<int64_t> modelShape(const Tensor &tensor);

/// "float32[2, 3]", for messages.
std::string describe(ElementType type, const std::vector<int64_t> &shape);
std::string describe(const Tensor &tensor);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_ARRAY_FILE_H
