// What a training does with memory that it is done with.
#ifndef HPC_TRAIN_TENSORS_KEPT_MEMORY_H_
#define HPC_TRAIN_TENSORS_KEPT_MEMORY_H_

namespace hpc::train {

// From now on malloc keeps what this process has freed, up to 2 GB, for the next step, which needs
// as much again. Else large tensors, and the end of the heap, go back to the kernel in each step
// and come from it again page by page, which took a tenth of the CPU of training a small net. For
// the beginning of a program that trains; nothing happens where malloc is not glibc's.
void KeepFreedMemory();

}  // namespace hpc::train

#endif  // HPC_TRAIN_TENSORS_KEPT_MEMORY_H_
