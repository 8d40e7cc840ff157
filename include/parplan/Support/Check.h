//===- Check.h - Guards of parplan's own invariants -------------*- C++ -*-===//
//
// Part of parplan.
//
// A fault of the user is a diagnostic (Diagnostics.h). A fault of parplan is a
// failed check: it is tested in every build type, prints
//   internal error [E9001] file:line: message
// and ends the process with 70. It never continues.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SUPPORT_CHECK_H
#define PARPLAN_SUPPORT_CHECK_H

#include <concepts>
#include <string>
#include <string_view>

namespace parplan {

/// Called once before the process ends; may write documents, must not rely on
/// the state of parplan being sound. Returning is allowed.
using CheckHandler = void (*)(const char *file, int line,
                              const std::string &message);

/// Replaces the handler that prints to standard error and returns the old one.
CheckHandler setCheckHandler(CheckHandler handler);

/// The line that the default handler prints, without its end of line.
std::string formatCheckFailure(const char *file, int line,
                               const std::string &message);

[[noreturn]] void checkFailed(const char *file, int line, const char *condition,
                              const std::string &message);

namespace detail {
template <typename Part>
void appendMessage(std::string &out, const Part &part) {
  if constexpr (std::convertible_to<const Part &, std::string_view>)
    out += std::string_view(part);
  else if constexpr (std::same_as<Part, char>)
    out += part;
  else if constexpr (std::same_as<Part, bool>)
    out += part ? "true" : "false";
  else
    out += std::to_string(part);
}
} // namespace detail

/// The parts one after the other: texts, characters, numbers.
template <typename... Parts> std::string concat(const Parts &...parts) {
  std::string out;
  (detail::appendMessage(out, parts), ...);
  return out;
}

} // namespace parplan

/// PARPLAN_CHECK(condition, parts...): parts as of `concat`, evaluated only
/// when the condition is false.
#define PARPLAN_CHECK(condition, ...)                                          \
  do {                                                                         \
    if (!(condition)) [[unlikely]]                                             \
      ::parplan::checkFailed(__FILE__, __LINE__, #condition,                   \
                             ::parplan::concat(__VA_ARGS__));                  \
  } while (false)

#define PARPLAN_UNREACHABLE(...)                                               \
  ::parplan::checkFailed(__FILE__, __LINE__, nullptr,                          \
                         ::parplan::concat(__VA_ARGS__))

#endif // PARPLAN_SUPPORT_CHECK_H
