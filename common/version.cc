#include "common/version.h"

namespace hpc {

const char* Version() { return HPC_VERSION; }

}  // namespace hpc
