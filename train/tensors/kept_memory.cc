#include "train/tensors/kept_memory.h"

#include <cstdlib>  // __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace hpc::train {

void KeepFreedMemory() {
#ifdef __GLIBC__
  // The most that mallopt takes; larger blocks are always mapped.
  constexpr int kLargest = 32 << 20;
  constexpr int kKept = 2000000000;
  mallopt(M_MMAP_THRESHOLD, kLargest);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

}  // namespace hpc::train
