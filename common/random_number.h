// A number that nobody guesses or has had.
#ifndef HPC_COMMON_RANDOM_NUMBER_H_
#define HPC_COMMON_RANDOM_NUMBER_H_

#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace hpc {

// Of the kernel. Not std::random_device: it asks the processor what it can, which a virtual machine
// traps, and was a tenth of the CPU of a client that submits many runs. Ends the process where the
// kernel has none to give, as no kernel of ours does.
inline uint64_t RandomNumber() {
  uint64_t number = 0;
  if (getentropy(&number, sizeof number) != 0) abort();
  return number;
}

}  // namespace hpc

#endif  // HPC_COMMON_RANDOM_NUMBER_H_
