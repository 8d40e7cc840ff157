//===- Text.h - Escaping, matching and printing of names --------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SUPPORT_TEXT_H
#define PARPLAN_SUPPORT_TEXT_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parplan {

/// Names from files are cut to this many bytes in messages.
constexpr size_t maxNameBytes = 160;

/// Makes text from a file fit for a terminal: control characters, bytes that
/// are not UTF-8, and code points that reorder or hide text become escapes.
/// Applying it twice changes nothing.
std::string sanitize(std::string_view text);

/// `sanitize`, and backslashes and single quotes escaped; names longer than
/// `limit` lose their middle. Without the quotes.
std::string escapeName(std::string_view name, size_t limit = maxNameBytes);

/// `escapeName` in single quotes: 'name'.
std::string quoteName(std::string_view name);

/// A C and C++ string literal with its double quotes. Bytes outside printable
/// ASCII are octal escapes, `?` too after another one (trigraphs).
std::string cStringLiteral(std::string_view text);

/// True if `text` is well-formed UTF-8 (no surrogates, no overlong forms).
bool isUtf8(std::string_view text);

/// `*` stands for any number of characters, `?` for one, a backslash takes the
/// next character as it is. The whole name must match. Linear in the product
/// of the lengths.
bool matchesGlob(std::string_view pattern, std::string_view name);

/// Edits (insert, delete, replace, swap of neighbours) from one to the other;
/// letter case does not count.
size_t editDistance(std::string_view left, std::string_view right);

/// The candidates that someone who wrote `name` may have meant, nearest first,
/// at most `limit`; ties in the order given.
std::vector<std::string> findNearest(std::string_view name,
                                     const std::vector<std::string> &candidates,
                                     size_t limit = 3);

/// "did you mean 'a' or 'b'?", or empty if nothing is near.
std::string suggest(std::string_view name,
                    const std::vector<std::string> &candidates);

/// A decimal integer with optional minus sign that fills the whole text.
std::optional<int64_t> parseInteger(std::string_view text);

/// A finite decimal number that fills the whole text.
std::optional<double> parseNumber(std::string_view text);

/// The shortest text that `parseNumber` reads as the same number.
std::string formatNumber(double number);

/// A non-negative number of bytes: `4096`, `8K`, `1.5G`; K M G T are powers of
/// 1024, in either case; fractions of a byte are dropped.
std::optional<int64_t> parseByteSize(std::string_view text);

/// The shortest exact form that `parseByteSize` reads: `8K`, `1537`.
std::string printByteSize(int64_t bytes);

/// For people: `1.50 GiB`, `512 B`.
std::string formatBytes(int64_t bytes);

/// For people: `1.25 ms`, `3.00 us`.
std::string formatSeconds(double seconds);

/// `+1.25 ms`, `-3.00 us`.
std::string formatSecondsChange(double seconds);

/// `text` with blanks up to `width`, and at least one.
std::string padText(std::string text, size_t width);

std::vector<std::string_view> splitText(std::string_view text, char separator);
std::string joinText(const std::vector<std::string> &parts,
                     std::string_view separator);
std::string_view trimText(std::string_view text);

} // namespace parplan

#endif // PARPLAN_SUPPORT_TEXT_H
