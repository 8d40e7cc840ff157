//===- Workers.cpp - Many small jobs in processes that may die -*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "Workers.h"

#include "parplan/Support/Check.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace parplan::test {

namespace {

void writeAll(int file, const void *data, size_t size) {
  for (const char *bytes = static_cast<const char *>(data); size > 0;) {
    ssize_t written = write(file, bytes, size);
    if (written <= 0)
      _exit(1);
    bytes += written;
    size -= size_t(written);
  }
}

bool readAll(int file, void *data, size_t size) {
  for (char *bytes = static_cast<char *>(data); size > 0;) {
    ssize_t got = read(file, bytes, size);
    if (got <= 0)
      return false;
    bytes += got;
    size -= size_t(got);
  }
  return true;
}

/// A process that does every `stride`-th job from `next` on and writes the
/// length and the text of each.
struct Worker {
  pid_t process = 0;
  int pipe = -1;
  int next = 0;

  void start(int count, int stride, unsigned seconds,
             const std::function<std::string(int)> &job) {
    int ends[2];
    PARPLAN_CHECK(::pipe(ends) == 0, "no pipe");
    process = fork();
    PARPLAN_CHECK(process >= 0, "no process");
    if (process > 0) {
      close(ends[1]);
      pipe = ends[0];
      return;
    }
    close(ends[0]);
    for (int index = next; index < count; index += stride) {
      alarm(seconds);
      std::string text = job(index);
      size_t size = text.size();
      writeAll(ends[1], &size, sizeof(size));
      writeAll(ends[1], text.data(), size);
    }
    _exit(0);
  }

  /// The text of the job `next`; none if the process ended.
  std::optional<std::string> receive() {
    size_t size = 0;
    if (!readAll(pipe, &size, sizeof(size)))
      return std::nullopt;
    std::string text(size, '\0');
    if (!readAll(pipe, text.data(), size))
      return std::nullopt;
    return text;
  }

  void stop() {
    close(pipe);
    waitpid(process, nullptr, 0);
    pipe = -1;
  }
};

} // namespace

std::vector<std::optional<std::string>>
runInWorkers(int count, int workers, unsigned seconds,
             const std::function<std::string(int)> &job) {
  std::vector<std::optional<std::string>> texts(count);
  std::vector<Worker> crew(workers);
  std::vector<pollfd> polled(workers);
  for (int i = 0; i < workers; ++i) {
    crew[i].next = i;
    if (i < count)
      crew[i].start(count, workers, seconds, job);
  }
  while (true) {
    bool isAnyAtWork = false;
    for (int i = 0; i < workers; ++i) {
      polled[i] = {crew[i].pipe, POLLIN, 0};
      isAnyAtWork |= crew[i].pipe >= 0;
    }
    if (!isAnyAtWork)
      return texts;
    poll(polled.data(), polled.size(), -1);
    for (int i = 0; i < workers; ++i) {
      Worker &worker = crew[i];
      if (worker.pipe < 0 || !polled[i].revents)
        continue;
      std::optional<std::string> text = worker.receive();
      bool hasEnded = !text;
      texts[worker.next] = std::move(text);
      worker.next += workers;
      if (!hasEnded && worker.next < count)
        continue;
      worker.stop();
      if (worker.next < count)
        worker.start(count, workers, seconds, job);
    }
  }
}

} // namespace parplan::test
