//===- NcclModelTest.cpp - The port of NCCL 2.28.9's tuner ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/CostModel/NcclModel.h"

#include <gtest/gtest.h>

#include <vector>

using namespace parplan;

namespace {

struct Point {
  CollectiveKind kind;
  int64_t bytes;
  double microseconds;
  const char *choice;
};
struct Case {
  NcclTopology topology;
  std::vector<Point> points;
};

// Values of an independent replica of the tuner in Python. A topology is
// {devices per node, nodes, capability, link, nics, nic rate, AMD, PCIe}.
const std::vector<Case> &getReferenceValues() {
  static const std::vector<Case> cases = {
      {{2, 1, 70, 120.0, 8, 50.0, false, false},
       {
           {CollectiveKind::allReduce, 1024, 7.82625641, "Ring/LL"},
           {CollectiveKind::allReduce, 65536, 9.48041026, "Ring/LL"},
           {CollectiveKind::allReduce, 3145728, 41.4144, "Ring/Simple"},
           {CollectiveKind::allReduce, 268435456, 2252.16213, "Ring/Simple"},
           {CollectiveKind::allGather, 1024, 7.21312821, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 8.04020513, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 24.9072, "Ring/Simple"},
           {CollectiveKind::allGather, 268435456, 1130.28107, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 7.21312821, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 8.04020513, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 24.9072, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 268435456, 1130.28107,
            "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 8.88041026, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 2248.76213, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 8.88041026, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 2248.76213, "Ring/Simple"},
       }},
      {{8, 1, 70, 120.0, 8, 50.0, false, false},
       {
           {CollectiveKind::allReduce, 1024, 15.0459487, "Ring/LL"},
           {CollectiveKind::allReduce, 65536, 17.9407179, "Ring/LL"},
           {CollectiveKind::allReduce, 3145728, 90.4643478, "Ring/LL128"},
           {CollectiveKind::allReduce, 268435456, 3970.68373, "Ring/Simple"},
           {CollectiveKind::allGather, 1024, 10.8229744, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 12.270359, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 52.2321739, "Ring/LL128"},
           {CollectiveKind::allGather, 268435456, 1989.54187, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 10.8229744, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 12.270359, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 52.2321739, "Ring/LL128"},
           {CollectiveKind::reduceScatter, 268435456, 1989.54187,
            "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 8.88041026, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 2248.76213, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 8.88041026, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 2248.76213, "Ring/Simple"},
       }},
      {{2, 1, 80, 240.0, 8, 25.0, true, false},
       {
           {CollectiveKind::allReduce, 1024, 7.81167617, "Ring/LL"},
           {CollectiveKind::allReduce, 65536, 8.5472748, "Ring/LL"},
           {CollectiveKind::allReduce, 3145728, 28.3072, "Ring/Simple"},
           {CollectiveKind::allReduce, 268435456, 1133.68107, "Ring/Simple"},
           {CollectiveKind::allGather, 1024, 7.20583808, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 7.5736374, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 18.3536, "Ring/Simple"},
           {CollectiveKind::allGather, 268435456, 571.040533, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 7.20583808, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 7.5736374, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 18.3536, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 268435456, 571.040533,
            "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 7.9472748, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 1130.28107, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 7.9472748, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 1130.28107, "Ring/Simple"},
       }},
      {{8, 1, 80, 240.0, 8, 25.0, true, false},
       {
           {CollectiveKind::allReduce, 1024, 15.0204333, "Ring/LL"},
           {CollectiveKind::allReduce, 65536, 16.3077309, "Ring/LL"},
           {CollectiveKind::allReduce, 3145728, 65.5321739, "Ring/LL128"},
           {CollectiveKind::allReduce, 268435456, 2013.34187, "Ring/Simple"},
           {CollectiveKind::allGather, 1024, 10.8102166, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 11.4538655, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 39.766087, "Ring/LL128"},
           {CollectiveKind::allGather, 268435456, 1010.87093, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 10.8102166, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 11.4538655, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 39.766087, "Ring/LL128"},
           {CollectiveKind::reduceScatter, 268435456, 1010.87093,
            "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 7.9472748, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 1130.28107, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 7.9472748, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 1130.28107, "Ring/Simple"},
       }},
      {{4, 1, 90, 370.8, 8, 50.0, false, false},
       {
           {CollectiveKind::allReduce, 1024, 10.2108936, "Ring/LL"},
           {CollectiveKind::allReduce, 65536, 10.8971915, "Ring/LL"},
           {CollectiveKind::allReduce, 3145728, 39.6469565, "Ring/LL128"},
           {CollectiveKind::allReduce, 268435456, 1147.28107, "Ring/Simple"},
           {CollectiveKind::allGather, 1024, 8.40544681, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 8.74859574, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 25.1325957, "Ring/LL"},
           {CollectiveKind::allGather, 268435456, 577.840533, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 8.40544681, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 8.74859574, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 25.1325957, "Ring/LL"},
           {CollectiveKind::reduceScatter, 268435456, 577.840533,
            "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 7.66479433, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 757.454044, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 7.66479433, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 757.454044, "Ring/Simple"},
       }},
      {{5, 1, 90, 370.8, 8, 50.0, false, false},
       {
           {CollectiveKind::allReduce, 1024, 11.4116199, "Ring/LL"},
           {CollectiveKind::allReduce, 65536, 12.1436709, "Ring/LL"},
           {CollectiveKind::allReduce, 3145728, 37.3361882, "NVLS/Simple"},
           {CollectiveKind::allReduce, 268435456, 1077.68806, "NVLS/Simple"},
           {CollectiveKind::allGather, 1024, 9.00580993, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 9.37183546, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 26.8481021, "Ring/LL"},
           {CollectiveKind::allGather, 268435456, 618.523236, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 9.00580993, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 9.37183546, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 26.8481021, "Ring/LL"},
           {CollectiveKind::reduceScatter, 268435456, 618.523236,
            "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 7.66479433, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 757.454044, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 7.66479433, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 757.454044, "Ring/Simple"},
       }},
      {{8, 1, 90, 370.8, 8, 50.0, false, false},
       {
           {CollectiveKind::allReduce, 1024, 15.0127092, "Ring/LL"},
           {CollectiveKind::allReduce, 65536, 15.8133901, "Ring/LL"},
           {CollectiveKind::allReduce, 3145728, 36.5651765, "NVLS/Simple"},
           {CollectiveKind::allReduce, 268435456, 1011.89506, "NVLS/Simple"},
           {CollectiveKind::allGather, 1024, 10.8063546, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 11.206695, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 30.3213617, "Ring/LL"},
           {CollectiveKind::allGather, 268435456, 684.647289, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 10.8063546, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 11.206695, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 30.3213617, "Ring/LL"},
           {CollectiveKind::reduceScatter, 268435456, 684.647289,
            "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 7.66479433, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 757.454044, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 7.66479433, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 757.454044, "Ring/Simple"},
       }},
      {{4, 1, 100, 721.8, 8, 50.0, false, false},
       {
           {CollectiveKind::allReduce, 1024, 10.2054468, "Ring/LL"},
           {CollectiveKind::allReduce, 65536, 10.5485957, "Ring/LL"},
           {CollectiveKind::allReduce, 3145728, 26.9325957, "Ring/LL"},
           {CollectiveKind::allReduce, 268435456, 588.040533, "Ring/Simple"},
           {CollectiveKind::allGather, 1024, 8.4027234, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 8.57429787, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 16.7662979, "Ring/LL"},
           {CollectiveKind::allGather, 268435456, 298.220267, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 8.4027234, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 8.57429787, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 16.7662979, "Ring/LL"},
           {CollectiveKind::reduceScatter, 268435456, 298.220267,
            "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 7.43239716, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 384.627022, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 7.43239716, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 384.627022, "Ring/Simple"},
       }},
      {{8, 1, 100, 721.8, 8, 50.0, false, false},
       {
           {CollectiveKind::allReduce, 1024, 15.0063546, "Ring/LL"},
           {CollectiveKind::allReduce, 65536, 15.406695, "Ring/LL"},
           {CollectiveKind::allReduce, 3145728, 31.6421622, "NVLS/Simple"},
           {CollectiveKind::allReduce, 268435456, 591.797838, "NVLS/Simple"},
           {CollectiveKind::allGather, 1024, 10.8031773, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 11.0033475, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 20.5606809, "Ring/LL"},
           {CollectiveKind::allGather, 268435456, 358.423644, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 10.8031773, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 11.0033475, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 20.5606809, "Ring/LL"},
           {CollectiveKind::reduceScatter, 268435456, 358.423644,
            "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 7.43239716, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 384.627022, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 7.43239716, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 384.627022, "Ring/Simple"},
       }},
      {{8, 2, 80, 240.0, 8, 25.0, true, false},
       {
           {CollectiveKind::allReduce, 1024, 25.3011358, "Tree/LL"},
           {CollectiveKind::allReduce, 65536, 34.909037, "Tree/LL"},
           {CollectiveKind::allReduce, 3145728, 114.036, "Tree/LL128"},
           {CollectiveKind::allReduce, 268435456, 2907.6, "Ring/Simple"},
           {CollectiveKind::allGather, 1024, 37.3426667, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 40.0306667, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 64.432, "Ring/LL128"},
           {CollectiveKind::allGather, 268435456, 1417.12, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 37.3426667, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 40.0306667, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 64.432, "Ring/LL128"},
           {CollectiveKind::reduceScatter, 268435456, 1417.12, "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 12.2127111, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 1420.50133, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 12.2127111, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 1420.50133, "Ring/Simple"},
       }},
      {{8, 4, 90, 370.8, 8, 50.0, false, false},
       {
           {CollectiveKind::allReduce, 1024, 35.3115468, "Tree/LL"},
           {CollectiveKind::allReduce, 65536, 45.9084967, "Tree/LL"},
           {CollectiveKind::allReduce, 3145728, 110.697241, "Tree/LL128"},
           {CollectiveKind::allReduce, 268435456, 1537.42884,
            "NVLSTree/Simple"},
           {CollectiveKind::allGather, 1024, 42.7486275, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 45.8121569, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 89.5795095, "Ring/LL128"},
           {CollectiveKind::allGather, 268435456, 867.952356, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 42.7486275, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 45.8121569, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 89.5795095, "Ring/LL128"},
           {CollectiveKind::reduceScatter, 268435456, 867.952356,
            "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 12.512549, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 768.054044, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 12.512549, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 768.054044, "Ring/Simple"},
       }},
      {{1, 16, 90, 370.8, 1, 50.0, false, false},
       {
           {CollectiveKind::allReduce, 1024, 46.9958132, "Tree/LL"},
           {CollectiveKind::allReduce, 65536, 65.5980676, "Tree/LL"},
           {CollectiveKind::allReduce, 3145728, 335.279227, "Tree/LL128"},
           {CollectiveKind::allReduce, 268435456, 11085.52, "Ring/Simple"},
           {CollectiveKind::allGather, 1024, 81.6470588, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 84.6117647, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 208.282609, "Ring/LL128"},
           {CollectiveKind::allGather, 268435456, 5461.28, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 81.6470588, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 84.6117647, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 208.282609, "Ring/LL128"},
           {CollectiveKind::reduceScatter, 268435456, 5461.28, "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 12.512549, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 5614.80533, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 12.512549, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 5614.80533, "Ring/Simple"},
       }},
      {{8, 2, 100, 721.8, 8, 50.0, false, false},
       {
           {CollectiveKind::allReduce, 1024, 25.2583476, "Tree/LL"},
           {CollectiveKind::allReduce, 65536, 30.8013675, "Tree/LL"},
           {CollectiveKind::allReduce, 3145728, 74.48, "NVLSTree/Simple"},
           {CollectiveKind::allReduce, 268435456, 722.16, "NVLSTree/Simple"},
           {CollectiveKind::allGather, 1024, 23.3246154, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 24.8753846, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 55.2543353, "Ring/LL128"},
           {CollectiveKind::allGather, 268435456, 725.36, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 23.3246154, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 24.8753846, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 55.2543353, "Ring/LL128"},
           {CollectiveKind::reduceScatter, 268435456, 725.36, "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 10.9804103, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 721.450667, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 10.9804103, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 721.450667, "Ring/Simple"},
       }},
      {{2, 64, 90, 370.8, 2, 50.0, false, false},
       {
           {CollectiveKind::allReduce, 1024, 68.1115468, "Tree/LL"},
           {CollectiveKind::allReduce, 65536, 78.7084967, "Tree/LL"},
           {CollectiveKind::allReduce, 3145728, 245.139614, "Tree/LL128"},
           {CollectiveKind::allReduce, 268435456, 6129.3891, "NVLSTree/Simple"},
           {CollectiveKind::allGather, 1024, 240.749804, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 243.887451, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 393.697647, "Ring/LL"},
           {CollectiveKind::allGather, 268435456, 3403.2058, "Ring/LL128"},
           {CollectiveKind::reduceScatter, 1024, 240.749804, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 243.887451, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 393.697647, "Ring/LL"},
           {CollectiveKind::reduceScatter, 268435456, 3403.2058, "Ring/LL128"},
           {CollectiveKind::broadcast, 65536, 12.512549, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 2818.60267, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 12.512549, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 2818.60267, "Ring/Simple"},
       }},
      {{8, 2, 70, 120.0, 4, 12.5, false, false},
       {
           {CollectiveKind::allReduce, 1024, 25.3958132, "Tree/LL"},
           {CollectiveKind::allReduce, 65536, 43.9980676, "Tree/LL"},
           {CollectiveKind::allReduce, 3145728, 208.765217, "Ring/LL128"},
           {CollectiveKind::allReduce, 268435456, 10735.8, "Ring/Simple"},
           {CollectiveKind::allGather, 1024, 23.34, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 25.86, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 111.382609, "Ring/LL128"},
           {CollectiveKind::allGather, 268435456, 5312.88, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 23.34, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 25.86, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 111.382609, "Ring/LL128"},
           {CollectiveKind::reduceScatter, 268435456, 5312.88, "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 12.0306667, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 5614.80533, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 12.0306667, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 5614.80533, "Ring/Simple"},
       }},
      {{4, 1, 80, 24.0, 1, 1.25, false, true},
       {
           {CollectiveKind::allReduce, 1024, 12.728, "Ring/LL"},
           {CollectiveKind::allReduce, 65536, 20.792, "Ring/LL"},
           {CollectiveKind::allReduce, 3145728, 239.208, "Ring/Simple"},
           {CollectiveKind::allReduce, 268435456, 16819.816, "Ring/Simple"},
           {CollectiveKind::allGather, 1024, 9.664, "Ring/LL"},
           {CollectiveKind::allGather, 65536, 13.696, "Ring/LL"},
           {CollectiveKind::allGather, 3145728, 123.804, "Ring/Simple"},
           {CollectiveKind::allGather, 268435456, 8414.108, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 1024, 9.664, "Ring/LL"},
           {CollectiveKind::reduceScatter, 65536, 13.696, "Ring/LL"},
           {CollectiveKind::reduceScatter, 3145728, 123.804, "Ring/Simple"},
           {CollectiveKind::reduceScatter, 268435456, 8414.108, "Ring/Simple"},
           {CollectiveKind::broadcast, 65536, 13.0613333, "Ring/LL"},
           {CollectiveKind::broadcast, 268435456, 11198.9107, "Ring/Simple"},
           {CollectiveKind::reduce, 65536, 13.0613333, "Ring/LL"},
           {CollectiveKind::reduce, 268435456, 11198.9107, "Ring/Simple"},
       }},
  };
  return cases;
}

double getBusGigabytes(const NcclTopology &topology, int64_t bytes) {
  NcclModel model(topology);
  auto ranks = static_cast<double>(topology.devicesPerNode * topology.nodes);
  return static_cast<double>(bytes) /
         model.choose(CollectiveKind::allReduce, bytes).microseconds / 1000 *
         2 * (ranks - 1) / ranks;
}

NcclTopology getH200(int64_t devices) {
  return {devices, 1, 90, 370.8, 8, 50, false, false};
}

} // namespace

TEST(NcclModel, equalsTheReference) {
  for (const Case &test : getReferenceValues()) {
    NcclModel model(test.topology);
    for (const Point &point : test.points) {
      NcclModel::Choice choice = model.choose(point.kind, point.bytes);
      std::string where = std::string(stringifyCollectiveKind(point.kind)) +
                          " " + std::to_string(point.bytes) + " on " +
                          std::to_string(test.topology.devicesPerNode) + "x" +
                          std::to_string(test.topology.nodes) + " sm" +
                          std::to_string(test.topology.computeCapability);
      EXPECT_NEAR(choice.microseconds, point.microseconds,
                  1e-7 * point.microseconds)
          << where;
      EXPECT_EQ(printChoice(choice), point.choice) << where;
    }
  }
}

TEST(NcclModel, channelsOfNodesWithASwitch) {
  NcclModel h100(getH200(8));
  EXPECT_EQ(h100.getRingChannels() * h100.getRingChannelRate(), 360);
  NcclModel a100({8, 1, 80, 240, 8, 25, false, false});
  EXPECT_EQ(a100.getRingChannels(), 12);
  EXPECT_EQ(a100.getRingChannelRate(), 20);
  NcclModel b200({8, 1, 100, 721.8, 8, 50, false, false});
  EXPECT_EQ(b200.getRingChannels() * b200.getRingChannelRate(), 720);
}

TEST(NcclModel, largeAllReducesComeNearMeasurements) {
  // GB/s on the bus at 8 GiB, measured with NCCL 2.27 on H200.
  EXPECT_NEAR(getBusGigabytes(getH200(4), int64_t{8} << 30), 363, 0.02 * 363);
  EXPECT_NEAR(getBusGigabytes(getH200(6), int64_t{8} << 30), 436, 0.03 * 436);
  EXPECT_NEAR(getBusGigabytes(getH200(8), int64_t{8} << 30), 473, 0.02 * 473);
}

TEST(NcclModel, switchToReductionsInTheSwitchIsBetween1And2MiB) {
  NcclModel model(getH200(8));
  EXPECT_EQ(printChoice(model.choose(CollectiveKind::allReduce, 1 << 20)),
            "Ring/LL");
  EXPECT_EQ(printChoice(model.choose(CollectiveKind::allReduce, 1 << 21)),
            "NVLS/Simple");
}

TEST(NcclModel, combinationsThatDoNotExistHaveNoTime) {
  NcclModel model(getH200(8));
  EXPECT_FALSE(model.getMicroseconds(CollectiveKind::broadcast,
                                     NcclAlgorithm::tree, NcclProtocol::simple,
                                     1 << 20));
  EXPECT_FALSE(model.getMicroseconds(CollectiveKind::allReduce,
                                     NcclAlgorithm::nvls, NcclProtocol::ll,
                                     1 << 20));
  EXPECT_TRUE(model.getMicroseconds(CollectiveKind::allReduce,
                                    NcclAlgorithm::tree, NcclProtocol::simple,
                                    1 << 20));
}

TEST(NcclModel, linksSlowerThanEveryListedRateStillWork) {
  NcclModel model({1, 4, 80, 1.0, 1, 0.05, false, true});
  EXPECT_GT(model.choose(CollectiveKind::allReduce, 1 << 20).microseconds, 2e4);
}

TEST(NcclModelDeathTest, oneRankHasNoCommunicator) {
  EXPECT_EXIT(NcclModel({1, 1, 90, 370, 8, 50, false, false}),
              testing::ExitedWithCode(70), "communicator of one device");
}
