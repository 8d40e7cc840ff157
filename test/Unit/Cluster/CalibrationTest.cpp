//===- CalibrationTest.cpp - A cluster from measurements ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/Calibration.h"
#include "parplan/Cluster/Presets.h"
#include "parplan/Support/Json.h"

#include <gtest/gtest.h>

#include <array>

using namespace parplan;

namespace {

constexpr int64_t gibi = int64_t{1} << 30;
const Machine machine = {"a processor", 2, 16 * gibi};

/// Four ranks with round figures.
Json makeMeasurements() {
  Json document = {{"ranks", 4}};
  // 100, 25 and 50 GFLOP/s; fp64 half of the last one.
  document["products"] = {{{"type", "fp32"},
                           {"rows", 1000},
                           {"columns", 1000},
                           {"contracted", 1000},
                           {"seconds", 0.02}},
                          {{"type", "fp32"},
                           {"rows", 100},
                           {"columns", 1000},
                           {"contracted", 1000},
                           {"seconds", 0.008}},
                          {{"type", "fp64"},
                           {"rows", 1000},
                           {"columns", 1000},
                           {"contracted", 1000},
                           {"seconds", 0.08}}};
  // A product of 50 GFLOP/s and scores of 1 ns; a gradient of nothing but
  // products, of 25 GFLOP/s.
  document["attention"] = {{{"what", "forward"},
                            {"width", 24},
                            {"scores", 1000000},
                            {"seconds", 0.003}},
                           {{"what", "forward"},
                            {"width", 49},
                            {"scores", 1000000},
                            {"seconds", 0.005}},
                           {{"what", "gradient"},
                            {"width", 24},
                            {"scores", 1000000},
                            {"seconds", 0.00984}},
                           {{"what", "gradient"},
                            {"width", 49},
                            {"scores", 1000000},
                            {"seconds", 0.01984}}};
  document["loops"] = {
      {{"what", "gap"}, {"bytes", 12}, {"seconds", 1e-6}},
      {{"what", "add"}, {"bytes", 6000000}, {"seconds", 0.001001}},
      {{"what", "copy"}, {"bytes", 4000000}, {"seconds", 0.000501}},
      {{"what", "exp"}, {"bytes", 4000000}, {"seconds", 0.001001}},
      {{"what", "memory"}, {"bytes", 50000000}, {"seconds", 0.010001}},
      {{"what", "download"}, {"bytes", 20000000}, {"seconds", 0.010001}}};
  document["collectives"] = {
      {{"kind", "all_reduce"},
       {"ranks", 2},
       {"bytes", 1024},
       {"seconds", 1e-5}},
      {{"kind", "all_reduce"},
       {"ranks", 4},
       {"bytes", 4096},
       {"seconds", 2e-5}},
      {{"kind", "all_reduce"},
       {"ranks", 4},
       {"bytes", 1000000},
       {"seconds", 1e-3}},
      {{"kind", "send"}, {"ranks", 4}, {"bytes", 1024}, {"seconds", 3e-6}}};
  return document;
}

std::optional<ClusterDescription>
read(const Json &document, DiagnosticEngine &engine,
     MeasuredDevices devices = MeasuredDevices::processors) {
  return readCalibration(printJson(document), "figures.json", devices, machine,
                         engine);
}

std::string getFault(const Json &document,
                     MeasuredDevices devices = MeasuredDevices::processors) {
  DiagnosticEngine engine;
  EXPECT_FALSE(read(document, engine, devices));
  return engine.getDiagnostics().empty()
             ? ""
             : engine.getDiagnostics().front().message;
}

} // namespace

TEST(Calibration, ReadsRatesOfARankAmongAll) {
  DiagnosticEngine engine;
  std::optional<ClusterDescription> cluster = read(makeMeasurements(), engine);
  ASSERT_TRUE(cluster);
  const Device &device = cluster->device;
  EXPECT_DOUBLE_EQ(device.flopsPerSecond.fp32, 100e9);
  // The mean of 1 and 1/4, by their logarithms.
  EXPECT_DOUBLE_EQ(device.matrixEfficiency, 0.5);
  EXPECT_DOUBLE_EQ(device.flopsPerSecond.fp64 * device.matrixEfficiency, 25e9);
  EXPECT_EQ(device.flopsPerSecond.bf16, 0);
  EXPECT_DOUBLE_EQ(device.kernelGapSeconds, 1e-6);
  EXPECT_NEAR(device.memoryBytesPerSecond, 8e9, 1);
  EXPECT_NEAR(device.memoryEfficiency, 0.75, 1e-9);
  EXPECT_NEAR(device.transcendentalsPerSecond, 5e8, 1);
  EXPECT_EQ(device.memoryBytes, 3 * gibi);
  EXPECT_NEAR(cluster->node.hostMemoryBytesPerSecond, 4 * 5e9, 1);
  EXPECT_NEAR(cluster->node.deviceHostBytesPerSecond, 2e9, 1);
  EXPECT_EQ(cluster->node.hostMemoryBytes, 16 * gibi);
  EXPECT_EQ(cluster->title, "4 ranks on 2 cores of a processor");
}

