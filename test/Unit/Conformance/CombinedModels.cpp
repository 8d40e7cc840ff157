//===- CombinedModels.cpp - Many node tests in one model -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "CombinedModels.h"

#include "lib/Import/Graph/Element.h"
#include "lib/Import/Load/Limits.h"
#include "lib/Import/Operators/Tensors.h"

#include "parplan/Support/Check.h"

#include "onnx/defs/schema.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

namespace parplan::test {

namespace {

/// So many that the source compiles in seconds, and little of the time goes
/// into what all programs have in common.
constexpr size_t testsPerModel = 60;

using Versions = std::map<std::string, int64_t>;

/// A test as it ran, with its constants as initializers.
struct Member {
  NodeTest test;
  const NodeTestResult *result;
  onnx::ModelProto model;
  Versions versions;
};

std::string getDomain(const std::string &domain) {
  return domain == "ai.onnx" ? "" : domain;
}

int getSinceVersion(const onnx::NodeProto &node, int64_t version) {
  const onnx::OpSchema *schema = onnx::OpSchemaRegistry::Schema(
      node.op_type(), int(version), getDomain(node.domain()));
  return schema ? schema->SinceVersion() : 0;
}

/// Calls `body` with a graph and those inside its nodes.
template <typename Graph, typename Body>
void forEachGraph(Graph &graph, Body body) {
  body(graph);
  for (int i = 0; i < graph.node_size(); ++i) {
    auto *attributes = [&] {
      if constexpr (std::is_const_v<Graph>)
        return &graph.node(i).attribute();
      else
        return graph.mutable_node(i)->mutable_attribute();
    }();
    for (auto &attribute : *attributes)
      if (attribute.has_g()) {
        if constexpr (std::is_const_v<Graph>)
          forEachGraph(attribute.g(), body);
        else
          forEachGraph(*attribute.mutable_g(), body);
      }
  }
}

/// True if no operator means another version of itself in the newest opset.
bool isSameInNewest(const onnx::GraphProto &all, int64_t version) {
  bool isSame = true;
  forEachGraph(all, [&](const onnx::GraphProto &graph) {
    for (const onnx::NodeProto &node : graph.node())
      isSame &= !getDomain(node.domain()).empty() ||
                getSinceVersion(node, version) ==
                    getSinceVersion(node, importer::limits::maximumOpset);
  });
  return isSame;
}

Versions readVersions(const onnx::ModelProto &model) {
  Versions versions;
  for (const onnx::OperatorSetIdProto &imported : model.opset_import())
    versions[getDomain(imported.domain())] = imported.version();
  // Tests of the newest version of their operator fit into one model then.
  if (versions.count("") && isSameInNewest(model.graph(), versions[""]))
    versions[""] = importer::limits::maximumOpset;
  return versions;
}

Member readMember(const std::string &nodeTests, const std::string &name,
                  const NodeTestResult &result) {
  Member member{readNodeTest(nodeTests, name), &result, {}, {}};
  if (result.isFlattened)
    member.test = *flattenNodeTest(member.test);
  PARPLAN_CHECK(
      member.model.ParseFromString(bindInputs(member.test, result.constants)),
      "no model: " + name);
  member.versions = readVersions(member.model);
  return member;
}

/// What no second test of the same is needed for.
std::string describe(const Member &member) {
  std::ostringstream text;
  const onnx::GraphProto &graph = member.test.model.graph();
  const std::string &sole = member.result->soleOperator;
  text << sole;
  if (!sole.empty() && getDomain(graph.node(0).domain()).empty())
    text << ' ' << getSinceVersion(graph.node(0), member.versions.at(""));
  for (const std::string &op : member.result->trace.ops)
    text << ' ' << op;
  for (const std::string &statement : member.result->trace.statements)
    text << ' ' << statement;
  for (const auto *values : {&member.test.inputs, &member.test.outputs}) {
    std::set<int> types;
    for (const NodeTestValue &value : *values)
      types.insert(std::get<onnx::TensorProto>(value).data_type());
    text << " |";
    for (int type : types)
      text << ' ' << type;
  }
  return text.str();
}

void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file.flush())
    throw std::runtime_error("cannot write " + path);
}

using importer::ElementType;

