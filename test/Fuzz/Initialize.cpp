//===- Initialize.cpp - Failed checks as libFuzzer sees them --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Check.h"

#include <cstdio>
#include <cstdlib>

using namespace parplan;

static void abortLoudly(const char *file, int line,
                        const std::string &message) {
  std::fprintf(stderr, "%s\n", formatCheckFailure(file, line, message).c_str());
  std::abort();
}

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  setCheckHandler(abortLoudly);
  return 0;
}
