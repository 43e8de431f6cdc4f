// The stream to the coordinator over gRPC. A thread of its own waits for gRPC and posts to the
// loop; sending from the loop never waits.
#ifndef HPC_WORKER_LINK_COORDINATOR_LINK_H_
#define HPC_WORKER_LINK_COORDINATOR_LINK_H_

#include <memory>

#include "worker/link/link.h"
#include "worker/link/route.h"
#include "worker/loop/event_loop.h"

namespace hpc::worker {

// Each Open makes a connection of its own to the next address of `route`, with its security, once
// a first one, closed at once, has shown that somebody listens there; what the coordinator showed
// is put down in `route` before its first message is handed on. Where TLS does not come about, the
// reason is looked for and told in words.
std::unique_ptr<Link> MakeCoordinatorLink(EventLoop* loop, Route* route);

}  // namespace hpc::worker

#endif  // HPC_WORKER_LINK_COORDINATOR_LINK_H_
