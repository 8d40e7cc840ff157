//===- PaddingIdTest.cpp - Rows of embeddings that are not trained --------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Load/WireFilter.h"

#include "onnx/onnx_pb.h"

#include <gtest/gtest.h>

namespace parplan::importer {
namespace {

/// Reads a node that has `call` as the note of PyTorch's exporter.
std::optional<int64_t> read(const std::string &call) {
  onnx::NodeProto node;
  node.set_op_type("Gather");
  node.add_input("table");
  auto *scopes = node.add_metadata_props();
  scopes->set_key("pkg.torch.onnx.name_scopes");
  scopes->set_value("['', 'embedding']");
  auto *entry = node.add_metadata_props();
  entry->set_key("pkg.torch.onnx.fx_node");
  entry->set_value(call);
  std::string bytes = node.SerializeAsString();
  return readPaddingId(bytes, {0, bytes.size()});
}

TEST(PaddingId, IsTheThirdArgumentOfAnEmbedding) {
  std::string head = "%embedding : [num_users=1] = call_function["
                     "target=torch.ops.aten.embedding.default](args = (%w, %x";
  EXPECT_EQ(read(head + ", 0), kwargs = {})"), 0);
  EXPECT_EQ(read(head + ", 17, False, True), kwargs = {})"), 17);
  EXPECT_EQ(read(head + ", -1), kwargs = {})"), std::nullopt);
  EXPECT_EQ(read(head + "), kwargs = {})"), std::nullopt);
  EXPECT_EQ(read(head + ", %y), kwargs = {})"), std::nullopt);
  EXPECT_EQ(read(head + ", "), std::nullopt);
}

TEST(PaddingId, IsOfEmbeddingsOnly) {
  EXPECT_EQ(read("%add = call_function[target=torch.ops.aten.add.Tensor]"
                 "(args = (%a, %b, 0), kwargs = {})"),
            std::nullopt);
  EXPECT_EQ(readPaddingId("", {0, 0}), std::nullopt);
}

} // namespace
} // namespace parplan::importer
