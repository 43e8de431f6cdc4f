// The stream to the coordinator over gRPC. A thread of its own waits for gRPC and posts to the
// loop. Sending from the loop never waits.
#ifndef HPC_WORKER_LINK_COORDINATOR_LINK_H_
#define HPC_WORKER_LINK_COORDINATOR_LINK_H_

#include <memory>

#include "worker/link/link.h"
#include "worker/link/route.h"
#include "worker/loop/event_loop.h"

namespace hpc::worker {

// Each Open makes a connection of its own to the next address of `route`, with its security. A
// first connection, which is closed at once, has shown before that somebody listens there. What the
// coordinator showed is noted in `route` before its first message is handed on. If TLS fails, the
// reason is looked for and told in words.
std::unique_ptr<Link> MakeCoordinatorLink(EventLoop* loop, Route* route);

}  // namespace hpc::worker

#endif  // HPC_WORKER_LINK_COORDINATOR_LINK_H_
