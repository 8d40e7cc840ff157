//===- cuda_main.cpp - Kernel tests where there may be no GPU -------------===//

#include <cstdio>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

/// 77: skipped.
int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("skipped: there is no GPU\n");
    return 77;
  }
  return RUN_ALL_TESTS();
}