namespace {

Json makeMeasurementsOfGpus(int64_t ranksPerDevice = 1) {
  Json document = makeMeasurements();
  document["device"] = {{"name", "a GPU"},
                        {"compute_capability", 90},
                        {"multiprocessors", 100},
                        {"memory_bytes", 70 * gibi},
                        {"ranks_per_device", ranksPerDevice}};
  // 200 TFLOP/s, and 50 where rows begin anywhere.
  document["products"].push_back({{"type", "bf16"},
                                  {"rows", 1000},
                                  {"columns", 1000},
                                  {"contracted", 1000},
                                  {"seconds", 1e-5}});
  document["products"].push_back({{"type", "bf16"},
                                  {"rows", 1000},
                                  {"columns", 999},
                                  {"contracted", 1000},
                                  {"seconds", 3.996e-5}});
  for (Json &entry : document["attention"])
    entry["seconds"] = entry["what"] == "forward" ? 3e-6 : 3e-5;
  return document;
}

} // namespace

TEST(Calibration, ReadsRatesOfAGpu) {
  DiagnosticEngine engine;
  std::optional<ClusterDescription> cluster =
      read(makeMeasurementsOfGpus(), engine, MeasuredDevices::gpus);
  ASSERT_TRUE(cluster) << engine.render();
  const Device &device = cluster->device;
  EXPECT_EQ(cluster->title, "4 x a GPU");
  EXPECT_EQ(device.computeCapability, 90);
  EXPECT_EQ(device.memoryBytes, 70 * gibi);
  EXPECT_NEAR(device.flopsPerSecond.bf16, 200e12, 1e6);
  EXPECT_EQ(device.matrixEfficiency, 1);
  EXPECT_NEAR(device.unalignedEfficiency, 0.25, 1e-9);
  // (100 + 200) million operations in 6 us, (246 + 496) million in 60 us.
  EXPECT_NEAR(device.attentionEfficiency, 0.25, 1e-9);
  EXPECT_NEAR(device.attentionGradientEfficiency, 742e6 / 60e-6 / 200e12, 1e-9);
  EXPECT_EQ(cluster->node.devices, 4);
  EXPECT_FALSE(cluster->network);
  // 2 (n - 1) / n of a megabyte in a millisecond.
  EXPECT_NEAR(cluster->node.link.bytesPerSecond, 1.5e9, 1);
}

TEST(Calibration, SaysWhenRanksShareAGpu) {
  DiagnosticEngine engine;
  std::optional<ClusterDescription> cluster =
      read(makeMeasurementsOfGpus(/*ranksPerDevice=*/2), engine,
           MeasuredDevices::gpus);
  ASSERT_TRUE(cluster) << engine.render();
  EXPECT_EQ(cluster->title, "4 x a GPU, 2 ranks on each GPU");
}

TEST(Calibration, RefusesAGpuWithoutItsFigures) {
  Json document = makeMeasurementsOfGpus();
  document["device"].erase("compute_capability");
  EXPECT_NE(
      getFault(document, MeasuredDevices::gpus).find("compute_capability"),
      std::string::npos);
  document = makeMeasurementsOfGpus();
  document.erase("device");
  EXPECT_NE(getFault(document, MeasuredDevices::gpus).find("device"),
            std::string::npos);
  document = makeMeasurementsOfGpus();
  document["products"].erase(document["products"].end() - 2,
                             document["products"].end());
  EXPECT_NE(getFault(document, MeasuredDevices::gpus).find("bf16"),
            std::string::npos);
}

TEST(Calibration, TellsScoresOfAttentionFromItsProducts) {
  DiagnosticEngine engine;
  std::optional<ClusterDescription> cluster = read(makeMeasurements(), engine);
  ASSERT_TRUE(cluster);
  EXPECT_NEAR(cluster->device.attentionEfficiency, 0.5, 1e-9);
  EXPECT_NEAR(cluster->device.attentionScoresPerSecond, 1e9, 1);
  EXPECT_NEAR(cluster->device.attentionGradientEfficiency, 0.25, 1e-9);
  EXPECT_EQ(cluster->device.attentionGradientScoresPerSecond, 1e18);
}

TEST(Calibration, SaysHowManyCoresTheRanksShare) {
  DiagnosticEngine engine;
  std::optional<ClusterDescription> cluster = read(makeMeasurements(), engine);
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->node.cores, 2);
}

