// Says an error in one line.
#ifndef HPC_TRAIN_PROGRAM_ERROR_LINE_H_
#define HPC_TRAIN_PROGRAM_ERROR_LINE_H_

#include <exception>
#include <string>

namespace hpc::train {

// Returns the error's first line, since LibTorch's errors have a page of stack after it. For an
// error of TorchScript it is the last line, which has the reason after a page of the model's code:
// "RuntimeError: ...". For an error that memory is short, advice stands before it.
std::string OneLineOf(const std::exception& error);

bool IsShortOfMemory(const std::exception& error);

// Does the same for an error that was thrown while a model was made, where a smaller batch is no
// help.
std::string OneLineOfMakingAModel(const std::exception& error);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_ERROR_LINE_H_