/// The type that a program holds the tensor in.
ElementType getProgramType(const onnx::TensorProto &tensor) {
  return importer::getCarrier(
      importer::fromOnnxType(tensor.data_type()).value());
}

/// The elements as a file of the program's type has them.
std::string getProgramBytes(const onnx::TensorProto &tensor) {
  ElementType type = importer::fromOnnxType(tensor.data_type()).value();
  std::string bytes = tensor.has_raw_data()
                          ? tensor.raw_data()
                          : importer::getRawBytes(tensor, type);
  if (!importer::isNarrow(type))
    return bytes;
  ElementType carrier = importer::getCarrier(type);
  int64_t size = importer::getElementBytes(carrier), count = 1;
  for (int64_t extent : tensor.dims())
    count *= extent;
  std::string numbers(size_t(count * size), '\0');
  for (int64_t i = 0; i < count; ++i)
    importer::writeCell(importer::readElement(bytes, i, type), carrier,
                        numbers.data() + i * size);
  return numbers;
}

/// NumPy's file of the tensor; of bfloat16, which NumPy has not, its bits.
std::string printNpy(const onnx::TensorProto &tensor) {
  static const std::map<ElementType, std::string> codes = {
      {ElementType::f64, "<f8"}, {ElementType::f32, "<f4"},
      {ElementType::f16, "<f2"}, {ElementType::bf16, "<u2"},
      {ElementType::i64, "<i8"}, {ElementType::i32, "<i4"},
      {ElementType::i16, "<i2"}, {ElementType::i8, "|i1"},
      {ElementType::u64, "<u8"}, {ElementType::u32, "<u4"},
      {ElementType::u16, "<u2"}, {ElementType::u8, "|u1"},
      {ElementType::i1, "|b1"}};
  std::string header = "{'descr': '" + codes.at(getProgramType(tensor)) +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t size : tensor.dims())
    header += std::to_string(size) + ",";
  header += "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  const char length[] = {char(header.size() & 255), char(header.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + std::string(length, 2) + header +
         getProgramBytes(tensor);
}

/// A model that members are added to.
class CombinedModel {
public:
  explicit CombinedModel(std::string folder) : folder(std::move(folder)) {
    std::filesystem::create_directories(this->folder);
    model.mutable_graph()->set_name("tests");
  }

  void add(Member member) {
    prefix = member.test.name + ".";
    writeData(member);
    onnx::GraphProto &graph = *member.model.mutable_graph();
    setInputs(graph, member);
    for (int i = 0; i < graph.output_size(); ++i)
      setType(*graph.mutable_output(i), member.test.outputs[size_t(i)]);
    graph.clear_value_info();
    forEachGraph(graph, [&](onnx::GraphProto &one) { addPrefix(one); });
    for (auto &function : *member.model.mutable_functions())
      *model.add_functions() = function;
    model.mutable_graph()->MergeFrom(graph);
    model.mutable_graph()->set_name("tests");
    model.set_ir_version(
        std::max({model.ir_version(), member.model.ir_version(),
                  // The first with initializers that are no inputs.
                  int64_t(onnx::IR_VERSION_2019_1_22)}));
    versions = member.versions;
  }

  size_t getSize() const { return tests.size(); }

  void write() {
    for (const auto &[domain, version] : versions) {
      onnx::OperatorSetIdProto &import = *model.add_opset_import();
      import.set_domain(domain);
      import.set_version(version);
    }
    writeFile(folder + "/model.onnx", model.SerializeAsString());
    writeFile(folder + "/tests.json", tests.dump(1) + "\n");
  }

private:
  void writeData(const Member &member) {
    Tolerance one = getTolerance(member.test.name);
    nlohmann::json entry = {
        {"name", member.test.name},
        {"operator", member.result->soleOperator},
        {"tolerance", {one.relative, one.absolute}},
        {"tolerance_on_ranks",
         {ranksTolerance.relative, ranksTolerance.absolute}},
        {"inputs", nlohmann::json::object()},
        {"outputs", nlohmann::json::object()}};
    const onnx::GraphProto &graph = member.test.model.graph();
    for (int i : member.result->arguments) {
      const auto &data = std::get<onnx::TensorProto>(member.test.inputs[i]);
      bool isNarrow =
          importer::toOnnxType(getProgramType(data)) != data.data_type();
      std::string file =
          prefix + "input" + std::to_string(i) + (isNarrow ? ".npy" : ".pb");
      writeFile(folder + "/" + file,
                isNarrow ? printNpy(data) : data.SerializeAsString());
      entry["inputs"][prefix + graph.input(i).name()] = file;
    }
    for (int i = 0; i < graph.output_size(); ++i) {
      std::string file = prefix + "output" + std::to_string(i) + ".npy";
      const auto &data = std::get<onnx::TensorProto>(member.test.outputs[i]);
      writeFile(folder + "/" + file, printNpy(data));
      bool isShort = data.data_type() == onnx::TensorProto::BFLOAT16;
      entry["outputs"][prefix + graph.output(i).name()] = {
          {"file", file}, {"bfloat16", isShort}};
    }
    tests.push_back(entry);
  }

