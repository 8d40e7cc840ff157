//===- WriteWeights.cpp - weights.bin -------------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/WeightLayout.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"
#include "parplan/Support/Sha256.h"
#include "parplan/Support/Text.h"
#include "parplan_runtime/narrow_floats.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;

namespace parplan {

namespace {

/// Closes on every way out.
class FileDescriptor {
public:
  explicit FileDescriptor(int number = -1) : number(number) {}
  FileDescriptor(FileDescriptor &&other) noexcept
      : number(std::exchange(other.number, -1)) {}
  FileDescriptor &operator=(FileDescriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~FileDescriptor() {
    if (number >= 0)
      ::close(number);
  }
  int get() const { return number; }
  bool isOpen() const { return number >= 0; }

private:
  int number;
};

/// Writes a file from start to end and hashes what it writes.
class SequentialWriter {
public:
  SequentialWriter(const std::string &path, DiagnosticEngine &engine)
      : path(path), engine(engine),
        file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                    0666)) {
    if (!file.isOpen())
      fail(errno);
  }

  bool write(const void *data, size_t size) {
    hash.update(data, size);
    written += static_cast<int64_t>(size);
    const char *next = static_cast<const char *>(data);
    while (size > 0 && !failed) {
      ssize_t count = ::write(file.get(), next, size);
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0) {
        fail(errno);
        break;
      }
      next += count;
      size -= static_cast<size_t>(count);
    }
    return !failed;
  }

  bool padTo(int64_t offset) {
    static constexpr char zeros[64] = {};
    return written >= offset ||
           write(zeros, static_cast<size_t>(offset - written));
  }

  bool hasFailed() const { return failed; }
  std::string finish() { return hash.finishHex(); }

private:
  void fail(int error) {
    failed = true;
    reportWriteError(engine, path, error);
  }

  const std::string &path;
  DiagnosticEngine &engine;
  FileDescriptor file;
  Sha256 hash;
  int64_t written = 0;
  bool failed = false;
};

/// The bytes of a constant as the program stores it: an i1 takes one byte.
std::string getBytes(ElementsAttr constant) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    ArrayRef<char> data = blob ? blob->getData() : ArrayRef<char>();
    return std::string(data.begin(), data.end());
  }
  auto dense = cast<DenseElementsAttr>(constant);
  if (dense.getElementType().isInteger(1)) {
    std::string bytes;
    for (bool value : dense.getValues<bool>())
      bytes += value ? '\1' : '\0';
    return bytes;
  }
  ArrayRef<char> data = dense.getRawData();
  std::string element(data.begin(), data.end());
  if (!dense.isSplat())
    return element;
  std::string bytes;
  for (int64_t index = 0; index < dense.getNumElements(); ++index)
    bytes += element;
  return bytes;
}

class WeightWriter {
public:
  WeightWriter(const WeightLayout &layout, const std::string &modelFile,
               const std::string &path, DiagnosticEngine &engine)
      : layout(layout), modelFile(modelFile), engine(engine),
        output(path, engine), buffer(size_t{4} << 20) {}

  std::optional<std::string> run() {
    bool complete = !output.hasFailed();
    for (const WeightPiece &piece : layout.pieces) {
      // After a missing file the others are still looked for.
      if (complete)
        complete = output.padTo(piece.offset) && copy(piece);
      else if (!output.hasFailed() && !piece.constant)
        (void)open(piece);
    }
    if (!complete)
      return std::nullopt;
    return output.finish();
  }

private:
  std::string getPath(const WeightPiece &piece) const {
    if (piece.file.empty())
      return modelFile;
    return (std::filesystem::path(modelFile).parent_path() / piece.file)
        .string();
  }

  /// Opens the piece's file unless it is the one that is open. Each file is
  /// reported once.
  bool open(const WeightPiece &piece) {
    std::string path = getPath(piece);
    if (path == inputPath)
      return input.isOpen();
    inputPath = path;
    input = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status = {};
    if (input.isOpen() && ::fstat(input.get(), &status) == 0 &&
        S_ISREG(status.st_mode)) {
      inputBytes = status.st_size;
      return true;
    }
    engine.error(codes::missingWeights, Location::inFile(path))
        << "cannot read the weights of " << quoteName(piece.name) << ": "
        << std::strerror(input.isOpen() ? EINVAL : errno);
    input = FileDescriptor();
    return false;
  }

  bool copy(const WeightPiece &piece) {
    if (piece.constant) {
      std::string bytes = getBytes(piece.constant);
      return output.write(bytes.data(), bytes.size());
    }
    if (!open(piece))
      return false;
    int64_t bytes = piece.rounded ? 2 * piece.bytes : piece.bytes;
    if (piece.fileOffset > inputBytes ||
        bytes > inputBytes - piece.fileOffset) {
      engine.error(codes::shortWeights, Location::inFile(inputPath))
          << "the file of " << inputBytes << " bytes ends within "
          << quoteName(piece.name) << ", which has " << bytes << " bytes at "
          << piece.fileOffset;
      return false;
    }
    // Of an element that was read in part.
    size_t pending = 0;
    for (int64_t done = 0; done < bytes;) {
      size_t wanted = static_cast<size_t>(std::min<int64_t>(
          bytes - done, static_cast<int64_t>(buffer.size() - pending)));
      ssize_t count = ::pread(input.get(), buffer.data() + pending, wanted,
                              piece.fileOffset + done);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0) {
        engine.error(codes::missingWeights, Location::inFile(inputPath))
            << "cannot read the weights of " << quoteName(piece.name) << ": "
            << (count < 0 ? std::strerror(errno) : "the file ends early");
        return false;
      }
      done += count;
      size_t held = pending + static_cast<size_t>(count);
      pending = piece.rounded ? held % sizeof(float) : 0;
      if (!write(piece, held - pending))
        return false;
      std::copy_n(buffer.begin() + static_cast<ptrdiff_t>(held - pending),
                  pending, buffer.begin());
    }
    return true;
  }

  /// Rounds the first `count` floats of the buffer in place: what is written
  /// lies in front of what is still to be read.
  template <typename Short> void round(size_t count) {
    for (size_t index = 0; index < count; ++index) {
      float value;
      std::memcpy(&value, buffer.data() + index * sizeof value, sizeof value);
      Short rounded(value);
      std::memcpy(buffer.data() + index * sizeof rounded, &rounded,
                  sizeof rounded);
    }
  }

  /// Writes the first `size` bytes of the buffer, rounded if the piece is.
  bool write(const WeightPiece &piece, size_t size) {
    if (!piece.rounded)
      return output.write(buffer.data(), size);
    size_t count = size / sizeof(float);
    if (piece.rounded.isBF16())
      round<runtime::BFloat16>(count);
    else
      round<runtime::Float16>(count);
    return output.write(buffer.data(), count * sizeof(uint16_t));
  }

  const WeightLayout &layout;
  const std::string &modelFile;
  DiagnosticEngine &engine;
  SequentialWriter output;
  std::vector<char> buffer;
  std::string inputPath;
  FileDescriptor input;
  int64_t inputBytes = 0;
};

} // namespace

std::optional<std::string> writeWeights(const WeightLayout &layout,
                                        const std::string &modelFile,
                                        const std::string &path,
                                        DiagnosticEngine &engine) {
  return WeightWriter(layout, modelFile, path, engine).run();
}

} // namespace parplan
