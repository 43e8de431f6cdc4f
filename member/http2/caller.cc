#include "member/http2/caller.h"

#include "common/status_macros.h"

namespace hpc::wire {

absl::Status Caller::Unary(const char* method, const google::protobuf::MessageLite& request,
                           google::protobuf::MessageLite* response) const {
  OneMessage outgoing(request.SerializeAsString());
  bool answered = false;
  HPC_RETURN_IF_ERROR(session_->Call(
      method, &outgoing,
      [&](absl::string_view bytes) {
        answered = true;
        return Parse(bytes, response);
      },
      stop_fd_));
  return answered ? absl::OkStatus() : absl::InternalError("the answer is empty");
}

absl::Status Caller::Parse(absl::string_view bytes, google::protobuf::MessageLite* message) {
  if (message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::OkStatus();
  }
  return absl::InternalError("the coordinator's answer cannot be read; is it of this version?");
}

}  // namespace hpc::wire
