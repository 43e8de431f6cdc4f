#include "common/process/private_memory.h"

#include <sys/prctl.h>

namespace hpc {

void KeepMemoryPrivate() { prctl(PR_SET_DUMPABLE, 0); }

}  // namespace hpc
