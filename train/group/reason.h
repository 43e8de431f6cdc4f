// What an error says to whom it reaches.
#ifndef HPC_TRAIN_GROUP_REASON_H_
#define HPC_TRAIN_GROUP_REASON_H_

#include <exception>
#include <string>

namespace hpc::train {

// One line, without what is for who works on LibTorch and Gloo: the page of stack that LibTorch
// puts behind it, and what Gloo puts around it: a file of its own, and advice to read other logs.
std::string ReasonOf(const std::exception& error);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_REASON_H_
