// What is said of an error.
#ifndef HPC_TRAIN_PROGRAM_ONE_LINE_H_
#define HPC_TRAIN_PROGRAM_ONE_LINE_H_

#include <exception>
#include <string>

namespace hpc::train {

// Its first line: LibTorch's errors have a page of stack behind it. Of TorchScript's, the last,
// which has the reason behind a page of the model's code: "RuntimeError: ...". Of one that says
// that memory is short, what helps before it.
std::string OneLineOf(const std::exception& error);

bool IsShortOfMemory(const std::exception& error);

// The same, of one that was thrown while a model was made: a smaller batch is no help there.
std::string OneLineOfMakingAModel(const std::exception& error);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_ONE_LINE_H_
