// gRPC calls with protobuf messages.
#ifndef HPC_MEMBER_HTTP2_CALLER_H_
#define HPC_MEMBER_HTTP2_CALLER_H_

#include <google/protobuf/message_lite.h>

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "member/http2/outgoing.h"
#include "member/http2/session.h"

namespace hpc::wire {

// Makes the calls of one session. `method` is "/package.Service/Method". Errors are those of
// Session::Call. Internal: an answer cannot be read.
class Caller {
 public:
  Caller(Session* session, int stop_fd) : session_(session), stop_fd_(stop_fd) {}

  // One request, one response.
  absl::Status Unary(const char* method, const google::protobuf::MessageLite& request,
                     google::protobuf::MessageLite* response) const;

  // One request, any number of responses. `each` takes one response; its error ends the call.
  template <typename Response>
  absl::Status Stream(const char* method, const google::protobuf::MessageLite& request,
                      absl::FunctionRef<absl::Status(const Response&)> each) const {
    OneMessage outgoing(request.SerializeAsString());
    return Duplex<Response>(method, &outgoing, each);
  }

  // Any number of requests and responses.
  template <typename Response>
  absl::Status Duplex(const char* method, Outgoing* outgoing,
                      absl::FunctionRef<absl::Status(const Response&)> each) const {
    Response response;
    return session_->Call(
        method, outgoing,
        [&](absl::string_view bytes) {
          const absl::Status parsed = Parse(bytes, &response);
          return parsed.ok() ? each(response) : parsed;
        },
        stop_fd_);
  }

 private:
  static absl::Status Parse(absl::string_view bytes, google::protobuf::MessageLite* message);

  Session* session_;
  int stop_fd_;
};

}  // namespace hpc::wire

#endif  // HPC_MEMBER_HTTP2_CALLER_H_
