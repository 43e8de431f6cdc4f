// Makes supervisors for a worker. They are children that go on running this program.
//
// A worker is a large process with many threads. Forking it and then executing the supervisor's
// program took longer than everything that a supervisor does for a short run. This process is
// small, has one thread, and has executed the program already.
#ifndef HPC_WORKER_SUPERVISOR_FORK_SERVER_H_
#define HPC_WORKER_SUPERVISOR_FORK_SERVER_H_

#include <functional>

#include "worker/supervisor/os/process_title.h"
#include "worker/supervisor/protocol/fork_request.h"

namespace hpc::worker {

// Carries out a request in the process that was made for it, which has this title. Returns the exit
// code of the process.
using Supervise = std::function<int(const ForkRequest&, ProcessTitle*)>;

// Serves `socket` until the worker's end of it closes. The processes it has made live on and then
// belong to init; the kernel reaps them. Each begins a session, with default signals. Its first
// three descriptors are /dev/null, then come those of the request (spec.h), and there are no
// others. It ends with what `supervise` returns. This function returns the exit code of the server.
int ServeForks(int socket, ProcessTitle* title, const Supervise& supervise);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_FORK_SERVER_H_
