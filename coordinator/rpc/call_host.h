// What all calls of one server share.
#ifndef HPC_COORDINATOR_RPC_CALL_HOST_H_
#define HPC_COORDINATOR_RPC_CALL_HOST_H_

#include <grpcpp/completion_queue.h>

#include <set>
#include <string>

#include "absl/status/status.h"

namespace hpc::coordinator {

// A call that may last for ever and is asked to end when the server stops.
class OpenCall {
 public:
  std::string certificate;  // the caller's serial; "" without one

  virtual ~OpenCall() = default;
  virtual void Stop(const absl::Status& reason) = 0;
};

class Doorman;

struct CallHost {
  Doorman* doorman = nullptr;
  grpc::ServerCompletionQueue* queue = nullptr;
  std::set<OpenCall*> open;
  absl::Status stopping;  // once not OK, calls are refused with it
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALL_HOST_H_
