// Makes supervisors for a worker, as children that go on in this program.
//
// A worker is a large process with many threads: to fork it, and to execute the supervisor's
// program then, took longer than all that a supervisor does for a short run. This process is small,
// has one thread and has executed the program already.
#ifndef HPC_WORKER_SUPERVISOR_FORK_SERVER_H_
#define HPC_WORKER_SUPERVISOR_FORK_SERVER_H_

#include <functional>

#include "worker/supervisor/os/process_title.h"
#include "worker/supervisor/protocol/fork_request.h"

namespace hpc::worker {

// Carries out a request in the process that was made for it, whose title is that. Returns its exit
// code.
using Supervise = std::function<int(const ForkRequest&, ProcessTitle*)>;

// Serves `socket` until the worker's end of it closes; what it has made lives on, and belongs to
// init then. Children are reaped by the kernel. Each begins a session, with default signals,
// /dev/null as the first three descriptors, the request's in their places (spec.h), no others, and
// ends with what `supervise` returns. Returns the exit code.
int ServeForks(int socket, ProcessTitle* title, const Supervise& supervise);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_FORK_SERVER_H_
