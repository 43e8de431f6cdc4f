// Standard output that may be full.
#ifndef HPC_TRAIN_TOOL_STANDARD_OUTPUT_H_
#define HPC_TRAIN_TOOL_STANDARD_OUTPUT_H_

#include <string>

namespace hpc::train {

// Writes it now. What cannot be written is no reason to end a training: standard error is told the
// first time.
void Print(const std::string& text);

// What others in this process write on standard output goes to standard error from now on: NCCL
// logs there, where `Print` may be in the midst of a JSON object.
void KeepStandardOutput();

// Something was lost, so that the process does not end with 0.
bool OutputWasLost();

}  // namespace hpc::train

#endif  // HPC_TRAIN_TOOL_STANDARD_OUTPUT_H_
