// Runs one program, and makes sure that nothing it has started outlives it.
#ifndef HPC_WORKER_SUPERVISOR_CONTAINED_RUN_H_
#define HPC_WORKER_SUPERVISOR_CONTAINED_RUN_H_

namespace hpc::worker {

// Executes run[0] with the arguments run + 1. The program has the account that the caller works as,
// and cannot change back. Returns how it ended, as waitpid does (exit code 127: it could not be
// executed, and stderr says so). Everything that it has started is dead then. SIGTERM ends it all
// early. The caller must have one thread and no other children.
int RunContained(char** run);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CONTAINED_RUN_H_
