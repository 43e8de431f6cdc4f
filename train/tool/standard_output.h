// Writes to a standard output that may be full.
#ifndef HPC_TRAIN_TOOL_STANDARD_OUTPUT_H_
#define HPC_TRAIN_TOOL_STANDARD_OUTPUT_H_

#include <string>

namespace hpc::train {

// Writes `text` now. If it cannot be written, standard error is told the first time, since that is
// no reason to end a training.
void Print(const std::string& text);

// From now on, what others in this process write to standard output goes to standard error. NCCL
// logs there, while `Print` may be in the middle of a JSON object.
void KeepStandardOutput();

// Returns whether something was lost, so that the process must not end with 0.
bool OutputWasLost();

}  // namespace hpc::train

#endif  // HPC_TRAIN_TOOL_STANDARD_OUTPUT_H_
