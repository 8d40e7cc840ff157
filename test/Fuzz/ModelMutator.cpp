//===- ModelMutator.cpp - Models with random faults -----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "ModelMutator.h"

#include "onnx/onnx_pb.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit);

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

namespace {

class ModelMutator {
public:
  ModelMutator(onnx::ModelProto &model, unsigned seed) : random(seed) {
    collect(model);
  }

  void mutate() {
    Message &message = *messages[draw(messages.size())];
    const auto &fields = *message.GetDescriptor();
    if (fields.field_count() == 0)
      return;
    const FieldDescriptor *field =
        fields.field(static_cast<int>(draw(fields.field_count())));
    if (field->is_repeated())
      changeList(message, field);
    else if (draw(6) == 0)
      message.GetReflection()->ClearField(&message, field);
    else
      changeField(message, field);
    // Messages may be gone.
    Message *root = messages.front();
    messages.clear();
    strings.clear();
    collect(*root);
  }

private:
  size_t draw(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random);
  }

  /// All messages, and all strings by the kind of field that they are in.
  void collect(Message &message) {
    messages.push_back(&message);
    const Reflection &reflection = *message.GetReflection();
    std::vector<const FieldDescriptor *> present;
    reflection.ListFields(message, &present);
    for (const FieldDescriptor *field : present) {
      int count =
          field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int index = 0; index < count; ++index)
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
          collect(
              field->is_repeated()
                  ? *reflection.MutableRepeatedMessage(&message, field, index)
                  : *reflection.MutableMessage(&message, field));
        else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
          strings[getKind(field)].push_back(
              field->is_repeated()
                  ? reflection.GetRepeatedString(message, field, index)
                  : reflection.GetString(message, field));
    }
  }

  /// What names a value, wherever it does.
  static std::string getKind(const FieldDescriptor *field) {
    const std::string &name = field->name();
    bool isValue = name == "input" || name == "output" ||
                   (name == "name" &&
                    (field->containing_type()->name() == "TensorProto" ||
                     field->containing_type()->name() == "ValueInfoProto"));
    return isValue ? "value" : field->full_name();
  }

  int64_t drawInteger(int64_t old) {
    static constexpr int64_t borders[] = {0,
                                          1,
                                          -1,
                                          2,
                                          3,
                                          4,
                                          7,
                                          16,
                                          64,
                                          -2,
                                          1 << 20,
                                          int64_t(1) << 31,
                                          std::numeric_limits<int32_t>::max(),
                                          int64_t(1) << 40,
                                          std::numeric_limits<int64_t>::max(),
                                          std::numeric_limits<int64_t>::min()};
    size_t choice = draw(std::size(borders) + 4);
    if (choice < std::size(borders))
      return borders[choice];
    return static_cast<int64_t>(static_cast<uint64_t>(old) +
                                (choice % 2 ? 1u : ~uint64_t(0)));
  }

  std::string drawString(const FieldDescriptor *field, std::string old) {
    const std::vector<std::string> &others = strings[getKind(field)];
    if (!others.empty() && draw(3) > 0)
      return others[draw(others.size())];
    size_t size = old.size();
    old.resize(size + 16);
    old.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(old.data()), size,
                                old.size()));
    return old;
  }

  double drawReal() {
    static constexpr double borders[] = {
        0,
        -0.0,
        1,
        -1,
        0.5,
        1e-30,
        1e30,
        std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()};
    return borders[draw(std::size(borders))];
  }

  /// Sets a field, or adds an element to a list.
  void changeField(Message &message, const FieldDescriptor *field) {
    const Reflection &reflection = *message.GetReflection();
    bool isList = field->is_repeated();
    auto set = [&](auto setOne, auto add, auto value) {
      (reflection.*(isList ? add : setOne))(&message, field, value);
    };
    switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return set(&Reflection::SetInt32, &Reflection::AddInt32,
                 static_cast<int32_t>(drawInteger(
                     isList ? 0 : reflection.GetInt32(message, field))));
    case FieldDescriptor::CPPTYPE_INT64:
      return set(&Reflection::SetInt64, &Reflection::AddInt64,
                 drawInteger(isList ? 0 : reflection.GetInt64(message, field)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return set(&Reflection::SetUInt64, &Reflection::AddUInt64,
                 static_cast<uint64_t>(drawInteger(0)));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return set(&Reflection::SetFloat, &Reflection::AddFloat,
                 static_cast<float>(drawReal()));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return set(&Reflection::SetDouble, &Reflection::AddDouble, drawReal());
    case FieldDescriptor::CPPTYPE_ENUM:
      return set(&Reflection::SetEnumValue, &Reflection::AddEnumValue,
                 static_cast<int>(draw(30)));
    case FieldDescriptor::CPPTYPE_STRING:
      return set(&Reflection::SetString, &Reflection::AddString,
                 drawString(field, isList
                                       ? ""
                                       : reflection.GetString(message, field)));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (isList)
        reflection.AddMessage(&message, field);
      else
        reflection.MutableMessage(&message, field);
      return;
    default:
      return;
    }
  }

  /// Repeats, moves, removes or adds an element.
  void changeList(Message &message, const FieldDescriptor *field) {
    const Reflection &reflection = *message.GetReflection();
    int count = reflection.FieldSize(message, field);
    if (count == 0)
      return changeField(message, field);
    int one = static_cast<int>(draw(count)), last = count - 1;
    switch (draw(4)) {
    case 0:
      reflection.SwapElements(&message, field, one,
                              static_cast<int>(draw(count)));
      return;
    case 1:
      reflection.SwapElements(&message, field, one, last);
      reflection.RemoveLast(&message, field);
      return;
    case 2:
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        const Message &old = reflection.GetRepeatedMessage(message, field, one);
        Message &copy = *reflection.AddMessage(&message, field);
        copy.CopyFrom(old);
        return;
      }
      [[fallthrough]];
    default:
      // A new element takes the place of one.
      changeField(message, field);
      if (reflection.FieldSize(message, field) == count + 1 && draw(2) > 0) {
        reflection.SwapElements(&message, field, one, count);
        reflection.RemoveLast(&message, field);
      }
    }
  }

  std::minstd_rand random;
  std::vector<Message *> messages;
  std::map<std::string, std::vector<std::string>> strings;
};

} // namespace

size_t parplan::mutateModel(uint8_t *data, size_t size, size_t limit,
                            unsigned seed) {
  google::protobuf::SetLogHandler(nullptr);
  onnx::ModelProto model;
  if (seed % 4 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, limit);
  ModelMutator mutator(model, seed);
  for (unsigned count = 1 + seed / 4 % 3; count > 0; --count)
    mutator.mutate();
  std::string bytes;
  if (!model.SerializePartialToString(&bytes) || bytes.size() > limit)
    return LLVMFuzzerMutate(data, size, limit);
  bytes.copy(reinterpret_cast<char *>(data), bytes.size());
  return bytes.size();
}
