// The stream to the coordinator over gRPC. A thread of its own waits for gRPC and posts to the
// loop; sending from the loop never waits.
#ifndef HPC_WORKER_RUNTIME_COORDINATOR_LINK_H_
#define HPC_WORKER_RUNTIME_COORDINATOR_LINK_H_

#include <memory>

#include "common/endpoint.h"
#include "worker/runtime/event_loop.h"
#include "worker/runtime/link.h"

namespace hpc::worker {

// Each Open makes a connection of its own, in plain text.
std::unique_ptr<Link> MakeCoordinatorLink(EventLoop* loop, const Endpoint& coordinator);

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_COORDINATOR_LINK_H_
