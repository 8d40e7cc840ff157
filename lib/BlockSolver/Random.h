//===- Random.h - Random numbers that are the same everywhere ---*- C++ -*-===//
//
// Part of parplan. The distributions of the standard library may differ between
// versions, and libm between processors; here is only exact arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_BLOCKSOLVER_RANDOM_H
#define PARPLAN_LIB_BLOCKSOLVER_RANDOM_H

#include <cstdint>
#include <utility>
#include <vector>

namespace parplan::block {

/// SplitMix64 (Steele, Lea and Flood 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// From 0 to `count` - 1.
  int below(int count) {
    return static_cast<int>(((next() >> 32) * static_cast<uint64_t>(count)) >>
                            32);
  }
  /// From 0, below 1.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double least, double most) {
    return least + (most - least) * uniform();
  }
  bool flip(double probability) { return uniform() < probability; }

  /// About as often between 1 and 2 as between 2 and 4, and so on.
  int scaled(int least, int most) {
    int doublings = 0;
    while ((least << (doublings + 1)) <= most)
      ++doublings;
    double size = least * static_cast<double>(1 << below(doublings + 1));
    return std::min(most, static_cast<int>(size * uniform(1, 2)));
  }

  void shuffle(std::vector<int> &list) {
    for (int i = static_cast<int>(list.size()) - 1; i > 0; --i)
      std::swap(list[i], list[below(i + 1)]);
  }

private:
  uint64_t state;
};

} // namespace parplan::block

#endif // PARPLAN_LIB_BLOCKSOLVER_RANDOM_H
