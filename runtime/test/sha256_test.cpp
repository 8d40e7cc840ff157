//===- sha256_test.cpp - Against the published vectors --------------------===//

#include "sha256.h"

#include <gtest/gtest.h>

namespace parplan {
namespace runtime {
namespace {

std::string digest(const std::string &text, size_t piece) {
  Sha256 hash;
  for (size_t at = 0; at < text.size(); at += piece)
    hash.update(text.data() + at, std::min(piece, text.size() - at));
  return hash.finish();
}

TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(digest("", 1), "e3b0c44298fc1c149afbf4c8996fb924"
                           "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc", 2), "ba7816bf8f01cfea414140de5dae2223"
                              "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest(std::string(1000000, 'a'), 997),
            "cdc76e5c9914fb9281a1c7e284d73e67"
            "f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, EveryPaddingLength) {
  for (size_t length = 50; length < 70; ++length)
    EXPECT_EQ(digest(std::string(length, 'x'), 64),
              digest(std::string(length, 'x'), 1));
}

} // namespace
} // namespace runtime
} // namespace parplan
