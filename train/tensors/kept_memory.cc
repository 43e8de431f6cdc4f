#include "train/tensors/kept_memory.h"

#include <cstdlib>  // __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace hpc::train {

void KeepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kLargest = 32 << 20;  // that mallopt takes: what is larger is always mapped
  constexpr int kKept = 2000000000;
  mallopt(M_MMAP_THRESHOLD, kLargest);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

}  // namespace hpc::train
