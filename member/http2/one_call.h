// One call on a connection of its own, for a program that makes no other.
#ifndef HPC_MEMBER_HTTP2_ONE_CALL_H_
#define HPC_MEMBER_HTTP2_ONE_CALL_H_

#include <google/protobuf/message_lite.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/net/endpoint.h"
#include "member/http2/security.h"

namespace hpc::wire {

// Connects, makes the call and closes the connection, on the thread that calls. `method` is
// "/package.Service/Method". Errors are those of Session::Open and Caller::Unary. DeadlineExceeded:
// there is no answer within `timeout`, at whatever point the coordinator falls silent.
absl::Status CallOnce(const Endpoint& coordinator, const member::Security& security,
                      const char* method, const google::protobuf::MessageLite& request,
                      google::protobuf::MessageLite* response, absl::Duration timeout);

}  // namespace hpc::wire

#endif  // HPC_MEMBER_HTTP2_ONE_CALL_H_
