//===- ClusterFileTest.cpp - Clusters from files, and what can be wrong ---===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/Presets.h"
#include "parplan/Support/Json.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

using namespace parplan;

namespace {

/// A good document with the value at a JSON pointer replaced, or removed.
std::string change(const std::string &pointer, const Json &value) {
  Json document = toJson(*findPreset("dgx-h100"));
  document[Json::json_pointer(pointer)] = value;
  return printJson(document);
}
std::string remove(const std::string &parent, const std::string &key) {
  Json document = toJson(*findPreset("dgx-h100"));
  document[Json::json_pointer(parent)].erase(key);
  return printJson(document);
}

/// What is reported about a bad field, without the prefix.
std::string complain(const std::string &text) {
  DiagnosticEngine engine;
  EXPECT_FALSE(parseCluster(text, "c.json", engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::badInput);
  std::string rendered = engine.render();
  std::string prefix = "c.json: error[E1043]: field ";
  EXPECT_TRUE(rendered.starts_with(prefix)) << rendered;
  return rendered.substr(std::min(prefix.size(), rendered.size()));
}

} // namespace

TEST(ClusterFile, unknownNamesAreRefusedWithTheNearest) {
  DiagnosticEngine engine;
  EXPECT_FALSE(loadCluster("dgx-h10", engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::optionValue);
  std::string text = engine.render();
  EXPECT_TRUE(text.starts_with("parplan: error[E1040]: there is no cluster "
                               "preset and no file 'dgx-h10'\n"
                               "help: did you mean 'dgx-h100'"))
      << text;
  EXPECT_NE(text.find("help: presets: dgx-1v, "), std::string::npos);
}

TEST(ClusterFile, absentFilesAre66) {
  DiagnosticEngine engine;
  EXPECT_FALSE(loadCluster("/nowhere/cluster.json", engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::missingInput);
  EXPECT_EQ(engine.render(), "/nowhere/cluster.json: error[E1041]: cannot be "
                             "read: No such file or directory\n");
}

TEST(ClusterFile, syntaxErrorsAre65WithTheirPlace) {
  DiagnosticEngine engine;
  EXPECT_FALSE(parseCluster("{\"format\":1,}", "c.json", engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::badInput);
  EXPECT_TRUE(engine.render().starts_with("c.json:1:13: error[E1042]: "))
      << engine.render();
}

TEST(ClusterFile, filesAreReadByName) {
  std::string path = testing::TempDir() + "parplan-cluster-file-test.json";
  std::ofstream(path) << change("/name", "mine");
  DiagnosticEngine engine;
  std::optional<ClusterDescription> cluster = loadCluster(path, engine);
  std::remove(path.c_str());
  ASSERT_TRUE(cluster) << engine.render();
  EXPECT_EQ(cluster->name, "mine");
}

TEST(ClusterFile, badFieldsAreNamedWithValueAndLimit) {
  EXPECT_EQ(complain(change("/device/memory_bytes", -3)),
            "'device.memory_bytes': -3 is less than 1\n");
  EXPECT_EQ(complain(change("/device/matrix_efficiency", 1.5)),
            "'device.matrix_efficiency': 1.5 is more than 1\n");
  EXPECT_EQ(complain(change("/device/flops_per_s/fp32", 0)),
            "'device.flops_per_s.fp32': 0 is less than 1\n");
  EXPECT_EQ(complain(change("/node/devices", "eight")),
            "'node.devices': 'eight' is not an integer\n");
  EXPECT_EQ(complain(change("/node/link/kind", "rope")),
            "'node.link.kind': 'rope' is none of nvlink, pcie, "
            "shared-memory\n");
  EXPECT_EQ(complain(change("/network/nics", 0)),
            "'network.nics': 0 is less than 1\n");
  EXPECT_EQ(complain(change("/format", 2)), "'format': 2 is more than 1\n");
  EXPECT_EQ(complain(remove("/node", "link")), "'node.link': is missing\n");
  EXPECT_EQ(complain(change("/node/links", 1)),
            "'node.links' is unknown\nhelp: did you mean 'link'?\n");
}

TEST(ClusterFile, curvesAscend) {
  EXPECT_EQ(complain(change("/collectives/network_factors",
                            Json::parse("[[8, 1], [4, 2]]"))),
            "'collectives.network_factors': sizes must ascend and values be "
            "in range\n");
  Json measured = Json::parse(
      R"([{"kind":"all_reduce","devices_per_node":8,"nodes":1,
           "seconds_by_bytes":[]}])");
  EXPECT_EQ(complain(change("/collectives/measured", measured)),
            "'collectives.measured[0].seconds_by_bytes': needs at least one "
            "measurement\n");
}

TEST(ClusterFile, partsMustFitTogether) {
  EXPECT_EQ(complain(change("/collectives/model", "shared-memory")),
            "'collectives.model': 'shared-memory' goes with a link of that "
            "kind only\n");
  EXPECT_EQ(complain(change("/node/devices", nullptr)),
            "'network': a node of any number of devices has none\n");
}

TEST(ClusterFile, aStackIsNamedOrDescribedOrParplans) {
  auto read = [](const Json &stack) {
    DiagnosticEngine engine;
    auto cluster = parseCluster(change("/stack", stack), "c.json", engine);
    EXPECT_TRUE(cluster) << engine.render();
    return cluster ? cluster->stack : Stack();
  };
  EXPECT_EQ(read(nullptr), Stack());
  EXPECT_EQ(read("parplan"), Stack());
  EXPECT_EQ(getStacks().front(), Stack());
  Stack megatron = read("megatron-2022");
  EXPECT_EQ(megatron.attention, AttentionKernels::unfused);
  EXPECT_TRUE(megatron.overlapsTensorGradients);
  EXPECT_FALSE(megatron.overlapsGradientReduction);
  Stack mine = read(Json::parse(R"({"name":"mine","elementwise":"separate"})"));
  EXPECT_EQ(mine.name, "mine");
  EXPECT_EQ(mine.elementwise, ElementwiseKernels::separate);
  EXPECT_EQ(mine.attention, AttentionKernels::fused);
}

TEST(ClusterFile, nodesOfOtherKindsAreAsManyDevicesBehindANetwork) {
  auto add = [](const char *preset) {
    Json document = toJson(*findPreset("dgx-h100"));
    Json other = toJson(*findPreset(preset));
    document["nodes"] = 2;
    document["other_nodes"] = Json::array(
        {{{"nodes", 1}, {"device", other["device"]}, {"node", other["node"]}}});
    return document;
  };
  DiagnosticEngine engine;
  auto cluster = parseCluster(printJson(add("dgx-a100-40g")), "c.json", engine);
  ASSERT_TRUE(cluster) << engine.render();
  EXPECT_EQ(parseCluster(printJson(toJson(*cluster)), "c.json", engine),
            cluster);
  EXPECT_EQ(complain(printJson(add("dgx-2"))),
            "'other_nodes': a node of 16 devices; the first ones have 8\n");
  Json unknown = add("dgx-a100-40g");
  unknown["nodes"] = nullptr;
  EXPECT_EQ(complain(printJson(unknown)),
            "'nodes': is missing: how many nodes come before others\n");
  Json alone = add("dgx-a100-40g");
  alone["network"] = nullptr;
  EXPECT_EQ(complain(printJson(alone)),
            "'other_nodes': there is no network between nodes\n");
}

TEST(ClusterFile, ranksGetTheSlowestOfTheNodesTheyAreOn) {
  ClusterDescription mixed = *findPreset("dgx-h100");
  const ClusterDescription &old = *findPreset("dgx-a100-40g");
  mixed.nodes = 2;
  mixed.otherNodes = {{1, old.device, old.node}};
  DiagnosticEngine engine;
  auto get = [&](int64_t gpus) {
    return makeCluster(mixed, gpus, engine)->description;
  };
  // Two nodes do not reach the old one.
  EXPECT_EQ(get(16).device, findPreset("dgx-h100")->device);
  const Device &slowest = get(24).device;
  EXPECT_EQ(slowest.memoryBytes, old.device.memoryBytes);
  EXPECT_NEAR(slowest.getMatrixPeak(Precision::bf16) * slowest.matrixEfficiency,
              312e12 * old.device.matrixEfficiency, 1e6);
  EXPECT_NEAR(slowest.memoryBytesPerSecond, 1555e9, 1);
  EXPECT_LE(slowest.attentionEfficiency, 1);
  EXPECT_EQ(get(24).node.link.bytesPerSecond, 240e9);
  EXPECT_FALSE(makeCluster(mixed, 25, engine));
  EXPECT_NE(engine.render().find("has 3 nodes of 8 devices"),
            std::string::npos);
}

TEST(ClusterFile, badStacksAreRefused) {
  EXPECT_EQ(complain(change("/stack", "megatron")),
            "'stack': 'megatron' is none of parplan, megatron-2021, "
            "megatron-2021-data-parallel, megatron-2022, deepspeed-zero-3, "
            "llm-foundry-fsdp\n");
  EXPECT_EQ(complain(change("/stack", 7)), "'stack': 7 is not an object\n");
  EXPECT_EQ(complain(change("/stack/attention", "flash")),
            "'stack.attention': 'flash' is none of fused, unfused\n");
  EXPECT_EQ(complain(change("/stack/norm_traffic", 0)),
            "'stack.norm_traffic': 0 is less than 0.1\n");
  EXPECT_EQ(complain(change("/stack/dropouts", true)),
            "'stack.dropouts' is unknown\nhelp: did you mean 'dropout'?\n");
}

TEST(ClusterFile, sharesAndDeviationsHaveLimits) {
  EXPECT_EQ(complain(change("/device/attention_efficiency", 2)),
            "'device.attention_efficiency': 2 is more than 1\n");
  EXPECT_EQ(complain(change("/network/spine", Json::parse(R"({"nodes":4})"))),
            "'network.spine.share': is missing\n");
  EXPECT_EQ(complain(change("/network/message_efficiency", 0)),
            "'network.message_efficiency': 0 is less than 0.001\n");
  EXPECT_EQ(complain(change("/collectives/interference", 1.5)),
            "'collectives.interference': 1.5 is more than 1\n");
  EXPECT_EQ(complain(change("/straggler_deviation", -1)),
            "'straggler_deviation': -1 is less than 0\n");
}

TEST(ClusterFile, allProblemsComeInOneGo) {
  Json document = toJson(*findPreset("dgx-h100"));
  document["device"]["multiprocessors"] = 0;
  document["node"]["amd_cpu"] = 1;
  document["network"]["latency_s"] = "slow";
  DiagnosticEngine engine;
  EXPECT_FALSE(parseCluster(document.dump(), "c.json", engine));
  EXPECT_EQ(engine.getErrorCount(), 3u) << engine.render();
}

TEST(ClusterFile, whatIsOptionalMayBeAbsent) {
  Json document = toJson(*findPreset("dgx-h100"));
  for (const char *key :
       {"title", "network", "sources", "stack", "straggler_deviation"})
    document.erase(key);
  document["node"].erase("nvme");
  document["node"]["link"].erase("bytes_per_s_by_devices");
  document["collectives"].erase("network_factors");
  document["collectives"].erase("measured");
  document["collectives"].erase("interference");
  for (const char *key :
       {"tile_overhead", "unaligned_efficiency", "attention_efficiency",
        "attention_gradient_efficiency"})
    document["device"].erase(key);
  DiagnosticEngine engine;
  EXPECT_TRUE(parseCluster(document.dump(), "c.json", engine))
      << engine.render();
}
