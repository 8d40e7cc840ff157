//===- Tests.h - Precompiled header of all unit tests -----------*- C++ -*-===//
//
// Headers that many unit tests parse. Files still include what they use: the
// project also builds without precompiled headers.
//
//===----------------------------------------------------------------------===//

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>
