#include "coordinator/rpc/calls/message_bytes.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/process/log.h"

namespace hpc::coordinator {
namespace {

// The field about which the parser of this thread complained last. Protobuf tells only in a log
// line which field is not valid UTF-8.
thread_local std::string last_bad_field;

void OnProtobufLog(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  // "String field 'hpc.v1.RunSpec.name' contains invalid UTF-8 data when parsing ..."
  const size_t begin = message.find('\'');
  const size_t end = begin == std::string::npos ? begin : message.find('\'', begin + 1);
  if (end != std::string::npos && absl::StrContains(message, "invalid UTF-8")) {
    last_bad_field = message.substr(begin + 1, end - begin - 1);
    return;
  }
  LogDebug("protobuf", {{"message", message}});
}

void InstallLogHandler() {
  static const bool installed = [] {
    google::protobuf::SetLogHandler(&OnProtobufLog);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace

absl::Status Parse(const grpc::ByteBuffer& bytes, google::protobuf::Message* message) {
  InstallLogHandler();
  last_bad_field.clear();
  grpc::ByteBuffer copy = bytes;
  grpc::ProtoBufferReader reader(&copy);
  if (reader.status().ok() && message->ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  const std::string& type = message->GetDescriptor()->full_name();
  if (!last_bad_field.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(type, " refused: its field ", last_bad_field,
                                                   " holds text that is not valid UTF-8"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the ", bytes.Length(), " bytes received are not a valid ", type));
}

grpc::ByteBuffer Serialize(const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(message, &bytes, &own);
  return bytes;
}

}  // namespace hpc::coordinator
