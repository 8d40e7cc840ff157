//===- ForceKeys.cpp - What --force can be asked --------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/ForceKeys.h"

#include "parplan/Support/Text.h"

using namespace parplan;

const std::vector<ForceKey> &parplan::getForceKeys() {
  static const std::vector<ForceKey> keys = {
      {"dp", ForceForm::size, {}, "", true},
      {"tp1d", ForceForm::size, {}, "", true},
      {"tp2d", ForceForm::grid2, {}, "", true},
      {"tp2.5d", ForceForm::grid3, {}, "", true},
      {"tp3d", ForceForm::grid3, {}, "", true},
      {"cp", ForceForm::size, {}, "", true},
      {"ep", ForceForm::size, {}, "", true},
      {"pp", ForceForm::size, {}, "1", true},
      {"sp", ForceForm::word, {"on", "off"}, "", false},
      {"schedule",
       ForceForm::word,
       {"gpipe", "1f1b", "1f1b-eager", "interleaved", "zb-h1", "zb-h2", "zb-v",
        "v-half", "v-min"},
       "gpipe",
       false},
      {"micro-batches", ForceForm::size, {}, "1", false},
      {"zero", ForceForm::word, {"0", "1", "2", "3"}, "0", false},
      {"recompute",
       ForceForm::word,
       {"none", "selective", "full"},
       "none",
       false},
      {"offload",
       ForceForm::word,
       {"none", "optimizer", "parameters", "activations"},
       "none",
       false},
      {"parameter-server", ForceForm::word, {"sync", "async"}, "none", false},
      {"servers", ForceForm::size, {}, "none", false},
  };
  return keys;
}

int64_t ForcedSizes::getProduct() const {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

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
