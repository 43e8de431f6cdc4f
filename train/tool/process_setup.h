// Sets a program of train/ up before it does anything else.
#ifndef HPC_TRAIN_TOOL_PROCESS_SETUP_H_
#define HPC_TRAIN_TOOL_PROCESS_SETUP_H_

namespace hpc::train {

// From now on a pipe that nobody reads, and a file that may not grow, are errors of the writer,
// instead of signals that end the process. LibTorch's libraries no longer log each connection that
// fails, with its stack, since our errors say what came of it. If TORCH_CPP_LOG_LEVEL is set, their
// logs come back.
void SetUpProcess();

}  // namespace hpc::train

#endif  // HPC_TRAIN_TOOL_PROCESS_SETUP_H_
