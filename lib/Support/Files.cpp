//===- Files.cpp - Whole files, written whole or not at all ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Files.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

using namespace parplan;
namespace fs = std::filesystem;

namespace {

/// Staging directories that are neither committed nor discarded.
struct PendingDirectories {
  std::mutex mutex;
  std::vector<std::string> paths;
};

PendingDirectories &getPending() {
  static PendingDirectories pending;
  return pending;
}

void forgetPending(const std::string &path) {
  PendingDirectories &pending = getPending();
  std::lock_guard<std::mutex> lock(pending.mutex);
  std::erase(pending.paths, path);
}

/// 0, or the error number.
int writeAll(int descriptor, std::string_view content) {
  while (!content.empty()) {
    ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return errno;
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

/// 0, or the error number. A file that exists is not replaced: staging names
/// are ours alone.
int writeNewFile(const std::string &path, std::string_view content, bool sync) {
  int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return errno;
  int error = writeAll(descriptor, content);
  if (!error && sync && ::fsync(descriptor) != 0 && errno != EINVAL &&
      errno != EROFS)
    error = errno;
  if (::close(descriptor) != 0 && !error)
    error = errno;
  if (error)
    ::unlink(path.c_str());
  return error;
}

std::string withoutTrailingSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

std::string getParent(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string getStem(const std::string &path) {
  return path.substr(path.rfind('/') + 1);
}

/// True if `target` may be replaced by a new output.
bool isReplaceable(const std::string &target, const std::string &marker,
                   DiagnosticEngine &engine) {
  struct stat status;
  if (::lstat(target.c_str(), &status) != 0) {
    if (errno == ENOENT)
      return true;
    reportWriteError(engine, target, errno);
    return false;
  }
  const char *fault = nullptr;
  if (!S_ISDIR(status.st_mode)) {
    fault = " exists and is not a directory";
  } else {
    std::error_code error;
    bool isEmpty = fs::is_empty(target, error);
    if (error) {
      reportWriteError(engine, target, error.value());
      return false;
    }
    if (!isEmpty && ::access((target + "/" + marker).c_str(), F_OK) != 0)
      fault = " exists and is not an earlier output";
  }
  if (!fault)
    return true;
  engine.error(codes::foreignOutput)
          .help("name another directory with -o, or remove this one")
      << quoteName(target) << fault;
  return false;
}

} // namespace

ExitCode parplan::getWriteExitCode(int errorNumber) {
  switch (errorNumber) {
  case ENOSPC:
  case EDQUOT:
  case EIO:
  case EFBIG:
  case EMFILE:
  case ENFILE:
  case ENOMEM:
    return ExitCode::inputOutput;
  default:
    return ExitCode::cannotWriteOutput;
  }
}

void parplan::reportWriteError(DiagnosticEngine &engine,
                               const std::string &path, int errorNumber) {
  bool failed = getWriteExitCode(errorNumber) == ExitCode::inputOutput;
  engine.error(failed ? codes::outputFailed : codes::cannotWriteOutput)
      << "cannot write " << quoteName(path) << ": "
      << std::strerror(errorNumber);
}

std::optional<std::string> parplan::readFile(const std::string &path,
                                             const DiagnosticCode &code,
                                             DiagnosticEngine &engine,
                                             int64_t maxBytes) {
  auto fail = [&](const std::string &message) {
    engine.error(code, Location::inFile(path)).exitWith(ExitCode::missingInput)
        << "cannot be read: " << message;
    return std::nullopt;
  };
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return fail(std::strerror(errno));
  std::string content;
  constexpr size_t step = size_t{1} << 16;
  while (true) {
    size_t size = content.size();
    content.resize(size + step);
    ssize_t count = ::read(descriptor, content.data() + size, step);
    int error = errno;
    content.resize(size + std::max<ssize_t>(count, 0));
    if (count < 0 && error == EINTR)
      continue;
    if (count < 0) {
      ::close(descriptor);
      return fail(std::strerror(error));
    }
    if (count == 0)
      break;
    if (static_cast<int64_t>(content.size()) > maxBytes) {
      ::close(descriptor);
      return fail(concat("it is larger than ", formatBytes(maxBytes)));
    }
  }
  ::close(descriptor);
  return content;
}

/// Where a file is written that `path` names in the end.
static std::string getStagedPath(const std::string &path) {
  return concat(path, ".partial-", ::getpid());
}

bool parplan::canWriteFile(const std::string &path, DiagnosticEngine &engine) {
  std::string staged = getStagedPath(path);
  int error = writeNewFile(staged, "", /*sync=*/false);
  if (error)
    reportWriteError(engine, path, error);
  else
    ::unlink(staged.c_str());
  return error == 0;
}

bool parplan::writeFileAtomically(const std::string &path,
                                  std::string_view content,
                                  DiagnosticEngine &engine) {
  std::string staged = getStagedPath(path);
  int error = writeNewFile(staged, content, /*sync=*/true);
  if (!error && ::rename(staged.c_str(), path.c_str()) != 0) {
    error = errno;
    ::unlink(staged.c_str());
  }
  if (error)
    reportWriteError(engine, path, error);
  return error == 0;
}

std::optional<OutputDirectory>
OutputDirectory::create(const std::string &target, const std::string &marker,
                        DiagnosticEngine &engine) {
  OutputDirectory output;
  output.target = withoutTrailingSlash(target);
  output.marker = marker;
  if (target.empty()) {
    reportWriteError(engine, target, ENOENT);
    return std::nullopt;
  }
  if (!isReplaceable(output.target, marker, engine))
    return std::nullopt;

  std::vector<std::string> missing;
  for (std::string parent = getParent(output.target);
       ::access(parent.c_str(), F_OK) != 0 && errno == ENOENT;
       parent = getParent(parent))
    missing.push_back(parent);
  std::reverse(missing.begin(), missing.end());
  output.isPending = true;
  for (const std::string &parent : missing) {
    if (::mkdir(parent.c_str(), 0777) != 0 && errno != EEXIST) {
      reportWriteError(engine, output.target, errno);
      return std::nullopt;
    }
    output.madeParents.push_back(parent);
  }

  std::string pattern = concat(getParent(output.target), "/.",
                               getStem(output.target), ".partial-XXXXXX");
  if (!::mkdtemp(pattern.data())) {
    reportWriteError(engine, output.target, errno);
    return std::nullopt;
  }
  // mkdtemp makes it private; the output has the usual rights.
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::chmod(pattern.c_str(), 0777 & ~mask);
  output.path = pattern;
  {
    PendingDirectories &pending = getPending();
    std::lock_guard<std::mutex> lock(pending.mutex);
    pending.paths.push_back(output.path);
  }
  return output;
}

OutputDirectory::OutputDirectory(OutputDirectory &&other) noexcept
    : target(std::move(other.target)), marker(std::move(other.marker)),
      path(std::move(other.path)), madeParents(std::move(other.madeParents)),
      isPending(std::exchange(other.isPending, false)) {}

bool OutputDirectory::writeFile(const std::string &name,
                                std::string_view content,
                                DiagnosticEngine &engine) {
  int error = writeNewFile(path + "/" + name, content, /*sync=*/false);
  if (error)
    reportWriteError(engine, target + "/" + name, error);
  return error == 0;
}

bool OutputDirectory::commit(DiagnosticEngine &engine) {
  PARPLAN_CHECK(isPending, "an output directory is committed once");
  // It may have changed since `create`.
  if (!isReplaceable(target, marker, engine))
    return false;
  bool exists = ::access(target.c_str(), F_OK) == 0;
  unsigned flags = exists ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  int error =
      ::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, target.c_str(), flags) == 0
          ? 0
          : errno;
  // Some file systems know neither flag.
  if (error == EINVAL || error == ENOSYS) {
    std::string old = path + "-old";
    error = exists && ::rename(target.c_str(), old.c_str()) != 0 ? errno : 0;
    if (!error && ::rename(path.c_str(), target.c_str()) != 0) {
      error = errno;
      if (exists)
        ::rename(old.c_str(), target.c_str());
    } else if (!error && exists) {
      ::rename(old.c_str(), path.c_str());
    }
  }
  if (error) {
    reportWriteError(engine, target, error);
    return false;
  }
  if (exists) {
    // The path now holds the output that was replaced.
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  forgetPending(path);
  isPending = false;
  path = target;
  return true;
}

void OutputDirectory::discard() {
  if (!isPending)
    return;
  isPending = false;
  if (!path.empty()) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
    forgetPending(path);
  }
  for (auto parent = madeParents.rbegin(); parent != madeParents.rend();
       ++parent)
    ::rmdir(parent->c_str());
}

void OutputDirectory::discardAll() {
  PendingDirectories &pending = getPending();
  std::lock_guard<std::mutex> lock(pending.mutex);
  for (const std::string &path : pending.paths) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  pending.paths.clear();
}
