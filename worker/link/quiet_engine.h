// Does gRPC's own small work in a process that sleeps most of the time or ends soon.
#ifndef HPC_WORKER_LINK_QUIET_ENGINE_H_
#define HPC_WORKER_LINK_QUIET_ENGINE_H_

#include <grpc/event_engine/event_engine.h>

#include <memory>

namespace hpc::worker {

// Makes gRPC use a quiet engine instead of its own. gRPC's own engine starts a thread for every
// core, and one that looks at its timers every second, before there is anything to do. Must be
// called before gRPC is used.
void UseQuietEngine();

// Runs the work it is given, one piece at a time and in the order of their times. The first piece
// starts the one thread, which sleeps until the next piece is due. The engine makes no connections
// and resolves no names: gRPC 1.51 asks no engine for that.
std::unique_ptr<grpc_event_engine::experimental::EventEngine> MakeQuietEngine();

}  // namespace hpc::worker

#endif  // HPC_WORKER_LINK_QUIET_ENGINE_H_
