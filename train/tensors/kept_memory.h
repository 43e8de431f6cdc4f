// Decides what a training does with memory that it has freed.
#ifndef HPC_TRAIN_TENSORS_KEPT_MEMORY_H_
#define HPC_TRAIN_TENSORS_KEPT_MEMORY_H_

namespace hpc::train {

// From now on malloc keeps what this process has freed, up to 2 GB, for the next step, which needs
// as much again. Otherwise large tensors, and the end of the heap, would go back to the kernel in
// each step and come from it again page by page. That takes a tenth of the CPU time of training a
// small net. It is for the beginning of a program that trains; it does nothing where malloc is not
// glibc's.
void KeepFreedMemory();

}  // namespace hpc::train

#endif  // HPC_TRAIN_TENSORS_KEPT_MEMORY_H_