  static bool isConstant(const Member &member, int input) {
    const std::vector<int> &constants = member.result->constants;
    return std::find(constants.begin(), constants.end(), input) !=
           constants.end();
  }

  /// Leaves the inputs of the run.
  static void setInputs(onnx::GraphProto &graph, const Member &member) {
    onnx::GraphProto inputs;
    for (int i = 0; i < graph.input_size(); ++i) {
      if (isConstant(member, i))
        continue;
      *inputs.add_input() = graph.input(i);
      setType(*inputs.mutable_input(inputs.input_size() - 1),
              member.test.inputs[size_t(i)]);
    }
    graph.mutable_input()->Swap(inputs.mutable_input());
  }

  /// The type of the data: symbols of two tests are not the same.
  static void setType(onnx::ValueInfoProto &info, const NodeTestValue &value) {
    const auto &data = std::get<onnx::TensorProto>(value);
    info.clear_type();
    onnx::TypeProto::Tensor &type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(data.data_type());
    type.mutable_shape();
    for (int64_t size : data.dims())
      type.mutable_shape()->add_dim()->set_dim_value(size);
  }

  void addPrefix(std::string &name) const {
    if (!name.empty()) // An optional value that is not there.
      name = prefix + name;
  }

  void addPrefix(onnx::ValueInfoProto &info) const {
    addPrefix(*info.mutable_name());
    if (!info.type().has_tensor_type() ||
        !info.type().tensor_type().has_shape())
      return;
    for (auto &dim : *info.mutable_type()
                          ->mutable_tensor_type()
                          ->mutable_shape()
                          ->mutable_dim())
      if (dim.has_dim_param())
        addPrefix(*dim.mutable_dim_param());
  }

  void addPrefix(onnx::GraphProto &graph) const {
    for (auto *infos : {graph.mutable_input(), graph.mutable_output(),
                        graph.mutable_value_info()})
      for (onnx::ValueInfoProto &info : *infos)
        addPrefix(info);
    for (onnx::TensorProto &initializer : *graph.mutable_initializer())
      addPrefix(*initializer.mutable_name());
    for (onnx::NodeProto &node : *graph.mutable_node()) {
      node.set_name(prefix + node.op_type());
      for (auto *names : {node.mutable_input(), node.mutable_output()})
        for (std::string &name : *names)
          addPrefix(name);
    }
  }

  std::string folder, prefix;
  onnx::ModelProto model;
  Versions versions;
  nlohmann::json tests = nlohmann::json::array();
};

} // namespace

void writeCombinedModels(const std::string &nodeTests,
                         const NodeTestResults &results,
                         const std::string &folder) {
  std::filesystem::remove_all(folder);
  std::set<std::string> seen;
  std::map<Versions, CombinedModel> open;
  int count = 0;
  for (const auto &[name, result] : results) {
    if (!isPass(result.verdict) || result.trace.statements.empty())
      continue;
    Member member = readMember(nodeTests, name, result);
    if (!seen.insert(describe(member)).second)
      continue;
    auto place = open.find(member.versions);
    if (place == open.end())
      place = open.try_emplace(member.versions,
                               folder + "/" + std::to_string(count++))
                  .first;
    place->second.add(std::move(member));
    if (place->second.getSize() < testsPerModel)
      continue;
    place->second.write();
    open.erase(place);
  }
  for (auto &[versions, model] : open)
    model.write();
}

} // namespace parplan::test
