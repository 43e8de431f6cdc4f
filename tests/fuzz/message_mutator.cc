#include "tests/fuzz/message_mutator.h"

#include <google/protobuf/descriptor.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace hpc::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

int Pick(int n, std::mt19937* random) {
  return static_cast<int>((*random)() % static_cast<uint32_t>(n));
}

int64_t AnyNumber(std::mt19937* random) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kEdges[] = {0,         1,         2,          3,         -1,        7,    100,
                                65536,     1'000'000, 2147483647, -kMax - 1, kMax,      1000, 5000,
                                kMax / 10, 29500,     4294967296, 60'000,    86'400'000};
  return kEdges[Pick(std::size(kEdges), random)];
}

double AnyReal(std::mt19937* random) {
  const double kEdges[] = {0, 1, -1, 0.5, 1e308, -1e308, std::nan(""), INFINITY};
  return kEdges[Pick(std::size(kEdges), random)];
}

// A word that means something somewhere, or one that should not.
std::string AnyText(std::mt19937* random) {
  const std::string kWords[] = {"",
                                "pc1",
                                "pc2",
                                "10.0.0.1",
                                "boot",
                                "default",
                                "loss",
                                "/",
                                "checkpoint_saved",
                                "anna",
                                "python3",
                                "store/key",
                                "a\nb",
                                std::string("\0", 1),
                                "\xc3\xa9",
                                "..",
                                "1",
                                "torch",
                                std::string(5000, 'x')};
  return kWords[Pick(std::size(kWords), random)];
}

// `index` is -1 for a field that is not repeated.
void MutateChild(Message* message, const FieldDescriptor* field, int index, std::mt19937* random) {
  const Reflection& reflection = *message->GetReflection();
  MutateMessage(index < 0 ? reflection.MutableMessage(message, field)
                          : reflection.MutableRepeatedMessage(message, field, index),
                random);
}

void SetOne(Message* message, const FieldDescriptor* field, std::mt19937* random) {
  const Reflection& reflection = *message->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(message, field, static_cast<int32_t>(AnyNumber(random)));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(message, field, AnyNumber(random));
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.SetUInt32(message, field, static_cast<uint32_t>(AnyNumber(random)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.SetUInt64(message, field, static_cast<uint64_t>(AnyNumber(random)));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.SetDouble(message, field, AnyReal(random));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.SetFloat(message, field, static_cast<float>(AnyReal(random)));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(message, field, Pick(2, random) == 0);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(message, field, Pick(12, random) - 1);
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetString(message, field, AnyText(random));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MutateChild(message, field, -1, random);
  }
}

void AddOne(Message* message, const FieldDescriptor* field, std::mt19937* random) {
  const Reflection& reflection = *message->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.AddInt32(message, field, static_cast<int32_t>(AnyNumber(random)));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.AddInt64(message, field, AnyNumber(random));
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.AddUInt32(message, field, static_cast<uint32_t>(AnyNumber(random)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.AddUInt64(message, field, static_cast<uint64_t>(AnyNumber(random)));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.AddDouble(message, field, AnyReal(random));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.AddFloat(message, field, static_cast<float>(AnyReal(random)));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.AddBool(message, field, Pick(2, random) == 0);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.AddEnumValue(message, field, Pick(12, random) - 1);
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.AddString(message, field, AnyText(random));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MutateMessage(reflection.AddMessage(message, field), random);
  }
}

void MutateField(Message* message, const FieldDescriptor* field, std::mt19937* random) {
  const Reflection& reflection = *message->GetReflection();
  if (!field->is_repeated()) {
    if (Pick(8, random) == 0) return reflection.ClearField(message, field);
    return SetOne(message, field, random);
  }
  const int size = reflection.FieldSize(*message, field);
  if (size == 0 || (size < 100 && Pick(3, random) == 0)) return AddOne(message, field, random);
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && Pick(4, random) != 0) {
    return MutateChild(message, field, Pick(size, random), random);
  }
  reflection.RemoveLast(message, field);
}

}  // namespace

void MutateMessage(Message* message, std::mt19937* random) {
  const int fields = message->GetDescriptor()->field_count();
  if (fields == 0) return;
  // Mostly changes a field that is set: a message of another kind is soon made, a deep one is not.
  std::vector<const FieldDescriptor*> set;
  message->GetReflection()->ListFields(*message, &set);
  const bool known = !set.empty() && Pick(4, random) != 0;
  MutateField(message,
              known ? set[static_cast<size_t>(Pick(static_cast<int>(set.size()), random))]
                    : message->GetDescriptor()->field(Pick(fields, random)),
              random);
}

}  // namespace hpc::testing
