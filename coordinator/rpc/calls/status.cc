#include "coordinator/rpc/calls/status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::coordinator {
namespace {

// Peers accept 8 KiB of headers by default, and escaping may turn every byte into three.
constexpr size_t kMaxWords = 2000;

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const absl::string_view message = status.message();
  std::string text(message.substr(0, kMaxWords));
  if (message.size() > kMaxWords) absl::StrAppend(&text, " ... (cut)");
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), ToValidUtf8(text));
}

}  // namespace hpc::coordinator