TEST(Calibration, TellsTheOverheadOfThinProducts) {
  // 10 GFLOP/s, as if there were 8 columns and 4 contracted elements more.
  Json document = makeMeasurements();
  document["products"] = Json::array();
  for (auto [rows, columns, contracted] : {std::array{64, 64, 64},
                                           {256, 256, 256},
                                           {1024, 16, 64},
                                           {1024, 64, 16},
                                           {16, 256, 1024},
                                           {512, 128, 32}})
    document["products"].push_back(
        {{"type", "fp32"},
         {"rows", rows},
         {"columns", columns},
         {"contracted", contracted},
         {"seconds", 2e-10 * rows * (columns + 8) * (contracted + 4)}});
  DiagnosticEngine engine;
  std::optional<ClusterDescription> cluster = read(document, engine);
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->device.productOverhead, (std::array<double, 3>{0, 8, 4}));
  EXPECT_NEAR(cluster->device.flopsPerSecond.fp32 *
                  cluster->device.matrixEfficiency,
              10e9, 1e3);
}

TEST(Calibration, KeepsWhatCollectivesOfEveryGroupTake) {
  DiagnosticEngine engine;
  std::optional<ClusterDescription> cluster = read(makeMeasurements(), engine);
  ASSERT_TRUE(cluster);
  const auto &measured = cluster->collectives.measured;
  ASSERT_EQ(measured.size(), 3u);
  EXPECT_EQ(measured[0].kind, "all_reduce");
  EXPECT_EQ(measured[0].devicesPerNode, 2);
  EXPECT_EQ(measured[1].devicesPerNode, 4);
  EXPECT_EQ(measured[1].bytes, (std::vector<double>{4096, 1000000}));
  EXPECT_EQ(measured[1].seconds, (std::vector<double>{2e-5, 1e-3}));
  EXPECT_EQ(measured[2].kind, "send");
  // All four move the buffer there and back: six copies of it.
  EXPECT_DOUBLE_EQ(cluster->node.link.bytesPerSecond, 6e9);
  EXPECT_DOUBLE_EQ(cluster->node.link.latencySeconds, 3e-6);
}

TEST(Calibration, TakesTheMeanWhereALargerMessageTookLess) {
  Json document = makeMeasurements();
  std::vector<double> seconds = {4, 1, 4, 12, 6, 3, 9};
  for (size_t index = 0; index < seconds.size(); ++index)
    document["collectives"].push_back({{"kind", "broadcast"},
                                       {"ranks", 4},
                                       {"bytes", 1 << index},
                                       {"seconds", seconds[index]}});
  DiagnosticEngine engine;
  std::optional<ClusterDescription> cluster = read(document, engine);
  ASSERT_TRUE(cluster);
  const auto &measured = cluster->collectives.measured;
  ASSERT_EQ(measured[2].kind, "broadcast");
  std::vector<double> expected = {2, 2, 4, 6, 6, 6, 9};
  for (size_t index = 0; index < expected.size(); ++index)
    EXPECT_NEAR(measured[2].seconds[index], expected[index], 1e-12);
}

TEST(Calibration, LeadsTheLinkThroughFiguresThatDoNotFall) {
  Json document = makeMeasurements();
  // The smaller all-reduce of all ranks took four times as long.
  document["collectives"][1]["seconds"] = 4e-3;
  DiagnosticEngine engine;
  std::optional<ClusterDescription> cluster = read(document, engine);
  ASSERT_TRUE(cluster);
  EXPECT_DOUBLE_EQ(cluster->collectives.measured[1].seconds.back(), 2e-3);
  EXPECT_DOUBLE_EQ(cluster->node.link.bytesPerSecond, 3e9);
}

TEST(Calibration, IsAClusterFileThatIsReadBack) {
  DiagnosticEngine engine;
  std::optional<ClusterDescription> cluster = read(makeMeasurements(), engine);
  ASSERT_TRUE(cluster);
  std::optional<ClusterDescription> again =
      parseCluster(printJson(toJson(*cluster)), "cluster.json", engine);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *cluster);
}

TEST(Calibration, SaysWhatIsMissingOrAbsurd) {
  Json document = makeMeasurements();
  document["loops"].erase(2);
  EXPECT_NE(getFault(document).find("lacks 'copy'"), std::string::npos);
  document = makeMeasurements();
  document["products"][0]["seconds"] = -1;
  EXPECT_NE(getFault(document).find("products[0].seconds"), std::string::npos);
  document = makeMeasurements();
  document["attention"].erase(1);
  EXPECT_NE(getFault(document).find("lacks 'forward'"), std::string::npos);
  document = makeMeasurements();
  document["products"] = Json::array();
  EXPECT_NE(getFault(document).find("fp32"), std::string::npos);
}

TEST(Calibration, MeasuresGroupsOfTheLastAxes) {
  EXPECT_EQ(getMeasuredGroups(1), std::vector<int64_t>());
  EXPECT_EQ(getMeasuredGroups(4), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(getMeasuredGroups(12), (std::vector<int64_t>{3, 6, 12}));
  std::string program = printCalibrationProgram(6);
  EXPECT_NE(program.find("{{\"a0\", 2}, {\"a1\", 3}}"), std::string::npos);
  EXPECT_NE(program.find("group0[] = {1};"), std::string::npos);
  EXPECT_NE(program.find("group1[] = {0, 1};"), std::string::npos);
  EXPECT_NE(program.find("{{\"3\", group0}, {\"6\", group1}}"),
            std::string::npos);
}
