//===- ForceKeys.cpp - What --force can be asked --------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/ForceKeys.h"

#include "parplan/Support/Sizes.h"
#include "parplan/Support/Text.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;

const std::vector<ForceKey> &parplan::getForceKeys() {
  auto makeSize = [](std::string_view name) {
    return ForceKey{name, ForceForm::size, {}, "1", true, false};
  };
  static const std::vector<ForceKey> keys = {
      makeSize("dp"),
      makeSize("tp1d"),
      {"tp2d", ForceForm::grid2, {}, "1x1", true, false},
      {"tp2.5d", ForceForm::grid3, {}, "1x1x1", true, false},
      {"tp3d", ForceForm::grid3, {}, "1x1x1", true, false},
      makeSize("cp"),
      makeSize("ep"),
      makeSize("pp"),
      {"sp", ForceForm::word, {"on", "off"}, "off", false, false},
      {"schedule",
       ForceForm::word,
       {"gpipe", "1f1b", "1f1b-eager", "interleaved:V", "zb-h1", "zb-h2",
        "zb-v", "v-half", "v-min", "forward-only", "forward-only:V"},
       "gpipe",
       false,
       false},
      {"micro-batches", ForceForm::size, {}, "1", false, false},
      {"zero", ForceForm::word, {"0", "1", "2", "3"}, "0", false, true},
      {"recompute",
       ForceForm::word,
       {"none", "selective", "full"},
       "none",
       false,
       true},
      {"offload",
       ForceForm::word,
       {"none", "optimizer:cpu", "optimizer:nvme", "parameters:cpu",
        "parameters:nvme", "activations:cpu"},
       "none",
       false,
       true},
      {"parameter-server",
       ForceForm::word,
       {"sync", "async", "async:staleness=K"},
       "none",
       false,
       true},
      {"servers", ForceForm::size, {}, "none", false, true},
  };
  return keys;
}

bool parplan::isWordOf(const ForceKey &key, std::string_view value) {
  return llvm::any_of(key.words, [&](std::string_view word) {
    if (word.back() < 'A' || word.back() > 'Z')
      return value == word;
    // V chunks are one at least, K steps may be none.
    int64_t least = word.back() == 'K' ? 0 : 1;
    word.remove_suffix(1);
    return value.starts_with(word) &&
           parseInteger(value.substr(word.size())).value_or(-1) >= least;
  });
}

int64_t ForcedSizes::getProduct() const { return multiplySizes(sizes); }

std::string ForcedSizes::print() const { return key + "=" + printSizes(sizes); }

bool ForcedSizes::isTensorKind() const { return key.starts_with("tp"); }

std::vector<int64_t> parplan::parseSizes(std::string_view text, size_t count) {
  std::vector<int64_t> sizes;
  for (std::string_view part : splitText(text, 'x')) {
    std::optional<int64_t> size = parseInteger(part);
    if (!size || *size < 1)
      return {};
    sizes.push_back(*size);
  }
  return sizes.size() == count ? sizes : std::vector<int64_t>();
}

std::string parplan::printSizes(const std::vector<int64_t> &sizes) {
  std::vector<std::string> parts;
  for (int64_t size : sizes)
    parts.push_back(std::to_string(size));
  return joinText(parts, "x");
}
