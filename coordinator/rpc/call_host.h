// What all calls of one server share.
#ifndef HPC_COORDINATOR_RPC_CALL_HOST_H_
#define HPC_COORDINATOR_RPC_CALL_HOST_H_

#include <grpcpp/completion_queue.h>

#include <set>

#include "absl/status/status.h"

namespace hpc::coordinator {

// A call that may last for ever and is asked to end when the server stops.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
  virtual void Stop(const absl::Status& reason) = 0;
};

struct CallHost {
  grpc::ServerCompletionQueue* queue = nullptr;
  std::set<OpenCall*> open;
  absl::Status stopping;  // once not OK, calls are refused with it
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALL_HOST_H_
