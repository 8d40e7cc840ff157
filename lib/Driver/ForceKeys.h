//===- ForceKeys.h - What --force can be asked ------------------*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_FORCEKEYS_H
#define PARPLAN_DRIVER_FORCEKEYS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parplan {

/// What the values of a key look like.
enum class ForceForm { size, grid2, grid3, word };

struct ForceKey {
  std::string_view name;
  ForceForm form;
  /// Words that are allowed (`word`). One that ends with a capital letter after
  /// a ':' or '=' takes a positive number there: `interleaved:V`.
  std::vector<std::string_view> words;
  /// The value that asks for nothing.
  std::string_view neutral;
  /// Its value is a factor of the number of devices.
  bool isParallelism;
  /// A forward pass knows only the neutral value.
  bool isForTraining;
};

const std::vector<ForceKey> &getForceKeys();

/// True where `value` is one of the words of a key.
bool isWordOf(const ForceKey &key, std::string_view value);

/// A size, or the sizes of a grid, of one kind of parallelism.
struct ForcedSizes {
  std::string key;
  std::vector<int64_t> sizes;

  /// At most the number of devices: the parser refuses more.
  int64_t getProduct() const;
  /// `tp2d=2x2`.
  std::string print() const;
  /// `tp1d` and the grids: only one of them can be given.
  bool isTensorKind() const;
};

/// `2x3` as sizes; empty when it is not `count` positive numbers.
std::vector<int64_t> parseSizes(std::string_view text, size_t count);
std::string printSizes(const std::vector<int64_t> &sizes);

} // namespace parplan

#endif // PARPLAN_DRIVER_FORCEKEYS_H
