//===- ModelInfo.cpp - What else is known about a model --------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/ModelInfo.h"

#include "lib/Import/Load/LoadedModel.h"

#include "parplan/Support/Sha256.h"

#include "onnx/onnx_pb.h"

namespace parplan {

ModelInfo::ModelInfo(std::shared_ptr<const importer::LoadedModel> model)
    : model(std::move(model)) {}

const std::string &ModelInfo::getPath() const { return model->path; }

size_t ModelInfo::getNodeCount() const { return model->filtered.nodes.size(); }

std::string ModelInfo::getNodeName(size_t node) const {
  PARPLAN_CHECK(node < getNodeCount(), "no node ", node);
  return importer::readNodeName(model->file.getBytes(),
                                model->filtered.nodes[node]);
}

std::string ModelInfo::getNodeOperator(size_t node) const {
  PARPLAN_CHECK(node < getNodeCount(), "no node ", node);
  return model->getModel().graph().node(int(node)).op_type();
}

std::optional<int64_t> ModelInfo::getPaddingId(size_t node) const {
  PARPLAN_CHECK(node < getNodeCount(), "no node ", node);
  return importer::readPaddingId(model->file.getBytes(),
                                 model->filtered.nodes[node]);
}

Location ModelInfo::locateNode(size_t node) const {
  return Location::atNode(getPath(), int64_t(node), getNodeName(node),
                          getNodeOperator(node));
}

std::string ModelInfo::computeSha256() const {
  return sha256Hex(model->file.getBytes());
}

ParameterMark ModelInfo::getMark(std::string_view initializer) const {
  auto mark = model->filtered.marks.find(initializer);
  if (mark == model->filtered.marks.end())
    return ParameterMark::none;
  return mark->second == importer::InitializerMark::parameter
             ? ParameterMark::parameter
             : ParameterMark::buffer;
}

} // namespace parplan
