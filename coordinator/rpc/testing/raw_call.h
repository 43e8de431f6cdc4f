// Calls any method with any bytes. Tests only.
#ifndef HPC_COORDINATOR_RPC_TESTING_RAW_CALL_H_
#define HPC_COORDINATOR_RPC_TESTING_RAW_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace hpc::coordinator::testing {

struct RawAnswer {
  grpc::Status status;
  std::string bytes;  // the first answer
};

// Sends exactly one message, and takes the first answer, if there is one, and the status. A call
// that is not over by then is cancelled.
RawAnswer RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  const std::string& request);

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_RPC_TESTING_RAW_CALL_H_
