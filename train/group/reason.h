// The words of an error for the person that it reaches.
#ifndef HPC_TRAIN_GROUP_REASON_H_
#define HPC_TRAIN_GROUP_REASON_H_

#include <exception>
#include <string>

namespace hpc::train {

// Returns one line, without what only people who work on LibTorch and Gloo need. LibTorch adds a
// page of stack. Gloo adds the name of a source file, and advice to read other logs.
std::string ReasonOf(const std::exception& error);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_REASON_H_
