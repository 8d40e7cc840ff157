//===- application_log.cpp - What an asynchronous server applied ----------===//

#include "application_log.h"
#include "json_text.h"
#include "mapped_file.h"

#include <algorithm>
#include <map>

namespace parplan {
namespace runtime {

namespace {

/// A list of lists of numbers, as one list.
std::vector<int64_t> readRows(JsonReader &reader) {
  std::vector<int64_t> numbers;
  reader.expect('[');
  if (reader.take(']'))
    return numbers;
  do {
    reader.expect('[');
    do
      numbers.push_back(reader.integer());
    while (reader.take(','));
    reader.expect(']');
  } while (reader.good() && reader.take(','));
  reader.expect(']');
  return numbers;
}

/// The members of an object: `read` takes the value of each.
template <typename Read> void readMembers(JsonReader &reader, Read read) {
  reader.expect('{');
  if (reader.take('}'))
    return;
  do {
    const std::string name = reader.string();
    reader.expect(':');
    read(name);
  } while (reader.good() && reader.take(','));
  reader.expect('}');
}

/// What is wrong with a log; empty: a run can have it.
std::string faultOf(const ApplicationLog &log) {
  const size_t workers = static_cast<size_t>(log.workers);
  if (log.workers < 1 || log.order.size() != log.seen.size() ||
      (log.order.size() % workers != 0 && !log.isOfFailure))
    return "its lists of applications have different lengths";
  if (log.order.empty())
    return "";
  // No more workers than were given can be known here.
  std::map<int32_t, int64_t> last;
  std::map<int32_t, size_t> pushes;
  for (size_t i = 0; i < log.order.size(); ++i) {
    const std::string place = "application " + std::to_string(i);
    if (log.order[i] < 0 || log.order[i] >= log.workers)
      return place + " is of a worker that there is not";
    const int32_t worker = log.order[i];
    const auto known = last.find(worker);
    const int64_t least = known == last.end() ? 0 : known->second + 1;
    if (log.seen[i] > static_cast<int64_t>(i) || log.seen[i] < least)
      return place + " has seen what cannot be";
    last[worker] = static_cast<int64_t>(i);
    ++pushes[worker];
  }
  for (const auto &made : pushes)
    if (!log.isOfFailure &&
        (made.second != pushes.begin()->second || pushes.size() != workers))
      return "its workers have made different numbers of steps";
  return "";
}

} // namespace

bool readApplicationLog(const std::string &path, ApplicationLog &log,
                        std::string &reason) {
  MappedFile file;
  if (!file.open(path, reason))
    return false;
  JsonReader reader(file.data(), file.size());
  bool found = false;
  std::vector<int64_t> order;
  readMembers(reader, [&](const std::string &name) {
    if (name == "first_step") {
      log.firstStep = reader.integer();
    } else if (name == "failure") {
      log.isOfFailure = true;
      reader.skip();
    } else if (name != "parameter_server") {
      reader.skip();
    } else {
      found = true;
      readMembers(reader, [&](const std::string &member) {
        if (member == "workers")
          log.workers = reader.integer();
        else if (member == "order")
          order = readRows(reader);
        else if (member == "seen")
          log.seen = readRows(reader);
        else
          reader.skip();
      });
    }
  });
  if (!reader.good() || !reader.atEnd()) {
    reason = "it is no metrics document";
    return false;
  }
  if (!found) {
    reason = "it is not of a run with an asynchronous parameter server";
    return false;
  }
  for (int64_t worker : order)
    log.order.push_back(static_cast<int32_t>(
        std::min<int64_t>(std::max<int64_t>(worker, -1), INT32_MAX)));
  reason = faultOf(log);
  return reason.empty();
}

} // namespace runtime
} // namespace parplan
