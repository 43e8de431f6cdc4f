// Runs one program, and nothing of it for longer than itself.
#ifndef HPC_WORKER_SUPERVISOR_CONTAINED_RUN_H_
#define HPC_WORKER_SUPERVISOR_CONTAINED_RUN_H_

namespace hpc::worker {

// Executes run[0] with the arguments run + 1, for good as the account that the caller works as, and
// returns how it ended (as of waitpid; exit code 127: it could not be executed, which stderr says).
// Whatever it has started is dead then. SIGTERM ends it all early. For a process of one thread and
// without other children.
int RunContained(char** run);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CONTAINED_RUN_H_
