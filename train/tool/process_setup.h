// What a program of train/ does before anything else.
#ifndef HPC_TRAIN_TOOL_PROCESS_SETUP_H_
#define HPC_TRAIN_TOOL_PROCESS_SETUP_H_

namespace hpc::train {

// From now on a pipe that nobody reads, and a file that may not grow, are errors of who writes, and
// no longer signals that end the process. And LibTorch's libraries no longer log each connection
// that fails, with its stack: errors say what came of it. TORCH_CPP_LOG_LEVEL, where it is set,
// brings their logs back.
void SetUpProcess();

}  // namespace hpc::train

#endif  // HPC_TRAIN_TOOL_PROCESS_SETUP_H_
