// Where an attempt's ranks will meet: the store that this worker serves, or a port kept for rank 0.
#ifndef HPC_WORKER_RUNTIME_STORE_PORT_H_
#define HPC_WORKER_RUNTIME_STORE_PORT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/core/messages.h"
#include "worker/runtime/event_loop.h"
#include "worker/store/store_server.h"

namespace hpc::worker {

struct StorePort {
  std::string address;
  int port = 0;
  std::unique_ptr<StoreServer> server;  // null: rank 0 hosts
};

// For the node of rank 0, before any rank starts. Unavailable: the address cannot be bound here.
absl::StatusOr<StorePort> OpenStorePort(EventLoop* loop, const Prepare& prepare);

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_STORE_PORT_H_
