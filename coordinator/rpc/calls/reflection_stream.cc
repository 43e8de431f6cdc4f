#include "coordinator/rpc/calls/reflection_stream.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "coordinator/trust/permissions.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"

namespace hpc::coordinator {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

void AddServices(ServerReflectionResponse* response) {
  std::set<std::string> services;
  for (const AccessRow& row : AccessTable()) {
    const absl::string_view method = row.method;
    services.emplace(method.substr(0, method.find('/')));
  }
  for (const std::string& service : services) {
    response->mutable_list_services_response()->add_service()->set_name(service);
  }
}

// Adds the imports of the file first.
void AddFile(const FileDescriptor& file, std::set<std::string>* added,
             ServerReflectionResponse* response) {
  if (!added->insert(file.name()).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), added, response);
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  proto.SerializeToString(
      response->mutable_file_descriptor_response()->add_file_descriptor_proto());
}

void AddExtensionNumbers(const Descriptor& message, ServerReflectionResponse* response) {
  auto* const numbers = response->mutable_all_extension_numbers_response();
  numbers->set_base_type_name(message.full_name());
  std::vector<const FieldDescriptor*> extensions;
  message.file()->pool()->FindAllExtensions(&message, &extensions);
  for (const FieldDescriptor* one : extensions) numbers->add_extension_number(one->number());
}

const FileDescriptor* FileOfExtension(const std::string& type, int number) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  const Descriptor* const message = pool.FindMessageTypeByName(type);
  if (message == nullptr) return nullptr;
  const FieldDescriptor* const field = pool.FindExtensionByNumber(message, number);
  return field == nullptr ? nullptr : field->file();
}

ServerReflectionResponse AnswerTo(const ServerReflectionRequest& request) {
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  const FileDescriptor* file = nullptr;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      file = pool.FindFileByName(request.file_by_filename());
      break;
    case ServerReflectionRequest::kFileContainingSymbol:
      file = pool.FindFileContainingSymbol(request.file_containing_symbol());
      break;
    case ServerReflectionRequest::kFileContainingExtension: {
      const auto& extension = request.file_containing_extension();
      file = FileOfExtension(extension.containing_type(), extension.extension_number());
      break;
    }
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      if (const Descriptor* const message =
              pool.FindMessageTypeByName(request.all_extension_numbers_of_type())) {
        AddExtensionNumbers(*message, &response);
        return response;
      }
      break;
    case ServerReflectionRequest::kListServices:
      AddServices(&response);
      return response;
    default:
      break;
  }
  if (file != nullptr) {
    std::set<std::string> added;
    AddFile(*file, &added, &response);
  } else {
    response.mutable_error_response()->set_error_code(
        static_cast<int32_t>(absl::StatusCode::kNotFound));
    response.mutable_error_response()->set_error_message("there is no such thing here");
  }
  return response;
}

}  // namespace

void ReflectionStream::OnMessage(const Caller&, const grpc::ByteBuffer& bytes) {
  ServerReflectionRequest request;
  if (const absl::Status status = Parse(bytes, &request); !status.ok()) return Finish(status);
  Send(AnswerTo(request));
}

}  // namespace hpc::coordinator
