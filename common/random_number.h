// A random number that nobody can guess and that has not been drawn before.
#ifndef HPC_COMMON_RANDOM_NUMBER_H_
#define HPC_COMMON_RANDOM_NUMBER_H_

#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace hpc {

// Takes the number from the kernel. std::random_device will not do: it asks the processor for its
// features, which a virtual machine traps, and costs a tenth of the CPU time of a client that
// submits many runs. Ends the process where the kernel has no number to give, which never happens
// on the kernels that we support.
inline uint64_t RandomNumber() {
  uint64_t number = 0;
  if (getentropy(&number, sizeof number) != 0) abort();
  return number;
}

}  // namespace hpc

#endif  // HPC_COMMON_RANDOM_NUMBER_H_
