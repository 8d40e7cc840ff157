//===- PresetsTest.cpp - The clusters that parplan knows by name ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/Presets.h"
#include "parplan/Support/Json.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

constexpr int64_t gibi = int64_t{1} << 30;
constexpr int64_t giga = 1000000000;

} // namespace

TEST(Presets, namesOfTheCommandLineExist) {
  for (const char *name : {"dgx-a100-40g", "dgx-a100-80g", "dgx-h100",
                           "dgx-h200", "dgx-b200", "p3.16xlarge", "host"})
    EXPECT_NE(findPreset(name), nullptr) << name;
  EXPECT_EQ(findPreset("nowhere"), nullptr);
}

TEST(Presets, figuresOfH100) {
  const ClusterDescription &preset = *findPreset("dgx-h100");
  EXPECT_EQ(preset.device.memoryBytes, 80 * giga);
  EXPECT_EQ(preset.device.multiprocessors, 132);
  EXPECT_DOUBLE_EQ(preset.device.getMatrixPeak(Precision::bf16), 989.4e12);
  EXPECT_DOUBLE_EQ(preset.device.getMatrixPeak(Precision::fp32), 66.9e12);
  EXPECT_EQ(preset.node.devices, 8);
  EXPECT_EQ(preset.network->nics, 8);
  EXPECT_DOUBLE_EQ(preset.network->bytesPerSecond, 50e9);
}

TEST(Presets, hostHasAnyNumberOfRanksWith4GiBAndAllTiers) {
  const ClusterDescription &preset = *findPreset("host");
  EXPECT_EQ(preset.node.devices, 0);
  EXPECT_EQ(preset.device.memoryBytes, 4 * gibi);
  EXPECT_GT(preset.node.hostMemoryBytes, 0);
  ASSERT_TRUE(preset.node.nvme);
  EXPECT_GT(preset.node.nvme->bytes, 0);
  DiagnosticEngine engine;
  std::optional<Cluster> cluster = makeCluster(preset, 7, engine);
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->getNodeCount(), 1);
  EXPECT_EQ(cluster->getDevicesPerNode(), 7);
}

TEST(Presets, v100IsForPlanningOnly) {
  EXPECT_FALSE(findPreset("p3.16xlarge")->device.canEmit);
  EXPECT_TRUE(findPreset("dgx-a100-40g")->device.canEmit);
  // Volta has no bf16: it is emulated.
  EXPECT_DOUBLE_EQ(
      findPreset("p3.16xlarge")->device.getMatrixPeak(Precision::bf16),
      15.7e12);
  EXPECT_DOUBLE_EQ(
      findPreset("p3.16xlarge")->device.getMatrixPeak(Precision::fp16), 125e12);
}

TEST(Presets, everyOneSurvivesPrintingAndReading) {
  for (const ClusterDescription &preset : getPresets()) {
    DiagnosticEngine engine;
    std::optional<ClusterDescription> again =
        parseCluster(printJson(toJson(preset)), "a.json", engine);
    ASSERT_TRUE(again) << engine.render();
    EXPECT_EQ(*again, preset) << preset.name;
    EXPECT_FALSE(preset.sources.empty()) << preset.name;
    EXPECT_FALSE(preset.title.empty()) << preset.name;
  }
}

TEST(Presets, listsNameAllOfThem) {
  Json document = listPresetsAsJson();
  EXPECT_EQ(document["format"], 1);
  EXPECT_EQ(document["clusters"].size(), getPresets().size());
  std::string text = listPresetsAsText();
  for (const std::string &name : getPresetNames())
    EXPECT_NE(text.find(name + " "), std::string::npos) << name;
}

TEST(Presets, devicesFillWholeNodes) {
  DiagnosticEngine engine;
  auto countNodes = [&](int64_t gpus) {
    return makeCluster(*findPreset("dgx-h100"), gpus, engine)->getNodeCount();
  };
  EXPECT_EQ(countNodes(1), 1);
  EXPECT_EQ(countNodes(8), 1);
  EXPECT_EQ(countNodes(9), 2);
  EXPECT_EQ(countNodes(1024), 128);
}

TEST(Presets, impossibleNumbersOfDevicesAreRefused) {
  auto refuse = [](ClusterDescription description, int64_t gpus) {
    DiagnosticEngine engine;
    EXPECT_FALSE(makeCluster(std::move(description), gpus, engine));
    EXPECT_EQ(engine.getExitCode(), ExitCode::optionValue);
    return engine.render();
  };
  const ClusterDescription &preset = *findPreset("dgx-h100");
  EXPECT_EQ(refuse(preset, 0),
            "parplan: error[E1044]: --gpus 0: at least one device is needed\n");
  EXPECT_EQ(refuse(preset, 1 << 21),
            "parplan: error[E1044]: --gpus 2097152: more than 1048576 "
            "devices\n");
  ClusterDescription alone = preset;
  alone.network.reset();
  EXPECT_EQ(refuse(alone, 9),
            "parplan: error[E1044]: --gpus 9: cluster 'dgx-h100' has 8 devices "
            "and no network\n");
}
